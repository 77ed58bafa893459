"""Text that may contain anything, as shown on a terminal, in images and on pages."""

from __future__ import annotations

import io
import unicodedata
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_psa.errors import Errors, Warnings
from spacy_psa.printable import escape, one_line, printable, width_of
from spacy_psa.terminal import ProgressBar, SafePrinter, SafeStream, show, text_table

# Any code point, those that control something more often
ANY = st.text(
    st.one_of(
        st.characters(codec=None, exclude_categories=()),
        st.sampled_from(
            "\x00\x07\x08\r\x1b\x7f\x85\x9b\u061c\u200f\u202e\u2067\u2028\ud800\uffff<&\"'"
        ),
    )
)
HOSTILE = "a\x1b[2J\x07\x9b31m\u202eb\r\ud800"
SHOWN = r"a\x1b[2J\x07\x9b31m\u202eb\r\ud800"


def controls(text: str) -> list[str]:
    """What the Unicode database calls a control character, a surrogate, or mark of direction."""
    directions = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "B")
    return [
        character
        for character in text
        if (unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\t")
        or (unicodedata.bidirectional(character) in directions and character != "\n")
        or (
            unicodedata.category(character) == "Cf"
            and unicodedata.bidirectional(character) in ("L", "R", "AL")
            and character in "\u061c\u200e\u200f"
        )
    ]


@given(ANY)
def test_nothing_printable_controls_the_terminal(text: str) -> None:
    assert controls(printable(text)) == []
    assert printable(printable(text)) == printable(text)
    if not controls(text) and not set(text) & set("\u2028\u2029\ufffe\uffff"):
        assert printable(text) == text


@given(ANY)
def test_escaped_text_is_well_formed(text: str) -> None:
    root = ElementTree.fromstring(f'<a b="{escape(text)}">{escape(text)}</a>')
    assert root.text or not text
    assert (root.text or "") == printable(text)


@given(ANY)
def test_one_line_is_one_visible_line(text: str) -> None:
    assert len(one_line(text).splitlines()) == 1
    assert one_line(text).strip()


@pytest.mark.parametrize("text", ["naïve 漢字 😀", "שלום عربي", "👩‍👩‍👧 नमस्ते", "two\n\tlines"])
def test_scripts_and_emoji_remain(text: str) -> None:
    assert printable(text) == text


def test_one_line_joins_lines() -> None:
    assert one_line(" two\n\tlines ") == "two lines"
    assert one_line("\n") == "\u2423"


def test_every_way_to_print_is_safe(capsys: pytest.CaptureFixture[str]) -> None:
    printer = SafePrinter(pretty=False)
    for method in (printer.good, printer.fail, printer.warn, printer.info, printer.text):
        method(HOSTILE, HOSTILE)
    printer.divider(HOSTILE)
    show(HOSTILE)
    stream = io.StringIO()
    SafeStream(stream).write(HOSTILE)
    printed = capsys.readouterr().out + stream.getvalue()
    assert printed.count(SHOWN) == 5 * 2 + 3
    assert controls(printed) == []


def test_a_table_is_safe_and_has_a_line_per_row() -> None:
    table = text_table([[HOSTILE, "1"], ["a\nb", "2"]], [HOSTILE, "two\nlines"])
    assert table.count(SHOWN) == 2 and controls(table) == []
    assert len(table.strip().splitlines()) == 4


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("abc", 3),
        ("北京", 4),
        ("\uff22-\uff30", 5),
        ("e\u0301", 1),
        ("हिन्दी", 5),
        ("\u1103\u1162", 2),
        ("\U0001f600", 2),
        ("مُحَمَّد", 4),
    ],
)
def test_the_columns_that_a_text_takes_in_a_terminal(text: str, columns: int) -> None:
    assert width_of(text) == columns


def test_columns_of_wide_and_combined_characters_are_aligned() -> None:
    rows = [["北京", "PER", "1"], ["mu\u0308de", "地名", "10"], ["Ann", "", "1,000"]]
    table = text_table(rows, ["word", "label", "n"], ["l", "l", "r"])
    lines = table.strip("\n").split("\n")
    assert {width_of(line) for line in lines} == {4 + 3 + 5 + 3 + 5}
    assert lines[2:4] == ["北京   PER         1", "mu\u0308de   地名       10"]


def test_a_progress_bar_is_safe() -> None:
    stream = io.StringIO()
    with ProgressBar(total=1, desc=HOSTILE + "\n", file=stream, ascii=True) as bar:
        bar.set_postfix_str(HOSTILE)
    drawn = stream.getvalue()
    # The last newline and the returns are the bar's own
    assert drawn.count(SHOWN) > 1 and "\n" not in drawn.rstrip("\n")
    assert controls(drawn.replace("\r", "")) == []


def test_errors_and_warnings_are_safe() -> None:
    assert f"no file {SHOWN}." in Errors.P109.format(path=HOSTILE)
    assert f"setting {SHOWN}." in Warnings.W432.format(setting=HOSTILE, suggestion="")
