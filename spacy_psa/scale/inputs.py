"""Find the files to annotate: files, folders, patterns and URIs of pyarrow's file systems."""

from __future__ import annotations

import glob
import gzip
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from ..disk import walk
from ..errors import Errors, reason_of
from ..printable import replace_undecoded
from .bulk import require

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
        """RETURNS (BinaryIO): The uncompressed bytes, which can be sought in if they are stored
        uncompressed."""
        if not self.needs_pyarrow:
            return gzip.open(self.path) if self.compression else open(self.path, "rb")
        files = _file_system(self.root)
        if self.compression is None:
            return files.open_input_file(self.path)
        return files.open_input_stream(self.path, compression=self.compression)

    @property
    def needs_pyarrow(self) -> bool:
        """Whether pyarrow reads it."""
        return bool(self.root) or self.kind == ".parquet" or self.compression == "zstd"


@lru_cache
def _file_system(root: str) -> Any:
    """pyarrow's file system for a URI, or the local one."""
    from pyarrow import fs

    return fs.FileSystem.from_uri(root)[0] if root else fs.LocalFileSystem()


def read_errors() -> tuple[type[Exception], ...]:
    """RETURNS (Tuple[Type[Exception], ...]): What reading may raise."""
    own = (OSError, EOFError, zlib.error)
    return (*own, sys.modules["pyarrow"].ArrowException) if sys.modules.get("pyarrow") else own


def find_sources(inputs: Iterable[str]) -> tuple[list[Source], list[str]]:
    """Find the files to read, and the names of those of no known kind."""
    found: dict[tuple[str, ...], Source] = {}
    unknown: dict[str, None] = {}
    for given in inputs:
        try:
            files, is_list = (_remote if "://" in given else _local)(given)
        except read_errors() as error:
            raise ValueError(Errors.P502.format(path=given, reason=reason_of(error))) from error
        known = 0
        for name, path, root, size in files:
            kind, compression = _kind_of(name)
            if kind is not None:
                known += 1
                source = Source(name, path, root, kind, compression, size)
                if source.needs_pyarrow:
                    require("pyarrow", f"Reading '{name}'", "scale")
                found.setdefault((*_file_system_of(root), path), source)
            elif not is_list:
                raise ValueError(Errors.P503.format(path=name, kinds=", ".join(KINDS)))
            else:
                unknown[name] = None
        if not known:
            raise ValueError(Errors.P501.format(path=given, kinds=", ".join(KINDS)))
    if not found:
        raise ValueError(Errors.P501.format(path="[]", kinds=", ".join(KINDS)))
    return list(found.values()), list(unknown)


def _file_system_of(root: str) -> tuple[str, ...]:
    """What a URI says of its file system; nothing for the local one."""
    uri = urlsplit(root)
    return () if uri.scheme in ("", "file") else (uri.scheme, uri.netloc, uri.query)


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
    files = ((replace_undecoded(str(p)), os.path.abspath(p), "", p.stat().st_size) for p in paths)
    return files, not path.is_file()


def _remote(given: str) -> tuple[Iterator[_Found], bool]:
    require("pyarrow", f"Reading '{given}'", "scale")
    from pyarrow import fs

    files, path = fs.FileSystem.from_uri(given)
    scheme = given.partition("://")[0]
    info = files.get_file_info(path)
    if info.type == fs.FileType.File:
        infos, path = [info], info.path
    elif info.type == fs.FileType.Directory:
        infos = files.get_file_info(fs.FileSelector(path, recursive=True))
    else:
        parts = path.split("/")
        wild = next((i for i, part in enumerate(parts) if not _WILD.isdisjoint(part)), len(parts))
        base = "/".join(parts[:wild])
        selector = fs.FileSelector(base, recursive=True, allow_not_found=True)
        infos = files.get_file_info(selector) if wild < len(parts) else []
        infos, path = [found for found in infos if fnmatch(found.path, path)], base
    infos = sorted((i for i in infos if i.type == fs.FileType.File), key=lambda i: i.path)
    # Not hidden, nor in a hidden folder, below what is named
    shown = [i for i in infos if "/." not in i.path[len(path.rstrip("/")) :]]
    names = ((f"{scheme}://{i.path}", i.path, given, i.size) for i in shown)
    return names, info.type != fs.FileType.File
