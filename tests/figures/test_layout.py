"""Pages in a real browser: they fit into a phone's and a desk's window."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from spacy_psa.figures.charts import bar_plot
from spacy_psa.figures.heat_maps import heat_map
from spacy_psa.figures.pages import render
from spacy_psa.figures.tables import Table

from ..analysis.inside import browse

LABELS = [f"label-{i}" for i in range(30)]
# What the page says of itself once it is drawn: its width, its window's, and that of each image
PROBE = """<script>onload = () => {
  const width = (e) => Math.round(e.getBoundingClientRect().width);
  const root = document.documentElement;
  parent.document.title = JSON.stringify(
    [root.scrollWidth, root.clientWidth, [...document.querySelectorAll("svg")].map(width)]);
}</script>"""


@pytest.mark.parametrize("window", [400, 1200])
def test_only_charts_and_tables_scroll_sideways(window: int, tmp_path: Path) -> None:
    table = Table("Scores of all labels", ["", *LABELS], [["F1", *["61.85\u201369.82"] * 30]])
    images = [
        bar_plot({"F1": dict.fromkeys(LABELS, 50.0)}, "label", "F1 (%)", "F1 by label"),
        heat_map([[0.5] * 4] * 4, "abcd", "abcd", "gold", "predicted", "share", "Confusion"),
    ]
    page = render("plots.html.jinja", "T" * 60, intro="All at once.", images=images, tables=[table])
    frame = f'<iframe style="width: {window}px; border: 0" srcdoc="{html.escape(page + PROBE)}">'
    file = tmp_path / "page.html"
    file.write_text(f"<!DOCTYPE html><title>?</title>{frame}</iframe>", encoding="utf8")
    shown, logged = browse(file, tmp_path / "profile")
    assert logged == []
    found = re.search("<title>(.*?)</title>", shown)
    assert found is not None
    content, visible, drawn = json.loads(html.unescape(found[1]))
    assert content <= visible <= window
    chart, small = drawn
    # A chart is as wide as the page, and not so narrow that one cannot read it.
    assert chart >= min(500, window)
    assert small < chart
