"""Format reports as tables and text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..figures.tables import DASH, Table, counted, interval, markdown_text, percent, visible
from .confusion import NOTHING, Mistake, WrongSentence
from .report import Breakdown, Report
from .significance import few_sentences

N_CONFUSIONS = 20
MISSED, INVENTED = "(missed)", "(invented)"
# Markup for lists and rules at the beginning of a Markdown line.
_BEGINNING = re.compile(r"(\d*)([-+.)])")


def report_tables(report: Report, *, n_labels: int | None = None) -> list[Table]:
    """Format a report as tables."""
    tables = [_scores(report)]
    for breakdown in report.breakdowns.values():
        limit = n_labels if breakdown is report.breakdowns.get("label") else None
        tables.append(breakdown_table(breakdown, report.confidence, limit))
    rows = confusion_rows(report, N_CONFUSIONS)
    if rows:
        header = ["gold", "predicted", "count", "% of gold"]
        tables.append(Table("Most frequent confusions", header, rows))
    return tables


def breakdown_table(breakdown: Breakdown, confidence: float, limit: int | None = None) -> Table:
    """Format a breakdown as a table."""
    rows = breakdown.rows
    if limit is not None and len(rows) > limit:
        ranked = sorted(rows, key=lambda row: -row.counts.gold - row.counts.predicted)
        kept = {row.name for row in ranked[:limit]}
        rows = [row for row in rows if row.name in kept]
    header = ["", "P", "R", "F1", _confidence(confidence), "TP", "FP", "FN"]
    lines = []
    for row in rows:
        n = row.counts
        some = n.gold + n.predicted > 0
        scores = [f"{x:.2f}" if some else DASH for x in n.percentages]
        numbers = (n.correct, n.predicted - n.correct, n.gold - n.correct)
        lines.append([row.name, *scores, interval(row.interval), *map(str, numbers)])
    title = breakdown.title
    if len(rows) < len(breakdown.rows):
        title += f" ({len(rows)} most frequent of {len(breakdown.rows)})"
    return Table(title, header, lines, note=breakdown.note)


def confusion_rows(report: Report, limit: int) -> list[list[str]]:
    """Format the most frequent confusions."""
    totals = report.confusion.gold_totals()
    return [
        [
            gold or INVENTED,
            predicted or MISSED,
            str(n),
            DASH if gold == NOTHING else percent(n / totals[gold], 1),
        ]
        for gold, predicted, n in report.confusion.worst(limit)
    ]


def summary(report: Report) -> str:
    """Summarize what was evaluated."""
    numbers = {"documents": report.n_docs, "sentences": report.n_sentences}
    # If the units are tokens, both counts are the same.
    numbers |= {"tokens": report.n_tokens, report.unit: report.total.counts.gold}
    wholes = report.wholes
    if wholes is not None:
        numbers[wholes.name] = wholes.gold
    text = ", ".join(counted(n, name) for name, n in numbers.items())
    text += "."
    if report.n_skipped:
        were = "was" if report.n_skipped == 1 else "were"
        text += f" {counted(report.n_skipped, 'documents')} without annotation {were} skipped."
    if wholes is not None and wholes.skipped:
        text += f" Predicted {wholes.name} not in the gold standard (ignored): {wholes.skipped:,}."
    return "\n".join(filter(None, [text, few_sentences(report.n_sentences, "intervals")]))


def headline(reports: Sequence[Report]) -> str:
    """The main score of each report with its interval, in one line."""
    told = []
    for report in reports:
        score, ends = report.scores[report.main_score], report.intervals[report.main_score]
        name = "F1" if report.main_score == "f1" else report.main_score
        told.append(f"{report.title}: {name} {percent(score)} % ({interval(ends)})")
    return f"{'; '.join(told)}. Intervals are for a confidence of {reports[0].confidence:g}."


def notes(report: Report) -> list[str]:
    """Notes on the breakdowns."""
    return [f"{b.title}: {b.note}" for b in report.breakdowns.values() if b.note]


def sentence_heading(sentence: WrongSentence, unit: str) -> str:
    """The location of a sentence and its number of errors."""
    wrong, gold = counted(len(sentence.mistakes), "mistakes"), counted(sentence.units, unit, "gold")
    return f"Document {sentence.doc}, token {sentence.token}: {wrong}, {gold}"


def mistake_line(mistake: Mistake) -> str:
    """An error in square brackets, with its context."""
    before, text, after = map(visible, (mistake.before, mistake.text, mistake.after))
    context = f"{before} [{text}] {after}".strip()
    return f"{context}   {verdict(mistake)}"


def verdict(mistake: Mistake) -> str:
    """The kind of error: missed, invented or mislabeled; with the anchor, if any."""
    of = "" if mistake.anchor is None else f"{visible(mistake.anchor)}: "
    if mistake.predicted is None:
        return f"{of}{mistake.gold} missed"
    if mistake.gold is None:
        return f"{of}{mistake.predicted} invented"
    return f"{of}{mistake.gold} predicted as {mistake.predicted}"


def to_markdown(reports: Sequence[Report], title: str) -> str:
    """Format reports in Markdown."""
    return "\n".join(
        [f"# {markdown_text(title)}\n", *(line for r in reports for line in _markdown(r))]
    )


def _markdown(report: Report) -> Iterator[str]:
    yield f"## {markdown_text(report.title)}\n"
    yield f"{markdown_text(summary(report))}\n"
    for table in report_tables(report):
        yield table.to_markdown(plain=True)
    if report.worst:
        yield "### Worst sentences\n"
    for sentence in report.worst:
        yield f"**{sentence_heading(sentence, report.unit)}**\n"
        yield "".join(f"- {_item(m)}\n" for m in sentence.mistakes)


def _item(mistake: Mistake) -> str:
    text = markdown_text(mistake_line(mistake))
    found = _BEGINNING.match(text)
    return text if found is None else f"{found[1]}\\{text[found.start(2) :]}"


def _scores(report: Report) -> Table:
    names = {"f1": "F1", "accuracy": "accuracy (tokens)"}
    if report.wholes is not None:
        names["complete"] = f"complete {report.wholes.name}"
    exact = dict(zip(("precision", "recall", "f1"), report.total.counts.percentages, strict=True))
    rows = [
        [
            names.get(key, key),
            f"{exact[key]:.2f}" if key in exact else percent(value),
            interval(report.intervals[key]),
        ]
        for key, value in report.scores.items()
    ]
    return Table("Scores", ["", "%", _confidence(report.confidence)], rows)


def _confidence(confidence: float) -> str:
    return f"{100 * confidence:g}% interval"
