from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from spacy_psa.evaluation.breakdowns import ByVocabulary
from spacy_psa.evaluation.layers import make_layer
from spacy_psa.evaluation.report import Report, Settings, evaluate
from spacy_psa.evaluation.report_page import plots, to_html

from .helpers import random_pairs, spanned, tagged

VOID = {"meta", "br", "hr", "img", "link", "input"}
SETTINGS = Settings(n_resamples=20, vocabulary=ByVocabulary("w1".__ne__, "w2".__ne__))


class Checker(HTMLParser):
    """Check that tags match, and collect what a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.links += [v or "" for k, v in attrs if k in ("href", "src", "xlink:href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag


def make_report() -> Report:
    sentences = random_pairs(25, seed=1)
    return evaluate(sentences, make_layer("tag", ""), SETTINGS, component="psa_tagger")


def checked(page: str) -> Checker:
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    return checker


def test_page_is_well_formed_and_needs_nothing_from_outside():
    checker = checked(to_html([make_report()], "Title"))
    assert all(link.startswith("#") for link in checker.links)
    assert checker.seen.isdisjoint({"script", "link", "img", "iframe"})
    assert {"svg", "table", "style"} <= checker.seen


def test_tables_can_be_scrolled_where_the_window_is_narrow():
    page = to_html([make_report()], "Title")
    assert page.count("<table") == page.count('<div class="wide"') > 3
    assert 'name="viewport"' in page


def test_page_loads_nothing_by_its_style():
    page = to_html([make_report()], "Title")
    assert not re.search(r"url\((?!#)|@import", page)
    assert set(re.findall(r"https?://[^\"]+", page)) == {"http://www.w3.org/2000/svg"}


def test_there_is_a_plot_for_each_breakdown_and_for_the_confusions():
    titles = [
        ElementTree.fromstring(svg).find("{http://www.w3.org/2000/svg}title").text
        for svg in plots(make_report())
    ]
    assert titles == [
        "F1 by sentence length (tokens)",
        "F1 by label",
        "F1 by vocabulary",
        "Confusion matrix",
    ]


def test_axes_have_names_and_units():
    length, *_ = plots(make_report())
    for name in ("sentence length (tokens)", "F1 (%)", "95% interval"):
        assert name in length


def test_words_and_labels_are_escaped():
    sentence = tagged("<b> &", "& &", "<script>alert(1)</script> </table>")
    report = evaluate([sentence], make_layer("tag", ""), SETTINGS, component="a<b")
    page = to_html([report], "<Title>")
    assert "script" not in checked(page).seen
    assert "&lt;script&gt;" in page and "&lt;Title&gt;" in page


def test_what_is_missed_and_invented_has_a_place_in_the_matrix():
    sentence = spanned("a b c", [(0, 1, "X")], [(1, 3, "X")])
    *_, matrix = plots(evaluate([sentence], make_layer("ents", ""), SETTINGS))
    assert "(missed)" in matrix and "(invented)" in matrix


def test_many_labels_are_limited_to_the_frequent_ones():
    labels = " ".join(f"L{i}" for i in range(40))
    drawn = plots(evaluate([tagged(labels, labels)], make_layer("tag", ""), SETTINGS))
    assert "(24 most frequent)" in drawn[1]
    assert "(20 most frequent labels)" in drawn[-1]


def test_a_layer_without_units_has_no_plots_but_a_page():
    report = evaluate([spanned("a b", [], [])], make_layer("ents", ""), SETTINGS)
    assert plots(report) == []
    assert "svg" not in checked(to_html([report], "Title")).seen


def test_a_browser_shows_the_page(tmp_path: Path):
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("needs the browser chromium")
    page = tmp_path / "page.html"
    page.write_text(to_html([make_report()], "Title"), encoding="utf8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command = [browser, *options, f"--user-data-dir={tmp_path / 'profile'}", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("<svg") == 4
    assert "Worst sentences" in done.stdout
