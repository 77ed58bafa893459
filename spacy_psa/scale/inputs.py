"""Find the files to annotate: files, folders, patterns and URIs of pyarrow's file systems."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from ..disk import walk
from ..errors import Errors

KINDS = (".txt", ".jsonl", ".parquet", ".spacy")
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
COMPRESSIBLE = (".txt", ".jsonl")
_WILD = frozenset("*?[")


@dataclass(frozen=True)
class Source:
    """A file to read.

    name (str): Its name in the output: the path as given, or the URI.
    path (str): Its path in its file system.
    root (str): The URI that its file system was found by; empty for a local file.
    kind (str): One of `KINDS`.
    compression (Optional[str]): One of the values of `COMPRESSIONS`.
    size (int): Its size in bytes.
    """

    name: str
    path: str
    root: str
    kind: str
    compression: str | None
    size: int

    def open(self) -> Any:
        """RETURNS (NativeFile): The uncompressed bytes, which can be sought in if they are stored
        uncompressed."""
        files = file_system(self.root)
        if self.compression is None:
            return files.open_input_file(self.path)
        return files.open_input_stream(self.path, compression=self.compression)


@lru_cache
def file_system(root: str) -> Any:
    """RETURNS (FileSystem): pyarrow's file system for a URI, or the local one."""
    return fs.FileSystem.from_uri(root)[0] if root else fs.LocalFileSystem()


def find_sources(inputs: Iterable[str]) -> tuple[list[Source], int]:
    """Find the files to read."""
    found: dict[tuple[str, str], Source] = {}
    unknown = 0
    for given in inputs:
        try:
            files, is_list = (_remote if "://" in given else _local)(given)
        except (OSError, pa.ArrowException) as error:
            reason = str(error).partition("\n")[0].rstrip(".")
            raise ValueError(Errors.P502.format(path=given, reason=reason)) from error
        known = 0
        for name, path, root, size in files:
            kind, compression = _kind_of(name)
            if kind is not None:
                known += 1
                found.setdefault((root, path), Source(name, path, root, kind, compression, size))
            elif not is_list:
                raise ValueError(Errors.P503.format(path=name, kinds=", ".join(KINDS)))
            else:
                unknown += 1
        if not known:
            raise ValueError(Errors.P501.format(path=given, kinds=", ".join(KINDS)))
    return list(found.values()), unknown


def check_parquet(source: Source, column: str, reserved: Iterable[str]) -> Any:
    """Check a Parquet file before any work."""
    try:
        with source.open() as opened:
            file = pq.ParquetFile(opened)
            metadata, schema = file.metadata, file.schema_arrow
    except (OSError, pa.ArrowException) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(Errors.P504.format(path=source.name, reason=reason)) from error
    check_columns(schema, column, reserved, source.name)
    return metadata


def check_columns(schema: Any, column: str, reserved: Iterable[str], name: str) -> None:
    """Check the columns of a table."""
    texts = [field.name for field in schema if _is_text(field.type)]
    if column not in texts:
        options = ", ".join(texts) or "none"
        raise ValueError(Errors.P505.format(path=name, column=column, options=options))
    taken = sorted({*schema.names} & ({*reserved} - {column, "id", "source"}))
    if taken:
        raise ValueError(Errors.P506.format(path=name, columns=", ".join(taken)))


def _is_text(kind: Any) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _kind_of(name: str) -> tuple[str | None, str | None]:
    """The kind and the compression of a file, by its name."""
    path = PurePosixPath(name.lower())
    compression = COMPRESSIONS.get(path.suffix)
    kind = PurePosixPath(path.stem).suffix if compression else path.suffix
    options = COMPRESSIBLE if compression else KINDS
    return (kind, compression) if kind in options else (None, None)


_Found = tuple[str, str, str, int]


def _local(given: str) -> tuple[Iterator[_Found], bool]:
    path = Path(given)
    if path.is_dir():
        paths = list(walk(path))
    elif path.is_file():
        paths = [path]
    else:
        wild = not _WILD.isdisjoint(given)
        named = sorted(glob.glob(given, recursive=True)) if wild else []
        paths = [Path(name) for name in named if os.path.isfile(name)]
    files = ((str(p), os.path.abspath(p), "", p.stat().st_size) for p in paths)
    return files, not path.is_file()


def _remote(given: str) -> tuple[Iterator[_Found], bool]:
    files, path = fs.FileSystem.from_uri(given)
    scheme = given.partition("://")[0]
    info = files.get_file_info(path)
    if info.type == fs.FileType.File:
        infos = [info]
    elif info.type == fs.FileType.Directory:
        infos = files.get_file_info(fs.FileSelector(path, recursive=True))
    else:
        parts = path.split("/")
        wild = next((i for i, part in enumerate(parts) if not _WILD.isdisjoint(part)), len(parts))
        base = fs.FileSelector("/".join(parts[:wild]), recursive=True, allow_not_found=True)
        infos = files.get_file_info(base) if wild < len(parts) else []
        infos = [found for found in infos if fnmatch(found.path, path)]
    infos = sorted((i for i in infos if i.type == fs.FileType.File), key=lambda i: i.path)
    shown = [i for i in infos if not i.base_name.startswith(".")]
    names = ((f"{scheme}://{i.path}", i.path, given, i.size) for i in shown)
    return names, info.type != fs.FileType.File
