"""Corpora whose scores say nothing are named when training starts."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from spacy_psa.training.corpora import CorpusError, check_corpora


def write(path: Path, n: int, word: str = "word") -> Path:
    """Write a corpus of some documents."""
    DocBin(docs=[Doc(Vocab(), words=[word])] * n).to_disk(path)
    return path


def config(train: object, dev: object) -> dict:
    """The parts of a config that name the corpora, one of them inside another reader."""
    return {
        "training": {"train_corpus": "corpora.train", "dev_corpus": "corpora.dev"},
        "corpora": {"train": {"path": train}, "dev": {"corpus": {"path": dev}}},
    }


def found(train: object, dev: object) -> list[str]:
    """The warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_corpora(config(train and str(train), dev and str(dev)))
    return [str(warning.message) for warning in caught]


def test_few_documents_are_counted(tmp_path: Path) -> None:
    dev = write(tmp_path / "dev.spacy", 5)
    (message,) = found(write(tmp_path / "train.spacy", 19), dev)
    assert "[W436]" in message and "train.spacy has 19 Docs" in message
    assert found(write(tmp_path / "train.spacy", 20), dev) == []


def test_development_data_that_are_the_training_data(tmp_path: Path) -> None:
    train = write(tmp_path / "train.spacy", 25)
    (message,) = found(train, write(tmp_path / "dev.spacy", 25))
    assert "[W437]" in message and "dev.spacy" in message and "all 25 Docs" in message
    (message,) = found(train, train)
    assert "[W437]" in message
    assert found(train, write(tmp_path / "dev.spacy", 25, "werd")) == []


@pytest.mark.parametrize("train", [None, "missing.spacy"])
def test_what_cannot_be_read_is_left_to_the_reader(train: str | None, tmp_path: Path) -> None:
    assert found(train, write(tmp_path / "dev.spacy", 1)) == []


def test_what_spacy_would_not_read_is_an_error_of_spacy_train_too(tmp_path: Path) -> None:
    path = tmp_path / "dev.jsonl"
    path.write_text('{"text": "word"}', encoding="utf8")
    settings = config(str(write(tmp_path / "train.spacy", 25)), str(path))
    settings["corpora"]["dev"]["corpus"]["@readers"] = "spacy.Corpus.v1"
    with pytest.raises(CorpusError, match=r"P471.*no \.spacy file at .*dev\.jsonl"):
        check_corpora(settings)
