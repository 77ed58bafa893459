"""Lattice figures: the competing label sequences of a sentence.

Each column is a token, each row a tag; a path from left to right is a tag sequence. The figure
shows marginal probabilities: of each tag at each token, and of each transition between tags.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from ..figures import svg
from ..figures.style import GRAY, LIGHT, shade, shorten
from ..figures.tables import Table
from ..printable import escape, one_line, shortened, width_of

if TYPE_CHECKING:
    from ..inference import LinearChain

LEAST, TOLD, MOST_ROWS = 0.01, 0.05, 14
ROW, NARROWEST, WIDEST, MARGIN = 46, 58, 124, 22
# Above all lines, and between the top of a line and its first row
HEAD, WORDS = 50.0, 34.0
NARROWEST_IMAGE, WIDEST_IMAGE = 640, 960
RADIUS, ROOMY, THICKEST, BOLD_CHARACTER = 18.0, 14.0, 9.0, 8.4
EDGE, BEST = "#8a8a8a", "#000000"
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Lattice:
    """The visualized part of a distribution.

    words (List[str]): The tokens.
    tags (List[str]): The tags to show, in their order in the model.
    marginals (NDArray): The probability of each of these tags at each token. Shape: (tokens, tags)
    transitions (NDArray): The probability of each of these tags (last axis) directly after another.
        Zeros at the first token of a sentence. Shape: (tokens, tags, tags)
    best (List[int]): The tag of each token in the best sequence, as an index into `tags`.
    starts (List[int]): The first token of each sentence.
    probability (float): The probability of the best sequence.
    n_hidden (int): The number of tags that are not shown, because they are improbable everywhere or
        less probable than those that have the rows.
    """

    words: list[str]
    tags: list[str]
    marginals: Array
    transitions: Array
    best: list[int]
    starts: list[int]
    probability: float
    n_hidden: int


def make_lattice(
    distribution: LinearChain,
    words: Sequence[str],
    tags: Sequence[str],
    *,
    least: float = LEAST,
    most_rows: int = MOST_ROWS,
) -> Lattice:
    """Make a lattice of the tags in the best sequence and other probable tags.

    distribution (LinearChain): The distribution over the tags of all tokens.
    words (Sequence[str]): The tokens, at least one.
    tags (Sequence[str]): All tags.
    least (float): The probability that a tag must have at some token if it is not in the best
        sequence.
    most_rows (int): The maximum number of tags, unless the best sequence has more.
    RETURNS (Lattice): The lattice.
    """
    marginals = distribution.marginals.double().cpu().numpy()
    best = distribution.argmax.cpu().numpy()
    peaks = marginals.max(axis=0)
    # Tags of the best sequence take precedence.
    peaks[np.unique(best)] = np.inf
    ranked = [i for i in np.argsort(-peaks, kind="stable").tolist() if peaks[i] >= least]
    rows = sorted(ranked[: max(most_rows, len(np.unique(best)))])
    lengths = [length for length in distribution.potentials.lengths if length]
    log_prob = distribution.log_prob(distribution.argmax).sum()
    return Lattice(
        words=list(words),
        tags=[tags[i] for i in rows],
        marginals=marginals[:, rows],
        transitions=transition_marginals(distribution, rows),
        best=[rows.index(i) for i in best.tolist()],
        starts=np.cumsum([0, *lengths[:-1]]).tolist(),
        probability=min(1.0, math.exp(float(log_prob))),
        n_hidden=len(tags) - len(rows),
    )


def transition_marginals(distribution: LinearChain, labels: Sequence[int]) -> Array:
    """Compute the pairwise marginals p(y_{t−1} = i, y_t = j) of neighboring tokens.

    They are computed as probabilities of spans of two tokens. (They are also the gradient of log Z
    with respect to `pairwise` scores, but that requires a matrix of all labels for each token.)
    """
    lengths = distribution.potentials.lengths
    n_labels, n_asked = distribution.potentials.n_labels, len(labels)
    found = np.zeros((sum(lengths), n_asked, n_asked))
    firsts = np.cumsum([0, *lengths])[:-1][np.asarray(lengths, dtype=np.int64) > 0]
    inner = np.setdiff1d(np.arange(len(found)), firsts)
    if not len(inner) or not n_asked:
        return found
    pairs = np.stack(np.meshgrid(labels, labels, indexing="ij"), axis=-1).reshape(-1)
    own = torch.from_numpy(np.tile(pairs, len(inner)))
    places = np.repeat(np.stack([inner - 1, inner + 1], axis=1), n_asked**2, axis=0)
    answers = distribution.span_probs(places, torch.nn.functional.one_hot(own, n_labels).bool())
    found[inner] = answers.double().cpu().numpy().reshape(len(inner), n_asked, n_asked)
    return found


def draw_lattice(lattice: Lattice, title: str = "", *, least: float = LEAST) -> str:
    """Draw a lattice, a long one in several lines. Hovering over a node or edge shows its
    probability.

    lattice (Lattice): The lattice.
    title (str): The title.
    least (float): The minimum probability of nodes and edges that are not on the best path.
    RETURNS (str): A self-contained SVG image.
    """
    widest = max(width_of(shorten(one_line(word))) for word in lattice.words)
    column = min(WIDEST, max(NARROWEST, svg.CHARACTER * widest + 10))
    longest = max(width_of(shorten(one_line(tag))) for tag in lattice.tags)
    left = MARGIN + svg.CHARACTER * longest + RADIUS
    most = max(2, int((WIDEST_IMAGE - left - MARGIN) / column))
    parts: list[str] = []
    width, y = float(NARROWEST_IMAGE), HEAD
    for part in lines_of(lattice, most, least):
        drawn, right, y = _draw_line(part, left, y, column, least)
        parts += drawn
        width = max(width, right + MARGIN)
    width = math.ceil(width)
    bold = 'font-weight="bold" font-size="14" unicode-bidi="plaintext"'  # or from right to left
    heading = one_line(title)
    each = BOLD_CHARACTER * max(1, width_of(heading)) / len(heading)
    heading = shortened(heading, int((width - 2 * MARGIN) / each))
    parts += [svg.text(width / 2, 22, heading, "middle", bold)] if title else []
    parts.append(svg.text(width / 2, 42, summary(lattice), "middle", f'fill="{GRAY}"'))
    drawn, height = _legend(left - RADIUS, y + 26)
    return svg.image([*parts, *drawn], width, math.ceil(height), heading if title else "lattice")


def lines_of(lattice: Lattice, most: int, least: float = LEAST) -> list[Lattice]:
    """Break a lattice into lines of about the same length, at most `most` tokens. Each begins with
    the last token of the line before, so that no transition is lost, and has only the tags that it
    needs: those of the best path, and those with a probability of `least`."""
    n = len(lattice.words)
    if n <= most:
        return [lattice]
    n_lines = math.ceil((n - 1) / (most - 1))
    ends = [round(i * (n - 1) / n_lines) for i in range(n_lines + 1)]
    lines = []
    for first, last in pairwise(ends):
        part = slice(first, last + 1)
        best = lattice.best[part]
        marginals = lattice.marginals[part]
        rows = sorted({*best, *np.flatnonzero(marginals.max(axis=0) >= least).tolist()})
        lines.append(
            replace(
                lattice,
                words=lattice.words[part],
                tags=[lattice.tags[i] for i in rows],
                marginals=marginals[:, rows],
                transitions=lattice.transitions[part][:, rows][:, :, rows],
                best=[rows.index(i) for i in best],
                starts=[start - first for start in lattice.starts if first < start <= last],
            )
        )
    return lines


def _draw_line(
    lattice: Lattice, left: float, top: float, column: float, least: float
) -> tuple[list[str], float, float]:
    """The elements of a line, and its right and lower ends."""
    words = [shorten(one_line(word)) for word in lattice.words]
    names = [shorten(one_line(tag)) for tag in lattice.tags]
    floor = top + WORDS
    xs = [left + column * (t + 0.5) for t in range(len(words))]
    ys = [floor + ROW * (i + 0.5) for i in range(len(names))]
    right, end = left + column * len(words), floor + ROW * len(names)
    parts = []
    for name, y in zip(names, ys, strict=True):
        parts.append(svg.line(left, y, right, y, LIGHT))
        parts.append(svg.text(left - 8, y + 4, name, "end"))
    for x, word in zip(xs, words, strict=True):
        parts.append(svg.text(x, floor - 12, word, "middle", 'font-weight="bold"'))
    for start in lattice.starts:
        if start:
            x = left + column * start
            dashes = f'stroke="{GRAY}" stroke-dasharray="4 4"'
            parts.append(f'<path d="M{x:.5g} {floor - 26:.5g}V{end:.5g}" {dashes}/>')
    parts += _edges(lattice, xs, ys, least)
    parts += _nodes(lattice, xs, ys, least)
    return parts, right, end


def table(lattice: Lattice) -> Table:
    """The tag of each token in the best sequence, and the most probable other one."""
    rows = []
    for t, word in enumerate(lattice.words):
        others = [i for i in range(len(lattice.tags)) if i != lattice.best[t]]
        next_ = max(others, key=lambda i: lattice.marginals[t, i], default=None)
        cells = ["-", "-"]
        if next_ is not None and lattice.marginals[t, next_] > 0.0:
            cells = [lattice.tags[next_], _percent(float(lattice.marginals[t, next_]))]
        best = lattice.best[t]
        p = _percent(float(lattice.marginals[t, best]))
        rows.append([one_line(word), lattice.tags[best], p, *cells])
    header = ["token", "tag", "probability", "next tag", "probability"]
    hidden = _hidden(lattice)
    if hidden.max() >= TOLD:
        # One of them may be more probable than the next tag
        header.append("not shown")
        rows = [[*row, _percent(float(p))] for row, p in zip(rows, hidden, strict=True)]
    return Table("Tags of the best sequence", header, rows)


def _hidden(lattice: Lattice) -> Array:
    """The probability of all tags that are not shown, for each token."""
    return np.maximum(0.0, 1.0 - lattice.marginals.sum(axis=1))


def summary(lattice: Lattice) -> str:
    """What the figure cannot show, in one line."""
    best = f"probability of the best sequence: {_percent(lattice.probability)}"
    if not lattice.n_hidden:
        return best
    noun = "tag" if lattice.n_hidden == 1 else "tags"
    hidden = float(_hidden(lattice).max())
    if hidden < TOLD:
        return f"{best}; {lattice.n_hidden} improbable {noun} not shown"
    return (
        f"{best}; {lattice.n_hidden} {noun} not shown, together up to {_percent(hidden)} of a token"
    )


def _edges(lattice: Lattice, xs: Sequence[float], ys: Sequence[float], least: float) -> list[str]:
    """Draw the edges, with the best path last, on top of the others."""
    plain, best = [], []
    for t in range(1, len(lattice.words)):
        if t in lattice.starts:
            continue
        for i, j in np.ndindex(*lattice.transitions[t].shape):
            p = float(lattice.transitions[t, i, j])
            on_path = (i, j) == (lattice.best[t - 1], lattice.best[t])
            if p < least and not on_path:
                continue
            hint = f"{lattice.tags[i]} \u2192 {lattice.tags[j]}: {_percent(p)}"
            path = f"M{xs[t - 1]:.5g} {ys[i]:.5g}L{xs[t]:.5g} {ys[j]:.5g}"
            stroke = f'stroke="{EDGE}" stroke-width="{_thickness(p):.3g}"'
            plain.append(f'<path d="{path}" {stroke}>{_hint(hint)}</path>')
            if on_path:
                best.append(_best_line(path))
    return [*plain, *best]


def _nodes(lattice: Lattice, xs: Sequence[float], ys: Sequence[float], least: float) -> list[str]:
    drawn = []
    for t, word in enumerate(lattice.words):
        for i, tag in enumerate(lattice.tags):
            p, on_path = float(lattice.marginals[t, i]), lattice.best[t] == i
            if p < least and not on_path:
                continue
            hint = f"{one_line(word)} \u2192 {tag}: {_percent(p)}"
            drawn.append(_node(xs[t], ys[i], p, on_path, hint))
            if on_path or p >= TOLD:
                drawn.append(_number(xs[t], ys[i], p))
    return drawn


def _number(x: float, y: float, p: float) -> str:
    """Write the probability of a node inside it if there is space, otherwise below."""
    if _radius(p) >= ROOMY:
        style = 'font-size="9" fill="#ffffff" pointer-events="none"'
        return svg.text(x, y + 3, _percent(p), "middle", style)
    # A white outline, since edges of the lattice can cross the number.
    halo = 'paint-order="stroke" stroke="#ffffff" stroke-width="3"'
    return svg.text(x, y + _radius(p) + 10, _percent(p), "middle", f'font-size="9" {halo}')


def _node(x: float, y: float, p: float, on_path: bool, hint: str = "") -> str:
    ring = f'stroke="{BEST}" stroke-width="2.5"' if on_path else f'stroke="{GRAY}"'
    return (
        f'<circle cx="{x:.5g}" cy="{y:.5g}" r="{_radius(p):.3g}" fill="{shade(p)}" {ring}>'
        f"{_hint(hint)}</circle>"
    )


def _best_line(path: str) -> str:
    return f'<path d="{path}" stroke="{BEST}" stroke-width="1.8" pointer-events="none"/>'


def _legend(x: float, y: float) -> tuple[list[str], float]:
    """The key of sizes and shades. Also returns the height of the image."""
    shares = (0.1, 0.5, 1.0)
    parts = [svg.text(x, y + 4, "probability of a tag:", "start")]
    place = x + 150
    for p in shares:
        parts.append(_node(place, y, p, on_path=False))
        parts.append(svg.text(place + 22, y + 4, _percent(p), "start"))
        place += 84
    y += 38
    parts.append(svg.text(x, y + 4, "of a transition:", "start"))
    place = x + 150
    for p in shares:
        path = f"M{place - 18:.5g} {y:.5g}H{place + 16:.5g}"
        parts.append(f'<path d="{path}" stroke="{EDGE}" stroke-width="{_thickness(p):.3g}"/>')
        parts.append(svg.text(place + 22, y + 4, _percent(p), "start"))
        place += 84
    y += 34
    path = f"M{x + 132:.5g} {y:.5g}H{x + 166:.5g}"
    parts += [svg.text(x, y + 4, "best sequence:", "start"), _best_line(path)]
    parts.append(_node(x + 150, y, 0.2, on_path=True))
    return parts, y + 24


def _radius(p: float) -> float:
    """The area is proportional to the probability, with a minimum for nodes on the best path."""
    return max(3.0, RADIUS * math.sqrt(max(p, 0.0)))


def _thickness(p: float) -> float:
    return max(0.6, THICKEST * p)


def _percent(p: float) -> str:
    """Format a probability, without rounding to 0% or 100%."""
    if p <= 0.0 or p >= 1.0:
        return f"{100 * p:.0f}%"
    shown = f"{100 * p:.1f}" if p < 0.0995 or p > 0.9895 else f"{100 * p:.0f}"
    return {"0.0": "<0.1%", "100.0": ">99.9%"}.get(shown, f"{shown}%")


def _hint(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""
