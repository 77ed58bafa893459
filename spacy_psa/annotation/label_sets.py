"""Ambiguous labels, written as sets: with the separator "|", "NN|JJ" means one of the two."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spacy.tokens import Doc, Span
from spacy.training import Example

from ..errors import Errors


class LabelSets:
    """The notation of sets of labels.

    separator (str): Separates the labels in a set.
    RAISES (ValueError): If the separator cannot be distinguished from labels.
    """

    def __init__(self, separator: str) -> None:
        if not separator or any(c.isspace() or c.isalnum() for c in separator):
            raise ValueError(Errors.P368.format(separator=separator))
        self.separator = separator
        self._parts: dict[str, tuple[str, ...]] = {}

    def is_set(self, label: str) -> bool:
        """Whether a label is written as a set."""
        return self.separator in label

    def parts(self, label: str, doc: Doc) -> tuple[str, ...]:
        """Split a label into the labels in the set; a label that is none stays. No part may be
        empty, have whitespace around it, or occur twice."""
        if label not in self._parts:
            parts = tuple(label.split(self.separator))
            problem = _problem(parts) if len(parts) > 1 else None
            if problem is not None:
                raise ValueError(
                    Errors.P370.format(
                        label=label, text=doc.text[:60], separator=self.separator, problem=problem
                    )
                )
            self._parts[label] = parts
        return self._parts[label]


def resolved_labels(
    example: Example,
    spans: Sequence[Span],
    parts: Sequence[tuple[str, ...]],
    predicted: Iterable[Span],
) -> list[str]:
    """Choose the predicted labels from sets, for each span of the reference. A span that was not
    predicted with any of its labels keeps its set, and is scored as missed."""
    found = set()
    alignment = example.alignment.x2y  # only once, see `align_spans`
    for span in predicted:
        aligned = alignment[span.start : span.end]
        if len(aligned):
            found.add((int(aligned[0]), int(aligned[-1]) + 1, span.label_))
    return [
        next((label for label in labels if (span.start, span.end, label) in found), span.label_)
        for span, labels in zip(spans, parts, strict=True)
    ]


def _problem(parts: tuple[str, ...]) -> str | None:
    if not all(parts):
        return "one of them is empty"
    for part in parts:
        if part != part.strip():
            return f"there is whitespace around '{part.strip()}'"
        if parts.count(part) > 1:
            return f"'{part}' occurs twice"
    return None
