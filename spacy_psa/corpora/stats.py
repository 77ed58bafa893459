"""Corpus statistics, for comparison with published figures."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .sentence import Sentence

_TOKEN_LAYERS = ("tags", "pos", "morphs")
_SPAN_LAYERS = ("chunks", "ents")
_TABLE_LABELS = 12
_N_WAITING = 1000
_TABLE_WIDTH = 60


@dataclass
class CorpusStats:
    """The statistics of a corpus.

    docs (int): The number of Docs created.
    documents (int): The number of documents, if the format marks them.
    sentences (int): The number of sentences.
    tokens (int): The number of tokens.
    longest_sentence (int): The number of tokens in the longest sentence.
    lemmas (int): The number of tokens with a lemma.
    predicates (int): The number of predicates.
    labels (Dict[str, Counter[str]]): The frequency of each label in each annotated layer; for
        frames, of argument labels.
    """

    docs: int = 0
    documents: int = 0
    sentences: int = 0
    tokens: int = 0
    longest_sentence: int = 0
    lemmas: int = 0
    predicates: int = 0
    labels: dict[str, Counter[str]] = field(default_factory=dict)

    def count(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """Count sentences while passing them on."""
        # Counting in batches is much faster.
        waiting: dict[str, list[str]] = {}
        try:
            for sentence in sentences:
                self.documents += sentence.starts_document
                self.sentences += 1
                self.tokens += len(sentence.words)
                self.longest_sentence = max(self.longest_sentence, len(sentence.words))
                if sentence.lemmas is not None:
                    self.lemmas += len(sentence.lemmas) - sentence.lemmas.count("")
                self.predicates += len(sentence.frames or ())
                for layer, labels in _labels(sentence):
                    waiting.setdefault(layer, []).extend(labels)
                if self.sentences % _N_WAITING == 0:
                    self._count_labels(waiting)
                yield sentence
        finally:
            self._count_labels(waiting)

    def _count_labels(self, waiting: dict[str, list[str]]) -> None:
        for layer, labels in waiting.items():
            self.labels.setdefault(layer, Counter()).update(labels)
            labels.clear()

    def __add__(self, other: "CorpusStats") -> "CorpusStats":
        """Add the counts of two corpora."""
        layers = list(self.labels) + [layer for layer in other.labels if layer not in self.labels]
        empty: Counter[str] = Counter()
        return CorpusStats(
            docs=self.docs + other.docs,
            documents=self.documents + other.documents,
            sentences=self.sentences + other.sentences,
            tokens=self.tokens + other.tokens,
            longest_sentence=max(self.longest_sentence, other.longest_sentence),
            lemmas=self.lemmas + other.lemmas,
            predicates=self.predicates + other.predicates,
            labels={
                layer: self.labels.get(layer, empty) + other.labels.get(layer, empty)
                for layer in layers
            },
        )

    def has(self, layer: str) -> bool:
        """Check whether a layer is annotated, even without any labels."""
        return self.lemmas > 0 if layer == "lemmas" else layer in self.labels

    def rows(self) -> list[tuple[str, str, str]]:
        """The rows of a table: name, number, labels."""
        numbers = [
            ("documents", self.documents),
            ("sentences", self.sentences),
            ("tokens", self.tokens),
            ("longest sentence", self.longest_sentence),
            ("lemmas", self.lemmas),
            ("predicates", self.predicates),
        ]
        optional = ("documents", "lemmas", "predicates")
        rows = [(name, f"{n:,}", "") for name, n in numbers if n or name not in optional]
        for layer, counts in self.labels.items():
            names = [label for label, _ in counts.most_common(_TABLE_LABELS)]
            while len(", ".join(names)) > _TABLE_WIDTH and len(names) > 1:
                names.pop()
            names += ["…"] if len(counts) > len(names) else []
            found = f"{len(counts)}: {', '.join(names)}" if counts else ""
            rows.append((layer, f"{counts.total():,}", found))
        return rows

    def to_dict(self) -> dict[str, Any]:
        """The numbers, for JSON; lemmas and predicates only if any."""
        numbers = {
            key: value
            for key, value in vars(self).items()
            if key != "labels" and (value or key not in ("lemmas", "predicates"))
        }
        return {
            **numbers,
            "labels": {layer: dict(n.most_common()) for layer, n in self.labels.items()},
        }


def _labels(sentence: Sentence) -> Iterator[tuple[str, Iterable[str]]]:
    """The labels of each annotated layer."""
    for layer in _TOKEN_LAYERS:
        values = getattr(sentence, layer)
        if values is not None:
            yield layer, filter(None, values)
    for layer in _SPAN_LAYERS:
        spans = getattr(sentence, layer)
        if spans is not None:
            yield layer, [label for _, _, label in spans if label]
    if sentence.frames is not None:
        yield "frames", [label for frame in sentence.frames for _, _, label in frame.arguments]
    if sentence.speakers is not None:
        yield "speakers", [sentence.speakers]
