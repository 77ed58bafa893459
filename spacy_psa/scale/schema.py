"""The columns of the output. `VERSION` grows whenever one of them changes its meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from spacy.strings import StringStore
from spacy.tokens import Doc

from ..annotation.propositions import PREDICATE_LABEL, has_frames
from ..pipeline.srl.frames import frames_of
from ..pipeline.tagger.confidence import SCORE, span_score, token_score

VERSION = 1
_PLACE = [("start", pa.int32()), ("end", pa.int32())]
_SPAN = pa.struct([*_PLACE, ("label", pa.string()), ("probability", pa.float32())])
_TOKEN = pa.struct(
    [
        *_PLACE,
        *((name, pa.string()) for name in ("tag", "pos", "morph", "lemma")),
        ("probability", pa.float32()),
    ]
)
_FRAME = pa.struct(
    [
        *_PLACE,
        ("lemma", pa.string()),
        ("sense", pa.string()),
        ("probability", pa.float32()),
        ("arguments", pa.list_(_SPAN)),
    ]
)
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("source", pa.string()),
        ("text", pa.string()),
        ("meta", pa.string()),
        ("tokens", pa.list_(_TOKEN)),
        ("ents", pa.list_(_SPAN)),
        ("spans", pa.map_(pa.string(), pa.list_(_SPAN))),
        ("frames", pa.list_(_FRAME)),
        ("model", pa.string()),
        ("checksum", pa.string()),
    ]
)
# What the other columns of an input cannot be called
RESERVED = (*SCHEMA.names, "error")
_ATTRIBUTES: list[int | str] = ["LENGTH", "SPACY", "TAG", "POS", "MORPH", "LEMMA"]
_FRAMES = "frames"


def annotation_columns(docs: Sequence[Doc], strings: StringStore) -> dict[str, Any]:
    """Make columns of what a pipeline has found."""
    scored = [_has_scores(doc) for doc in docs]
    return {
        "text": pa.array([doc.text for doc in docs], pa.string()),
        "tokens": _tokens(docs, strings, scored),
        "ents": pa.array(
            [
                [_span(ent, span_score(ent) if own else None) for ent in doc.ents]
                for doc, own in zip(docs, scored, strict=True)
            ],
            SCHEMA.field("ents").type,
        ),
        "spans": pa.array([_groups(doc) for doc in docs], SCHEMA.field("spans").type),
        "frames": pa.array([_frames(doc) for doc in docs], SCHEMA.field("frames").type),
    }


def to_table(columns: dict[str, Any], others: Any = None) -> Any:
    """Join the columns of the output with the other columns of the input."""
    n = len(columns["id"])
    arrays = [columns[f.name] if f.name in columns else pa.nulls(n, f.type) for f in SCHEMA]
    fields = list(SCHEMA)
    if others is not None:
        arrays += others.columns
        fields += list(others.schema)
    schema = pa.schema(fields, metadata={"psa_schema": str(VERSION)})
    return pa.Table.from_arrays(arrays, schema=schema)


def _tokens(docs: Sequence[Doc], strings: StringStore, scored: Sequence[bool]) -> Any:
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
    probabilities = pa.nulls(len(rows), pa.float32())
    if any(scored):
        values = [
            token_score(token) if own else None
            for doc, own in zip(docs, scored, strict=True)
            for token in doc
        ]
        probabilities = pa.array(values, pa.float32())
    columns = [
        pa.array(starts, pa.int32()),
        pa.array(starts + length, pa.int32()),
        *(_names(rows[:, i], strings, _ATTRIBUTES[i]) for i in range(2, len(_ATTRIBUTES))),
        probabilities,
    ]
    tokens = pa.StructArray.from_arrays(columns, fields=list(_TOKEN))
    return pa.ListArray.from_arrays(pa.array(offsets), tokens)


def _names(values: NDArray[np.uint64], strings: StringStore, attribute: int | str) -> Any:
    """The strings of a column of hashes, each looked up once; null for what is not annotated."""
    distinct, places = np.unique(values, return_inverse=True)
    names = [strings[int(value)] if value else None for value in distinct]
    if attribute == "MORPH":  # spaCy's analysis without features
        names = ["" if name == "_" else name for name in names]
    return pa.array(names, pa.string()).take(pa.array(places))


def _has_scores(doc: Doc) -> bool:
    return any(isinstance(key, tuple) and key[1] == SCORE for key in doc.user_data)


def _span(span: Any, probability: float | None) -> dict[str, Any]:
    return {
        "start": span.start_char,
        "end": span.end_char,
        "label": span.label_,
        "probability": probability,
    }


def _groups(doc: Doc) -> list[tuple[str, list[dict[str, Any]]]]:
    groups = []
    for key, group in doc.spans.items():
        if key.partition("/")[0] == _FRAMES and has_frames(doc):
            continue
        scores = group.attrs.get("scores")
        known = scores if scores is not None and len(scores) == len(group) else [None] * len(group)
        groups.append((key, [_span(*pair) for pair in zip(group, known, strict=True)]))
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
                "probability": frame.probability,
                "arguments": [
                    _span(*pair)
                    for pair in zip(frame.group, known, strict=True)
                    if pair[0].label_ != PREDICATE_LABEL
                ],
            }
        )
    return found
