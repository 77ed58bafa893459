"""Find the files of a treebank of the Wall Street Journal, and choose sections of it."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import Errors

_RANGE = re.compile(r"\s*(\d{1,2})\s*(?:-\s*(\d{1,2})\s*)?")
_DOCUMENT = re.compile(r"(wsj_(\d\d)\d\d)(\.\w+?)(?:\.gz)?", re.IGNORECASE)


@dataclass(frozen=True)
class Release:
    """How a treebank is distributed.

    name (str): Its name, for error messages.
    suffixes (Tuple[str, ...]): The endings of its files, in order of preference.
    splits (Mapping[str, str]): The sections by the name of the split.
    """

    name: str
    suffixes: tuple[str, ...]
    splits: Mapping[str, str]

    @property
    def layout(self) -> str:
        """An example of the files, for error messages."""
        return f"00/wsj_0001{self.suffixes[0]}"


def parse_sections(sections: str | int) -> list[int]:
    """Read which sections are wanted: "0-18", "23", "2-21, 24".

    sections (Union[str, int]): Numbers and ranges of numbers, with commas in between.
    RETURNS (List[int]): The numbers in rising order.
    RAISES (ValueError): If it is written otherwise.
    """
    numbers: set[int] = set()
    for part in str(sections).split(","):
        match = _RANGE.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            expected = "sections, such as 23, 0-18 or '2-21,24'"
            raise ValueError(Errors.P155.format(name="sections", value=sections, expected=expected))
        numbers.update(range(first, last + 1))
    return sorted(numbers)


def choose_files(
    path: str | Path,
    release: Release,
    *,
    sections: str | int | None = None,
    split: str | None = None,
    suffix: str | None = None,
) -> list[Path]:
    """The files to read, in the order of sections and documents.

    path (Union[str, Path]): A file, or a folder with the sections somewhere in it, as numbered
        folders or not. The section of a file is in its name: `wsj_2300.mrg` is in section 23.
        Upper and lower case are the same, since they are not in all copies.
    release (Release): The treebank.
    sections (Optional[Union[str, int]]): Which sections of the folder; None for all.
    split (Optional[str]): Or which of the customary splits.
    suffix (Optional[str]): The ending of the files, if not the first that there is of
        `release.suffixes`.
    RETURNS (List[Path]): The files.
    RAISES (ValueError): If there are no such files, if sections are missing, if a document is
        there twice, or if the options are not valid or do not go together.
    """
    path = Path(path)
    wanted = _wanted_sections(release, sections, split)
    if path.is_file():
        if wanted is not None:
            raise ValueError(
                Errors.P156.format(path=path, name="sections" if split is None else "split")
            )
        return [path]
    found = list(_find_documents(path))
    suffixes = (suffix,) if suffix else release.suffixes
    for suffix in suffixes:
        documents = _by_name(document for document in found if document[2] == suffix)
        if documents:
            break
    else:
        reason = "" if path.is_dir() else " (there is no such folder)"
        names = " or ".join(suffixes)
        raise ValueError(
            Errors.P153.format(
                path=path, reason=reason, suffixes=names, name=release.name, layout=release.layout
            )
        )
    if wanted is None:
        return [documents[name] for name in sorted(documents)]
    present = {section_of(name) for name in documents}
    missing = [f"{section:02}" for section in wanted if section not in present]
    if missing:
        raise ValueError(
            Errors.P154.format(
                path=path,
                missing=", ".join(missing),
                found=", ".join(f"{section:02}" for section in sorted(present)),
                suffix=suffix,
            )
        )
    return [documents[name] for name in sorted(documents) if section_of(name) in wanted]


def section_of(document: str) -> int:
    """The section of a document: 23 of `wsj_2300`.

    document (str): The name of the document.
    RETURNS (int): The section.
    """
    return int(document[4:6])


def document_of(path: Path) -> str:
    """The name of the document in a file: `wsj_2300` of `23/WSJ_2300.MRG.gz`.

    path (Path): The file.
    RETURNS (str): The name without endings, of files with other names as well.
    """
    match = _DOCUMENT.fullmatch(path.name)
    return match[1].lower() if match else path.name.split(".")[0]


def suffix_of(path: Path) -> str:
    """The ending of a file in lower case, apart from that of gzip.

    path (Path): The file.
    RETURNS (str): The ending with the point, or the empty string.
    """
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def _wanted_sections(
    release: Release, sections: str | int | None, split: str | None
) -> list[int] | None:
    if split is None:
        return None if sections is None else parse_sections(sections)
    if sections is not None:
        expected = f"left out where 'sections' is given (which is {sections!r})"
        raise ValueError(Errors.P155.format(name="split", value=split, expected=expected))
    if split not in release.splits:
        expected = "one of: " + ", ".join(release.splits)
        raise ValueError(Errors.P155.format(name="split", value=split, expected=expected))
    return parse_sections(release.splits[split])


def _find_documents(root: Path) -> Iterator[tuple[str, Path, str]]:
    """The name, path and ending of all documents under a folder."""
    # os.walk, since Path.rglob does not follow links to folders, which is how copies are shared.
    for folder, _, names in os.walk(root, followlinks=True):
        for name in names:
            match = _DOCUMENT.fullmatch(name)
            if match:
                yield match[1].lower(), Path(folder, name), match[3].lower()


def _by_name(documents: Iterable[tuple[str, Path, str]]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for name, path, _ in documents:
        if name in files:
            first, second = sorted((files[name], path))
            raise ValueError(Errors.P157.format(document=name, first=first, second=second))
        files[name] = path
    return files
