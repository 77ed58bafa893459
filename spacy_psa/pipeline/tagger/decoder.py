"""The predictions of `psa_tagger`: tags, their probabilities, and how they are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ...annotation.base import Target
from ...annotation.schemes import Span
from ...errors import Errors
from ...inference import LinearChain
from ..delegation import all_docs, one_each
from .confidence import forget_scores, set_scores
from .queries import TagQueries, split
from .settings import check_threshold

if TYPE_CHECKING:
    from .component import PSATagger

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
        """Drop predictions whose probability is below a threshold, for all labels or by label:
        the tag of each token, None if it was dropped. If probabilities are unknown, nothing is."""
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
        """Get the probabilities of each token's label, None if its tag in `found` was not written;
        and those of spans."""
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


class TagDecoder:
    """Predicts the best tags of documents, and writes them.

    pipe (PSATagger): The component.
    queries (TagQueries): Answers what the probabilities are.
    """

    def __init__(self, pipe: PSATagger, queries: TagQueries) -> None:
        self.pipe, self.queries = pipe, queries

    def predict(self, docs: Iterable[Doc]) -> list[TagPrediction]:
        """Predict the best tags for documents, without modifying them.

        docs (Iterable[Doc]): The documents.
        RETURNS (List[TagPrediction]): The index of each token's tag in `tags`, and probabilities if
            `probabilities` or `threshold` is set.
        RAISES (ValueError): If a rule or the threshold does not fit, or a score is NaN.
        """
        docs, cfg = all_docs(self.pipe.name, docs), self.pipe.cfg
        check_threshold(self.pipe.name, cfg.get("threshold"), self.pipe.labels)
        if not any(len(doc) for doc in docs):
            return [TagPrediction(np.zeros(0, dtype=np.int64)) for _ in docs]
        distribution = self.queries.distribution(docs)
        found = distribution.argmax.cpu().numpy()
        if self.pipe.constraints is None and self.pipe.target.has_spans:
            ids = {tag: i for i, tag in enumerate(self.pipe.tags)}
            chains = split(found, distribution.potentials.lengths)
            repaired = self.queries.well_formed(chains)
            found = np.array([ids[tag] for tag in repaired], dtype=np.int64)
        best = split(found, map(len, docs))
        if cfg["probabilities"] or cfg["threshold"] is not None:
            return self._with_scores(docs, best, distribution)
        return [TagPrediction(ids) for ids in best]

    def _with_scores(
        self, docs: Sequence[Doc], best: Sequence[NDArray[np.int64]], distribution: LinearChain
    ) -> list[TagPrediction]:
        """Compute the probabilities of the best tags."""
        ids, tags, spans_of = np.concatenate(best), self.pipe.tags, self.pipe.target.spans_of
        columns = self.queries.columns()[ids]
        of_token = self.queries.label_marginals(distribution)[np.arange(len(ids)), columns]
        spans = [spans_of([tags[i] for i in part]) for part in best]
        of_span = self.queries.probs_of_spans(docs, spans, distribution)
        return [
            TagPrediction(part, scores, dict(zip(found, probabilities, strict=True)))
            for part, scores, found, probabilities in zip(
                best, split(of_token, map(len, docs)), spans, of_span, strict=True
            )
        ]

    def set_annotations(self, docs: Iterable[Doc], predictions: Sequence[TagPrediction]) -> None:
        """Write predictions to documents.

        docs (Iterable[Doc]): The documents.
        predictions (Sequence[TagPrediction]): The output of `predict` for them.
        RAISES (ValueError): If they are not for these documents or not from this component.
        """
        docs = one_each(self.pipe.name, docs, predictions)
        name, cfg, target, tags = self.pipe.name, self.pipe.cfg, self.pipe.target, self.pipe.tags
        overwrite = cfg["overwrite"]
        for doc, prediction in zip(docs, predictions, strict=True):
            # A list, since for one sentence NumPy calls would cost more than all of this
            ids = prediction.ids.tolist()
            if len(ids) != len(doc) or (len(ids) and not 0 <= min(ids) <= max(ids) < len(tags)):
                found = {"found": prediction.ids, "text": doc.text[:60], "n_tags": len(tags)}
                raise ValueError(Errors.P310.format(name=name, **found))
            names = prediction.tags_above(cfg["threshold"], target, tags)
            own = self._own(doc, names) if cfg["probabilities"] else None
            target.annotate(doc, names, overwrite=overwrite)
            if own is not None:
                set_scores(doc, target, *prediction.scores_of(own))
            elif overwrite and doc.user_data:
                # Scores from another component or an earlier run belong to other labels
                forget_scores(doc, target)

    def _own(self, doc: Doc, tags: list[str | None]) -> list[str | None]:
        """Leave out tags that will not be written because there is existing annotation."""
        overwrite = self.pipe.cfg["overwrite"]
        existing = None if overwrite else self.pipe.target.existing_tags(doc, ())
        if existing is None:
            return tags
        pairs = zip(tags, existing, strict=True)
        return [tag if there in (None, tag) else None for tag, there in pairs]
