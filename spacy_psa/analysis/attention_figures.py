"""Figures of what a component computed, each with its values as a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..figures.charts import line_plot
from ..figures.heat_maps import heat_map, heat_maps
from ..figures.tables import Table
from .activations import Array
from .attention import END, START, Insight, Layer, Passage, bias_by_distance
from .label_map import in_order

N_LABELS, N_TRANSITIONS = 16, 40
PERCENT = (0.0, 100.0)
IMPOSSIBLE = "impossible"
LARGEST_CELL = 28.0


@dataclass(frozen=True)
class Numbers:
    """A table of numbers.

    title (str): The title.
    rows (List[str]): The names of the rows.
    columns (List[str]): The names of the columns.
    values (NDArray): The numbers. Shape: (rows, columns).
    decimals (int): The number of decimals.
    """

    title: str
    rows: list[str]
    columns: list[str]
    values: Array
    decimals: int = 1

    def formatted(self) -> Table:
        """The table; cells of unknown numbers are empty."""
        cells = [
            [name, *("" if np.isnan(v) else f"{v:.{self.decimals}f}" for v in values)]
            for name, values in zip(self.rows, self.values, strict=True)
        ]
        return Table(self.title, ["", *self.columns], cells)


@dataclass(frozen=True)
class Figure:
    """A figure.

    title (str): The title.
    svg (str): The SVG image.
    tables (List[Numbers]): Its values.
    """

    title: str
    svg: str
    tables: list[Numbers]

    @property
    def slug(self) -> str:
        """The title, for use in a file name."""
        return re.sub(r"[^a-z\d]+", "-", self.title.lower()).strip("-")


def passage_figures(passage: Passage, insight: Insight) -> Iterator[Figure]:
    """Draw what was computed for a sequence of tokens, from the first layer to the labels."""
    for layer in passage.layers:
        if "attention" in layer.view.values:
            yield _attention(layer, passage)
    yield from _gates(passage)
    chosen = _most_probable(passage, insight.tags)
    for layer in passage.layers:
        if "labels" in layer.view.values:
            yield from _labels(layer, passage, chosen)
    title = "Label probabilities"
    yield _label_map(title, passage.words, passage.marginals, insight.tags, chosen)


def model_figures(insight: Insight) -> Iterator[Figure]:
    """Draw what depends on the model more than on the text."""
    yield from _biases(insight)
    for name, scores in insight.transitions.items():
        yield _transitions(name, scores, insight)


def gates(passage: Passage) -> dict[str, Array]:
    """Collect the gates of a sequence."""
    found = ((layer.title, layer.view.values.get("gate")) for layer in passage.layers)
    return {title: gate for title, gate in found if gate is not None}


def _attention(layer: Layer, passage: Passage) -> Figure:
    weights = 100.0 * layer.view.values["attention"]
    words = passage.words
    columns = [*words, f"+{passage.n_more} more"][: weights.shape[2]]
    title = f"Attention: {layer.title}"
    names = ("attends to", "token")
    if len(weights) == 1:
        legend = "attention weight (%); each row sums to 100"
        svg = _heat_map(weights[0], words, columns, *names, legend, title)
        return Figure(title, svg, [Numbers(title, words, columns, weights[0])])
    legend = "attention weight (%); each row of a head sums to 100"
    heads = {f"head {i}": matrix for i, matrix in enumerate(weights, 1)}
    svg = heat_maps(heads, words, columns, *names, legend, title, value_range=PERCENT)
    return Figure(title, svg, _head_tables(title, words, columns, heads))


def _gates(passage: Passage) -> Iterator[Figure]:
    found = gates(passage)
    if not found:
        return
    values = np.array(list(found.values()))
    title = "Gate: weight of the token compared with its context"
    svg = heat_map(
        values,
        list(found),
        passage.words,
        "token",
        "layer",
        "λ (mean over features): 1 = token, 0 = context",
        title,
        texts=[[f"{value:.2f}".removeprefix("0") for value in row] for row in values],
        value_range=(0.0, 1.0),
    )
    yield Figure(title, svg, [Numbers(title, list(found), passage.words, values, decimals=3)])


def _labels(layer: Layer, passage: Passage, chosen: list[int]) -> Iterator[Figure]:
    heads = layer.view.values["labels"]
    title = f"Labels: {layer.title}"
    # The layer's own (latent) labels have no names.
    digits = len(str(heads.shape[2]))
    tags = layer.tags or [f"latent {i:0{digits}}" for i in range(1, heads.shape[2] + 1)]
    # The same in both figures, so that heads can be compared with their mean.
    shown = chosen if layer.tags else _largest(heads.max(axis=(0, 1)), tags)
    mean = f"{title}, mean of {len(heads)} heads" if len(heads) > 1 else title
    yield _label_map(mean, passage.words, heads.mean(axis=0), tags, shown)
    if len(heads) == 1:
        return
    matrices = {f"head {i}": _with_rest(head, tags, shown)[0] for i, head in enumerate(heads, 1)}
    columns = _with_rest(heads[0], tags, shown)[1]
    legend = "attention weight (%); each row of a head sums to 100"
    names = (passage.words, columns, "label", "token", legend, f"{title}, each head")
    svg = heat_maps(matrices, *names, value_range=PERCENT)
    yield Figure(f"{title}, each head", svg, _head_tables(title, passage.words, columns, matrices))


def _head_tables(
    title: str, rows: list[str], columns: list[str], heads: dict[str, Array]
) -> list[Numbers]:
    return [Numbers(f"{title}, {head}", rows, columns, values) for head, values in heads.items()]


def _label_map(
    title: str, words: list[str], values: Array, tags: Sequence[str], chosen: list[int]
) -> Figure:
    shown, columns = _with_rest(values, tags, chosen)
    legend = "probability (%); each row sums to 100"
    svg = _heat_map(shown, words, columns, "label", "token", legend, title)
    return Figure(title, svg, [Numbers(title, words, columns, shown)])


def _with_rest(values: Array, tags: Sequence[str], chosen: list[int]) -> tuple[Array, list[str]]:
    """The columns of some labels in percent, and one for all others, if there are any."""
    shown, columns = 100.0 * values[:, chosen], [tags[i] for i in chosen]
    n_others = len(tags) - len(chosen)
    if n_others:
        rest = np.maximum(0.0, 100.0 * values.sum(axis=1) - shown.sum(axis=1))
        shown = np.column_stack([shown, rest])
        columns.append(f"{n_others} others" if n_others > 1 else "1 other")
    return shown, columns


def _most_probable(passage: Passage, tags: Sequence[str]) -> list[int]:
    """The labels to show in all figures of a sequence, so that these can be compared."""
    known = (layer.view.values.get("labels") for layer in passage.layers if layer.tags)
    of_layers = [heads.mean(axis=0) for heads in known if heads is not None]
    return _largest(np.max([passage.marginals, *of_layers], axis=(0, 1)), tags)


def _largest(values: Array, tags: Sequence[str], n: int = N_LABELS) -> list[int]:
    """The labels with the largest values, sorted."""
    best = set(np.argsort(-values, kind="stable")[:n].tolist())
    return [i for i in in_order(tags) if i in best]


def _biases(insight: Insight) -> Iterator[Figure]:
    """Layers with a single bias share a figure; each layer with a bias per head has its own."""
    found = {
        title: heads
        for title, heads in bias_by_distance(insight.passages).items()
        if all(len(rows) for rows in heads)
    }
    alone = {title: heads[0] for title, heads in found.items() if len(heads) == 1}
    if alone:
        yield _curves("Positional bias by distance", alone, bands=True)
    for title, heads in found.items():
        if len(heads) > 1:
            of_head = {f"head {i}": rows for i, rows in enumerate(heads, 1)}
            yield _curves(f"Positional bias by distance: {title}", of_head, bands=False)


def _curves(title: str, curves: dict[str, Array], *, bands: bool) -> Figure:
    svg = line_plot(
        {name: [(d, mean) for d, mean, _, _ in rows.tolist()] for name, rows in curves.items()},
        "distance to the attended token: left (−) or right (+)",
        "bias: mean and range" if bands else "bias: mean over tokens",
        title,
        bands={
            name: [(low, high) for *_, low, high in rows.tolist()] for name, rows in curves.items()
        }
        if bands
        else None,
        # There is no bias at 0 if tokens do not attend to themselves.
        breaks=(0.0,),
    )
    tables = [
        Numbers(
            name,
            [f"{distance:+.0f}" for distance in rows[:, 0]],
            ["mean", "lowest", "highest"],
            rows[:, 1:],
            decimals=3,
        )
        for name, rows in curves.items()
    ]
    return Figure(title, svg, tables)


def _transitions(name: str, scores: Array, insight: Insight) -> Figure:
    total = np.sum([passage.marginals.sum(axis=0) for passage in insight.passages], axis=0)
    order = _largest(total, insight.tags, N_TRANSITIONS)
    title = f"Transitions: {name}" if name else "Transitions"
    if len(order) < len(insight.tags):
        title += f" between the {N_TRANSITIONS} most probable of {len(insight.tags)} labels"
    names = [*insight.tags, ""]
    last = len(insight.tags)
    rows = [i for i in [last, *order] if np.isfinite(scores[i][[*order, last]]).any()]
    columns = [i for i in [*order, last] if np.isfinite(scores[rows, i]).any()]
    shown = scores[np.ix_(rows, columns)]
    row_names = [names[i] or START for i in rows]
    column_names = [names[i] or END for i in columns]
    svg = heat_map(
        shown,
        row_names,
        column_names,
        "label",
        "previous label",
        "score",
        title,
        texts=[[_score(value) for value in row] for row in shown.tolist()],
        signed=True,
        empty=IMPOSSIBLE,
    )
    return Figure(title, svg, [Numbers(title, row_names, column_names, shown, decimals=2)])


def _score(value: float) -> str:
    """Format a score for a cell, without the sign of a negative number that rounds to 0."""
    return f"{round(value, 1) + 0.0:.1f}" if np.isfinite(value) else IMPOSSIBLE


def _heat_map(
    values: Array,
    rows: list[str],
    columns: list[str],
    x_label: str,
    y_label: str,
    legend: str,
    title: str,
) -> str:
    """Draw a matrix in percent, with the same color scale in all figures."""
    # Zeros in most cells would distract from the few that matter.
    texts = [[f"{v:.0f}" if v >= 0.5 else "" for v in row] for row in values]
    return heat_map(
        values,
        rows,
        columns,
        x_label,
        y_label,
        legend,
        title,
        texts=texts,
        value_range=PERCENT,
        largest_cell=LARGEST_CELL,
    )
