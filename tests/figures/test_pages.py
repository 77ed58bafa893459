"""The structure of pages: a summary first, charts as wide as the page, tables with their terms."""

from __future__ import annotations

import re

from spacy_psa.figures import svg
from spacy_psa.figures.pages import render
from spacy_psa.figures.tables import Table

CHART, MAP = (svg.image([], width, 300, "title") for width in (620, 310))
NUMBERS = Table("scores", ["label", "ECE"], [["PER", "1.5"]], note="ECE: explained & here.")
TEXTS = Table("diff", ["word", "tag"], [["Ann", "PER"]])
PAGE = render(
    "plots.html.jinja", "Title", intro="All at once.", images=[CHART, MAP], tables=[NUMBERS, TEXTS]
)


def test_a_summary_comes_first() -> None:
    assert re.search(r"<h1>Title</h1>\s*<p>All at once.</p>\s*<figure", PAGE)


def test_charts_are_as_wide_as_the_page_and_maps_as_they_are() -> None:
    assert re.findall(r"<figure[^>]*>", PAGE) == [
        '<figure class="chart">',
        '<figure class="">',
    ]
    assert re.search(r"\.chart svg \{ width: 100%;", PAGE)


def test_charts_side_by_side_scroll_sooner_than_they_shrink() -> None:
    page = render("plots.html.jinja", "", intro="", images=['<svg width="924"></svg>'], tables=[])
    assert '<figure class="chart row">' in page
    assert re.search(r"\.row svg \{ min-width: 50rem; \}", page)


def test_numbers_are_aligned_to_the_right_and_texts_to_the_left() -> None:
    assert "th, td { padding: 0.1rem 0.5rem; text-align: right;" in PAGE
    assert "tbody th, .text { text-align: left; }" in PAGE
    numbers, texts = re.findall(r"<table>(.*?)</table>", PAGE, re.DOTALL)
    column = r"<(?:th scope=\"col\"|td)[^>]*>"
    assert ['class="text"' in cell for cell in re.findall(column, numbers)] == [True, False, False]
    assert ['class="text"' in cell for cell in re.findall(column, texts)] == [True] * 3
    cells = ["1,009", "61.85\u201369.82", ">99.9%", "-0.5", "\u22120.5", "**84.2** ± 0.1", "-", ""]
    mixed = Table("", ["", "n", "tag"], [["a", cell, f"E-{cell}"] for cell in cells])
    assert mixed.aligns == ["l", "r", "l"]
    assert "| --- | ---: | --- |" in mixed.to_markdown()


def test_terms_are_explained_below_their_table() -> None:
    below = PAGE.partition("</table>")[2]
    assert re.match(r'\s*</div>\s*<p class="note">ECE: explained &amp; here\.</p>', below)
    assert NUMBERS.to_markdown(plain=True).endswith("| PER | 1.5 |\n\nECE: explained \\& here.\n")
    assert PAGE.count('class="note"') == 1
