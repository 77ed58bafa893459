"""Write shards: each appears whole, or not at all."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spacy.tokens import DocBin

from ..atomic_files import atomic_path
from ..errors import Errors
from .annotating import Annotator, Pairs, others_of
from .output_columns import rows_of_columns
from .reading import Chunk, Failure


class JsonShard:
    """A shard of JSON lines, in which what is null or not finite is left out.

    path (Path): The file.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf8")

    def write(self, annotator: Annotator, chunk: Chunk, pairs: Pairs) -> None:
        rows = rows_of_columns(annotator.columns(pairs))
        for row, more in zip(rows, _others(chunk, pairs), strict=True):
            text = json.dumps(_without_nulls(row | more), ensure_ascii=False, default=str)
            self._file.write(text + "\n")

    def close(self) -> None:
        self._file.close()


class DocBinShard:
    """A shard in spaCy's format. `doc.user_data["psa_apply"]` has the other columns.

    path (Path): The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._docs = DocBin(store_user_data=True)

    def write(self, annotator: Annotator, chunk: Chunk, pairs: Pairs) -> None:
        for (record, doc), more in zip(pairs, _others(chunk, pairs), strict=True):
            meta = record.meta
            if meta is None:
                meta = json.dumps(_without_nulls(more), ensure_ascii=False, default=str)
            doc.user_data["psa_apply"] = {
                "id": record.id,
                "source": record.source,
                "meta": meta,
                "model": annotator.name,
                "checksum": annotator.checksum,
            }
            try:
                self._docs.add(doc)
            except TypeError as error:
                raise ValueError(Errors.P496.format(id=record.id, reason=error)) from error

    def close(self) -> None:
        self._docs.to_disk(self._path)


def _others(chunk: Chunk, pairs: Pairs) -> list[dict[str, Any]]:
    """The other columns of a Parquet file, as rows."""
    others = others_of(chunk, pairs)
    if others is None or not pairs:
        return [{}] * len(pairs)
    columns = []
    for name, column in zip(others.schema.names, others.columns, strict=True):
        try:
            columns.append(column.to_pylist())
        except (ValueError, OverflowError) as error:  # not UTF-8, or a time that Python has not
            names = {"column": name, "path": pairs[0][0].source, "reason": error}
            raise ValueError(Errors.P497.format(**names)) from error
    return [dict(zip(others.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]


def _make_shard(path: Path, form: str) -> Any:
    if form == "parquet":
        from .parquet import ParquetShard

        return ParquetShard(path)
    return {"jsonl": JsonShard, "spacy": DocBinShard}[form](path)


@dataclass(frozen=True)
class Entry:
    """What the manifest says of a finished block.

    block (int): Its number.
    shard (str): The file with its documents.
    errors (Optional[str]): The file with those that failed; None if there are none.
    documents (int): The number of annotated documents.
    words (int): The number of their tokens.
    failed (int): The number of documents that failed.
    size (int): The size of the block in bytes.
    seconds (float): The processor time that it took.
    """

    block: int
    shard: str
    errors: str | None
    documents: int
    words: int
    failed: int
    size: int
    seconds: float

    @property
    def files(self) -> list[str]:
        """RETURNS (List[str]): The names of its files."""
        return [self.shard, *([self.errors] if self.errors else [])]

    def to_json(self) -> str:
        """RETURNS (str): The entry as a line of the manifest."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Entry:
        """RETURNS (Entry): The entry of `to_json`."""
        return cls(**json.loads(text))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        found = {key: _without_nulls(v) for key, v in value.items()}
        return {key: v for key, v in found.items() if v is not None}
    if isinstance(value, list | tuple):  # those of a map
        return [_without_nulls(v) for v in value]
    # JSON has no NaN
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def open_shard(path: Path, form: str) -> Iterator[Any]:
    """Write a shard, which appears when the block ends."""
    with atomic_path(path) as temporary:
        shard = _make_shard(temporary, form)
        try:
            yield shard
        finally:
            shard.close()


def write_failures(path: Path, failures: Sequence[Failure]) -> None:
    """Write the documents that failed, as JSON lines that can be annotated again."""
    names = ("id", "source", "text", "error")
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf8") as file:
        for failure in failures:
            found = {name: getattr(failure, name) for name in names}
            if failure.original is not None:
                found["bytes"] = base64.b64encode(failure.original).decode()
            file.write(json.dumps(found) + "\n")
