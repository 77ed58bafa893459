"""Other toolkits learn what they are given, and give it back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import spacy
import torch
from spacy.tokens import Doc, Span

from benchmarks import components, toolkits

CHUNKS = [[(0, 1, "NP"), (1, 3, "VP"), (4, 5, "NP")], [(0, 3, "NP"), (3, 4, "VP")]]


@pytest.fixture
def docs() -> list[Doc]:
    nlp = spacy.blank("en")
    made = []
    texts = (["We", "can", "fish", "in", "town"], ["The", "old", "man", "sleeps"])
    for words, chunks in zip(texts, CHUNKS, strict=True):
        doc = Doc(nlp.vocab, words=words)
        doc.spans["chunks"] = doc.ents = [Span(doc, *chunk) for chunk in chunks]
        components.tag_chunks(doc)
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
    return [
        [(span[0].idx - 1, span[-1].idx, span.tag) for span in sentence.get_spans()]
        for sentence in found
    ]


@pytest.mark.parametrize("with_vectors", [True, False])
@pytest.mark.parametrize("name", toolkits.TOOLKITS)
def test_a_toolkit_learns_chunks(
    name: str, with_vectors: bool, docs: list[Doc], vectors: Path
) -> None:
    pytest.importorskip(name, reason=f"{name} is not installed: pip install -e '.[peers]'")
    torch.manual_seed(0)
    tagger: Any = toolkits.make_toolkit(name, docs, vectors if with_vectors else None, 40)
    for _ in range(100):
        tagger.train(2, len(docs))
    words = [[token.text for token in doc] for doc in docs]
    assert chunks_of(name, tagger.tag(words)) == CHUNKS
    for whole in (True, False):
        tagger.tagging(docs, whole=whole)()


def test_those_that_are_there_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"flair": object(), "stanza": None}
    monkeypatch.setattr(toolkits, "find_spec", there.__getitem__)
    assert toolkits.installed() == ("flair",)
