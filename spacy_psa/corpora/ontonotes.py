"""OntoNotes 5: folders of the files that the scripts of the CoNLL-2012 shared task make.

The published sizes of the English data for named entities (59,924, 8,528 and 8,262 sentences) are
those of the splits of the shared task without the New Testament (genre `pt`), which has no named
entities annotated. The Chinese data (36,487, 6,083 and 4,472) have no such genre. Where the folders
have more than the shared task (`conll-formatted-ontonotes-5.0`, with 115,812 sentences in its
folder train), its documents are chosen by `file_list`.

SOURCE: Pradhan et al. (2012), 'CoNLL-2012 Shared Task: Modeling Multilingual Unrestricted
Coreference in OntoNotes'; Pradhan et al. (2013), 'Towards Robust Linguistic Analysis Using
OntoNotes'; the release notes of OntoNotes 5.0 (LDC2013T19).
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import Errors
from .conll2012 import read_conll2012
from .lines import read_lines
from .problems import Problems
from .sentence import Sentence

# The folders of each split, the first that there is. In some copies `test` is another, larger set.
SPLITS = {
    "train": ("train",),
    "dev": ("development", "dev"),
    "test": ("conll-2012-test", "test"),
}
LANGUAGES = ("english", "chinese", "arabic")
NEW_TESTAMENT = "pt"
_ANNOTATIONS = "annotations"
_FILE = re.compile(r"(\w+?)[._](?:v\d+_)?gold_(conll|skel)(?:\.gz)?", re.ASCII)
# Genre, source, section and document; what may follow is the part.
_BEGIN = re.compile(r"#begin document \((.+)\);")
_DOCUMENT = re.compile(r"\w+(?:/[\w-]+){3}", re.ASCII)


class Document(NamedTuple):
    """A file of a document.

    name (str): Its name, such as "nw/wsj/00/wsj_0001".
    language (Optional[str]): Its language; None if its folders do not tell.
    folders (Tuple[str, ...]): The folders from the root to those of the language.
    path (Path): The file.
    """

    name: str
    language: str | None
    folders: tuple[str, ...]
    path: Path


def read_ontonotes(
    path: str | Path,
    *,
    split: str | None = None,
    language: str | None = None,
    genres: str | Sequence[str] = (),
    exclude_genres: str | Sequence[str] = (NEW_TESTAMENT,),
    file_list: str | Path | None = None,
    unescape: bool = False,
    problems: Problems | None = None,
) -> Iterator[Sentence]:
    """Stream the sentences of OntoNotes 5 in the format of CoNLL-2012.

    path (Union[str, Path]): A folder with files such as
        `train/data/english/annotations/nw/wsj/00/wsj_0001.v4_gold_conll` somewhere in it, or a
        single file with one or many documents. Of a document that is there in several versions,
        the first is read (v4 before v9), as by the scripts for coreference.
    split (Optional[str]): "train", "dev" or "test": the files in folders of the shared task named
        `train`, `development` and `test` (or `conll-2012-test`, which is preferred). None for all.
    language (Optional[str]): "english", "chinese" or "arabic". Must be given if the folder has
        files of several.
    genres (Union[str, Sequence[str]]): The genres to read, such as "nw,bn"; all if empty.
    exclude_genres (Union[str, Sequence[str]]): The genres to leave out. The default is customary
        for named entities; semantic roles are annotated and evaluated on all genres, so give an
        empty list, or "" on the command line.
    file_list (Optional[Union[str, Path]]): A text file with the names of the documents to read, one
        a line, such as `nw/wsj/00/wsj_0001`; folders before and endings after that may be there.
    unescape (bool): Whether to write words as in the text: `.` for `/.`, `(` for `-LRB-`.
    problems (Optional[Problems]): What to do about problems; None to raise the first.
    YIELDS (Sentence): Sentences with tags, entities, frames and speakers. Documents are in the
        order of their names; each part of one counts as a document.
    RAISES (ValueError): If there are no such files, if listed documents are missing, or if a file
        is not in this format.
    """
    path = Path(path)
    is_wanted = _genre_filter(_names(genres), _names(exclude_genres))
    listed = None if file_list is None else read_file_list(file_list)
    if path.is_file():
        if split is not None:
            raise ValueError(Errors.P156.format(path=path, name="split"))
        files = [path]
    else:
        documents = find_documents(path, split=split, language=language)
        if listed is not None:
            _check_listed(listed, {document.name for document in documents}, path, file_list)
            documents = [document for document in documents if document.name in listed]
        files = [document.path for document in documents if is_wanted(document.name)]
    any_sentence = False
    for file_ in files:
        for sentence in read_conll2012(file_, unescape=unescape, problems=problems):
            # Of the documents in a single file; others have been chosen by their names already.
            name = _document_name(sentence.document)
            if name is not None and not (is_wanted(name) and (listed is None or name in listed)):
                continue
            any_sentence = True
            yield sentence
    if not any_sentence:
        expected = "documents that are listed and of genres that are not excluded"
        raise ValueError(Errors.P158.format(path=path, expected=expected))


def find_documents(
    root: str | Path, *, split: str | None = None, language: str | None = None
) -> list[Document]:
    """Find the files of a split and language in a folder.

    root (Union[str, Path]): The folder.
    split (Optional[str]): A split of `SPLITS`; None for all.
    language (Optional[str]): The language; None if there is but one.
    RETURNS (List[Document]): A file of each document, in the order of their names.
    RAISES (ValueError): If there are none, or if there are several languages and none is given.
    """
    root = Path(root)
    if split is not None and split not in SPLITS:
        raise _invalid("split", split, SPLITS)
    if language is not None and language not in LANGUAGES:
        raise _invalid("language", language, LANGUAGES)
    found, has_skeletons = _walk(root)
    if split is not None:
        found = _of_split(found, SPLITS[split])
    languages = sorted({document.language for document in found if document.language})
    if language is not None:
        found = [document for document in found if document.language in (language, None)]
    elif len(languages) > 1:
        raise _invalid("language", language, languages)
    if not found:
        raise _nothing_found(root, split, language, has_skeletons)
    documents: dict[str, Document] = {}
    for document in sorted(found, key=lambda document: (document.name, document.path)):
        documents.setdefault(document.name, document)
    return list(documents.values())


def read_file_list(path: str | Path) -> set[str]:
    """Read a list of the documents of a split.

    path (Union[str, Path]): A text file with the name of a document in each line, be it as a path:
        of `data/english/annotations/nw/wsj/00/wsj_0001.v4_gold_conll` the name is
        `nw/wsj/00/wsj_0001`.
    RETURNS (Set[str]): The names.
    RAISES (ValueError): If there is no such file, or if a line is something else.
    """
    names = set()
    for number, line in read_lines(Path(path)):
        text = line.strip()
        if not text:
            continue
        match = _DOCUMENT.match(text.rpartition(f"{_ANNOTATIONS}/")[2])
        if match is None:
            problem = f"'{text}' is not the name of a document"
            expected = "names such as nw/wsj/00/wsj_0001, one a line"
            raise ValueError(
                Errors.P145.format(path=path, line=number, problem=problem, expected=expected)
            )
        names.add(match[0])
    return names


def _walk(root: Path) -> tuple[list[Document], bool]:
    """All files of documents, and whether there are such without words."""
    found = []
    has_skeletons = False
    for folder, _, names in os.walk(root, followlinks=True):
        for name in names:
            match = _FILE.fullmatch(name)
            if match is None:
                continue
            if match[2] == "skel":
                has_skeletons = True
                continue
            found.append(_document(Path(folder, name), match[1], root))
    return found, has_skeletons


def _document(path: Path, stem: str, root: Path) -> Document:
    folders = path.parent.relative_to(root).parts
    # The root may itself lie below the folder of the annotations.
    whole = path.parent.absolute().parts
    if _ANNOTATIONS not in whole:
        return Document(_name_within(path) or "/".join((*folders, stem)), None, folders, path)
    at = len(whole) - 1 - whole[::-1].index(_ANNOTATIONS)
    language = whole[at - 1] if whole[at - 1] in LANGUAGES else None
    n_below = len(whole) - at
    return Document("/".join((*whole[at + 1 :], stem)), language, folders[:-n_below], path)


def _name_within(path: Path) -> str | None:
    """The name of the first document in a file."""
    for _, line in read_lines(path):
        match = _BEGIN.match(line)
        if match:
            return match[1]
    return None


def _of_split(found: list[Document], names: tuple[str, ...]) -> list[Document]:
    for name in names:
        of_name = [document for document in found if name in document.folders]
        if of_name:
            return of_name
    return []


def _names(names: str | Sequence[str]) -> frozenset[str]:
    parts = names.split(",") if isinstance(names, str) else names
    return frozenset(part.strip() for part in parts if part.strip())


def _genre_filter(included: frozenset[str], excluded: frozenset[str]) -> Callable[[str], bool]:
    def is_wanted(name: str) -> bool:
        genre = name.partition("/")[0]
        return genre not in excluded and (not included or genre in included)

    return is_wanted


def _document_name(document: str | None) -> str | None:
    match = _DOCUMENT.match(document or "")
    return match[0] if match else None


def _check_listed(
    listed: set[str], present: set[str], path: Path, file_list: str | Path | None
) -> None:
    missing = sorted(listed - present)
    if missing:
        raise ValueError(
            Errors.P159.format(
                n_missing=len(missing),
                n_listed=len(listed),
                file_list=file_list,
                path=path,
                examples=", ".join(missing[:3]),
            )
        )


def _invalid(name: str, value: str | None, options: Iterable[str]) -> ValueError:
    expected = "one of: " + ", ".join(options)
    return ValueError(Errors.P155.format(name=name, value=value, expected=expected))


def _nothing_found(
    root: Path, split: str | None, language: str | None, has_skeletons: bool
) -> ValueError:
    reason = "" if root.is_dir() else " (there is no such folder)"
    if has_skeletons:
        reason = " (there are *_gold_skel files, which skeleton2conll.sh has to give their words)"
    folder = "/".join((SPLITS[split][0] if split else "train", "data", language or "english"))
    return ValueError(
        Errors.P153.format(
            path=root,
            reason=reason,
            suffixes="_gold_conll",
            name="the CoNLL-2012 files of OntoNotes 5.0 (LDC2013T19)",
            layout=f"{folder}/annotations/nw/wsj/00/wsj_0001.v4_gold_conll",
        )
    )
