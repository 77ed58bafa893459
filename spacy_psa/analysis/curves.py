"""Training curves: scores and losses of one or more runs, as images or as a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import Errors, warn
from ..figures.charts import Point, line_plot
from ..figures.images import stack
from ..figures.pages import render
from ..figures.tables import Table
from .training_logs import Run

COLUMNS = ["run", "evaluations", "best (%)", "at step", "last (%)"]


@dataclass(frozen=True)
class Plot:
    """A plot of curves.

    title (str): The title.
    x_label (str): The label of the x axis.
    y_label (str): The label of the y axis.
    series (Mapping[str, Sequence[Tuple[float, float]]]): The points of each curve, by name.
    owners (Mapping[str, str]): The run of each curve, which has one color and marker in all plots.
    """

    title: str
    x_label: str
    y_label: str
    series: Mapping[str, Sequence[Point]]
    owners: Mapping[str, str]

    def draw(self) -> str:
        """Draw the plot."""
        labels = (self.x_label, self.y_label, self.title)
        return line_plot(self.series, *labels, owners=self.owners)


def training_curves(
    runs: Sequence[Run], *, score: str = "", by: str = "epoch", start: float = 0.0
) -> list[Plot]:
    """Make the curves of training runs: the score on the development set, and the loss.

    The loss is the mean per update since the previous evaluation. spaCy's evaluation after the very
    first update is omitted, because it would compress the rest of the scale.
    """
    if by not in ("epoch", "step"):
        raise ValueError(Errors.P294.format(name=by))
    epochs = {run.name: run.epochs for run in runs}
    by_epoch = by == "epoch" and None not in epochs.values()
    x_label = "epochs" if by_epoch else "steps (updates)"
    places: dict[str, list[float]] = {
        run.name: (epochs[run.name] if by_epoch else None) or [e.step for e in run.evaluations]
        for run in runs
    }
    scores = {run.name: _shown(_scores(run, score, places[run.name]), run, start) for run in runs}
    losses: dict[str, list[Point]] = {}
    owners = {run.name: run.name for run in runs}
    alone = all(len(_components(run)) == 1 for run in runs)
    for run in runs:
        for component in _components(run):
            name = run.name if alone else f"{run.name}: {component}"
            owners[name] = run.name
            losses[name] = _shown(_losses(run, component, places[run.name]), run, start)
    unit = x_label.split()[0].removesuffix("s")
    plots = [
        Plot(
            f"{score or 'Score'} by {unit}",
            x_label,
            f"{score or 'score'} on dev (%)",
            scores,
            owners,
        ),
        Plot(f"Training loss by {unit}", x_label, "mean loss per update", losses, owners),
    ]
    empty = [plot for plot in plots if not _has_points(plot)]
    if len(empty) == len(plots):
        raise ValueError(Errors.P280.format(title=plots[0].title))
    for plot in empty:
        warn(Errors.P280.format(title=plot.title))
    return [plot for plot in plots if plot not in empty]


def draw_curves(plots: Sequence[Plot]) -> str:
    """Draw plots below each other."""
    return stack([plot.draw() for plot in plots])


def make_page(plots: Sequence[Plot], runs: Sequence[Run], *, score: str = "") -> str:
    """Make a page with the plots and a table of the best score of each run."""
    rows = [_row(run, score) for run in runs]
    table = Table(f"{score or 'score'} on dev", COLUMNS, rows)
    known = [row for row in rows if row[2] != "-"]
    intro = "No run has a score."
    if known:
        name, _, best, step, _ = max(known, key=lambda row: float(row[2]))
        of = f" of {len(runs)} runs" if len(runs) > 1 else ""
        intro = f"The best score{of} is {best} %, by {name} at step {step}."
    images = [plot.draw() for plot in plots]
    return render("plots.html.jinja", "Training curves", intro=intro, images=images, tables=[table])


def _has_points(plot: Plot) -> bool:
    return any(math.isfinite(y) for points in plot.series.values() for _, y in points)


def _shown(points: list[Point | None], run: Run, start: float) -> list[Point]:
    first = run.evaluations[0].step == 0 and len(points) > 1
    found = [point for point in points[first:] if point is not None and point[0] >= start]
    if not found:
        raise ValueError(Errors.P298.format(run=run.name, start=start))
    return found


def _components(run: Run) -> list[str]:
    return list(dict.fromkeys(name for e in run.evaluations for name in e.losses))


def _scores(run: Run, name: str, places: Sequence[float]) -> list[Point | None]:
    points = [
        None if (value := e.score_of(name)) is None else (x, 100.0 * value)
        for x, e in zip(places, run.evaluations, strict=True)
    ]
    if not any(points):
        options = ", ".join(run.evaluations[-1].scores) or "none (leave out --score)"
        raise ValueError(Errors.P296.format(name=name, run=run.name, options=options))
    return points


def _losses(run: Run, component: str, places: Sequence[float]) -> list[Point | None]:
    before = _before(run)
    points: list[Point | None] = []
    for x, evaluation in zip(places, run.evaluations, strict=True):
        loss = evaluation.losses.get(component)
        points.append(None if loss is None else (x, loss / (evaluation.step - before)))
        before = evaluation.step
    return points


def _before(run: Run) -> float:
    """The step of the evaluation before the first in a log, which begins later if a training was
    resumed; NaN if it is unknown."""
    first, *others = (evaluation.step for evaluation in run.evaluations)
    if first == 0:
        return -1
    return max(-1, 2 * first - others[0]) if others else math.nan


def _row(run: Run, score: str) -> list[str]:
    logged = [(e.score_of(score), -e.step) for e in run.evaluations]
    found = [(v, step) for v, step in logged if v is not None and math.isfinite(v)]
    cells = [run.name, str(len(run.evaluations)), "-", "-", "-"]
    if found:
        best, step = max(found)
        cells[2:] = [f"{100 * best:.2f}", str(-step), f"{100 * found[-1][0]:.2f}"]
    return cells
