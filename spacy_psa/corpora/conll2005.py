"""The format of the CoNLL-2005 shared task: propositions in columns next to the words.

The release has a file for each layer: `words/test.wsj.words.gz`, `props/test.wsj.props.gz` and
others. This module reads words and propositions. It also reads files with all layers, in the order
of the shared task: word, named entity, part of speech, chunk, clause, parse, verb sense, target
verb, propositions.

SOURCE: Carreras and Màrquez (2005), 'Introduction to the CoNLL-2005 Shared Task: Semantic Role
Labeling'.
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from ..annotation.propositions import Frame
from ..annotation.schemes import Span
from ..errors import Errors
from .brackets import are_marks, read_brackets, read_propositions
from .columns import Row, columns_error, read_columns, transpose
from .problems import Problems, check_overlaps, unexpected
from .sections import note_unread
from .sentence import Sentence

LAYERS = ("words", "props")
NO_TARGET = "-"
# Marks a predicate with unknown lemma if no argument V identifies it as a predicate.
NOT_GIVEN = "_"
# The columns of the files with all layers.
_SHARED_TASK_TARGET, _SHARED_TASK_POS, _SHARED_TASK_NER = 7, 2, 1


class Pair(NamedTuple):
    """The files of one part of the corpus.

    words (Path): The file with the words.
    props (Optional[Path]): The file with the propositions; None if the words are in the same file.
    """

    words: Path
    props: Path | None


def read_conll2005(
    path: str | Path, *, target_column: int | None = None, problems: Problems | None = None
) -> Iterator[Sentence]:
    """Stream the sentences of CoNLL-2005."""
    problems = problems or Problems()
    pairs = find_pairs(path)
    if Path(path).is_dir():
        read = [file_ for pair in pairs for file_ in pair if file_]
        note_unread(Path(path), read, problems, lambda file_: _layer(file_) is not None)
    for words, props in pairs:
        if props is None:
            yield from _read_single(words, target_column, problems)
        else:
            yield from _read_pair(words, props, problems)


def find_pairs(path: str | Path) -> list[Pair]:
    """Find matching files of words and propositions."""
    path = Path(path)
    if path.is_dir():
        return _pairs_in(path)
    layer = next((layer for layer in LAYERS if layer in path.name.split(".")[-2:]), None)
    if layer is not None and (path.is_file() or _stem(path, layer) is not None):
        return [_pair_of(path, layer)]
    for layer in LAYERS:
        for candidate in _spellings(path, layer):
            if candidate.is_file():
                return [_pair_of(candidate, layer)]
    # read_columns raises an error if there is no such file.
    return [Pair(path, None)]


def _stem(path: Path, layer: str) -> str | None:
    """The name of a layer's file without its suffixes: "train" for "train.words.gz"."""
    name = path.name.removesuffix(".gz")
    return name.removesuffix(f".{layer}") if name.endswith(f".{layer}") else None


def _layer(path: Path) -> str | None:
    return next((layer for layer in LAYERS if _stem(path, layer) is not None), None)


def _spellings(prefix: Path, layer: str) -> Iterator[Path]:
    """Candidate paths for the file of a layer, given the folder and the name's prefix."""
    folders = [prefix.parent, prefix.parent / layer]
    if prefix.parent.name in LAYERS:
        folders.append(prefix.parent.parent / layer)
    for folder in folders:
        yield folder / f"{prefix.name}.{layer}"
        yield folder / f"{prefix.name}.{layer}.gz"


def _pair_of(path: Path, layer: str) -> Pair:
    stem = _stem(path, layer)
    other = "props" if layer == "words" else "words"
    if stem is not None:
        for candidate in _spellings(path.with_name(stem), other):
            if candidate.is_file():
                return Pair(path, candidate) if layer == "words" else Pair(candidate, path)
    if not path.exists():
        raise ValueError(Errors.P109.format(path=path))
    # A name such as `train.words.txt` has no counterpart
    expected = (
        f"names such as train.{layer} and train.{other}"
        if stem is None
        else f"{stem}.{other} or {other}/{stem}.{other}"
    )
    raise ValueError(Errors.P160.format(path=path, missing=other, expected=expected))


def _pairs_in(folder: Path) -> list[Pair]:
    """All pairs in a folder, and in its subfolders `words` and `props`."""
    pairs: dict[str, Pair] = {}
    for place in (folder, folder / "words", folder / "props"):
        for file_ in sorted(place.iterdir()) if place.is_dir() else ():
            layer = _layer(file_)
            if layer is not None and not file_.name.startswith("."):
                pair = _pair_of(file_, layer)
                # A file may exist both plain and gzipped: one is enough.
                pairs.setdefault(_stem(pair.words, "words") or "", pair)
    if not pairs:
        files = sorted(child.name for child in folder.iterdir() if child.is_file())
        raise ValueError(Errors.P110.format(path=folder, files=", ".join(files[:10]) or "none"))
    return [pairs[name] for name in sorted(pairs)]


def _read_pair(words_path: Path, props_path: Path, problems: Problems) -> Iterator[Sentence]:
    pairs = zip_longest(read_columns(words_path), read_columns(props_path))
    for words, props in pairs:
        if words is None or props is None:
            _report_missing(words or props, words_path, props_path, words is None)
        if len(words) != len(props):
            problem = f"the sentence that begins here has {len(props)} tokens"
            expected = f"{len(words)}, as in the sentence of {words_path} that begins at line "
            expected += str(words[0].line)
            raise ValueError(unexpected(props_path, props[0].line, problem, expected))
        if len(words[0].columns) > 1:
            problems.note(f"sentences with columns after the words in {words_path}, not read")
        yield Sentence(
            words=[row.columns[0] for row in words],
            frames=_read_frames(props_path, props, 0, problems),
            line=words[0].line,
        )


def _report_missing(
    rows: Sequence[Row], words_path: Path, props_path: Path, is_props: bool
) -> None:
    longer, shorter = (props_path, words_path) if is_props else (words_path, props_path)
    problem = f"the sentence that begins here is not in {shorter}, which ends before it"
    expected = "the same number of sentences in both files"
    raise ValueError(unexpected(longer, rows[0].line, problem, expected))


def _read_single(path: Path, target_column: int | None, problems: Problems) -> Iterator[Sentence]:
    for rows in read_columns(path):
        if target_column is None:
            target_column = _find_target_column(path, rows)
        is_shared_task = target_column == _SHARED_TASK_TARGET
        yield Sentence(
            words=[row.columns[0] for row in rows],
            frames=_read_frames(path, rows, target_column, problems),
            tags=[row.columns[_SHARED_TASK_POS] for row in rows] if is_shared_task else None,
            ents=_read_ents(path, rows, problems) if is_shared_task else None,
            line=rows[0].line,
        )


def _find_target_column(path: Path, rows: Sequence[Row]) -> int:
    """The one column that is followed by as many columns as it has targets."""
    width = len(rows[0].columns)
    suitable = [
        column
        for column in range(1, width)
        if sum(row.columns[column : column + 1] != (NO_TARGET,) for row in rows)
        == width - column - 1
        and all(are_marks([row.columns[i] for row in rows]) for i in range(column + 1, width))
    ]
    if len(suitable) != 1:
        raise ValueError(Errors.P163.format(path=path, line=rows[0].line))
    return suitable[0]


def _read_ents(path: Path, rows: Sequence[Row], problems: Problems) -> list[Span]:
    marks = [row.columns[_SHARED_TASK_NER] for row in rows]
    ents = read_brackets(rows, marks, "named entity", path, problems)
    return check_overlaps(ents, path, rows[0].line, "named entities", problems)


def _read_frames(
    path: Path, rows: Sequence[Row], target_column: int, problems: Problems
) -> list[Frame]:
    """The frames of a sentence: the nth column after the targets belongs to the nth target."""
    columns = transpose(path, rows, target_column + 1)
    lemmas, marks = columns[target_column], columns[target_column + 1 :]
    targets = [i for i, lemma in enumerate(lemmas) if lemma != NO_TARGET]
    propositions = read_propositions(rows, marks, targets, path, problems)
    if propositions is None:
        before = f"{target_column} of other layers, " if target_column else ""
        expected = (
            f"{target_column + 1 + len(targets)} in this sentence: {before}the target verb or "
            f"{NO_TARGET}, and one for each of its {len(targets)} targets (more only where each "
            "has an argument V, which tells the target)"
        )
        raise ValueError(columns_error(path, rows[0], expected))
    unmarked = [rows[i].line for i, _ in propositions if lemmas[i] == NO_TARGET]
    if unmarked:
        what = f"propositions in {path} whose target is {NO_TARGET}, found by their argument V"
        where = f"in line {unmarked[0]}"
        problems.note(f"{what}, which srl-eval.pl does not read", len(unmarked), first=where)
    return [
        Frame(i, None if lemmas[i] in (NO_TARGET, NOT_GIVEN) else lemmas[i], None, arguments)
        for i, arguments in propositions
    ]


def is_props(path: Path) -> bool:
    """Check whether a file has propositions without words, by its name or its first sentence."""
    if ".props" in path.suffixes:
        return True
    rows = next(read_columns(path), [])
    n_targets = sum(row.columns[0] != NO_TARGET for row in rows)
    return all(
        len(row.columns) == n_targets + 1 and all("*" in mark for mark in row.columns[1:])
        for row in rows
    )


def read_props(
    path: str | Path, *, problems: Problems | None = None
) -> Iterator[tuple[int, list[Frame]]]:
    """Stream the propositions of each sentence."""
    problems = problems or Problems()
    for rows in read_columns(path):
        yield len(rows), _read_frames(Path(path), rows, 0, problems)
