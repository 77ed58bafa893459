"""Reports as a self-contained web page: tables, and plots as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..figures.charts import bar_plot, interval_plot
from ..figures.heat_maps import heat_map
from ..figures.pages import render
from .confusion import NOTHING
from .rendering import (
    INVENTED,
    MISSED,
    headline,
    report_tables,
    sentence_heading,
    summary,
    verdict,
)
from .report import Breakdown, Report, Row

N_BARS, N_CELLS = 24, 20
# Breakdowns with ordered groups, and the labels of their x axes.
ORDERED = {
    "length": "sentence length (tokens)",
    "vocabulary": "IV: known words; OOTV: not in training; OOEV: without vector; OOBV: neither",
    "complexity": "complexity (basic categories)",
}


def to_html(reports: Sequence[Report], title: str) -> str:
    """Format reports as a web page."""
    sections = [_section(report) for report in reports]
    return render("report.html.jinja", title, intro=headline(reports), sections=sections)


def plots(report: Report) -> list[str]:
    """Plot a report."""
    drawn = [
        _points(report, report.breakdowns[name], x_label)
        for name, x_label in ORDERED.items()
        if name in report.breakdowns
    ]
    if "label" in report.breakdowns:
        drawn.insert(1, _bars(report, report.breakdowns["label"], report.label))
    return [svg for svg in [*drawn, _heat_map(report)] if svg]


def _section(report: Report) -> dict[str, Any]:
    """What the page shows of a report."""
    scores, *others = report_tables(report)
    return {
        "title": report.title,
        "summary": summary(report),
        "scores": scores,
        "images": plots(report),
        "tables": others,
        "worst": [
            (
                sentence_heading(sentence, report.unit),
                [(m.before, m.text, m.after, verdict(m)) for m in sentence.mistakes],
            )
            for sentence in report.worst
        ],
    }


def _points(report: Report, breakdown: Breakdown, x_label: str) -> str:
    """Plot ordered groups as points, on an axis that shows the differences between them."""
    rows = _some(breakdown.rows)
    if not rows:
        return ""
    return interval_plot(
        {row.name: 100 * row.counts.f1 for row in rows},
        _ends(rows),
        x_label,
        "F1 (%)",
        f"F1 {_lower(breakdown.title)}",
        legend=f"F1 (points) with {100 * report.confidence:g}% interval (whiskers)",
    )


def _bars(report: Report, breakdown: Breakdown, x_label: str) -> str:
    rows = _some(breakdown.rows)
    title = f"F1 {_lower(breakdown.title)}"
    if len(rows) > N_BARS:
        rows = sorted(rows, key=lambda row: -row.counts.gold)[:N_BARS]
        title += f" ({N_BARS} most frequent)"
    if not rows:
        return ""
    name = f"F1 (bars) with {100 * report.confidence:g}% interval (whiskers)"
    return bar_plot(
        {name: {row.name: 100 * row.counts.f1 for row in rows}},
        x_label,
        "F1 (%)",
        title,
        intervals={name: _ends(rows)},
        y_range=(0.0, 100.0),
    )


def _some(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.counts.gold + row.counts.predicted]


def _ends(rows: Sequence[Row]) -> dict[str, tuple[float, float]]:
    """Intervals in percent."""
    known = ((row.name, row.interval) for row in rows if row.interval is not None)
    return {name: (100 * low, 100 * high) for name, (low, high) in known}


def _lower(title: str) -> str:
    return title[:1].lower() + title[1:]


def _heat_map(report: Report) -> str:
    labels = report.confusion.labels(N_CELLS)
    if not labels:
        return ""
    counts, totals = report.confusion.counts, report.confusion.gold_totals()
    missed = any(predicted == NOTHING for _, predicted in counts)
    # Invented units have no gold label, but they form a row of errors.
    rows = labels + [NOTHING] * (NOTHING in totals)
    columns = labels + [NOTHING] * missed
    shares = [[100 * counts[g, p] / max(1, totals[g]) for p in columns] for g in rows]
    texts = [[str(counts[g, p] or "") for p in columns] for g in rows]
    all_labels = report.confusion.labels()
    some = f" ({N_CELLS} most frequent {report.label}s)" if len(all_labels) > N_CELLS else ""
    return heat_map(
        shares,
        [row or INVENTED for row in rows],
        [column or MISSED for column in columns],
        f"predicted {report.label}",
        f"gold {report.label}",
        f"% of the row; cells show numbers of {report.unit}",
        f"Confusion matrix{some}",
        texts=texts,
        value_range=(0.0, 100.0),
    )
