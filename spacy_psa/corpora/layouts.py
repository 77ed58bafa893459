"""Read sentences from columns, given which layer of annotation is in which column."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mode

from ..annotation.schemes import Span
from ..errors import Errors
from .column_kinds import PLACEHOLDERS, column_values, is_counting, is_span_tags
from .column_spans import SpanColumn
from .columns import CSV_SEPARATORS, Row, names_columns, read_columns, split_documents
from .formats import FORMATS
from .lines import rereading
from .problems import Problems, unexpected
from .sentence import Sentence

DOCUMENT_BOUNDARY = "-DOCSTART-"
SPAN_LAYERS = ("chunks", "ents")
_NAMES = {"words": "word", "lemmas": "lemma"}
_N_CHECKED = 1000
LONG_SENTENCE = 1000
_NO_BLANK_LINE = f"sentences of more than {LONG_SENTENCE:,} tokens: a blank line must end each"
_HEADER = "lines that seem to name the columns, read as a word: header=true leaves them out"
_LOWER_CASE = re.compile(r"[bieslum]-.+")
_PREFIXED = re.compile(r"[BIESLUM]-.+")
_BARE = re.compile(r"[BIESLUM]", re.IGNORECASE)
_SPACES = {"+": True, "-": False}


@dataclass(frozen=True)
class Layout:
    """What the columns of a file are.

    Placeholders (`_`, `-X-`) mean that a token is not annotated. In tags of spans, the case of the
    prefix does not matter.

    columns (Mapping[str, int]): The index of the column of each layer: "words" and some of "tags",
        "lemmas", "spaces", "chunks" and "ents"; negative to count from the last.
    names (Mapping[str, str]): The names of columns in messages, if they differ from the layers.
    width (Optional[int]): The number of columns; None for that of the first line.
    scheme (Optional[str]): The label scheme of the entities, or else of the chunks; None for
        the one that fits most tags.
    label (Optional[str]): The label of tags without one: B, I and O.
    prefixes (bool): Whether the tags of spans have prefixes such as B-. If not, they are labels.
    separator (Optional[str]): The column separator; None for any number of spaces and tabs.
    comment (Optional[str]): Skip lines that start with this; None to skip none.
    header (bool): Whether the first line has the names of the columns.
    joined_by (Optional[str]): What joins the columns of a token in files with one sentence per
        line, e.g. "|" for `Ann|NNP|B-PER`; None for one token per line.
    boundary (Optional[str]): The first column of lines that start a document; None if there are
        none.
    """

    columns: Mapping[str, int]
    names: Mapping[str, str] = field(default_factory=dict)
    width: int | None = None
    scheme: str | None = None
    label: str | None = None
    prefixes: bool = True
    separator: str | None = None
    comment: str | None = None
    header: bool = False
    joined_by: str | None = None
    boundary: str | None = DOCUMENT_BOUNDARY

    @rereading
    def read(self, path: str | Path, problems: Problems | None = None) -> Iterator[Sentence]:
        """Stream the sentences of a file."""
        problems = problems or Problems()
        names = self._column_names(path, problems)
        at = {layer: range(len(names))[index] for layer, index in self.columns.items()}
        tags: dict[str, str] = {}
        sentences = split_documents(self._rows(path, names, problems), self.boundary)
        with ExitStack() as stack:
            spans = {
                layer: stack.enter_context(
                    SpanColumn(path, at[layer], names, self._scheme_of(layer), problems)
                )
                for layer in SPAN_LAYERS
                if layer in at
            }
            for rows, starts_document in sentences:
                if len(rows) > LONG_SENTENCE:
                    # Some files separate sentences in other ways
                    problems.note(_NO_BLANK_LINE, first=f"begins in line {rows[0].line}")
                found: dict[str, list[Span] | None] = {}
                for layer, column in spans.items():
                    tagged = self._with_tags(rows, at[layer], tags, path, problems)
                    found[layer] = column.read(tagged) if tagged else None
                yield Sentence(
                    words=[row.columns[at["words"]] for row in rows],
                    tags=_values(rows, at.get("tags")),
                    lemmas=_values(rows, at.get("lemmas")),
                    spaces=_spaces(rows, at.get("spaces"), path, problems),
                    chunks=found.get("chunks"),
                    ents=found.get("ents"),
                    starts_document=starts_document,
                    line=rows[0].line,
                )

    def _scheme_of(self, layer: str) -> str | None:
        return self.scheme if layer == "ents" or "ents" not in self.columns else None

    def _rows(
        self, path: str | Path, names: Sequence[str] | None, problems: Problems
    ) -> Iterator[list[Row]]:
        if self.joined_by and names:
            return _split_tokens(path, names, self.joined_by, self.comment, problems)
        return read_columns(
            path,
            names,
            comment=self.comment,
            separator=self.separator,
            header=self.header,
            word_column=self.columns["words"],
            filled=[range(len(names))[i] for i in self.columns.values()] if names else None,
            boundary=self.boundary,
            problems=problems,
        )

    def _column_names(self, path: str | Path, problems: Problems) -> list[str]:
        """The names of all columns, once the first lines have been checked."""
        first: list[list[Row]] = []
        n_rows = 0
        for rows, _ in split_documents(self._rows(path, None, problems), self.boundary):
            first.append(rows)
            n_rows += len(rows)
            if n_rows >= _N_CHECKED:
                break
        if not first:
            known = ", ".join(_NAMES.get(layer, layer) for layer in self.columns)
            raise ValueError(Errors.P111.format(path=path, columns=known))
        width = len(self.columns) if self.joined_by else self.width or self._n_columns(first)
        names = [f"column {i}" for i in range(width)]
        for layer, index in self.columns.items():
            name = self.names.get(layer) or _NAMES.get(layer, layer)
            if not -width <= index < width:
                raise unsuitable(f"column {index} for {name}: {path} has {width} columns")
            names[index] = name
        if len({range(width)[index] for index in self.columns.values()}) < len(self.columns):
            raise unsuitable(f"the same column twice, in {dict(self.columns)}")
        if n_rows > 1 and not self.joined_by:
            start = first[0][0]
            if not self.header and names_columns(start.columns):
                problems.note(_HEADER, first=f"in line {start.line}: {' '.join(start.columns)}")
            self._check_words(path, first, width, problems)
        return names

    def _n_columns(self, sentences: Sequence[Sequence[Row]]) -> int:
        """The number of columns of the first line, or of most, if a quoted cell may mislead."""
        widths = [len(row.columns) for rows in sentences for row in rows]
        return mode(widths) if self.separator in CSV_SEPARATORS else widths[0]

    def _check_words(
        self, path: str | Path, sentences: list[list[Row]], width: int, problems: Problems
    ) -> None:
        """Check that the words are neither numbers of tokens nor tags."""
        index = range(width)[self.columns["words"]]
        values = column_values(sentences, width, index)
        for what, is_kind in (("numbers", is_counting), ("tags", is_span_tags)):
            if is_kind(values):
                row = sentences[0][0]
                problems.report(
                    Errors.P180.format(
                        path=path, line=row.line, column=index, what=what, value=values[0][0]
                    )
                )

    def _with_tags(
        self,
        rows: list[Row],
        index: int,
        known: dict[str, str],
        path: str | Path,
        problems: Problems,
    ) -> list[Row] | None:
        """The rows with tags as `SpanColumn` knows them; None if no token is annotated."""
        tags = [row.columns[index] for row in rows]
        if all(tag in PLACEHOLDERS for tag in tags):
            return None
        if not known.keys() >= set(tags):
            for row, tag in zip(rows, tags, strict=True):
                if not self.prefixes and tag not in known and _PREFIXED.fullmatch(tag):
                    problem, expected = f"'{tag}' has a prefix", "labels without (prefixes=false)"
                    problems.report(unexpected(path, row.line, problem, expected))
                known[tag] = self._tag(tag)
        new = [known[tag] for tag in tags]
        if new == tags:
            return rows
        return [
            Row(row.line, (*row.columns[:index], tag, *row.columns[index + 1 :]))
            for row, tag in zip(rows, new, strict=True)
        ]

    def _tag(self, tag: str) -> str:
        """A tag with a prefix in upper case and a label."""
        if tag in ("O", "o", "", "."):
            return tag.upper()
        if not self.prefixes:
            # A placeholder beside labels is reported, as it is among tags with prefixes
            return tag if tag in PLACEHOLDERS else f"I-{tag}"
        if self.label and _BARE.fullmatch(tag):
            return f"{tag.upper()}-{self.label}"
        return tag[0].upper() + tag[1:] if _LOWER_CASE.fullmatch(tag) else tag


def unsuitable(problem: str) -> ValueError:
    """Create the error for options that do not suit a file."""
    return FORMATS["iob"].unaccepted(problem, "layer")


def _values(rows: Sequence[Row], index: int | None) -> list[str] | None:
    """The values of a column, "" for placeholders; None if there are only those."""
    if index is None:
        return None
    values = [row.columns[index] for row in rows]
    # Not all of PLACEHOLDERS: some tag sets have the tag "-" or "*" for these tokens.
    if "_" in values or "-X-" in values:
        values = ["" if value in ("_", "-X-") else value for value in values]
        return values if any(values) else None
    return values


def _spaces(
    rows: Sequence[Row], index: int | None, path: str | Path, problems: Problems
) -> list[bool] | None:
    """Whether whitespace follows each word, for a column of + and -."""
    if index is None:
        return None
    values = [row.columns[index] for row in rows]
    for row, value in zip(rows, values, strict=True):
        if value not in _SPACES:
            problem = f"'{value}' in column spaces is not + or -"
            expected = "+ for words that whitespace follows, and - for others"
            problems.report(unexpected(path, row.line, problem, expected))
            return None
    return [_SPACES[value] for value in values]


def _split_tokens(
    path: str | Path,
    names: Sequence[str],
    joined_by: str,
    comment: str | None,
    problems: Problems,
) -> Iterator[list[Row]]:
    """Read lines such as `word|POS|tag word|POS|tag`, in which only words can have the joint."""
    for block in read_columns(path, comment=comment):
        for line, tokens in block:
            rows = []
            for token in tokens:
                parts = token.rsplit(joined_by, len(names) - 1)
                if len(parts) < len(names) or "" in parts:
                    problem = f"'{token}' is not a word with a tag"
                    problems.report(unexpected(path, line, problem, joined_by.join(names)))
                    parts = [token] + [""] * (len(names) - 1)
                rows.append(Row(line, tuple(parts)))
            yield rows
