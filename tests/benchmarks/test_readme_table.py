"""The table of accuracy and speed in the README."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import readme_table
from benchmarks.readme_table import COMMAND, PAGE, make_table
from benchmarks.report import with_section
from benchmarks.systems import RESULTS


def test_the_readme_has_the_figures_of_the_results() -> None:
    page = PAGE.read_text(encoding="utf8")
    assert page == with_section(page, PAGE.name, COMMAND, [*make_table(RESULTS), ""])


def test_what_was_cut_short_or_not_measured_is_marked(tmp_path: Path) -> None:
    (tmp_path / "recipes").mkdir()
    (tmp_path / "components.json").write_bytes((RESULTS / "components.json").read_bytes())
    known = json.loads((RESULTS / "recipes" / "wnut17-all-psa-0.json").read_text(encoding="utf8"))
    for seed, test, cut in ((0, 40.0, False), (1, 43.0, True)):
        result = {**known, "seed": seed, "ended": not cut, "best": {**known["best"], "test": test}}
        (tmp_path / "recipes" / f"{seed}.json").write_text(json.dumps(result), encoding="utf8")
    *lines, about = make_table(tmp_path)
    rows = {line.split(" | ")[0]: line for line in lines if line.startswith("| ")}
    assert rows["| `psa`"].startswith("| `psa` | 41.50 (40.0–43.0)* | – | ")
    assert rows["| flair"].count("| – ") == 2
    assert "2 seeds" in about and "limit of time" in about


def test_a_page_that_is_not_up_to_date_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = tmp_path / "README.md"
    begin, end = f"<!-- written by `{COMMAND}` -->", "<!-- end of what is written -->"
    page.write_text(f"before\n{begin}\nold\n{end}\nafter\n", encoding="utf8")
    monkeypatch.setattr(readme_table, "PAGE", page)
    monkeypatch.setattr(sys, "argv", ["readme_table", "--check"])
    with pytest.raises(SystemExit, match="not up to date"):
        readme_table.main()
    monkeypatch.setattr(sys, "argv", ["readme_table"])
    readme_table.main()
    text = page.read_text(encoding="utf8")
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
    monkeypatch.setattr(sys, "argv", ["readme_table", "--check"])
    readme_table.main()
    page.write_text("no markers", encoding="utf8")
    with pytest.raises(SystemExit, match="needs the lines"):
        readme_table.main()
