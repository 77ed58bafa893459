"""Pipelines saved by earlier releases load, and their predictions stay the same."""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language

from . import make_fixture
from .make_fixture import FIXTURES, predictions

RELEASES = sorted(path.name for path in FIXTURES.iterdir())
TOLERANCE = 1e-4
LARGEST = 150_000


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of the files that a release saved."""
    return shutil.copytree(FIXTURES / request.param, tmp_path / request.param)


def load(path: Path) -> Language:
    """Load a pipeline, possibly saved with another version of spaCy."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\[W095\]")
        return spacy.load(path)


def assert_predicts(nlp: Language, path: Path) -> None:
    """Compare labels exactly, and probabilities approximately."""
    expected = json.loads(path.read_text(encoding="utf8"))
    found = json.loads(json.dumps(predictions(nlp)))
    assert len(found) == len(expected) > 0
    for sentence, wanted in zip(found, expected, strict=True):
        assert sentence.keys() == wanted.keys()
        for key, value in wanted.items():
            if _is_of_floats(value):
                np.testing.assert_allclose(sentence[key], value, atol=TOLERANCE, err_msg=key)
            else:
                assert sentence[key] == value, key


def _is_of_floats(value: Any) -> bool:
    return np.asarray(value, dtype=object).size > 0 and all(
        isinstance(number, float) for number in np.ravel(np.asarray(value, dtype=object))
    )


def test_the_first_release_is_among_them() -> None:
    assert "0.1.0" in RELEASES


def test_a_pipeline_of_a_release_predicts_what_it_did(release: Path) -> None:
    nlp = load(release / "pipeline")
    assert nlp.pipe_names == ["tags", "chunks", "roles"]
    assert_predicts(nlp, release / "predictions.json")


def test_a_pipeline_of_a_release_can_be_saved_anew(release: Path, tmp_path: Path) -> None:
    load(release / "pipeline").to_disk(tmp_path / "anew")
    assert_predicts(load(tmp_path / "anew"), release / "predictions.json")


def test_a_pipeline_of_a_release_can_be_saved_in_its_place(release: Path) -> None:
    load(release / "pipeline").to_disk(release / "pipeline")
    assert_predicts(load(release / "pipeline"), release / "predictions.json")


def test_loading_writes_nothing(release: Path) -> None:
    before = {path: path.read_bytes() for path in release.rglob("*") if path.is_file()}
    load(release / "pipeline")
    assert before == {path: path.read_bytes() for path in release.rglob("*") if path.is_file()}


def test_the_settings_are_those_that_were_saved(release: Path) -> None:
    nlp = load(release / "pipeline")
    assert nlp.get_pipe("chunks").cfg["target"] == "spans"
    assert nlp.get_pipe("chunks").cfg["probabilities"] is True
    assert nlp.get_pipe("tags").cfg["overwrite"] is False
    assert "V" in nlp.get_pipe("roles").labels


@pytest.mark.parametrize("name", RELEASES)
def test_a_fixture_is_small(name: str) -> None:
    files = (path for path in (FIXTURES / name).rglob("*") if path.is_file())
    assert 0 < sum(path.stat().st_size for path in files) <= LARGEST


def test_a_fixture_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(make_fixture, "FIXTURES", tmp_path)
    monkeypatch.setattr(sys, "argv", ["make_fixture.py"])
    kept = tmp_path / version("spacy-psa") / "predictions.json"
    kept.parent.mkdir()
    kept.write_text("[]")
    with pytest.raises(SystemExit):
        make_fixture.main()
    assert "--force" in capsys.readouterr().err
    assert kept.read_text() == "[]"
