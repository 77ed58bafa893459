"""The tables of the papers beside our results, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import singledispatch

from ..corpora.published import published_corpora
from ..evaluation.groups import ByLength
from ..evaluation.tables import DASH, Table
from .papers import (
    METRICS,
    TARGETS,
    LengthFigure,
    LengthRow,
    Listing,
    PaperCorpus,
    Papers,
    PaperTable,
    Place,
    Row,
)
from .results import Result, Summary, Training, by_training, summarize

INTRODUCTION = """\
# Results of the papers, and ours

Written by `python -m spacy psa results`. How to get such results is described in
`docs/reproduction.md`; what other runs gave stands in `benchmarks/results`.

Each table has the rows of the paper that are systems of ours; the names in the second column are
those of `psa reproduce`. Scores are F1, of parts of speech and categories accuracy, in percent,
and of the test set if nothing else is said. 'Paper' and 'ours' are means where there are several
runs, with the standard deviation (of ours, that of a sample); n is the number of seeds. Where a
table has more than one figure of a system, they stand in the order of its head; 'max' and the
difference, which is ours less the paper's, are of the score. How ours were trained stands below
each table: epochs and vectors are often not the papers'.
"""
SEEDS = "0 1 2 3 4"
UNTRAINED = "not trained yet"
BELOW = "by the command"


def to_page(papers: Papers, results: Sequence[Result]) -> str:
    """Write the page of all tables.

    papers (Papers): The tables of the papers.
    results (Sequence[Result]): Our results. Of several of the same training and seed, the last
        one counts.
    RETURNS (str): The page, in Markdown.
    """
    unique = list({(result.place, result.training): result for result in results}.values())
    parts = [" ".join(p.split("\n")) for p in INTRODUCTION.strip().split("\n\n")]
    for paper, title in papers.titles.items():
        parts.append(f"## {title}")
        for place in papers.contents:
            if place.paper == paper:
                parts += to_parts(place, papers, unique)
    parts += other_parts(papers, unique)
    return "\n\n".join(parts) + "\n"


@singledispatch
def to_parts(place: Place, papers: Papers, results: Sequence[Result]) -> list[str]:
    """Write what stands in a place of a paper.

    place (Place): A table, listing or figure.
    papers (Papers): All that is known of the papers.
    results (Sequence[Result]): Our results.
    RETURNS (List[str]): The paragraphs.
    """
    raise TypeError(f"There is nothing to write of {type(place).__name__}")


@to_parts.register
def _(table: PaperTable, papers: Papers, results: Sequence[Result]) -> list[str]:
    """A table that compares systems."""
    notes = Notes()
    rows = [cells for row in table.rows for cells in _row(row, table, papers, results, notes)]
    heads = [
        name if len(metrics) == 1 else f"{name}: {' / '.join(table.names(metrics))}"
        for name, metrics in (("paper", table.metrics), ("ours", table.our_metrics))
    ]
    header = ["row", "system", heads[0], "max", heads[1], "max", "n", "difference"]
    elsewhere = _elsewhere(table, results) if table.ablation else []
    return [
        _write(table, [*header, "training"], rows),
        *notes.to_list(),
        *elsewhere,
        _code(_commands(table, papers.corpora)),
    ]


@to_parts.register
def _(listing: Listing, papers: Papers, results: Sequence[Result]) -> list[str]:
    """What other commands tell: theirs, and what ours need."""
    rows = []
    for row in listing.rows:
        lacks = needs(row.corpus, papers.corpora)
        rows.append([row.label, *row.cells, lacks if lacks != UNTRAINED else BELOW])
    header = ["row", *(f"paper: {column}" for column in listing.columns), "ours"]
    return [_write(listing, header, rows), _code(listing.commands)]


@to_parts.register
def _(figure: LengthFigure, papers: Papers, results: Sequence[Result]) -> list[str]:
    """Scores by the length of sentences, of which the paper shows a plot."""
    notes, buckets = Notes(), ByLength().names
    rows = [
        cells for row in figure.rows for cells in _length_rows(row, buckets, papers, results, notes)
    ]
    header = ["corpus", "system", *(f"{bucket} tokens" for bucket in buckets), "n", "training"]
    return [_write(figure, header, rows), *notes.to_list()]


def _length_rows(
    row: LengthRow,
    buckets: Sequence[str],
    papers: Papers,
    results: Sequence[Result],
    notes: Notes,
) -> Iterable[list[str]]:
    target = TARGETS[row.task][0]
    place = (row.corpus, row.task, target, row.system)
    trained = [r for r in results if (r.corpus, r.task, r.target, r.system) == place]
    found = [result for result in trained if result.lengths is not None]
    start = [papers.corpora[row.corpus].name, f"`{row.system}`"]
    if not found:
        lacks = "trained, not scored by length" if trained else needs(row.corpus, papers.corpora)
        yield [*start, lacks, *[DASH] * (len(buckets) + 1)]
    for training, group in by_training(found).items():
        cells = []
        for bucket in buckets:
            told = [(r.lengths or {}).get(bucket) for r in group]
            scores = [scores[METRICS[target]] for scores in told if scores is not None]
            cells.append(str(summarize(100.0 * s for s in scores)) if scores else DASH)
        yield [*start, *cells, str(len(group)), notes.letter(training)]


def _write(place: Place, header: list[str], rows: list[list[str]]) -> str:
    return Table(f"{place.name}. {place.caption}", header, rows).to_markdown().strip()


def _code(lines: Iterable[str]) -> str:
    return "\n".join(["```bash", *lines, "```"])


def needs(corpus: str, corpora: dict[str, PaperCorpus]) -> str:
    """What a figure of ours needs that is not there.

    corpus (str): The name of the corpus.
    corpora (Dict[str, PaperCorpus]): The corpora of the papers.
    RETURNS (str): The corpus, if users have to get it themselves, or the training.
    """
    published = published_corpora().get(corpus)
    if published is not None and published.obtain:
        return f"needs {corpora[corpus].name}"
    return UNTRAINED


class Notes:
    """What is said below a table of how ours were trained, each with a letter."""

    def __init__(self) -> None:
        self._letters: dict[Training, str] = {}

    def letter(self, training: Training) -> str:
        """RETURNS (str): The letter of a training: a, b, c …, after z aa, bb, cc …"""
        times, place = divmod(len(self._letters), 26)
        return self._letters.setdefault(training, chr(ord("a") + place) * (times + 1))

    def to_list(self) -> list[str]:
        """RETURNS (List[str]): A paragraph, or none if nothing was trained."""
        if not self._letters:
            return []
        told = "; ".join(f"{letter}: {training}" for training, letter in self._letters.items())
        return [f"Ours: {told}."]


def _row(
    row: Row, table: PaperTable, papers: Papers, results: Sequence[Result], notes: Notes
) -> Iterable[list[str]]:
    """The cells of a row; of several, if there are results of several ways to train."""
    main = METRICS[row.target]
    figures = {**row.others, main: row.figure}
    told = {metric: _or_dash(figures.get(metric)) for metric in table.metrics}
    told[main] += "" if row.std is None else f" ± {row.std}"
    start = [row.label, f"`{row.system}`", " / ".join(told.values()), _or_dash(row.max)]
    trained = [
        result
        for result in results
        if (result.corpus, result.task, result.target, result.system)
        == (row.corpus, table.task, row.target, row.system)
    ]
    found = [result for result in trained if result.has(row.part)]
    if not found:
        part = "brown" if row.part == "combined" else row.part
        lacks = f"needs {part}.spacy" if trained else needs(row.corpus, papers.corpora)
        yield [*start, lacks, DASH, DASH, DASH, DASH]
    for training, group in by_training(found).items():
        score = summarize(result.score(row.part) for result in group)
        ours = [
            str(summarize(result.score(row.part, metric) for result in group))
            for metric in table.our_metrics
        ]
        _, *numbers = _summary(score)
        cells = [" / ".join(ours), *numbers, _difference(score, row)]
        yield [*start, *cells, notes.letter(training)]


def _or_dash(figure: Decimal | None) -> str:
    return DASH if figure is None else str(figure)


def _difference(ours: Summary, row: Row) -> str:
    if row.figure is None:
        return DASH
    return f"{ours.mean - float(row.figure):+.2f}".replace("-", "\u2212")


def _elsewhere(table: PaperTable, results: Sequence[Result]) -> list[str]:
    """Results of an ablation on other corpora than the paper's, if there are any to compare."""
    known = {row.corpus for row in table.rows}
    systems = list(dict.fromkeys(row.system for row in table.rows))
    part = table.rows[0].part
    parts = []
    others = {(r.corpus, r.task, r.target) for r in results if r.corpus not in known}
    for place in sorted(others):
        found = [r for r in results if place == (r.corpus, r.task, r.target)]
        found = [r for r in found if r.system in systems and r.has(part)]
        if len({r.system for r in found}) < 2:
            continue
        title = f"The systems of this table on {' '.join(place)}:"
        parts += [title, *_plain_table(found, systems, (part,))]
    return parts


def other_parts(papers: Papers, results: Sequence[Result]) -> list[str]:
    """Write the results that belong to no table.

    papers (Papers): The tables of the papers.
    results (Sequence[Result]): Our results.
    RETURNS (List[str]): The paragraphs; none if there are no such results.
    """
    known = {
        (row.corpus, table.task, row.target, row.system)
        for table in papers.tables
        for row in table.rows
    }
    others = [r for r in results if (r.corpus, r.task, r.target, r.system) not in known]
    if not others:
        return []
    parts = ["## Other results", "On corpora, or of systems, that are in no table."]
    for place in sorted({(r.corpus, r.task, r.target) for r in others}):
        found = [r for r in others if place == (r.corpus, r.task, r.target)]
        systems = list(dict.fromkeys(r.system for r in found))
        parts += [f"### {' '.join(place)}", *_plain_table(found, systems, ("dev", "test"))]
    return parts


def _plain_table(
    results: Sequence[Result], systems: Sequence[str], parts: Sequence[str]
) -> list[str]:
    notes, rows = Notes(), []
    for system in systems:
        found = [result for result in results if result.system == system]
        for training, group in by_training(found).items():
            row = [f"`{system}`"]
            for part in parts:
                row += _summary(summarize(r.score(part) for r in group))[:2]
            rows.append([*row, str(len(group)), notes.letter(training)])
    header = ["system", *(cell for part in parts for cell in (part, "max")), "n", "training"]
    _, _, table = Table("", header, rows).to_markdown().partition("\n\n")
    return [table.strip(), *notes.to_list()]


def _commands(table: PaperTable, corpora: dict[str, PaperCorpus]) -> Iterable[str]:
    """The commands that train what a table needs."""
    for corpus, target in dict.fromkeys((row.corpus, row.target) for row in table.rows):
        rows = [row for row in table.rows if (row.corpus, row.target) == (corpus, target)]
        systems = " ".join(dict.fromkeys(row.system for row in rows))
        where, lang = corpora[corpus].data, corpora[corpus].lang
        more = "" if lang == "en" else f" --lang {lang}"
        more += f" --target {target}" if target == "pos" else ""
        yield (
            f"python -m spacy psa reproduce --corpus-name {corpus} --task {table.task}{more} "
            f'--data {where} --systems "{systems}" --seeds "{SEEDS}" '
            "--results metrics/reproduce.json"
        )


def _summary(summary: Summary) -> list[str]:
    return [str(summary), f"{summary.max:.2f}", str(summary.n)]
