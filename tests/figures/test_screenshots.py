"""Pages in a real browser look as they did: see `screenshots`."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from .browser import BROWSER, WITHOUT_BROWSER, Tab, browsing
from .screenshots import PAGES, REFERENCES, WIDTHS, look_of, make_pages, problems

pytestmark = pytest.mark.skipif(BROWSER is None, reason=WITHOUT_BROWSER)
WANTED = json.loads(REFERENCES.read_text(encoding="utf8"))
REWRITE = "look at it with `python -m tests.figures.screenshots FOLDER`, which accepts it, too"
HALF = "figure svg { width: 50% !important; min-width: 0 !important; }"
DAMAGES = {
    "a chart of half the width": HALF,
    "a missing table": "table { display: none; }",
    "a header on the first row": "thead th { position: relative; top: 1.2em; }",
    "missing colors": "svg { filter: grayscale(1); }",
    "a chart on the text above": "figure { margin-top: -3rem; }",
    "missing lines and bars": "svg path { display: none; }",
}


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browsing(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return make_pages(tmp_path_factory.mktemp("pages"))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", [make.__name__ for make in PAGES])
def test_pages_look_as_they_did(name: str, width: int, tab: Tab, pages: dict[str, str]) -> None:
    found, _ = look_of(tab, pages[name], width)
    assert problems(found, WANTED[f"{name} {width}"]) == [], REWRITE


@pytest.mark.parametrize("name", [make.__name__ for make in PAGES])
def test_another_font_is_no_problem(name: str, tab: Tab, pages: dict[str, str]) -> None:
    style = "body, svg text { font-family: monospace !important; }"
    found, _ = look_of(tab, pages[name], 400, style)
    assert problems(found, WANTED[f"{name} 400"]) == []


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_noticed(damage: str, tab: Tab, pages: dict[str, str]) -> None:
    for name in ("evaluation", "curves"):
        found, _ = look_of(tab, pages[name], 1200, DAMAGES[damage])
        assert problems(found, WANTED[f"{name} 1200"]), name
