"""The figures of the recipes' benchmark: small charts in rows, one for each corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

import altair as alt

from spacy_psa.figures.charts import configure
from spacy_psa.figures.images import to_svg
from spacy_psa.figures.style import COLORS, DASHES

Result = dict[str, Any]
Row = dict[str, Any]
Groups = Mapping[str, Sequence[Result]]  # the results by the name of the corpus

COLUMNS = 3
WIDTH, HEIGHT = 230, 150
TICKS = [n * 10**exponent for exponent in range(6) for n in (1, 3)]
NAMES = {
    "": "Test score by the number of sentences; bars: range of the seeds",
    "-time": "Development score by processor time; crosses: test score",
    "-updates": "Development score by updates; crosses: test score",
}
ORDER = ["psa", "bilstm-crf", "spacy", "stanza", "flair"]  # of colors and legend


def figures(groups: Groups) -> dict[str, str]:
    """Draw what the results show.

    groups (Mapping[str, Sequence[Dict]]): The results of trainings by the name of their corpus,
        without variants of the recipe.
    RETURNS (Dict[str, str]): SVG images by the ends of their names: the test score by the number of
        sentences, and the course of the first trainings of both ends by processor time and by
        updates.
    """
    images = {
        "": by_size(groups),
        "-time": by_progress(groups, "seconds", "processor time (s)", NAMES["-time"]),
        "-updates": by_progress(groups, "step", "updates", NAMES["-updates"]),
    }
    return {ending: image for ending, image in images.items() if image}


def by_size(groups: Groups) -> str:
    """RETURNS (str): The mean test score by the number of sentences, with the range of the
    seeds."""
    charts = []
    for name, results in groups.items():
        points: dict[tuple[str, float], list[float]] = {}
        for result in results:
            place = result["system"], float(result["best"]["sentences"])
            points.setdefault(place, []).append(result["best"]["test"])
        rows = [
            {"system": system, "x": size, "y": mean(tests), "low": min(tests), "high": max(tests)}
            for (system, size), tests in points.items()
        ]
        if len({row["x"] for row in rows}) > 1:
            base = panel(rows, "sentences")
            ranges = base.mark_rule(strokeWidth=4, opacity=0.4).encode(y="low:Q", y2="high:Q")
            charts.append(alt.layer(ranges, line(base), base.mark_point(filled=True), title=name))
    return grid(charts, NAMES[""])


def by_progress(groups: Groups, key: str, label: str, about: str) -> str:
    """RETURNS (str): The scores in the course of the first training of each system: on the
    development set, and on the test set of each pipeline that was better on it than those
    before."""
    charts = []
    for size in (100, None):
        for name, results in groups.items():
            runs = [run for run in results if run["size"] == size and run["seed"] == 0]
            rows: dict[str, list[Row]] = {
                part: [
                    {"system": run["system"], "x": point[key], "y": point[part]}
                    for run in runs
                    for point in run["curve"]
                    if point["step"] > 0 and point[part] is not None
                ]
                for part in ("dev", "test")
            }
            if rows["dev"]:
                tests = panel(rows["test"], label).mark_point(shape="cross", filled=True, size=25)
                title = f"{name}: {size or 'all'}"
                charts.append(alt.layer(line(panel(rows["dev"], label)), tests, title=title))
    return grid(charts, about)


def panel(rows: Sequence[Row], label: str) -> alt.Chart:
    """RETURNS (Chart): A small chart without marks, over a logarithmic axis."""
    axis = alt.Axis(grid=False, values=TICKS)
    x_scale = alt.Scale(type="log", nice=False, padding=5)
    color = alt.Scale(domain=ORDER, range=COLORS[: len(ORDER)])
    legend = alt.Legend(title=None, columns=len(ORDER), symbolOpacity=1.0)
    return alt.Chart(alt.Data(values=list(rows)), width=WIDTH, height=HEIGHT).encode(
        x=alt.X("x:Q", title=label, scale=x_scale, axis=axis),
        y=alt.Y("y:Q", title=None, scale=alt.Scale(zero=False)),
        color=alt.Color("system:N", scale=color, legend=legend),
    )


def line(base: alt.Chart) -> alt.Chart:
    """RETURNS (Chart): A line for each system, which differ without colors, too."""
    dashes = [DASHES[i % len(DASHES)] for i, _ in enumerate(ORDER)]
    scale = alt.Scale(domain=ORDER, range=dashes)
    return base.mark_line().encode(strokeDash=alt.StrokeDash("system:N", scale=scale, legend=None))


def grid(charts: Sequence[alt.LayerChart | alt.FacetChart], title: str) -> str:
    """RETURNS (str): An image of charts in rows; empty if there is no chart."""
    if not charts:
        return ""
    return to_svg(configure(alt.concat(*charts, columns=COLUMNS, title=title)), title)
