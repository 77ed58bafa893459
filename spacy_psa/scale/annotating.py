"""Annotate documents in flat memory. One that fails does not take others with it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from .output_columns import annotation_columns
from .reading import Chunk, Failure, Record

# Long enough for full batches, short enough to stay in the memory of a small machine
N_DOCS = 1024
# Found again without their features and their tokenization being worked out again
KEPT_WORDS = 20_000
Pairs = Sequence[tuple[Record, Doc]]


@dataclass(frozen=True)
class Annotator:
    """A pipeline that annotates chunks.

    nlp (Language): The pipeline.
    batch_size (int): The number of documents in a batch.
    name (str): What the output calls the pipeline.
    checksum (str): The SHA-256 of the pipeline.
    """

    nlp: Language
    batch_size: int
    name: str
    checksum: str

    @classmethod
    def of(cls, nlp: Language, batch_size: int | None = None) -> Annotator:
        """Make an annotator."""
        meta = nlp.meta
        name = f"{meta['lang']}_{meta['name']} {meta['version']}"
        return cls(nlp, batch_size or nlp.batch_size, name, checksum_of(nlp))

    @property
    def n_docs(self) -> int:
        """RETURNS (int): The number of documents in a chunk: full batches."""
        return self.batch_size * max(1, N_DOCS // self.batch_size)

    def zone(self) -> AbstractContextManager[Any]:
        """A context after which the vocabulary forgets what documents have added to it, once it has
        enough words."""
        return self.nlp.memory_zone() if len(self.nlp.vocab) > KEPT_WORDS else nullcontext()

    def annotate(
        self, records: Sequence[Record], failures: list[Failure]
    ) -> Iterator[tuple[Record, Doc]]:
        """Annotate documents, within `zone`."""
        if not records:
            return
        # Of similar length in each batch, which takes less padding
        order = sorted(range(len(records)), key=lambda i: _length(records[i]))
        inputs = ((self._input(records[i]), i) for i in order)
        try:
            pairs = list(self.nlp.pipe(inputs, as_tuples=True, batch_size=self.batch_size))
        except Exception as error:
            half = len(records) // 2
            if half:
                yield from self.annotate(records[:half], failures)
                yield from self.annotate(records[half:], failures)
            else:
                failures.append(_failure(records[0], f"{type(error).__name__}: {error}"))
            return
        # A Doc that a component has made anew does not know its index
        places = order if len(pairs) == len(records) else [i for _, i in pairs]
        found = {i: doc for i, (doc, _) in zip(places, pairs, strict=True)}
        for i, record in enumerate(records):
            if i in found:
                yield record, found[i]
            else:
                failures.append(_failure(record, "The pipeline's error handler dropped it"))

    def _input(self, record: Record) -> str | Doc:
        if isinstance(record.content, str):
            return record.content
        words, spaces = record.content
        return Doc(self.nlp.vocab, words=words, spaces=spaces)

    def columns(self, pairs: Pairs) -> dict[str, Any]:
        """Make columns of annotated documents."""
        n = len(pairs)
        return {
            **{key: [getattr(r, key) for r, _ in pairs] for key in ("id", "source", "meta")},
            **annotation_columns([doc for _, doc in pairs], self.nlp.vocab.strings),
            "model": [self.name] * n,
            "checksum": [self.checksum] * n,
        }


def others_of(chunk: Chunk, pairs: Pairs) -> Any:
    """RETURNS (Optional[RecordBatch]): The other columns of the documents that did not fail."""
    if chunk.others is None or len(pairs) == len(chunk.records):
        return chunk.others
    import pyarrow as pa

    kept = {record.row for record, _ in pairs}
    rows = [i for i, record in enumerate(chunk.records) if record.row in kept]
    return chunk.others.take(pa.array(rows, pa.int64()))


def checksum_of(nlp: Language) -> str:
    """RETURNS (str): The SHA-256 of a pipeline's config, components, tokenizer and vectors."""
    found = hashlib.sha256(nlp.config.to_str().encode())
    found.update(nlp.to_bytes(exclude=["vocab", "meta.json", "config.cfg"]))
    if nlp.vocab.vectors.size:
        found.update(nlp.vocab.vectors.to_bytes())
    return found.hexdigest()


def _length(record: Record) -> int:
    """The number of characters, or of words if they are given."""
    return len(record.content if isinstance(record.content, str) else record.content[0])


def _failure(record: Record, error: str) -> Failure:
    content = record.content
    if not isinstance(content, str):
        content = "".join(w + " " * s for w, s in zip(*content, strict=True))
    return Failure(record.id, record.source, content, error, record.row)
