"""Images: rendered, stacked and converted to pixels."""

from __future__ import annotations

import re
import struct
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from spacy_psa.figures import svg
from spacy_psa.figures.charts import bar_plot, line_plot
from spacy_psa.figures.heat_maps import heat_map
from spacy_psa.figures.images import MOST_PIXELS, check_plots, stack, to_png

from .reading import SVG, texts

PATH = Path("asked") / "for.png"


def size(png: bytes) -> tuple[int, int]:
    """The width and height in a PNG image's first chunk."""
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def test_images_load_nothing_and_have_a_title() -> None:
    image = line_plot({"a": [(0, 1)]}, "x", "y", "<T>") + bar_plot({"a": {"x": 1}}, "x", "y")
    assert "href" not in image
    assert set(re.findall(r"https?://[^\"]*", image)) == {"http://www.w3.org/2000/svg"}
    assert re.findall("<title>(.*?)</title>", image) == ["&lt;T&gt;", "y"]


def test_identifiers_of_different_images_differ() -> None:
    images = [heat_map([[x]], ["a"], ["b"], "x", "y", "count") for x in (1.0, 2.0)]
    first, second = (set(re.findall(r'\bid="([^"]+)"', image)) for image in images)
    assert first and second and first.isdisjoint(second)
    assert all(set(re.findall(r"url\(#([^)]+)\)", image)) <= first | second for image in images)


@pytest.mark.parametrize("name", ["constructor", "toString", "__proto__", "url(#a)", 'id="a"'])
def test_names_that_mean_something_in_images_stand_as_they_are(name: str) -> None:
    bars = texts(bar_plot({name: {name: 1.0, "z": 2.0}}, name, "n"))
    cells = texts(heat_map([[1.0, 2.0]], [name], ["c", name], "x", "y", name))
    assert (bars.count(name), cells.count(name)) == (3, 3)


def test_characters_that_xml_cannot_have_are_made_visible() -> None:
    image = bar_plot({"a\x1b[1m\udc80": {"x\x00": 1.0}}, "x\x07", r"y\x00", "\ufffe")
    root = ElementTree.fromstring(image)
    assert {r"a\x1b[1m\udc80", r"x\x00", "x\u29f5x07", "y\u29f5x00"} <= {
        node.text for node in root.iter(f"{SVG}text")
    }


def test_stacked_images_lie_below_each_other() -> None:
    images = [line_plot({"a": [(0, i)]}, "x", "y", f"<{i}>") for i in range(3)]
    root = ElementTree.fromstring(stack(images))
    parts = root.findall(f"{SVG}svg")
    heights = [float(part.get("height")) for part in parts]
    assert [float(part.get("y")) for part in parts] == [0, heights[0], sum(heights[:2])]
    assert float(root.get("height")) == sum(heights)
    assert root.findtext(f"{SVG}title") == "<0>; <1>; <2>"


def test_pixels_are_twice_as_many_as_the_image_is_wide_and_high() -> None:
    png = to_png(svg.image([], 40, 30, "Title"), PATH)
    assert png.startswith(b"\x89PNG") and size(png) == (80, 60)


@pytest.mark.parametrize("word", ["Zoë naïve", "λ", "Ωστε", "да"])
def test_letters_are_drawn_where_no_font_is_named(word: str) -> None:
    drawn = svg.text(10, 20, word, "start")
    images = [svg.image(parts, 640, 40, "T") for parts in ([drawn], [])]
    assert word in texts(images[0])
    assert to_png(images[0], PATH) != to_png(images[1], PATH)


def test_a_huge_image_is_scaled_down_to_what_memory_can_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("spacy_psa.figures.images.MOST_PIXELS", 2500)
    assert size(to_png(svg.image([], 100, 100, "T"), PATH)) == (50, 50)
    assert 4 * MOST_PIXELS < 2**28


@pytest.mark.parametrize("package", ["altair", "vl_convert"])
def test_what_is_missing_is_said_with_the_file_that_was_asked_for(
    monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    message = rf"\[P295\].*asked.for\.png.*'{package}'.*pip install 'spacy-psa\[plots\]'"
    for draw in (check_plots, lambda path: to_png(svg.image([], 9, 9, "T"), path)):
        with pytest.raises(ValueError, match=message):
            draw(PATH)
