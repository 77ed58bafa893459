"""`spacy psa fetch` and `spacy psa treebank`: get text files, and verify them."""

import json
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Annotated
from urllib.parse import unquote, urlsplit

import typer

from ..disk import sha256_of
from ..errors import Errors, check_choice
from ..output_errors import output_errors
from ..terminal import ProgressBar, msg
from ._util import (
    atomic_path,
    is_stdout,
    messages,
    paper_command,
    user_errors,
)

BLOCK_SIZE = 1 << 16
TIMEOUT = 60.0
MAX_DOWNLOAD = 1 << 32


@paper_command("fetch")
def fetch_cli(
    url: Annotated[str, typer.Argument(metavar="URL", help="URL of the file, plain or .gz")],
    path: Annotated[Path, typer.Option("--output", "-o", help="Uncompressed text file to write")],
    sha256: Annotated[str, typer.Option("--sha256", "-s", help="SHA-256 of the uncompressed text")],
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
    path = Path("/dev/stdout") if to_stdout else path
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

    with open_binary(archive, source) as packed:
        shutil.copyfileobj(packed, text, BLOCK_SIZE)


def _unpack(archive: Path, path: Path, sha256: str, source: str | None = None) -> None:
    """Write the uncompressed text of a file, if it has the right checksum."""
    source = source or str(archive)
    with atomic_path(path) as temporary:
        with temporary.open("wb") as text:
            copy_text(archive, text, source)
        _verify(temporary, sha256, source)


def _verify(path: Path, expected: str | None, source: object) -> str:
    """Check the SHA-256 of a file, if it is known, and return it."""
    found = sha256_of(path)
    if expected is not None and found != expected.lower():
        raise ValueError(Errors.P130.format(source=source, found=found, expected=expected))
    return found


URL = "https://raw.githubusercontent.com/UniversalDependencies"
RELEASE = "r2.2"
SPLITS = ("train", "dev", "test")
DATA = Path(__file__).parents[1] / "corpora" / "treebanks.json"


@dataclass(frozen=True)
class Treebank:
    """A treebank used in the papers.

    repository (str): Its repository.
    name (str): The prefix of its file names.
    lang (str): spaCy's language code.
    train (List[str]): The parts of the training data; large treebanks have several.
    sha256 (Dict[str, str]): The SHA-256 of each split, if known.
    """

    repository: str
    name: str
    lang: str
    train: list[str] = field(default_factory=lambda: ["train"])
    sha256: dict[str, str] = field(default_factory=dict)

    def files(self, split: str) -> list[str]:
        """The names of the files of a split."""
        parts = self.train if split == "train" else [split]
        return [f"{self.name}-ud-{part}.conllu" for part in parts]


def treebanks() -> dict[str, Treebank]:
    """The treebanks, by their code in the papers."""
    data = json.loads(DATA.read_text(encoding="utf8"))
    return {code: Treebank(**entry) for code, entry in data.items()}


@paper_command("treebank")
def treebank_cli(
    code: Annotated[str, typer.Argument(metavar="CODE", help="cs, da, en, fr, nl, no, pt or sv")],
    folder: Annotated[
        Path,
        typer.Option("--output", "-o", help="Folder for {train,dev,test}.conllu and stats.xml"),
    ],
    local: Annotated[
        str,
        typer.Option(
            "--local", "-l", help="Folder with the files of the release, instead of download"
        ),
    ] = "",
    url: Annotated[str, typer.Option("--url", "-u", help="URL of the treebank repositories")] = URL,
) -> None:
    """
    Get the treebank used in papers for a language. It is from Universal Dependencies 2.2.

    Files with a known checksum are verified. Existing files are kept.
    """
    with user_errors():
        for path, sha256, is_known in fetch_treebank(code, folder, local=local, url=url):
            note = (
                "verified"
                if is_known
                else f"not verified, no known checksum; its SHA-256: {sha256}"
            )
            msg.good(f"{path} ({note})")


def fetch_treebank(
    code: str, folder: Path, *, local: str = "", url: str = URL
) -> list[tuple[Path, str, bool]]:
    """Get the files of a treebank. Each is written atomically."""
    known = treebanks()
    check_choice("treebank", code, known)
    treebank = known[code]
    address = f"{url}/{treebank.repository}/{RELEASE}"
    results = []
    for split in SPLITS:
        path, expected = folder / f"{split}.conllu", treebank.sha256.get(split)
        if not path.is_file():
            _get(address, treebank.files(split), path, local, expected)
        results.append((path, _verify(path, expected, path), expected is not None))
    has_stats = not local or _has(Path(local), "stats.xml")
    if has_stats and not (folder / "stats.xml").is_file():
        _get(address, ["stats.xml"], folder / "stats.xml", local, None)
    return results


def _get(address: str, names: list[str], path: Path, local: str, expected: str | None) -> None:
    """Concatenate files into one, if that has the right checksum."""
    with atomic_path(path) as temporary, tempfile.TemporaryDirectory() as folder:
        with temporary.open("wb") as whole:
            for name in _joined(names, local):
                part = Path(folder) / name
                if local:
                    part = find_local(name, Path(local))
                else:
                    download(f"{address}/{name}", part)
                copy_text(part, whole, str(part))
        _verify(temporary, expected, f"{local or address}/{names[0]}")


def _joined(names: list[str], local: str) -> list[str]:
    """In the archive of the release, large files are not split into parts."""
    whole = re.sub(r"-train-\w(?=\.conllu)", "-train", names[0])
    return [whole] if local and _has(Path(local), whole) else names


def _has(folder: Path, name: str) -> bool:
    """Whether a folder has a file, compressed or not."""
    return any((folder / found).is_file() for found in (name, f"{name}.gz"))
