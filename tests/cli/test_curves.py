"""`psa curves`."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ..figures.reading import marks
from .commands import plain, run, succeed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two runs with the same name."""
    for parent in ("first", "second"):
        output = tmp_path / parent / "psa"
        output.mkdir(parents=True)
        lines = [
            {
                "step": s,
                "epoch": s // 5,
                "words": s,
                "score": 0.5,
                "losses": {"t": 1.0},
                "scores": {},
            }
            for s in (0, 5, 10)
        ]
        (output / "train.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf8")
    return tmp_path


def names(svg: Path) -> set[str]:
    """The texts in an image."""
    root = ElementTree.fromstring(svg.read_text(encoding="utf8"))
    return {node.text for node in root.iter() if node.text}


def test_all_kinds_of_files_are_written_at_once(folder: Path) -> None:
    outputs = [folder / "new" / "curves.svg", folder / "curves.html"]
    succeed("psa", "curves", folder / "first" / "psa", "-o", outputs[0], "-o", outputs[1])
    assert "psa" in names(outputs[0])
    assert outputs[1].read_text(encoding="utf8").startswith("<!DOCTYPE html>")


def test_runs_of_the_same_name_are_told_apart(folder: Path) -> None:
    paths = [folder / "first" / "psa", folder / "second" / "psa"]
    succeed("psa", "curves", *paths, "--output", folder / "c.svg")
    assert {"first/psa", "second/psa"} <= names(folder / "c.svg")


def test_runs_can_be_given_names(folder: Path) -> None:
    runs = [f"PSA={folder / 'first' / 'psa'}", f"LAN={folder / 'second' / 'psa' / 'train.jsonl'}"]
    succeed("psa", "curves", *runs, "--output", folder / "c.svg", "--by", "step")
    assert {"PSA", "LAN", "steps (updates)"} <= names(folder / "c.svg")


def test_the_first_evaluations_can_be_left_out(folder: Path) -> None:
    arguments = (folder / "first" / "psa", "--output", folder / "c.svg", "--from", "2")
    succeed("psa", "curves", *arguments)
    points = list(marks((folder / "c.svg").read_text(encoding="utf8"), "point"))
    assert points and all(name.startswith("epochs: 2.2") for name in points)


def test_scores_are_drawn_without_losses_that_are_no_numbers(folder: Path) -> None:
    log = folder / "first" / "psa" / "train.jsonl"
    content = log.read_text(encoding="utf8").replace('"losses": {"t": 1.0}', '"losses": {"t": NaN}')
    log.write_text(content.replace('"scores": {}', '"scores": {"f": null}'), encoding="utf8")
    with pytest.warns(UserWarning, match=r"\[P280\]"):
        succeed("psa", "curves", log, "--output", folder / "c.svg")
    assert "Score by epoch" in names(folder / "c.svg")
    assert "Training loss by epoch" not in names(folder / "c.svg")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["none", "-o", "curves.svg"], "P292"),
        (["first/psa", "-o", "curves.svg", "--score", "las"], "P296"),
        (["first/psa", "-o", "curves.svg", "--by", "hour"], "P294"),
        (["first/psa", "-o", "curves.svg", "--from", "7"], "P298"),
    ],
)
def test_errors_leave_no_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: str
) -> None:
    monkeypatch.chdir(folder)
    before = set(folder.rglob("*"))
    result = run("psa", "curves", *arguments)
    assert result.exit_code == 1
    assert f"[{code}]" in plain(result.output)
    assert set(folder.rglob("*")) == before
