"""`spacy psa fetch`: get a text file from the network or a folder, and verify it."""

import gzip
import shutil
import tempfile
import zlib
from pathlib import Path
from typing import IO, Annotated
from urllib.parse import unquote, urlsplit

import typer

from ..disk import sha256_of
from ..errors import Errors
from ..output_errors import output_errors
from ..terminal import msg
from ._util import atomic_path, is_stdout, messages, psa_cli, user_errors

BLOCK_SIZE = 1 << 16
TIMEOUT = 60.0
MAX_DOWNLOAD = 1 << 32


@psa_cli.command("fetch")
def fetch_cli(
    url: Annotated[str, typer.Argument(metavar="URL", help="URL of the file, plain or .gz")],
    path: Annotated[Path, typer.Argument(metavar="DEST", help="Uncompressed text file to write")],
    sha256: Annotated[str, typer.Option("--sha256", "-c", help="SHA-256 of the uncompressed text")],
    local: Annotated[
        str,
        typer.Option(
            "--local",
            "-l",
            help="Folder with a local copy of the file, with or without .gz; empty to download it",
        ),
    ] = "",
) -> None:
    """
    Get a text file and verify its checksum.

    The file is downloaded or read from a folder, and unpacked. An existing file with the right
    checksum is left as it is.
    """
    to_stdout = is_stdout(path)
    with user_errors(to_stdout=to_stdout):
        if path.is_file() and sha256_of(path) == sha256.lower():
            msg.info(f"{path} already exists")
            return
        fetch(url, path, sha256=sha256, local=local)
    with messages(to_stdout=to_stdout):
        msg.good(f"Wrote {path}")


def fetch(url: str, path: Path, *, sha256: str, local: str = "") -> None:
    """Get a text file and verify it. The file is written atomically."""
    if local:
        _unpack(find_local(url, Path(local)), path, sha256)
        return
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "download"
        download(url, archive)
        _unpack(archive, path, sha256, source=url)


def find_local(url: str, folder: Path) -> Path:
    """Find the local copy of a URL in a folder, compressed or not."""
    name = unquote(urlsplit(url).path).rsplit("/", 1)[-1].removesuffix(".gz")
    candidates = [folder / name, folder / f"{name}.gz"]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    names = " or ".join(candidate.name for candidate in candidates)
    raise ValueError(Errors.P131.format(names=names, folder=folder))


class _TooLong(Exception):
    """The server sent more than the limit."""


def download(url: str, path: Path) -> None:
    """Download a file."""
    from http.client import HTTPException, HTTPResponse
    from urllib.error import URLError
    from urllib.request import urlopen

    from ..terminal import ProgressBar

    try:
        with (
            output_errors(path),
            urlopen(url, timeout=TIMEOUT) as response,
            path.open("wb") as file_,
        ):
            size = response.headers.get("Content-Length")
            total = int(size) if size else None
            if isinstance(response, HTTPResponse):
                # Otherwise, what follows is not read. The request asks to close the connection
                response.length = None
            progress = ProgressBar(
                total=total, unit="B", unit_scale=True, desc=path.name, disable=None
            )
            with progress:
                while block := response.read(BLOCK_SIZE):
                    if file_.tell() + len(block) > MAX_DOWNLOAD:
                        raise _TooLong
                    file_.write(block)
                    progress.update(len(block))
            if total not in (None, file_.tell()):
                raise ValueError(f"received {file_.tell():,} bytes, but {total:,} were announced")
    except _TooLong as err:
        raise ValueError(Errors.P422.format(url=url, limit=MAX_DOWNLOAD)) from err
    except (URLError, HTTPException, TimeoutError, ConnectionError, ValueError) as err:
        reason = err.reason if isinstance(err, URLError) else err
        raise ValueError(Errors.P129.format(url=url, reason=reason)) from err


def copy_text(archive: Path, text: IO[bytes], source: str) -> None:
    """Write the uncompressed text of a file."""
    from ..corpora.lines import open_binary

    try:
        with open_binary(archive, source) as packed:
            shutil.copyfileobj(packed, text, BLOCK_SIZE)
    except (EOFError, gzip.BadGzipFile, zlib.error) as err:
        raise ValueError(Errors.P115.format(path=source, where="", reason=err)) from err


def _unpack(archive: Path, path: Path, sha256: str, source: str | None = None) -> None:
    """Write the uncompressed text of a file, if it has the right checksum."""
    source = source or str(archive)
    with atomic_path(path) as temporary:
        with temporary.open("wb") as text:
            copy_text(archive, text, source)
        found = sha256_of(temporary)
        if found != sha256.lower():
            raise ValueError(Errors.P130.format(source=source, found=found, expected=sha256))
