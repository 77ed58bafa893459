"""The format of the CoNLL-2012 shared task (`*_gold_conll` files), used to read OntoNotes 5.

A sentence has one argument column per predicate, in the order of the predicates, which are the rows
with both a lemma and a frameset. Some corpora in this format have additional predicates with
unknown lemma; these are identified by the argument V.

SOURCE: Pradhan et al. (2012), 'CoNLL-2012 Shared Task: Modeling Multilingual Unrestricted
Coreference in OntoNotes', and the data page of the shared task.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ..annotation.propositions import Frame
from ..errors import Errors
from .brackets import read_brackets, read_propositions, unescape_ontonotes
from .columns import Row, columns_error, read_columns, transpose
from .problems import Problems, check_overlaps, unexpected
from .sentence import Sentence

COLUMNS = (
    "document", "part", "token", "word", "POS", "parse", "lemma", "frameset", "word sense",
    "speaker", "NER",
)  # fmt: skip
COREF = "coreference"
UNKNOWN = "-"
# Marks a predicate with unknown lemma or frameset if no argument V identifies it as a predicate.
NOT_GIVEN = "_"
BEGIN = ("#begin", "document")
END = ("#end", "document")
PART_SEPARATOR = "; part "
PLACEHOLDER = "[WORD]"
_DOCUMENT, _PART, _WORD, _POS, _LEMMA, _FRAMESET, _SPEAKER, _NER = 0, 1, 3, 4, 6, 7, 9, 10
# Columns that every sentence has: the above, and coreference at the end.
_N_FIXED = len(COLUMNS) + 1


def read_conll2012(
    path: str | Path, *, unescape: bool = False, problems: Problems | None = None
) -> Iterator[Sentence]:
    """Stream the sentences of a file in CoNLL-2012 format.

    Parses, word senses and coreference are not read. A `-` in the part-of-speech or lemma column
    means that the token is not annotated; a frame always has its lemma. Without `#begin` lines, a
    document begins where the first two columns name another one.
    """
    problems = problems or Problems()
    document: str | None = None
    previous: str | None = None
    starts_document = False
    for block in read_columns(path):
        for rows in _tokens_or_marks(block):
            first = rows[0]
            if first.columns[:2] == END:
                document = None
                continue
            if first.columns[:2] == BEGIN:
                document, starts_document = _document_of(path, first), True
                continue
            sentence = _read_sentence(path, rows, document, starts_document, unescape, problems)
            if sentence.document not in (document, previous):
                sentence = replace(sentence, starts_document=True)
            yield sentence
            previous, starts_document = sentence.document, False


def _tokens_or_marks(block: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Split a block at `#begin` and `#end` lines, each of which becomes a group of its own."""
    start = 0
    for i in [i for i, row in enumerate(block) if row.columns[0][0] == "#"]:
        if block[i].columns[:2] in (BEGIN, END):
            if i > start:
                yield block[start:i]
            yield [block[i]]
            start = i + 1
    if start < len(block):
        yield block[start:] if start else block


def name_document(name: str, part: str) -> str | None:
    """Format the name of a part of a document."""
    return None if name == UNKNOWN else f"{name}{PART_SEPARATOR}{part.zfill(3)}"


def _document_of(path: str | Path, row: Row) -> str | None:
    name, found, part = " ".join(row.columns[2:]).rpartition(PART_SEPARATOR)
    if not found or not name.startswith("(") or not name.endswith(")") or not part.isdecimal():
        problem = f"'{' '.join(row.columns)}' does not name a document"
        expected = "#begin document (bc/cctv/00/cctv_0000); part 000"
        raise ValueError(unexpected(path, row.line, problem, expected))
    return name_document(name[1:-1], part)


def _read_sentence(
    path: str | Path,
    rows: Sequence[Row],
    document: str | None,
    starts_document: bool,
    unescape: bool,
    problems: Problems,
) -> Sentence:
    columns = transpose(path, rows, _N_FIXED)
    words = list(columns[_WORD])
    if PLACEHOLDER in words:
        line = rows[words.index(PLACEHOLDER)].line
        raise ValueError(Errors.P161.format(path=path, line=line))
    if document is None:
        document = name_document(columns[_DOCUMENT][0], columns[_PART][0])
    lemmas, framesets = columns[_LEMMA], columns[_FRAMESET]
    targets = [
        i for i, frameset in enumerate(framesets) if frameset != UNKNOWN and lemmas[i] != UNKNOWN
    ]
    propositions = read_propositions(rows, columns[_NER + 1 : -1], targets, path, problems)
    if propositions is None:
        raise ValueError(
            columns_error(
                path,
                rows[0],
                f"{_N_FIXED + len(targets)}: {', '.join(COLUMNS)}, then one of arguments for each "
                f"of the {len(targets)} predicates (rows with lemma and frameset; more only where "
                f"each has an argument V, which tells the predicate), then {COREF}",
            )
        )
    frames = [
        Frame(i, _given(lemmas[i]), _given(framesets[i]), arguments)
        for i, arguments in propositions
    ]
    ents = read_brackets(rows, columns[_NER], "NER", path, problems)
    if len(ents) > 1:
        ents = check_overlaps(ents, path, rows[0].line, "named entities", problems)
    speaker = columns[_SPEAKER][0]
    return Sentence(
        words=[unescape_ontonotes(word) for word in words] if unescape else words,
        tags=_layer(columns[_POS]),
        lemmas=_layer(columns[_LEMMA]),
        ents=ents,
        frames=frames,
        speakers=None if speaker == UNKNOWN else speaker,
        document=document,
        starts_document=starts_document,
        line=rows[0].line,
    )


def _layer(column: Sequence[str]) -> list[str] | None:
    """One value per token, "" for `-`; None if no token has one."""
    n_unknown = column.count(UNKNOWN)
    if n_unknown == len(column):
        return None
    if not n_unknown and NOT_GIVEN not in column:
        return list(column)
    values = ["" if value in (UNKNOWN, NOT_GIVEN) else value for value in column]
    return values if any(values) else None


def _given(value: str) -> str | None:
    return None if value in (UNKNOWN, NOT_GIVEN) else value
