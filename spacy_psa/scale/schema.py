"""The columns of the output as a table of pyarrow's."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from .output_columns import STRINGS, VERSION, Tokens

_PLACE = [("start", pa.int32()), ("end", pa.int32())]
_SPAN = pa.struct([*_PLACE, ("label", pa.string()), ("probability", pa.float32())])
_TOKEN = pa.struct(
    [*_PLACE, *((name, pa.string()) for name in STRINGS), ("probability", pa.float32())]
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


def to_table(columns: dict[str, Any], others: Any = None) -> Any:
    """Join the columns of the output, of which some may be missing, with the other columns of the
    input."""
    n = len(columns["id"])
    arrays = [
        _array(columns[f.name], f.type) if f.name in columns else pa.nulls(n, f.type)
        for f in SCHEMA
    ]
    fields = list(SCHEMA)
    if others is not None:
        arrays += others.columns
        fields += list(others.schema)
    schema = pa.schema(fields, metadata={"psa_schema": str(VERSION)})
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(column: Any, kind: Any) -> Any:
    if not isinstance(column, Tokens):
        return pa.array(column, kind)
    # Faster than from rows
    columns = [
        pa.array(column.starts, pa.int32()),
        pa.array(column.ends, pa.int32()),
        *(
            pa.array(names, pa.string()).take(pa.array(places))
            for names, places in column.strings.values()
        ),
        pa.nulls(len(column.starts), pa.float32())
        if column.probabilities is None
        else pa.array(column.probabilities, pa.float32()),
    ]
    tokens = pa.StructArray.from_arrays(columns, fields=list(_TOKEN))
    return pa.ListArray.from_arrays(pa.array(column.offsets), tokens)
