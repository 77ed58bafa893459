"""Other toolkits among the cells of the recipes' benchmark."""

from __future__ import annotations

import json
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from benchmarks import recipes_cell
from benchmarks.recipes import matrix
from benchmarks.recipes_cell import Cell
from benchmarks.recipes_data import save
from benchmarks.recipes_peers import PEERS, predicted
from benchmarks.recipes_stanza import to_conllu
from benchmarks.recipes_training import Annotate, Limit, Training

SENTENCES = [(["Ann", "met", "Bo", "Li", "."], [(0, 1), (2, 4)]), (["Bo", "left"], [(0, 1)])]


@pytest.fixture
def docs() -> list[Doc]:
    vocab = spacy.blank("en").vocab
    made = [Doc(vocab, words=words) for words, _ in SENTENCES]
    for doc, (_, spans) in zip(made, SENTENCES, strict=True):
        doc.set_ents([Span(doc, start, end, "PER") for start, end in spans])
    return made


@pytest.fixture
def vectors(tmp_path: Path, docs: list[Doc]) -> Path:
    nlp = spacy.blank("en")
    for row, word in enumerate(sorted({token.lower_ for doc in docs for token in doc})):
        nlp.vocab.set_vector(word, np.eye(10, dtype="f")[row])
    nlp.to_disk(tmp_path / "vectors")
    return tmp_path / "vectors"


@pytest.mark.parametrize(("processor", "wall"), [(0.05, 60.0), (60.0, 0.05)])
def test_time_is_up_as_after_a_keyboard_interrupt(processor: float, wall: float) -> None:
    limit = Limit(processor, wall)
    with limit:
        while True:
            time.process_time()
    assert limit.caught == (signal.SIGPROF if processor < wall else signal.SIGALRM)
    in_time = Limit(60.0, 60.0)
    with in_time:
        pass
    assert in_time.caught is None
    assert signal.getitimer(signal.ITIMER_PROF)[0] == signal.getitimer(signal.ITIMER_REAL)[0] == 0.0
    with pytest.raises(KeyboardInterrupt), in_time:
        raise KeyboardInterrupt


@pytest.mark.parametrize("cut", [False, True])
def test_a_toolkit_is_scored_as_the_other_systems(
    cut: bool, docs: list[Doc], vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def train(given: Training) -> tuple[Annotate, int]:
        assert given.folder.is_dir()
        seen.append((len(given.train), len(given.dev), given.tags, given.vectors, given.seed))
        with given.limit:
            while cut:
                time.process_time()
        return lambda found: found[0].set_ents([found[0][:1]]), 7

    monkeypatch.setitem(PEERS, "stanza", train)
    files = {"vectors": vectors}
    for part in ("train", "dev", "test"):
        files[part] = tmp_path / f"{part}.spacy"
        save(files[part], docs)
    specification = {
        "cell": vars(Cell("wnut17", None, "stanza", 3)),
        "files": {name: str(path) for name, path in files.items()},
        "seconds": 60.0,
        "until": time.time() + (0.3 if cut else 60.0),
        "output": str(tmp_path / "result.json"),
    }
    (tmp_path / "cell.json").write_text(json.dumps(specification), encoding="utf8")
    monkeypatch.setattr(sys, "argv", ["recipes_cell", str(tmp_path / "cell.json")])
    recipes_cell.main()
    result = json.loads((tmp_path / "result.json").read_text(encoding="utf8"))
    assert seen == [(2, 2, False, vectors, 3)]
    assert (result["ended"], result["cut"]) == (not cut, cut)
    assert result["best"]["step"] == 7 and result["best"]["sentences"] == 2
    # A span without a label is wrong
    assert result["best"]["dev"] == result["best"]["test"] == 0.0


def test_toolkits_are_not_trained_without_the_vectors_that_there_are() -> None:
    cells = list(matrix(["wnut17", "fr"], [None], ["stanza", "psa"], 1))
    assert [(cell.corpus, cell.system, cell.vectors) for cell in cells] == [
        ("wnut17", "stanza", True),
        ("wnut17", "psa", True),
        ("fr", "stanza", False),
        ("fr", "psa", False),
        ("wnut17", "psa", False),
    ]


def make_training(docs: list[Doc], folder: Path, seconds: float, **given: Any) -> Training:
    limit = Limit(seconds, 120.0)
    return Training(docs * 4, docs, lang="en", seed=0, folder=folder, limit=limit, **given)


@pytest.mark.parametrize(("system", "seconds"), [("stanza", 60.0), ("flair", 8.0)])
def test_toolkits_learn_entities(
    system: str, seconds: float, docs: list[Doc], vectors: Path, tmp_path: Path
) -> None:
    pytest.importorskip(system, reason="pip install --group peers")
    training = make_training(docs, tmp_path, seconds, tags=False, vectors=vectors)
    # A label of the development set that training sentences do not have
    rare = Doc(docs[0].vocab, words=["Rome"], ents=["B-LOC"])
    annotate, step = PEERS[system](replace(training, dev=[*docs, rare]))
    assert step > 0
    found = predicted(annotate, docs)
    assert [[*map(str, example.predicted.ents)] for example in found] == [
        ["Ann", "Bo Li"],
        ["Bo"],
    ]


@pytest.mark.parametrize("has_vectors", [True, False])
@pytest.mark.parametrize(("system", "seconds"), [("stanza", 20.0), ("flair", 8.0)])
def test_toolkits_learn_tags(
    system: str, seconds: float, has_vectors: bool, docs: list[Doc], vectors: Path, tmp_path: Path
) -> None:
    pytest.importorskip(system, reason="pip install --group peers")
    for doc in docs:
        for token in doc:
            token.tag_ = "NAME" if token.is_title else "OTHER"
    given = vectors if has_vectors else None
    training = make_training(docs, tmp_path, seconds, tags=True, vectors=given)
    # A tag of the development set that training sentences do not have
    rare = Doc(docs[0].vocab, words=["Hm"], tags=["NOISE"])
    annotate, step = PEERS[system](replace(training, dev=[*docs, rare]))
    assert step > 0
    found = predicted(annotate, docs)
    assert [[token.tag_ for token in example.predicted] for example in found] == [
        ["NAME", "OTHER", "NAME", "NAME", "OTHER"],
        ["NAME", "OTHER"],
    ]


def test_conllu_for_stanza_has_a_tree() -> None:
    docs = [
        Doc(Vocab(), words=["#", "10 000", "."], tags=["X", "NUM", "PUNCT"]),
        Doc(Vocab(), words=["Oui"]),
    ]
    assert [line.split("\t") for line in to_conllu(docs).split("\n")] == [
        ["1", "#", "_", "X", "_", "_", "0", "root", "_", "_"],
        ["2", "10 000", "_", "NUM", "_", "_", "1", "dep", "_", "_"],
        ["3", ".", "_", "PUNCT", "_", "_", "1", "dep", "_", "_"],
        [""],
        ["1", "Oui", "_", "_", "_", "_", "0", "root", "_", "_"],
        [""],
        [""],
    ]
