"""Raster images."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

from spacy_psa.analysis import axes
from spacy_psa.analysis.pixels import MOST_PIXELS, check_png, to_png

from .inside import draws_png, is_png

PATH = Path("asked") / "for.png"


def size(png: bytes) -> tuple[int, int]:
    """The width and height in a PNG image's first chunk."""
    width, height = struct.unpack(">II", png[16:24])
    return width, height


@draws_png
def test_pixels_are_twice_as_many_as_the_image_is_wide_and_high() -> None:
    png = to_png(axes.image([], 30, "Title", width=40), PATH)
    assert is_png(png)
    assert size(png) == (80, 60)


@draws_png
@pytest.mark.parametrize("word", ["Zoë naïve", "λ", "Ωστε", "да"])
def test_letters_are_drawn_where_no_font_is_named(word: str) -> None:
    drawn = axes.text(10, 20, word, "start")
    assert to_png(axes.image([drawn], 40, "T"), PATH) != to_png(axes.image([], 40, "T"), PATH)


@draws_png
def test_a_huge_image_is_scaled_down_to_what_memory_can_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("spacy_psa.analysis.pixels.MOST_PIXELS", 2500)
    assert size(to_png(axes.image([], 100, "T", width=100), PATH)) == (50, 50)
    assert 4 * MOST_PIXELS < 2**28


def test_what_is_missing_is_said_with_the_file_that_was_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    message = r"\[P295\].*asked.for\.png.*pip install 'spacy-psa\[plots\]'"
    for draw in (check_png, lambda path: to_png(axes.image([], 9, "T"), path)):
        with pytest.raises(ValueError, match=message):
            draw(PATH)
