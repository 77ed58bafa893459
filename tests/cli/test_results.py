"""`psa results`: the page of all tables."""

from __future__ import annotations

from pathlib import Path

from spacy_psa.cli.reproduce import make_pages
from spacy_psa.reproduction.results import to_json

from ..reproduction.helpers import make_result
from .commands import ROOT, plain, run, succeed

KEPT = ROOT / "benchmarks" / "results" / "reproduce.json"


def test_the_page_has_the_results_of_all_files(tmp_path: Path) -> None:
    for system, f1 in (("psa", 0.95), ("bilstm-crf", 0.94)):
        text = to_json([make_result(system, 0, f1)])
        (tmp_path / f"{system}.json").write_text(text, encoding="utf8")
    files = [tmp_path / "psa.json", tmp_path / "bilstm-crf.json"]
    succeed("psa", "results", *files, "--output", tmp_path / "new" / "results.md")
    page = (tmp_path / "new" / "results" / "psa.md").read_text(encoding="utf8")
    assert "| Our model | `psa` | 95.09 ± 0.04 | 95.15 | 95.00 |" in page
    assert "| Bi-LSTM-CRF | `bilstm-crf` | 94.92 ± 0.08 | 95.01 | 94.00 |" in page
    pages = make_pages(files, tmp_path / "new" / "results.md")
    assert {path: path.read_text(encoding="utf8") for path in pages} == pages
    summary = pages[tmp_path / "new" / "results.md"]
    assert len(summary.splitlines()) <= 42
    (row,) = (line for line in summary.splitlines() if "`psa` |" in line and "Table 4" in line)
    assert row.endswith("| CoNLL-2000 | `psa` | 95.09 ± 0.04 | 95.00 | 1 | \u22120.09 | a |")
    assert "\nOurs: a: " in summary


def test_the_page_of_other_results_goes_with_them(tmp_path: Path) -> None:
    page, other = tmp_path / "results.md", tmp_path / "results" / "other.md"
    (tmp_path / "own.json").write_text(to_json([make_result("own", 0, 0.9)]), encoding="utf8")
    succeed("psa", "results", tmp_path / "own.json", "--output", page)
    assert "`own`" in other.read_text(encoding="utf8")
    assert "no such results any more" in plain(succeed("psa", "results", "--output", page))
    assert not other.exists()


def test_a_file_that_is_none_of_results_leaves_the_page_alone(tmp_path: Path) -> None:
    page, wrong = tmp_path / "results.md", tmp_path / "wrong.json"
    page.write_text("before", encoding="utf8")
    wrong.write_text("{}", encoding="utf8")
    done = run("psa", "results", wrong, "--output", page)
    assert done.exit_code == 1 and "[P396]" in plain(done.output)
    assert page.read_text(encoding="utf8") == "before"


def test_the_page_is_markdown(tmp_path: Path) -> None:
    done = run("psa", "results", "--output", tmp_path / "results.json")
    assert done.exit_code == 1 and "[P265]" in plain(done.output)


def test_the_pages_of_the_project_are_up_to_date() -> None:
    # The `reproduce` workflow adds the user's own results
    own = ROOT / "metrics" / "reproduce.json"
    files = [path for path in (KEPT, own) if path.exists()]
    pages = make_pages(files, ROOT / "docs" / "results.md")
    assert {path: path.read_text(encoding="utf8") for path in pages} == pages
    assert set((ROOT / "docs" / "results").glob("*")) <= set(pages)
