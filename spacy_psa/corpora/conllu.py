"""CoNLL-U of Universal Dependencies and CoNLL-U Plus, without the dependencies.

SOURCE: https://universaldependencies.org/format.html; words are counted as in the evaluation of the
CoNLL-2018 shared task (Zeman et al., 2018).
"""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from spacy.parts_of_speech import IDS as UPOS_IDS

from ..errors import Errors
from ..printable import shortened
from .column_spans import SpanColumn
from .columns import MAX_SENTENCE_TOKENS, Row
from .conllu_columns import UNKNOWN, Columns, find_columns, misc_tag, read_header
from .lines import read_lines
from .problems import Problems, unexpected
from .sentence import Sentence

# The package `conllu` parses every field into objects and reads some 57,000 lines per second. We
# need only seven of the ten columns, as strings, which is several times as fast.

_NO_SPACE = "SpaceAfter=No"
# The number of digits that int() accepts under any configured limit.
_MAX_DIGITS = 640


def read_conllu(
    path: str | Path,
    *,
    spaces: bool = True,
    ents_column: str | None = None,
    problems: Problems | None = None,
) -> Iterator[Sentence]:
    """Stream the sentences of a file in CoNLL-U, or in CoNLL-U Plus, whose first line names its
    columns (`# global.columns = …`).

    Words are syntactic words: 1-2 "du", 1 "de", 2 "le" is two words. The line of a multiword token
    only determines whether whitespace follows. If the form of a multiword token is not the
    concatenation of its words, as here, the whitespace of the sentence is unknown, because its text
    cannot be built from the words. Empty nodes (8.1) are skipped. An underscore means that a value
    is not annotated, except that in FEATS it means that the word has no features, and that the
    lemma of the word "_" is "_".

    Entities are tags in MISC, as spaCy's converter reads them (`name=B-PER`, `NE=B-PER`, `B-PER`),
    or in a column of their own in CoNLL-U Plus. If any word of the file has one, words without are
    outside of entities.
    """
    problems = problems or Problems()
    columns = find_columns(Path(path), ents_column, problems)
    tags = None
    if columns.entities is not None:
        tags = SpanColumn(path, 0, [columns.names[columns.entities]], problems=problems)
    reader = _Reader(path, problems, columns, tags, spaces)
    found_any = False
    with tags or nullcontext():
        # The last sentence ends as if a blank line followed
        for number, line in chain(read_lines(Path(path)), [(0, "")]):
            if line.startswith("#") and columns.is_comment(line):
                reader.comment(number, line)
            elif line.strip(" \t"):
                reader.add(number, line)
            elif reader.words.forms:
                yield reader.sentence()
                found_any = True
    if not found_any:
        raise ValueError(Errors.P111.format(path=path, columns=", ".join(columns.names)))


@dataclass
class _Header:
    """What the comments of a sentence say."""

    starts_document: bool = False
    document: str | None = None
    sent_id: str | None = None


class _Multiword(NamedTuple):
    """A multiword token: the numbers of its words, its form, and whether a space follows."""

    first: int
    last: int
    form: str
    space: bool


@dataclass
class _Words:
    """The words of a sentence, and the multiword tokens that they make up."""

    line: int = 0
    forms: list[str] = field(default_factory=list)
    lemmas: list[str] = field(default_factory=list)
    pos: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    morphs: list[str] = field(default_factory=list)
    ents: list[Row] = field(default_factory=list)
    spaces: list[bool] = field(default_factory=list)
    multiwords: list[_Multiword] = field(default_factory=list)
    # False if it is unknown which words a multiword token has
    spaces_known: bool = True

    def text_spaces(self) -> list[bool] | None:
        """Whether a space follows each word; None where a multiword token is not its words joined,
        so that they do not make up the text."""
        if not self.spaces_known:
            return None
        spaces = list(self.spaces)
        for first, last, form, space in self.multiwords:
            if "".join(self.forms[first - 1 : last]) != form:
                return None
            # Not last - first + 1, for the sentence may end before
            n_words = len(spaces[first - 1 : last])
            spaces[first - 1 : last] = [*[False] * (n_words - 1), space]
        return spaces


@dataclass
class _Reader:
    """Reads the lines of a file.

    header (_Header), words (_Words): Those of the current sentence.
    """

    path: str | Path
    problems: Problems
    columns: Columns
    entity_tags: SpanColumn | None
    keep_spaces: bool
    header: _Header = field(default_factory=_Header)
    words: _Words = field(default_factory=_Words)

    def comment(self, number: int, line: str) -> None:
        names = read_header(line)
        if names and names != self.columns.names:
            self._fail(number, "another header", f"one for all, {' '.join(self.columns.names)}")
        name, _, text = line[1:].partition("=")
        name, value = name.strip(), text.strip() or None
        if name in ("newdoc", "newdoc id"):
            self.header.starts_document, self.header.document = True, value
        elif name == "sent_id":
            self.header.sent_id = value

    def add(self, number: int, line: str) -> None:
        cells = line.rstrip(" ").split("\t")
        if len(cells) != len(self.columns.names):
            cells = self._padded(number, cells)
        columns = self.columns.standard(cells)
        if "ID" not in self.columns.names:
            columns[0] = str(len(self.words.forms) + 1)
        if not (columns[0] and columns[1]):
            self._fail(number, "ID or FORM is empty", "a value in each column")
        self.words.line = self.words.line or number
        if columns[0].isdecimal():
            self._add_word(number, columns)
            if self.entity_tags is not None:
                self.words.ents.append(Row(number, (self.columns.tag(cells),)))
            if misc_tag(columns[9]) == "":
                self.problems.note("values of name or NE in MISC that are no tags, not read")
        elif "-" in columns[0]:
            self._add_multiword(number, columns)
            self._no_word("multiword tokens, of which only the words are read", cells)
        elif not all(part.isdecimal() for part in columns[0].split(".", 1)):
            self._fail(
                number, f"'{columns[0]}' is not an ID", "a number, a range 1-2 or an empty node 1.1"
            )
        else:
            self._no_word("empty nodes, not read", cells)

    def sentence(self) -> Sentence:
        """The sentence read, after which the next one begins."""
        header, words = self.header, self.words
        for first, last, form, _ in words.multiwords:
            if last > len(words.forms):
                self._report(
                    words.line,
                    f"the sentence ends before the last word of the multiword token '{form}'"
                    f" ({first}-{last})",
                    "all its words",
                )
        spaces = words.text_spaces() if self.keep_spaces else None
        if self.keep_spaces and spaces is None:
            self.problems.note(
                "sentences of unknown spaces, since a multiword token is not its words joined"
            )
        self.header, self.words = _Header(document=header.document), _Words()
        return Sentence(
            words=words.forms,
            tags=words.tags if any(words.tags) else None,
            pos=words.pos if any(words.pos) else None,
            morphs=words.morphs if "FEATS" in self.columns.names else None,
            ents=self.entity_tags.read(words.ents) if self.entity_tags is not None else None,
            lemmas=words.lemmas if any(words.lemmas) else None,
            spaces=spaces,
            starts_document=header.starts_document,
            document=header.document,
            sent_id=header.sent_id,
            line=words.line,
        )

    def _no_word(self, what: str, cells: list[str]) -> None:
        self.problems.note(what)
        if self.columns.tag(cells) != "O":
            self.problems.note("entity tags of multiword tokens and empty nodes, not read")

    def _add_word(self, number: int, columns: list[str]) -> None:
        words = self.words
        identifier, form, lemma, upos, xpos, feats = columns[:6]
        if _number(identifier) != len(words.forms) + 1:
            problem = f"the word has the ID {shortened(identifier, 60)}"
            self._report(number, problem, f"ID {len(words.forms) + 1}")
        if upos != UNKNOWN and upos not in UPOS_IDS:
            expected = "one of the universal parts of speech, in capitals, or _"
            self._report(number, f"'{upos}' in column UPOS", expected)
            upos = UNKNOWN
        if feats != UNKNOWN and not _are_features(feats):
            expected = "Name=Value|Name=Value with each name once, or _"
            self._report(number, f"'{feats}' in column FEATS", expected)
            feats = ""
        words.forms.append(form)
        words.pos.append("" if upos == UNKNOWN else upos)
        words.tags.append("" if xpos == UNKNOWN else xpos)
        words.lemmas.append("" if lemma == UNKNOWN and form != UNKNOWN else lemma)
        words.morphs.append(feats)
        words.spaces.append(_space_after(columns[9]))
        if len(words.forms) > MAX_SENTENCE_TOKENS:
            names = {"limit": MAX_SENTENCE_TOKENS, "what": "words without a blank line"}
            raise ValueError(Errors.P141.format(path=self.path, line=number, **names))

    def _add_multiword(self, number: int, columns: list[str]) -> None:
        start, _, end = columns[0].partition("-")
        first = len(self.words.forms) + 1
        if not (start.isdecimal() and end.isdecimal()):
            self._fail(number, f"'{columns[0]}' is not an ID", "a number or a range like 1-2")
        overlaps = any(token.last >= first for token in self.words.multiwords[-1:])
        if _number(start) != first or _number(end) < first or overlaps:
            self._report(
                number,
                f"the multiword token '{columns[1]}' has the IDs {shortened(columns[0], 60)}",
                f"a range that begins with the next word, {first}, and overlaps no other one",
            )
            self.words.spaces_known = False
            return
        space = _space_after(columns[9])
        self.words.multiwords.append(_Multiword(first, _number(end), columns[1], space))

    def _padded(self, number: int, cells: list[str]) -> list[str]:
        """Reduce a line with the wrong number of columns to the first ones, up to FORM and ID."""
        names = self.columns.names
        n_kept = 1 + max(names.index(name) for name in ("ID", "FORM") if name in names)
        message = self._message(
            number,
            f"found {len(cells)} tab-separated columns",
            f"{len(names)} ({', '.join(names)})",
        )
        self.problems.report(message)
        if len(cells) < n_kept:
            # There is no word to keep, and continuing would drop it.
            raise ValueError(message)
        return [*cells[:n_kept], *([UNKNOWN] * (len(names) - n_kept))]

    def _message(self, number: int, problem: str, expected: str) -> str:
        where = f" (sentence {self.header.sent_id})" if self.header.sent_id else ""
        return unexpected(self.path, number, f"{problem}{where}", expected)

    def _report(self, number: int, problem: str, expected: str) -> None:
        self.problems.report(self._message(number, problem, expected))

    def _fail(self, number: int, problem: str, expected: str) -> None:
        raise ValueError(self._message(number, problem, expected))


@lru_cache(maxsize=65536)
def _are_features(feats: str) -> bool:
    """Whether spaCy's morphology can represent these features: each name once, with a value.

    A feature with several values is written Name=Value,Value.
    """
    pairs = [feat.split("=") for feat in feats.split("|")]
    if not all(len(pair) == 2 and all(pair) for pair in pairs):
        return False
    return len({name for name, _ in pairs}) == len(pairs)


def _number(digits: str) -> int:
    """A number in an ID; 0, which no word has, if Python might refuse to read that many digits."""
    return int(digits) if len(digits) <= _MAX_DIGITS else 0


def _space_after(misc: str) -> bool:
    return _NO_SPACE not in misc.split("|")
