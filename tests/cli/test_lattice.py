"""`psa lattice`."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from spacy.language import Language

from spacy_psa.cli.draw import lattice

from ..pipeline.conftest import NAME, tagger_of, trained_nlp
from .commands import ROOT, run, succeed

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def nlp() -> Language:
    return trained_nlp("ents")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, nlp: Language) -> Path:
    path = tmp_path_factory.mktemp("model") / "ents"
    nlp.to_disk(path)
    return path


def texts(path: Path) -> list[str]:
    return [node.text for node in ElementTree.parse(path).iter(f"{SVG}text")]


def test_a_sentence_is_drawn(model: Path, nlp: Language, tmp_path: Path) -> None:
    path = tmp_path / "new" / "lattice.svg"
    assert NAME in succeed("psa", "lattice", model, "Ann Lee likes Berlin .", "-o", path)
    found = texts(path)
    assert {"Ann", "Lee", "likes", "Berlin", "."} <= set(found)
    best = tagger_of(nlp).nbest([nlp.make_doc("Ann Lee likes Berlin .")], 1)[0][0]
    assert set(best.tags) <= set(found)


def test_earlier_components_are_heard(tmp_path: Path) -> None:
    nlp = trained_nlp("ents")
    nlp.add_pipe("entity_ruler", first=True).add_patterns([{"label": "LOC", "pattern": "likes"}])
    nlp.to_disk(tmp_path / "model")
    lattice(str(tmp_path / "model"), "Ann likes Bob", tmp_path / "a.svg")
    svg = (tmp_path / "a.svg").read_text(encoding="utf8")
    assert "likes → S-LOC: 100%" in svg and "likes → O" not in svg


def test_damaged_characters_are_drawn(model: Path, tmp_path: Path) -> None:
    lattice(str(model), "Ann \ud800 \x01 Bob", tmp_path / "a.svg")
    assert "Ann" in texts(tmp_path / "a.svg")


def test_a_folder_in_place_of_the_image_is_an_error(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.svg").mkdir()
    with pytest.raises(OSError, match="directory"):
        lattice(str(model), "Ann", tmp_path / "a.svg")


def test_texts_without_tokens_are_an_error(model: Path, tmp_path: Path) -> None:
    result = run("psa", "lattice", model, "", "-o", tmp_path / "a.svg")
    assert result.exit_code == 1 and "[P380]" in result.output
    assert list(tmp_path.iterdir()) == []


def test_the_picture_in_the_documentation_can_be_read() -> None:
    found = texts(ROOT / "docs" / "images" / "lattice.svg")
    assert {"flying", "planes", "best sequence:"} <= set(found)
