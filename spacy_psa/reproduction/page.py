"""The tables of the papers beside our results, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..corpora.published import published_corpora
from ..evaluation.tables import DASH, Table
from .papers import PaperCorpus, Papers, PaperTable, Row
from .results import Result, Summary, Training, by_training, summarize

INTRODUCTION = """\
# Results of the papers, and ours

Written by `python -m spacy psa results`. How to get such results is described in
`docs/reproduction.md`; what other runs gave stands in `benchmarks/results`.

Each table has the rows of the paper that are systems of ours; the names in the second column are
those of `psa reproduce`. Scores are F1, of parts of speech and categories accuracy, in percent,
and of the test set if nothing else is said. 'Paper' and 'ours' are means where there are several
runs, with the standard deviation (of ours, that of a sample); n is the number of seeds. The
difference is ours less the paper's. How ours were trained stands below each table: epochs and
vectors are often not the papers'.
"""
HEADER = ["row", "system", "paper", "max", "ours", "max", "n", "difference", "training"]
SEEDS = "0 1 2 3 4"


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
        for table in papers.tables:
            if table.paper == paper:
                parts += table_parts(table, papers, unique)
    parts += other_parts(papers, unique)
    return "\n\n".join(parts) + "\n"


def table_parts(table: PaperTable, papers: Papers, results: Sequence[Result]) -> list[str]:
    """Write a table of a paper.

    table (PaperTable): The table.
    papers (Papers): All that is known of the papers.
    results (Sequence[Result]): Our results.
    RETURNS (List[str]): The paragraphs.
    """
    notes = Notes()
    rows = [cells for row in table.rows for cells in _row(row, table, papers, results, notes)]
    written = Table(f"{table.name}. {table.caption}", HEADER, rows)
    elsewhere = _elsewhere(table, results) if table.ablation else []
    commands = "\n".join(_commands(table, papers.corpora))
    return [
        written.to_markdown().strip(),
        *notes.to_list(),
        *elsewhere,
        f"```bash\n{commands}\n```",
    ]


def needs(corpus: str, corpora: dict[str, PaperCorpus]) -> str:
    """What a figure of ours needs that is not there.

    corpus (str): The name of the corpus.
    corpora (Dict[str, PaperCorpus]): The corpora of the papers.
    RETURNS (str): The corpus, if users have to get it themselves, or the training.
    """
    published = published_corpora().get(corpus)
    if published is not None and published.obtain:
        return f"needs {corpora[corpus].name}"
    return "not trained yet"


class Notes:
    """What is said below a table of how ours were trained, each with a letter."""

    def __init__(self) -> None:
        self._letters: dict[Training, str] = {}

    def letter(self, training: Training) -> str:
        """RETURNS (str): The letter of a training: a, b, c …"""
        return self._letters.setdefault(training, chr(ord("a") + len(self._letters) % 26))

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
    paper = DASH if row.figure is None else str(row.figure)
    paper += "" if row.std is None else f" ± {row.std}"
    start = [row.label, f"`{row.system}`", paper, DASH if row.max is None else str(row.max)]
    trained = [
        result
        for result in results
        if (result.corpus, result.task, result.target, result.system)
        == (row.corpus, table.task, row.target, row.system)
    ]
    found = [result for result in trained if result.has(row.part)]
    if not found:
        lacks = f"needs {row.part}.spacy" if trained else needs(row.corpus, papers.corpora)
        yield [*start, lacks, DASH, DASH, DASH, DASH]
    for training, group in by_training(found).items():
        ours = summarize(result.score(row.part) for result in group)
        yield [*start, *_summary(ours), _difference(ours, row), notes.letter(training)]


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
