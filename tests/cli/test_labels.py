"""`psa labels`."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from ..analysis.inside import browse
from ..figures.reading import SVG, texts
from ..pipeline.conftest import LABELS, initialized_nlp, trained_nlp
from .commands import plain, run, succeed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two checkpoints of one run, and a model with other labels."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "run").mkdir()
    (folder / "copy").mkdir()
    initialized_nlp().to_disk(folder / "run" / "first")
    trained_nlp().to_disk(folder / "run" / "last")
    trained_nlp().to_disk(folder / "copy" / "last")
    initialized_nlp("spans").to_disk(folder / "chunks")
    return folder


def test_one_model_is_drawn(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "map.svg"
    output = succeed("psa", "labels", folder / "run" / "last", "-o", path)
    assert "labels of 1 pipeline in" in output
    shown = texts(path.read_text(encoding="utf8"))
    assert all(tag in shown for tag in LABELS["tag"])
    assert "Map of the labels (PCA)" in shown


@pytest.mark.parametrize("align", ["procrustes", "last"])
def test_checkpoints_are_drawn_side_by_side(folder: Path, tmp_path: Path, align: str) -> None:
    models = [folder / "run" / "first", folder / "run" / "last"]
    succeed("psa", "labels", *models, "-o", tmp_path / "map.html", "--align", align)
    root = ElementTree.fromstring((tmp_path / "map.html").read_text(encoding="utf8"))
    [image] = root.iter(f"{SVG}svg")
    titles = [node.text for node in image.iter(f"{SVG}text") if "variance" in (node.text or "")]
    assert [title.split(" (")[0] for title in titles] == ["first", "last"]


def test_models_of_the_same_name_are_told_apart(folder: Path, tmp_path: Path) -> None:
    models = [folder / "run" / "last", folder / "copy" / "last"]
    succeed("psa", "labels", *models, "-o", tmp_path / "map.svg")
    shown = texts((tmp_path / "map.svg").read_text(encoding="utf8"))
    for name in ("run/last", "copy/last"):
        assert any(text.startswith(f"{name} (") for text in shown)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["run/last", "-o", "map.svg", "--method", "umap"], "P100"),
        (["run/last", "-o", "map.svg", "--align", "none"], "P100"),
        (["run/last", "chunks", "-o", "map.svg"], "P385"),
    ],
)
def test_errors_leave_no_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: str
) -> None:
    monkeypatch.chdir(folder)
    before = set(folder.rglob("*"))
    result = run("psa", "labels", *arguments)
    assert result.exit_code == 1
    assert f"[{code}]" in plain(result.output)
    assert set(folder.rglob("*")) == before


def test_a_browser_shows_the_page(folder: Path, tmp_path: Path) -> None:
    models = [folder / "run" / "first", folder / "run" / "last"]
    succeed("psa", "labels", *models, "-o", tmp_path / "map.html")
    shown, logged = browse(tmp_path / "map.html", tmp_path / "profile")
    assert logged == []
    assert shown.count("<svg") == 1
    assert "Most similar label" in shown
