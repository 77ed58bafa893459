"""Other toolkits among the cells of the recipes' benchmark."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, Span

from benchmarks import recipes_cell, recipes_peers
from benchmarks.recipes import matrix
from benchmarks.recipes_cell import Cell
from benchmarks.recipes_data import save
from benchmarks.recipes_peers import PEERS, Limit, predicted

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

    def train(
        train: Sequence[Doc], dev: Sequence[Doc], at: Path, seed: int, folder: Path, limit: Limit
    ) -> tuple[recipes_peers.Annotate, int]:
        seen.append((len(train), len(dev), at, seed, folder.is_dir()))
        with limit:
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
    assert seen == [(2, 2, vectors, 3, True)]
    assert (result["ended"], result["cut"]) == (not cut, cut)
    assert result["best"]["step"] == 7 and result["best"]["sentences"] == 2
    # A span without a label is wrong
    assert result["best"]["dev"] == result["best"]["test"] == 0.0


def test_toolkits_are_not_trained_without_vectors_or_on_tags() -> None:
    cells = list(matrix(["wnut17"], [None], ["stanza", "psa"], 1))
    assert [(cell.system, cell.vectors) for cell in cells] == [
        ("stanza", True),
        ("psa", True),
        ("psa", False),
    ]
    for corpus, files in (("ewt", {"vectors": Path()}), ("wnut17", dict[str, Path]())):
        with pytest.raises(SystemExit, match="only trained on entities and chunks, with vectors"):
            recipes_cell.train_toolkit(Cell(corpus, None, "flair", 0), files, Limit(1.0, 1.0))


@pytest.mark.parametrize(("system", "seconds"), [("stanza", 60.0), ("flair", 8.0)])
def test_toolkits_learn_entities(
    system: str, seconds: float, docs: list[Doc], vectors: Path, tmp_path: Path
) -> None:
    pytest.importorskip(system, reason="pip install --group peers")
    limit = Limit(seconds, 120.0)
    annotate, step = PEERS[system](docs * 4, docs, vectors, 0, tmp_path, limit)
    assert step > 0
    found = predicted(annotate, docs)
    assert [[*map(str, example.predicted.ents)] for example in found] == [
        ["Ann", "Bo Li"],
        ["Bo"],
    ]
