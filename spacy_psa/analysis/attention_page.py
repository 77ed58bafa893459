"""What a component computed for a text, as a page or as images."""

from __future__ import annotations

from collections.abc import Iterator

from ..figures.pages import render
from ..figures.tables import Table
from ..printable import shortened
from .attention import Insight, Passage
from .attention_figures import Figure, gates, model_figures, passage_figures

MODEL = "The model"
LONGEST = 1000  # characters of the text
HELP = (
    "Darker cells have greater values; all values are in the tables below the figures. Scores are "
    "orange below 0 and blue above. Gray cells are impossible."
)


def attention_page(insight: Insight, title: str) -> str:
    """Make a page."""
    parts = [
        {"title": name, "words": words, "figures": figures}
        for name, words, figures in _sections(insight)
    ]
    intro = f"{_extent(insight)} {HELP}"
    text = shortened(insight.text, LONGEST)
    return render("attention.html.jinja", title, text=text, intro=intro, parts=parts)


def attention_images(insight: Insight) -> dict[str, str]:
    """Draw all figures of the page."""
    figures = [figure for _, _, figures in _sections(insight) for figure in figures]
    digits = len(str(len(figures)))
    return {f"{i:0{digits}}-{f.slug}": f.svg for i, f in enumerate(figures, 1)}


def _sections(insight: Insight) -> Iterator[tuple[str, Table | None, list[Figure]]]:
    for passage in insight.passages:
        figures = list(passage_figures(passage, insight))
        yield passage.title or "The text", _words(passage, insight), figures
    figures = list(model_figures(insight))
    if figures:
        yield MODEL, None, figures


def _extent(insight: Insight) -> str:
    if insight.n_shown == insight.n_tokens:
        return f"All tokens are shown: {insight.n_tokens}."
    return f"The first {insight.n_shown} of {insight.n_tokens} tokens are shown."


def _words(passage: Passage, insight: Insight) -> Table:
    """A table of the tokens with their labels and gates."""
    columns = {tag: i for i, tag in enumerate(insight.tags)}
    found = gates(passage)
    rows = []
    for i, (word, tag) in enumerate(zip(passage.words, passage.tags, strict=True)):
        probability = passage.marginals[i, columns[tag]]
        lambdas = [f"{gate[i]:.3f}" for gate in found.values()]
        rows.append([word, tag, f"{100.0 * probability:.1f}", *lambdas])
    header = ["token", "label", "probability (%)", *(f"λ, {title}" for title in found)]
    return Table("Tokens and their labels", header, rows)
