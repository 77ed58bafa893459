"""What a `psa_tagger` says about a document: its tags, and ways to label it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..annotation.base import Target
from ..annotation.schemes import Span

# What is certain may come out as a little less than 1, and a threshold of 1 shall keep it.
ROUNDING = 1e-6


@dataclass(frozen=True)
class TagPrediction:
    """The tags of a document.

    ids (NDArray): The index of each token's tag. Shape: (tokens,), int64.
    token_scores (Optional[NDArray]): The probability that a token has the label that its tag stands
        for. Shape: (tokens,). None if probabilities are not known.
    span_scores (Optional[Mapping[Span, float]]): The probability of each span; there are none for
        attributes of tokens. None if probabilities are not known.
    """

    ids: NDArray[np.int64]
    token_scores: NDArray[np.float32] | None = None
    span_scores: Mapping[Span, float] | None = None

    def tags_above(
        self, threshold: float | Mapping[str, float] | None, target: Target, tags: Sequence[str]
    ) -> list[str | None]:
        """Drop what is not probable enough.

        threshold (Optional[Union[float, Mapping[str, float]]]): How probable a span, or the label
            of a token, has to be, for all labels or by label. Without probabilities nothing is
            dropped.
        target (Target): What the tags stand for.
        tags (Sequence[str]): All tags.
        RETURNS (List[Optional[str]]): The tag of each token; None for what is dropped.
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
        """Give the probabilities of what was written.

        found (Sequence[Optional[str]]): The tag of each token; None for what was not written.
        RETURNS (Tuple[List[Optional[float]], Dict[Span, float]]): Those of the labels of tokens,
            None where there is none; and those of spans.
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
        """First token, token after the last one, label and probability of what was found."""
        if target.has_spans:
            for (start, end, label), score in (self.span_scores or {}).items():
                yield start, end, label, score
            return
        for i, (tag, score) in enumerate(zip(found, token_scores, strict=True)):
            yield i, i + 1, target.label_of(tag), float(score)


@dataclass(frozen=True)
class Labeling:
    """One way to label a document.

    tags (List[str]): One tag a token: its label, or a BIOES tag for spans.
    spans (List[Span]): First token, token after the last one, and label of each span.
    probability (float): How probable it is, among all ways to label the document.
    """

    tags: list[str]
    spans: list[Span]
    probability: float
