"""The comparison with an earlier version: a stub answers for the processes of both."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import against, against_worker


class Stub(against.Worker):
    """Answers with seconds: the earlier version takes 3, this one 2."""

    def __init__(self, python: Path, system: str, hidden: int, arguments: object) -> None:
        is_new = python == Path(sys.executable)
        self.package = self.same or Path("new" if is_new else "old")
        self.commit = f"commit-{self.package}"
        self.seconds, self.asked = (2.0 if is_new else 3.0), []

    same: Path | None = None
    asked: list[str]

    def ask(self, command: str) -> float:
        self.asked.append(command)
        return self.seconds

    def close(self) -> None:
        counts = [self.asked.count(figure) for figure in against_worker.SLICES]
        assert counts == [against.WARM_UP + 3] * len(against_worker.SLICES)


def run(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(against, "Worker", Stub)
    options = "old/python --data train.spacy --systems psa --hidden 8 --repeat 3 --output"
    monkeypatch.setattr(sys, "argv", ["against", *options.split(), str(folder)])
    against.main()


def test_speeds_are_ratios_of_the_same_turn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run(monkeypatch, tmp_path)
    found = json.loads((tmp_path / "against.json").read_text(encoding="utf8"))
    assert found["commits"] == {"old": "commit-old", "new": "commit-new"}
    cell = found["cells"]["psa, 8"]
    assert cell["speed"] == {figure: [1.5, 1.5, 1.5] for figure in against_worker.SLICES}
    assert cell["peak MiB"] == {"old": 3.0, "new": 2.0}
    page = (tmp_path / "against.md").read_text(encoding="utf8")
    assert "| psa, 8 | 1.50 (1.50–1.50) |" in page and "| 2 / 3 |" in page


def test_both_versions_need_a_package_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Stub, "same", Path("one"))
    with pytest.raises(SystemExit, match="Both import one"):
        run(monkeypatch, tmp_path)


def test_quartiles_are_those_of_the_ratios() -> None:
    assert against.quartiles([3.0, 1.0, 2.0]) == [2.0, 1.0, 3.0]
    assert against.quartiles([4.0]) == [4.0, 4.0, 4.0]
