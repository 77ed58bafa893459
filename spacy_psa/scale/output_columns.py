"""The columns of the output, as Python has them: `schema` makes tables of them. `VERSION` grows
whenever one of them changes its meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.strings import StringStore
from spacy.tokens import Doc

from ..annotation.propositions import PREDICATE_LABEL, has_frames
from ..pipeline.srl.frames import frames_of
from ..pipeline.tagger.confidence import SCORE, span_score, token_score

VERSION = 1
# In their order, which `schema.SCHEMA` has, too
NAMES = (
    *("id", "source", "text", "meta", "tokens", "ents", "spans", "frames"),
    *("model", "checksum"),
)
# What the other columns of an input cannot be called
RESERVED = (*NAMES, "error")
_ATTRIBUTES: list[int | str] = ["LENGTH", "SPACY", "TAG", "POS", "MORPH", "LEMMA"]
STRINGS = ("tag", "pos", "morph", "lemma")
_FRAMES = "frames"


@dataclass(frozen=True)
class Tokens:
    """The tokens of documents, one document after the other.

    offsets (NDArray): Where each document begins, and the last one ends. Shape: (documents + 1,).
    starts, ends (NDArray): The places of the tokens in their texts. Shape: (tokens,).
    strings (Dict[str, Tuple[List[Optional[str]], NDArray]]): For each of `STRINGS`, the distinct
        values, None for what is not annotated, and the index of each token's.
    probabilities (Optional[List[Optional[float]]]): Those of the tokens; None if none has one.
    """

    offsets: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    strings: dict[str, tuple[list[str | None], NDArray[np.int64]]]
    probabilities: list[float | None] | None

    def rows(self) -> Iterator[list[dict[str, Any]]]:
        """YIELDS (List[Dict[str, Any]]): The tokens of each document."""
        n = len(self.starts)
        values = [self.starts.tolist(), self.ends.tolist()]
        values += [[names[i] for i in at.tolist()] for names, at in self.strings.values()]
        values.append(self.probabilities or [None] * n)
        keys = ("start", "end", *self.strings, "probability")
        tokens = [dict(zip(keys, row, strict=True)) for row in zip(*values, strict=True)]
        for i, j in zip(self.offsets[:-1], self.offsets[1:], strict=True):
            yield tokens[i:j]


def annotation_columns(docs: Sequence[Doc], strings: StringStore) -> dict[str, Any]:
    """Make columns of what a pipeline has found."""
    scored = [_has_scores(doc) for doc in docs]
    return {
        "text": [doc.text for doc in docs],
        "tokens": _tokens(docs, strings, scored),
        "ents": [
            [_span(ent, span_score(ent) if own else None) for ent in doc.ents]
            for doc, own in zip(docs, scored, strict=True)
        ],
        "spans": [_groups(doc) for doc in docs],
        "frames": [_frames(doc) for doc in docs],
    }


def rows_of_columns(columns: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Turn columns into rows, in which `spans` is a dict."""
    found = {
        **columns,
        "tokens": columns["tokens"].rows(),
        "spans": map(dict, columns["spans"]),
    }
    for values in zip(*(found[name] for name in NAMES), strict=True):
        yield dict(zip(NAMES, values, strict=True))


def _tokens(docs: Sequence[Doc], strings: StringStore, scored: Sequence[bool]) -> Tokens:
    counts = [len(doc) for doc in docs]
    rows = np.concatenate(
        [doc.to_array(_ATTRIBUTES).reshape(-1, len(_ATTRIBUTES)) for doc in docs]
        or [np.zeros((0, len(_ATTRIBUTES)), dtype=np.uint64)]
    )
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    length, space = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)
    # Counted through all documents first, then from the start of each
    after = np.concatenate([[0], np.cumsum(length + space)])
    starts = after[:-1] - np.repeat(after[offsets[:-1]], counts)
    probabilities = None
    if any(scored):
        probabilities = [
            _rounded(token_score(token)) if own else None
            for doc, own in zip(docs, scored, strict=True)
            for token in doc
        ]
    names = {name: _names(rows[:, 2 + i], strings, name) for i, name in enumerate(STRINGS)}
    return Tokens(offsets, starts, starts + length, names, probabilities)


def _names(
    values: NDArray[np.uint64], strings: StringStore, attribute: str
) -> tuple[list[str | None], NDArray[np.int64]]:
    """The strings of a column of hashes, each looked up once; None for what is not annotated."""
    distinct, places = np.unique(values, return_inverse=True)
    names = [strings[int(value)] if value else None for value in distinct]
    if attribute == "morph":  # spaCy's analysis without features
        names = ["" if name == "_" else name for name in names]
    return names, places


def _has_scores(doc: Doc) -> bool:
    return any(isinstance(key, tuple) and key[1] == SCORE for key in doc.user_data)


def _rounded(probability: float | None) -> float | None:
    """A probability as all formats have it: in float32."""
    return None if probability is None else float(np.float32(probability))


def _span(span: Any, probability: float | None) -> dict[str, Any]:
    return {
        "start": span.start_char,
        "end": span.end_char,
        "label": span.label_,
        "probability": _rounded(probability),
    }


def _groups(doc: Doc) -> list[tuple[str, list[dict[str, Any]]]]:
    groups = []
    for key, group in doc.spans.items():
        if key.partition("/")[0] == _FRAMES and has_frames(doc):
            continue
        spans, scores = list(group), group.attrs.get("scores")
        known = scores if scores is not None and len(scores) == len(spans) else repeat(None)
        groups.append((key, list(map(_span, spans, known))))
    return groups


def _frames(doc: Doc) -> list[dict[str, Any]]:
    found = []
    for frame in frames_of(doc) if has_frames(doc) else ():
        token = frame.predicate
        known = frame.group.attrs.get("probabilities") or [None] * len(frame.group)
        found.append(
            {
                "start": token.idx,
                "end": token.idx + len(token),
                "lemma": frame.lemma,
                "sense": frame.sense,
                "probability": _rounded(frame.probability),
                "arguments": [
                    _span(*pair)
                    for pair in zip(frame.group, known, strict=True)
                    if pair[0].label_ != PREDICATE_LABEL
                ],
            }
        )
    return found
