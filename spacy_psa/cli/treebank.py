"""`spacy psa treebank`: get a treebank of Universal Dependencies 2.2."""

import json
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from ..disk import sha256_of
from ..errors import Errors
from ..terminal import msg
from ._util import atomic_path, psa_cli, user_errors
from .fetch import copy_text, download, find_local

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


@psa_cli.command("treebank")
def treebank_cli(
    code: Annotated[str, typer.Argument(metavar="CODE", help="cs, da, en, fr, nl, no, pt or sv")],
    folder: Annotated[
        Path,
        typer.Argument(metavar="DEST", help="Folder for {train,dev,test}.conllu and stats.xml"),
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
    Get the treebank used in papers for a language, from Universal Dependencies 2.2.

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
    if code not in known:
        raise ValueError(Errors.P177.format(code=code, options=", ".join(known)))
    treebank = known[code]
    address = f"{url}/{treebank.repository}/{RELEASE}"
    results = []
    for split in SPLITS:
        path = folder / f"{split}.conllu"
        if not path.is_file():
            _get(address, treebank.files(split), path, local, treebank.sha256.get(split))
        found, expected = sha256_of(path), treebank.sha256.get(split)
        if expected not in (None, found):
            raise ValueError(Errors.P130.format(source=path, found=found, expected=expected))
        results.append((path, found, expected is not None))
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
        found = sha256_of(temporary)
        if expected not in (None, found):
            source = local or address
            raise ValueError(
                Errors.P130.format(source=f"{source}/{names[0]}", found=found, expected=expected)
            )


def _joined(names: list[str], local: str) -> list[str]:
    """In the archive of the release, large files are not split into parts."""
    whole = re.sub(r"-train-\w(?=\.conllu)", "-train", names[0])
    return [whole] if local and _has(Path(local), whole) else names


def _has(folder: Path, name: str) -> bool:
    """Whether a folder has a file, compressed or not."""
    return any((folder / found).is_file() for found in (name, f"{name}.gz"))
