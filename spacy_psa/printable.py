"""Show text that may contain anything, such as labels, names of files, and the texts themselves.

Control characters can clear a terminal, recolor it or change its title; those for the direction of
text make it read differently from what it is; and XML allows neither most of them nor surrogates.
"""

from __future__ import annotations

import html
import re
from unicodedata import category, east_asian_width

CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 except tab and newline; DEL and C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks, overrides, isolates of direction
    "\u2028\u2029\ud800-\udfff\ufffe\uffff]"  # separators of lines, and what XML excludes
)
# Bytes of the command line, or of names of files, that are not UTF-8, as Python represents them
UNDECODED = re.compile("[\ud800-\udfff]")


def printable(text: str) -> str:
    """Make control characters visible."""
    return CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def one_line(text: str) -> str:
    """Make control characters visible, and join lines."""
    return " ".join(printable(text).split()) or "\u2423"


def width_of(text: str) -> int:
    """RETURNS (int): The columns that a text takes in a terminal: two for a Chinese character or an
    emoji, none for an accent or a vowel sign that is combined with the letter before it.
    """
    if text.isascii():
        return len(text)
    wide = sum(east_asian_width(character) in ("W", "F") for character in text)
    return wide + sum(not _is_combined(character) for character in text)


def _is_combined(character: str) -> bool:
    # Vowels and final consonants of decomposed Hangul are no marks
    is_jamo = "\u1160" <= character <= "\u11ff"
    return is_jamo or category(character) in ("Mn", "Me", "Cf")


def shortened(text: str, most: int) -> str:
    """Leave out the end of a text of more than `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def replace_undecoded(text: str) -> str:
    """Replace what cannot be written in UTF-8."""
    return UNDECODED.sub("\ufffd", text)


def escape(text: str) -> str:
    """Escape text for XML and HTML."""
    return html.escape(printable(text))
