"""Sort and group labels by their names."""

from __future__ import annotations

from collections.abc import Sequence

from ..annotation.schemes import OUTSIDE, SCHEMES, split_tag

PREFIXES = frozenset(prefix for scheme in SCHEMES.values() for prefix in scheme.prefixes)
SYMBOLS = "symbols"


def groups_of(tags: Sequence[str]) -> list[str]:
    """Group labels: span tags by the label of the span, other labels by their first character."""
    if are_of_spans(tags):
        return [split_tag(tag)[1] or OUTSIDE for tag in tags]
    return [tag[0].upper() if tag[:1].isalnum() else SYMBOLS for tag in tags]


def in_order(tags: Sequence[str]) -> list[int]:
    """Sort labels: "O" first, then by group and name."""
    groups = groups_of(tags)
    return sorted(range(len(tags)), key=lambda i: (tags[i] != OUTSIDE, groups[i], tags[i]))


def are_of_spans(tags: Sequence[str]) -> bool:
    """Whether all labels are tags of a scheme such as BIO, including "O"."""
    inside = [split_tag(tag) for tag in tags if tag != OUTSIDE]
    return OUTSIDE in tags and all(prefix in PREFIXES and label for prefix, label in inside)
