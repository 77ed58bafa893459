"""CoNLL-U of Universal Dependencies and CoNLL-U Plus, without the dependencies.

SOURCE: https://universaldependencies.org/format.html; words are counted as in the evaluation of the
CoNLL-2018 shared task (Zeman et al., 2018).
"""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

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
    block = _Block(path, problems, columns, tags, spaces)
    found_any = False
    with tags or nullcontext():
        for number, line in read_lines(Path(path)):
            if line.startswith("#") and columns.is_comment(line):
                block.comment(number, line)
            elif line.strip(" \t"):
                block.add(number, line)
            elif block.words:
                yield block.sentence()
                block = _Block(path, problems, columns, tags, spaces, document=block.document)
                found_any = True
        if block.words:
            yield block.sentence()
    if not (found_any or block.words):
        raise ValueError(Errors.P111.format(path=path, columns=", ".join(columns.names)))


@dataclass
class _Block:
    """The lines of a sentence read so far."""

    path: str | Path
    problems: Problems
    columns: Columns
    entity_tags: SpanColumn | None
    keep_spaces: bool = True
    line: int = 0
    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    pos: list[str] = field(default_factory=list)
    morphs: list[str] = field(default_factory=list)
    lemmas: list[str] = field(default_factory=list)
    spaces: list[bool] = field(default_factory=list)
    ents: list[Row] = field(default_factory=list)
    spaces_known: bool = True
    starts_document: bool = False
    document: str | None = None
    sent_id: str | None = None
    # The current multiword token: its last word, its form, whether a space follows, its first word.
    range_end: int = 0
    range_form: str = ""
    range_space: bool = True
    range_start: int = 0

    def comment(self, number: int, line: str) -> None:
        names = read_header(line)
        if names and names != self.columns.names:
            self._fail(number, "another header", f"one for all, {' '.join(self.columns.names)}")
        name, _, text = line[1:].partition("=")
        name, value = name.strip(), text.strip() or None
        if name in ("newdoc", "newdoc id"):
            self.starts_document, self.document = True, value
        elif name == "sent_id":
            self.sent_id = value

    def add(self, number: int, line: str) -> None:
        cells = line.rstrip(" ").split("\t")
        if len(cells) != len(self.columns.names):
            cells = self._padded(number, cells)
        columns = self.columns.standard(cells)
        if "ID" not in self.columns.names:
            columns[0] = str(len(self.words) + 1)
        if not (columns[0] and columns[1]):
            self._fail(number, "ID or FORM is empty", "a value in each column")
        self.line = self.line or number
        if columns[0].isdecimal():
            self._add_word(number, columns)
            if self.entity_tags is not None:
                self.ents.append(Row(number, (self.columns.tag(cells),)))
            if misc_tag(columns[9]) == "":
                self.problems.note("values of name or NE in MISC that are no tags, not read")
        elif "-" in columns[0]:
            self._add_range(number, columns)
            self._no_word("multiword tokens, of which only the words are read", cells)
        elif not all(part.isdecimal() for part in columns[0].split(".", 1)):
            self._fail(
                number, f"'{columns[0]}' is not an ID", "a number, a range 1-2 or an empty node 1.1"
            )
        else:
            self._no_word("empty nodes, not read", cells)

    def sentence(self) -> Sentence:
        if self.range_end > len(self.words):
            self._close_range()
            self._report(
                self.line,
                f"the sentence ends before the last word of the multiword token '{self.range_form}'"
                f" ({self.range_start}-{self.range_end})",
                "all its words",
            )
        if self.keep_spaces and not self.spaces_known:
            self.problems.note(
                "sentences of unknown spaces, since a multiword token is not its words joined"
            )
        return Sentence(
            words=self.words,
            tags=self.tags if any(self.tags) else None,
            pos=self.pos if any(self.pos) else None,
            morphs=self.morphs if "FEATS" in self.columns.names else None,
            ents=self.entity_tags.read(self.ents) if self.entity_tags is not None else None,
            lemmas=self.lemmas if any(self.lemmas) else None,
            spaces=self.spaces if self.keep_spaces and self.spaces_known else None,
            starts_document=self.starts_document,
            document=self.document,
            sent_id=self.sent_id,
            line=self.line,
        )

    def _no_word(self, what: str, cells: list[str]) -> None:
        self.problems.note(what)
        if self.columns.tag(cells) != "O":
            self.problems.note("entity tags of multiword tokens and empty nodes, not read")

    def _add_word(self, number: int, columns: list[str]) -> None:
        identifier, form, lemma, upos, xpos, feats = columns[:6]
        if _number(identifier) != len(self.words) + 1:
            problem = f"the word has the ID {shortened(identifier, 60)}"
            self._report(number, problem, f"ID {len(self.words) + 1}")
        if upos != UNKNOWN and upos not in UPOS_IDS:
            expected = "one of the universal parts of speech, in capitals, or _"
            self._report(number, f"'{upos}' in column UPOS", expected)
            upos = UNKNOWN
        if feats != UNKNOWN and not _are_features(feats):
            expected = "Name=Value|Name=Value with each name once, or _"
            self._report(number, f"'{feats}' in column FEATS", expected)
            feats = ""
        self.words.append(form)
        self.pos.append("" if upos == UNKNOWN else upos)
        self.tags.append("" if xpos == UNKNOWN else xpos)
        self.lemmas.append("" if lemma == UNKNOWN and form != UNKNOWN else lemma)
        self.morphs.append(feats)
        n_words = len(self.words)
        if n_words < self.range_end:
            self.spaces.append(False)
        else:
            self.spaces.append(_space_after(columns[9]))
        if n_words == self.range_end:
            self._close_range()
        if n_words > MAX_SENTENCE_TOKENS:
            what = "words without a blank line"
            raise ValueError(
                Errors.P141.format(
                    path=self.path, line=number, limit=MAX_SENTENCE_TOKENS, what=what
                )
            )

    def _add_range(self, number: int, columns: list[str]) -> None:
        start, _, end = columns[0].partition("-")
        first = len(self.words) + 1
        if not (start.isdecimal() and end.isdecimal()):
            self._fail(number, f"'{columns[0]}' is not an ID", "a number or a range like 1-2")
        if _number(start) != first or _number(end) < first or self.range_end >= first:
            self._report(
                number,
                f"the multiword token '{columns[1]}' has the IDs {shortened(columns[0], 60)}",
                f"a range that begins with the next word, {first}, and overlaps no other one",
            )
            self.spaces_known = False
            return
        self.range_start, self.range_end = first, _number(end)
        self.range_form, self.range_space = columns[1], _space_after(columns[9])

    def _close_range(self) -> None:
        self.spaces[-1] = self.range_space
        if "".join(self.words[self.range_start - 1 :]) != self.range_form:
            self.spaces_known = False

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
        where = f" (sentence {self.sent_id})" if self.sent_id else ""
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
