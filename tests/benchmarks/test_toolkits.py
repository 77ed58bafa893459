"""Other toolkits learn the given chunks and predict them."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
import spacy
import torch
from spacy.tokens import Doc, Span
from spacy.training.iob_utils import tags_to_entities

from benchmarks import components_page, toolkits
from benchmarks.chunks import tag_chunks

PEERS = "pip install --group peers"
HOW_TO_GET = {"ncrfpp": "PYTHONPATH=path/to/NCRFpp, see `ncrfpp_tagger`"}
CHUNKS = [[(0, 1, "NP"), (1, 3, "VP"), (4, 5, "NP")], [(0, 3, "NP"), (3, 4, "VP")]]


@pytest.fixture
def docs() -> list[Doc]:
    nlp = spacy.blank("en")
    made = []
    texts = (["We", "can", "fish", "in", "town"], ["The", "old", "man", "sleeps"])
    for words, chunks in zip(texts, CHUNKS, strict=True):
        doc = Doc(nlp.vocab, words=words)
        doc.spans["chunks"] = doc.ents = [Span(doc, *chunk) for chunk in chunks]
        tag_chunks(doc)
        made.append(doc)
    return made


@pytest.fixture
def vectors(tmp_path: Path, docs: list[Doc]) -> Path:
    nlp = spacy.blank("en")
    for row, token in enumerate(token for doc in docs for token in doc):
        nlp.vocab.set_vector(token.lower_, torch.randn(100, generator=_seeded(row)).numpy())
    nlp.to_disk(tmp_path)
    return tmp_path


def _seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def chunks_of(name: str, found: Any) -> list[list[tuple[int, int, str]]]:
    if name == "stanza":
        return [
            [(e.tokens[0].id[0] - 1, e.tokens[-1].id[0], e.type) for e in sentence.ents]
            for sentence in found.sentences
        ]
    if name == "ncrfpp":
        return [
            [(start, end + 1, label) for label, start, end in tags_to_entities(biluo(tags))]
            for tags in found
        ]
    return [
        [(span[0].idx - 1, span[-1].idx, span.tag) for span in sentence.get_spans()]
        for sentence in found
    ]


def biluo(tags: list[str]) -> list[str]:
    letters = {"E": "L", "S": "U"}
    return [letters.get(tag[0], tag[0]) + tag[1:] for tag in tags]


@pytest.mark.parametrize("with_vectors", [True, False])
@pytest.mark.parametrize("name", toolkits.TOOLKITS)
def test_a_toolkit_learns_chunks(
    name: str, with_vectors: bool, docs: list[Doc], vectors: Path
) -> None:
    if name not in toolkits.installed():
        pytest.skip(f"{name} is not there: {HOW_TO_GET.get(name, PEERS)}")
    torch.manual_seed(0)
    tagger: Any = toolkits.make_toolkit(name, docs, vectors if with_vectors else None, 40)
    for _ in range(100):
        tagger.train(2, len(docs))
    words = [[token.text for token in doc] for doc in docs]
    assert chunks_of(name, tagger.tag(words)) == CHUNKS
    for whole in (True, False):
        tagger.tagging(docs, whole=whole)()


def test_those_that_are_there_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"flair": object(), "stanza": None, "model.seqlabel": object()}
    monkeypatch.setattr(toolkits, "find_spec", there.__getitem__)
    assert toolkits.installed() == ("flair", "ncrfpp")


def test_a_toolkit_whose_parent_is_not_there_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolkits, "TOOLKITS", {"ncrfpp": "no_such_package.seqlabel"})
    assert toolkits.installed() == ()


def test_a_checkout_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "ncrfpp":
            raise PackageNotFoundError(name)
        return "0.15"

    monkeypatch.setattr(toolkits, "installed", lambda: ("flair", "ncrfpp"))
    monkeypatch.setattr(toolkits, "version", version)
    assert toolkits.versions() == {"flair": "0.15"}
    figures = {"training, 10": {"flair": 1.0, "ncrfpp": 0.5}}
    results = {
        "machine": toolkits.versions(),
        "sentences": 4,
        "hidden": 8,
        "relative to": {"ncrfpp": figures},
        "overhead": {},
    }
    lines = components_page.tables(results)
    assert {"**ncrfpp = 1**", "| flair 0.15 | 1.00 |", "| ncrfpp | 0.50 |"} <= set(lines)
