"""Read and write Parquet, and read tables of pyarrow's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..errors import Errors, reason_of
from .annotating import Annotator, Pairs, others_of
from .blocks import Part
from .inputs import Source, read_errors
from .reading import Chunk, Failure, Record, chunks_of
from .schema import to_table

# Parquet's readers want larger row groups than a chunk
_ROW_GROUP_BYTES = 1 << 22


def check_parquet(source: Source, column: str, reserved: Iterable[str]) -> Any:
    """Check a Parquet file before any work; return its metadata."""
    try:
        with source.open() as opened:
            file = pq.ParquetFile(opened)
            metadata, schema = file.metadata, file.schema_arrow
    except read_errors() as error:
        raise ValueError(Errors.P504.format(path=source.name, reason=reason_of(error))) from error
    check_columns(schema, column, reserved, source.name)
    return metadata


def check_columns(schema: Any, column: str, reserved: Iterable[str], name: str) -> None:
    """Check the columns of a table."""
    texts = [field.name for field in schema if _is_text(field.type)]
    if column not in texts:
        options = ", ".join(texts) or "none"
        raise ValueError(Errors.P505.format(path=name, column=column, options=options))
    names, own = schema.names, {column, "id", "source"}
    problems = {
        "with names that the output uses itself": {*names} & ({*reserved} - own),
        "of the same name": {found for found in names if names.count(found) > 1},
        "that cannot be read as text": {
            field.name for field in schema if field.name in own and not _becomes_text(field.type)
        },
    }
    for problem, columns in problems.items():
        if columns:
            listed = ", ".join(sorted(columns))
            raise ValueError(Errors.P506.format(path=name, problem=problem, columns=listed))


def _is_text(kind: Any) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    # An empty table of pandas, or one without any text, has columns of no type
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_null)
    return any(is_kind(kind) for is_kind in kinds)


def _becomes_text(kind: Any) -> bool:
    try:
        pa.nulls(0, kind).cast(pa.string())
    except pa.ArrowException:
        return False
    return not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def read_parquet(part: Part, n_docs: int, column: str) -> Iterator[Chunk]:
    """Read the documents of some row groups."""
    source = part.source.name
    with part.source.open() as opened, closing(pq.ParquetFile(opened)) as file:
        metadata = file.metadata
        row = sum(metadata.row_group(i).num_rows for i in range(part.start))
        groups = list(range(part.start, part.stop))
        for batch in file.iter_batches(n_docs, row_groups=groups):
            names = [f"{source}:{row + i}" for i in range(len(batch))]
            yield from rows_of(batch, n_docs, column, names, source)
            row += len(batch)


def rows_of(
    batch: Any, n_docs: int, column: str, names: Sequence[str], source: str
) -> Iterator[Chunk]:
    """Get the documents of a table."""
    texts = _decoded(batch.column(column))
    ids = _strings(batch, "id", names)
    sources = _strings(batch, "source", [source] * len(texts))
    rest = [name for name in batch.schema.names if name not in (column, "id", "source")]
    others = batch.select(rest) if rest else None
    items = (_item(ids[i], sources[i], text, i) for i, text in enumerate(texts))
    for chunk in chunks_of(items, n_docs):
        if others is not None:
            chunk.others = others.take(pa.array([r.row for r in chunk.records], pa.int64()))
        yield chunk


def _strings(batch: Any, name: str, default: Sequence[str]) -> Sequence[str]:
    if name not in batch.schema.names:
        return default
    values = _decoded(pc.cast(batch.column(name), pa.string()))
    shown = [_shown(v) if isinstance(v, UnicodeDecodeError) else v for v in values]
    return [old if value is None else value for value, old in zip(shown, default, strict=True)]


def _item(name: str, source: str, text: str | UnicodeDecodeError | None, row: int) -> Any:
    if text is None:
        return Failure(name, source, "", "There is no text", row)
    if isinstance(text, UnicodeDecodeError):
        reason = f"Not UTF-8: byte {text.start + 1}"
        return Failure(name, source, _shown(text), reason, row, text.object)
    return Record(name, source, text, row=row)


def _decoded(column: Any) -> list[str | UnicodeDecodeError | None]:
    """The strings of a column, and why those cannot be read that are not UTF-8, as some programs
    write them."""
    try:
        found: list[str | UnicodeDecodeError | None] = column.to_pylist()
    except UnicodeDecodeError:
        found = [_decoded_bytes(data) for data in column.cast(pa.large_binary()).to_pylist()]
    return found


def _decoded_bytes(data: bytes | None) -> str | UnicodeDecodeError | None:
    try:
        return None if data is None else data.decode("utf8")
    except UnicodeDecodeError as error:
        return error


def _shown(error: UnicodeDecodeError) -> str:
    return error.object.decode("utf8", "replace")


def table_of(annotator: Annotator, chunk: Chunk, pairs: Pairs) -> Any:
    """Make a table of annotated documents."""
    return to_table(annotator.columns(pairs), others_of(chunk, pairs))


class ParquetShard:
    """A shard in Parquet.

    path (Path): The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: Any = None
        self._tables: list[Any] = []

    def write(self, annotator: Annotator, chunk: Chunk, pairs: Pairs) -> None:
        self._tables.append(table_of(annotator, chunk, pairs))
        if sum(table.nbytes for table in self._tables) >= _ROW_GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        if self._tables or self._writer is None:
            self._flush()
        self._writer.close()

    def _flush(self) -> None:
        table = pa.concat_tables(self._tables or [to_table({"id": []})])
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, table.schema, compression="zstd")
        self._writer.write_table(table)
        self._tables.clear()
