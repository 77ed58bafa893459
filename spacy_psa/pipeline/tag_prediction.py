"""The predictions of a `psa_tagger` for a document: tags and alternative labelings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..annotation.base import Target
from ..annotation.schemes import Span

# Rounding may make a certain prediction slightly less than 1; a threshold of 1 must keep it.
ROUNDING = 1e-6


@dataclass(frozen=True)
class TagPrediction:
    """The predicted tags of a document.

    ids (NDArray): The index of each token's tag. Shape: (tokens,), int64.
    token_scores (Optional[NDArray]): The probability of each token's label, as expressed by its
        tag. Shape: (tokens,). None if unknown.
    span_scores (Optional[Mapping[Span, float]]): The probability of each span; empty if the target
        is a token attribute. None if unknown.
    """

    ids: NDArray[np.int64]
    token_scores: NDArray[np.float32] | None = None
    span_scores: Mapping[Span, float] | None = None

    def tags_above(
        self, threshold: float | Mapping[str, float] | None, target: Target, tags: Sequence[str]
    ) -> list[str | None]:
        """Drop predictions below a threshold.

        threshold (Optional[Union[float, Mapping[str, float]]]): The minimum probability of a span
            or of a token's label, for all labels or by label. If probabilities are unknown, nothing
            is dropped.
        target (Target): What the tags stand for.
        tags (Sequence[str]): All tags.
        RETURNS (List[Optional[str]]): The tag of each token; None if it was dropped.
        """
        names = [tags[i] for i in self.ids.tolist()]
        found: list[str | None] = list(names)
        if threshold is None or self.token_scores is None:
            return found
        for start, end, label, score in self._labels(target, names, self.token_scores):
            least = threshold.get(label, 0.0) if isinstance(threshold, Mapping) else threshold
            if score < least - ROUNDING:
                found[start:end] = [None] * (end - start)
        return found

    def scores_of(
        self, found: Sequence[str | None]
    ) -> tuple[list[float | None], dict[Span, float]]:
        """Get the probabilities of the written predictions.

        found (Sequence[Optional[str]]): The tag of each token; None if it was not written.
        RETURNS (Tuple[List[Optional[float]], Dict[Span, float]]): The probability of each token's
            label, None if it has none; and the probabilities of spans.
        """
        if self.token_scores is None:
            return [None] * len(found), {}
        scores = self.token_scores.tolist()
        tokens = [None if tag is None else p for tag, p in zip(found, scores, strict=True)]
        spans = {
            (start, end, label): score
            for (start, end, label), score in (self.span_scores or {}).items()
            if None not in found[start:end]
        }
        return tokens, spans

    def _labels(
        self, target: Target, found: Sequence[str], token_scores: NDArray[np.float32]
    ) -> Iterator[tuple[int, int, str, float]]:
        """Iterate over predictions: first token, token after the last one, label, probability."""
        if target.has_spans:
            for (start, end, label), score in (self.span_scores or {}).items():
                yield start, end, label, score
            return
        for i, (tag, score) in enumerate(zip(found, token_scores, strict=True)):
            yield i, i + 1, target.label_of(tag), float(score)


@dataclass(frozen=True)
class Labeling:
    """A labeling of a document.

    tags (List[str]): One tag per token: its label, or a BIOES tag for spans.
    spans (List[Span]): First token, token after the last one, and label of each span.
    probability (float): Its probability among all labelings of the document.
    """

    tags: list[str]
    spans: list[Span]
    probability: float
