"""Find the files of a Wall Street Journal treebank and select sections."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..disk import walk
from ..errors import Errors, invalid
from ..printable import replace_undecoded
from .lines import is_pipe
from .problems import Problems

_N_EXAMPLES = 3


def note_unread(
    root: Path, read: Iterable[Path], problems: Problems, is_document: Callable[[Path], bool]
) -> None:
    """Note which files below a folder are not read."""
    unread = sorted(set(walk(root)) - set(read))
    documents = [path for path in unread if is_document(path)]
    others = [path for path in unread if not is_document(path)]
    for what, paths in (("documents", documents), ("other files", others)):
        if paths:
            names = [str(path.relative_to(root)) for path in paths[:_N_EXAMPLES]]
            names += ["…"] * (len(paths) > _N_EXAMPLES)
            problems.note(f"{what} in {root} that are not read ({', '.join(names)})", len(paths))


_RANGE = re.compile(r"\s*(\d{1,2})\s*(?:-\s*(\d{1,2})\s*)?")
_DOCUMENT = re.compile(r"(wsj_(\d\d)\d\d)(\.\w+?)(?:\.gz)?", re.IGNORECASE)


@dataclass(frozen=True)
class Release:
    """The files and splits of a treebank.

    name (str): Its name, for error messages.
    suffixes (Tuple[str, ...]): The suffixes of its files, in order of preference.
    splits (Mapping[str, str]): The sections of each split, by name.
    """

    name: str
    suffixes: tuple[str, ...]
    splits: Mapping[str, str]

    @property
    def layout(self) -> str:
        """An example file path, for error messages."""
        return f"00/wsj_0001{self.suffixes[0]}"


def parse_sections(sections: str | int) -> list[int]:
    """Parse a list of sections: "0-18", "23", "2-21, 24"."""
    numbers: set[int] = set()
    for part in str(sections).split(","):
        match = _RANGE.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            expected = "sections, such as 23, 0-18 or '2-21,24'"
            raise invalid("sections", sections, expected)
        numbers.update(range(first, last + 1))
    return sorted(numbers)


def choose_files(
    path: str | Path,
    release: Release,
    *,
    sections: str | int | None = None,
    split: str | None = None,
    suffix: str | None = None,
    problems: Problems | None = None,
) -> list[Path]:
    """Get the files to read, in the order of sections and documents.

    path (Union[str, Path]): A file, or a folder with the sections at any depth, in numbered folders
        or not. The file name determines the section: `wsj_2300.mrg` is in section 23. Case is
        ignored, since copies differ in it.
    sections (Optional[Union[str, int]]): The sections to read from the folder; None for all.
    suffix (Optional[str]): The suffix of the files; defaults to the first of `release.suffixes`
        that occurs.
    problems (Optional[Problems]): Takes notes of the files in the folder that are not read.
    RAISES (ValueError): If there are no such files, sections are missing, a document occurs twice,
        or the options are invalid or cannot be combined.
    """
    path = Path(path)
    wanted = _wanted_sections(release, sections, split)
    if path.is_file() or is_pipe(path):
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
        reason = "" if path.is_dir() else " (the folder does not exist)"
        names = " or ".join(suffixes)
        raise ValueError(
            Errors.P153.format(
                path=path, reason=reason, suffixes=names, name=release.name, layout=release.layout
            )
        )
    present = {section_of(name) for name in documents}
    missing = [f"{section:02}" for section in wanted or () if section not in present]
    if missing:
        raise ValueError(
            Errors.P154.format(
                path=path,
                missing=", ".join(missing),
                found=", ".join(f"{section:02}" for section in sorted(present)),
                suffix=suffix,
            )
        )
    chosen = present if wanted is None else wanted
    files = [documents[name] for name in sorted(documents) if section_of(name) in chosen]
    if problems is not None:
        note_unread(path, files, problems, lambda file: _match(file) is not None)
    return files


def section_of(document: str) -> int:
    """Get the section of a document: 23 for `wsj_2300`."""
    return int(document[4:6])


def document_of(path: Path) -> str:
    """Get the name of the document in a file: `wsj_2300` for `23/WSJ_2300.MRG.gz`."""
    match = _match(path)
    return match[1].lower() if match else replace_undecoded(path.name.split(".")[0])


def suffix_of(path: Path) -> str:
    """Get the lowercase suffix of a file, ignoring `.gz`."""
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def _wanted_sections(
    release: Release, sections: str | int | None, split: str | None
) -> list[int] | None:
    if split is None:
        return None if sections is None else parse_sections(sections)
    if sections is not None:
        raise invalid("split", split, f"left out if 'sections' is given (here {sections!r})")
    if split not in release.splits:
        raise invalid("split", split, "one of: " + ", ".join(release.splits))
    return parse_sections(release.splits[split])


def _match(path: Path) -> re.Match[str] | None:
    return _DOCUMENT.fullmatch(path.name)


def _find_documents(root: Path) -> Iterator[tuple[str, Path, str]]:
    """The name, path and suffix of all documents under a folder."""
    for path in walk(root):
        match = _match(path)
        if match:
            yield match[1].lower(), path, match[3].lower()


def _by_name(documents: Iterable[tuple[str, Path, str]]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for name, path, _ in documents:
        if name in files:
            first, second = sorted((files[name], path))
            raise ValueError(Errors.P157.format(document=name, first=first, second=second))
        files[name] = path
    return files
