"""The predictions of `psa_srl`: the frames of each predicate, and how they are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ...annotation.frame_tags import read_roles
from ...annotation.propositions import Frame
from ...errors import Errors, Warnings, warn
from ...inference import Potentials
from ...models.labeler import sentence_lengths
from ...models.srl import Proposition, labeled_propositions, predict_in_parts
from ..delegation import all_docs, one_each
from ..monitors import check_initialized, check_scores
from ..pretrained import warn_of_unread
from .frames import FramePrediction, annotate_frames
from .predicates import Predicate, check_predicates
from .probabilities import span_probabilities
from .roles import without_space

if TYPE_CHECKING:
    from .component import PSASemanticRoles


class Wanted(NamedTuple):
    """A predicate whose arguments are wanted, its sentence, and the tokens of the sentence at which
    no argument may begin or end."""

    predicate: Predicate
    place: Proposition
    spaces: NDArray[np.bool_]


class RoleDecoder:
    """Predicts the arguments of predicates, and writes them.

    pipe (PSASemanticRoles): The component.
    """

    def __init__(self, pipe: PSASemanticRoles) -> None:
        self.pipe = pipe

    def predict(self, docs: Iterable[Doc]) -> list[list[FramePrediction]]:
        """Predict predicates and their arguments, without modifying the documents.

        docs (Iterable[Doc]): The documents.
        RETURNS (List[List[FramePrediction]]): The frames of each document, in the order of their
            predicates.
        RAISES (ValueError): If a predicate is not a token of its document or occurs twice, or if a
            score of the model is NaN.
        """
        docs = all_docs(self.pipe.name, docs)
        predicates = [self._find(doc) for doc in docs]
        if not any(predicates):
            return [[] for _ in docs]
        check_initialized(self.pipe)
        warn_of_unread(self.pipe, docs)
        indices = [[predicate.token for predicate in found] for found in predicates]
        self._warn_of_windows(docs, indices)
        wanted = self._wanted(docs, predicates)
        frames: list[FramePrediction] = []
        for potentials in predict_in_parts(self.pipe.model, docs, indices):
            check_scores(self.pipe.name, potentials, docs)
            frames += self._frames(potentials, list(islice(wanted, len(potentials.lengths))))
        remaining = iter(frames)
        return [list(islice(remaining, len(found))) for found in predicates]

    def _find(self, doc: Doc) -> list[Predicate]:
        predicates = sorted(self.pipe.predicates(doc), key=lambda predicate: predicate.token)
        check_predicates(doc, predicates)
        return predicates

    def _warn_of_windows(self, docs: Sequence[Doc], indices: Sequence[Sequence[int]]) -> None:
        longest = self.pipe.model.attrs.get("max_length")
        if longest is None:
            return
        for doc, found in zip(docs, indices, strict=True):
            if len(doc) > longest and found and max(sentence_lengths(doc)) > longest:
                warn(Warnings.W405.format(name=self.pipe.name, max_length=longest))
                return

    def _wanted(
        self, docs: Sequence[Doc], predicates: Sequence[Sequence[Predicate]]
    ) -> Iterator[Wanted]:
        for doc, found in zip(docs, predicates, strict=True):
            spaces = self.spaces(doc)
            places = labeled_propositions(self.pipe.model, doc, [p.token for p in found])
            for predicate, place in zip(found, places, strict=True):
                yield Wanted(predicate, place, spaces[place.start : place.end])

    def spaces(self, doc: Doc) -> NDArray[np.bool_]:
        """Find the tokens at which no argument may begin or end: white space, unless
        `allow_space` is true."""
        allowed = self.pipe.cfg["allow_space"]
        is_space = (token.is_space and not allowed for token in doc)
        return np.fromiter(is_space, dtype=bool, count=len(doc))

    def _frames(self, potentials: Potentials, wanted: Sequence[Wanted]) -> list[FramePrediction]:
        """Find the best frames for some predicates, one chain each."""
        frames: dict[int, FramePrediction] = {}
        spaces = [one.spaces for one in wanted]
        for chains, scores, tags in without_space(potentials, self.pipe.tags, spaces):
            best = self.pipe.decoding.best(scores, tags).cpu().numpy()
            labelings = np.split(best, np.cumsum(scores.lengths)[:-1])
            found = [
                FramePrediction(_frame(wanted[chain], [tags[i] for i in labeling]))
                for chain, labeling in zip(chains, labelings, strict=True)
            ]
            if self.pipe.probabilities:
                starts = [wanted[chain].place.start for chain in chains]
                found = span_probabilities(scores, tags, found, starts)
            frames.update(zip(chains, found, strict=True))
        return [frames[chain] for chain in range(len(wanted))]

    def set_annotations(
        self, docs: Iterable[Doc], predictions: Sequence[Sequence[FramePrediction]]
    ) -> None:
        """Write predictions to documents, replacing their frames.

        docs (Iterable[Doc]): The documents.
        predictions (Sequence[Sequence[FramePrediction]]): The output of `predict` for them.
        RAISES (ValueError): If the predictions are not for these documents.
        """
        name = self.pipe.name
        docs = one_each(name, docs, predictions)
        for doc, frames in zip(docs, predictions, strict=True):
            for prediction in frames:
                frame = prediction.frame
                last = max([frame.predicate, *(end - 1 for _, end, _ in frame.arguments)])
                if last >= len(doc):
                    found = {"text": doc.text[:60], "problem": f"there is no token {last}"}
                    raise ValueError(Errors.P325.format(name=name, **found))
            annotate_frames(doc, frames)


def _frame(wanted: Wanted, tags: Sequence[str]) -> Frame:
    first, predicate = wanted.place.start, wanted.predicate
    arguments = [(start + first, end + first, role) for start, end, role in read_roles(tags)]
    return Frame(predicate.token, predicate.lemma, predicate.sense, arguments)
