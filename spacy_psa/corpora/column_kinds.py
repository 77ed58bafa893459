"""Tell by its values what a column has: numbers, tags of spans, placeholders, or others."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise

from .column_spans import Pair, find_misfits
from .columns import Row

PLACEHOLDERS = frozenset(("_", "-", "-X-", "*"))
# The last ones are not tags, but nearly: the reader names the lines of those.
_SPAN_TAG = re.compile(r"[Oo]|[BIESLUM]-.+|[biesl]-.+|[BIESLU][_:/+.].+")
_BARE = re.compile(r"[BIOESLUM]", re.IGNORECASE)
_LABEL = re.compile(r"[A-Z][A-Z_]+")

Values = Sequence[Sequence[str]]
"""The values of a column, by sentence."""


def column_values(sentences: Sequence[Sequence[Row]], width: int, index: int) -> Values:
    """Get the values of a column."""
    columns = [[r.columns[index] for r in rows if len(r.columns) == width] for rows in sentences]
    return [values for values in columns if values]


def is_counting(values: Values) -> bool:
    """Check whether a column counts the tokens of each sentence, or of the file."""
    found = list(chain.from_iterable(values))
    if not all(value.isdecimal() and value.isascii() and len(value) < 10 for value in found):
        return False
    pairs = [pair for sentence in values for pair in pairwise(map(int, sentence))]
    return bool(pairs) and all(right == left + 1 for left, right in pairs)


def is_span_tags(values: Values) -> bool:
    """Check whether most values are tags of spans, and at least one of them has a label."""
    counts = Counter(chain.from_iterable(values))
    tags = {value: n for value, n in counts.items() if _SPAN_TAG.fullmatch(value)}
    return any(len(tag) > 1 for tag in tags) and sum(tags.values()) > counts.total() / 2


def kind(values: Values, width: int) -> str:
    """Tell what a column has."""
    counts = Counter(chain.from_iterable(values))
    found = counts.keys()
    is_first = found <= {"0", "1"} and max(map(len, values)) == 1
    are_numbers = counts.total() > 2 and all(map(str.isdecimal, found))
    if width > 2 and (is_counting(values) or is_first or are_numbers):
        return "numbers"
    if is_span_tags(values):
        return "spans"
    if found <= PLACEHOLDERS:
        return "placeholders"
    if found <= {"+", "-"}:
        return "spaces"
    if found <= {"O", "o"}:
        return "outside"
    n_bare = sum(n for value, n in counts.items() if _BARE.fullmatch(value))
    if n_bare > counts.total() / 2 and "O" in found and not found.isdisjoint("BI"):
        return "bare"
    # The word O would be among others in lower case.
    others = [value for value in found if value != "O"]
    are_labels = counts["O"] > 2 or all(map(_LABEL.fullmatch, others))
    if counts["O"] >= 0.4 * counts.total() and are_labels:
        return "labels"
    return "constant" if len(found) == 1 and counts.total() > 2 else "values"


def scheme_of(values: Values) -> str:
    """Tell the tag scheme of most tags in a column of tags of spans."""
    counts: Counter[Pair] = Counter()
    for sentence in values:
        tags = (f"{tag[:1].upper()}-{tag[2:]}" for tag in sentence)
        known = (tag if tag[0] in "BIESLUM" else "O" for tag in tags)
        counts.update(pairwise((None, *known, None)))
    return find_misfits(counts)[0]
