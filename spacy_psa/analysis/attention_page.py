"""What a component computed for a text, as a page or as images."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..printable import escape
from .attention import Insight, Passage
from .attention_figures import Figure, Table, gates, model_figures, passage_figures
from .page import make_details, make_page, make_table

MODEL = "The model"
HELP = (
    "Darker cells have greater values. Hover over a cell to see its value, except in figures with "
    "several heads; all values are in the tables below the figures. Scores are orange below 0 and "
    "blue above. Gray cells with a stroke are impossible."
)


def attention_page(insight: Insight, title: str) -> str:
    """Make a page.

    insight (Insight): The recorded values.
    title (str): The title.
    RETURNS (str): A self-contained HTML page without scripts.
    """
    sections = list(_sections(insight))
    links = "".join(
        f'<li><a href="#part-{i}">{escape(name)}</a><ul>'
        + "".join(
            f'<li><a href="#part-{i}-{k}">{escape(figure.title)}</a></li>'
            for k, figure in enumerate(figures)
        )
        + "</ul></li>\n"
        for i, (name, _, figures) in enumerate(sections)
    )
    parts = [
        f"<blockquote>{escape(_shortened(insight.text))}</blockquote>\n",
        f"<p>{escape(_extent(insight))} {escape(HELP)}</p>\n",
        f'<nav aria-label="Contents">\n<ul>\n{links}</ul>\n</nav>\n<main>\n',
    ]
    for i, (name, intro, figures) in enumerate(sections):
        parts.append(f'<h2 id="part-{i}">{escape(name)}</h2>\n{intro}')
        parts += [_figure(figure, f"part-{i}-{k}") for k, figure in enumerate(figures)]
    return make_page(title, "".join([*parts, "</main>\n"]))


def attention_images(insight: Insight) -> dict[str, str]:
    """Draw all figures of the page.

    insight (Insight): The recorded values.
    RETURNS (Dict[str, str]): SVG images by name; the names are numbered.
    """
    figures = [figure for _, _, figures in _sections(insight) for figure in figures]
    digits = len(str(len(figures)))
    return {f"{i:0{digits}}-{f.slug}": f.svg for i, f in enumerate(figures, 1)}


def _sections(insight: Insight) -> Iterator[tuple[str, str, list[Figure]]]:
    for passage in insight.passages:
        figures = list(passage_figures(passage, insight))
        yield passage.title or "The text", _words(passage, insight), figures
    figures = list(model_figures(insight))
    if figures:
        yield MODEL, "", figures


def _extent(insight: Insight) -> str:
    if insight.n_shown == insight.n_tokens:
        return f"All {insight.n_tokens} tokens are shown."
    return f"The first {insight.n_shown} of {insight.n_tokens} tokens are shown."


def _shortened(text: str, longest: int = 1000) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _words(passage: Passage, insight: Insight) -> str:
    """A table of the tokens with their labels and gates."""
    columns = {tag: i for i, tag in enumerate(insight.tags)}
    found = gates(passage)
    rows = []
    for i, (word, tag) in enumerate(zip(passage.words, passage.tags, strict=True)):
        probability = passage.marginals[i, columns[tag]]
        lambdas = [f"{gate[i]:.3f}" for gate in found.values()]
        rows.append([word, tag, f"{100.0 * probability:.1f}", *lambdas])
    header = ["token", "label", "probability (%)", *(f"λ, {title}" for title in found)]
    return make_table("Tokens and their labels", header, rows)


def _figure(figure: Figure, anchor: str) -> str:
    tables = "".join(map(_table, figure.tables))
    # The image itself shows the title, so the heading is visually hidden.
    return (
        f'<h3 class="hidden" id="{anchor}">{escape(figure.title)}</h3>\n'
        f"<figure>\n{figure.svg}</figure>\n{make_details('Numbers', tables)}"
    )


def _table(table: Table) -> str:
    rows = [
        [name, *("" if np.isnan(v) else f"{v:.{table.decimals}f}" for v in values)]
        for name, values in zip(table.rows, table.values, strict=True)
    ]
    return make_table(table.title, ["", *table.columns], rows)
