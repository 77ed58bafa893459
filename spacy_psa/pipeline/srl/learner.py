"""The training of `psa_srl`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from spacy.tokens import Doc
from spacy.training import Example, validate_examples

from ...annotation.frame_tags import gold_frames, gold_tags
from ...annotation.propositions import Frame
from ...errors import Errors
from ...inference import UNKNOWN, LinearChain, Potentials
from ...inference.losses import smoothed_log_prob
from ...models.srl import labeled_propositions
from ..learner import Learner, loss_and_gradient
from ..teaching import (
    Lessons,
    Teaching,
    role_distribution,
    teaching_of,
    teachings,
)

if TYPE_CHECKING:
    from .component import PSASemanticRoles


class RoleLearner(Learner):
    """Converts frames to labels, loss and gradient.

    pipe (PSASemanticRoles): The component.
    tagset (TagSet): Its labels.
    """

    def is_annotated(self, example: Example) -> bool:
        """See `Learner`."""
        return bool(gold_frames(example))

    def check_labels(self, examples: Iterable[Example] = ()) -> None:
        """See `Learner`. There must be frames."""
        if not self.tagset.labels:
            raise ValueError(Errors.P323.format(name=self.pipe.name))

    def inputs(self, examples: Sequence[Example]) -> tuple[list[Doc], list[list[int]]]:
        """See `Learner`: the documents, and the predicates of each."""
        predicates = [[predicate for predicate, _ in self._frames(eg)] for eg in examples]
        return [eg.predicted for eg in examples], predicates

    def _frames(self, example: Example) -> list[tuple[int, Frame | None]]:
        """The predicates and their annotated frames; None if only a teacher knows a predicate."""
        said, frames = teaching_of(example.reference, self.pipe.name), gold_frames(example)
        if said is None or said.predicates is None:
            return [(frame.predicate, frame) for frame in frames]
        annotated = {frame.predicate: frame for frame in frames}
        return [(predicate, annotated.get(predicate)) for predicate in said.predicates]

    def n_averaged(self, examples: Sequence[Example]) -> int:
        """See `Learner`: the number of labels."""
        n = 0
        for example, predicates in zip(examples, self.inputs(examples)[1], strict=True):
            places = labeled_propositions(self.pipe.model, example.predicted, predicates)
            n += sum(place.end - place.start for place in places)
        return n

    def get_loss(
        self, examples: Iterable[Example], potentials: Potentials
    ) -> tuple[float, Potentials]:
        """The negative log-likelihood of the annotated labels (equation 13 of Tan et al. 2018) with
        label smoothing, divided by the number of labels, as in the authors' code. It is mixed with
        the cross-entropy of examples with a teacher's probabilities, see `Lessons`."""
        examples = list(examples)
        validate_examples(examples, "PSASemanticRoles.get_loss")
        found = [self._frames(eg) for eg in examples]
        docs = [eg.predicted for eg in examples]
        ids = self._gold_ids(docs, found)
        labels = torch.tensor(ids, dtype=torch.long)
        if not len(labels):
            return 0.0, potentials
        said = [teaching_of(eg.reference, self.pipe.name) for eg in examples]
        lessons = None
        if any(said):
            known = [frame is not None for own in found for _, frame in own]
            predicates = [[predicate for predicate, _ in own] for own in found]
            lessons = self._lessons(docs, predicates, said, torch.tensor(known))

        def loss(leaf: Potentials) -> torch.Tensor:
            smoothing = self.pipe.cfg["label_smoothing"]
            negative = -smoothed_log_prob(LinearChain(leaf), labels, smoothing)
            if lessons is not None:
                negative = lessons.losses(negative, leaf)
            return negative.sum() / len(labels)

        return loss_and_gradient(loss, potentials)

    def _lessons(
        self,
        docs: Sequence[Doc],
        predicates: Sequence[Sequence[int]],
        said: Sequence[Teaching | None],
        is_annotated: torch.Tensor,
    ) -> Lessons:
        lengths = [
            [place.end - place.start for place in labeled_propositions(self.pipe.model, doc, own)]
            for doc, own in zip(docs, predicates, strict=True)
        ]
        ids = {tag: i for i, tag in enumerate(self.tagset.tags)}
        return Lessons(self.pipe.name, said, lengths, ids, is_annotated)

    def lesson(
        self, teacher: PSASemanticRoles, examples: Sequence[Example]
    ) -> tuple[list[Doc], Any, Callable[[Potentials], tuple[float, Potentials]]]:
        """See `Learner`."""
        references = [eg.reference for eg in examples]
        predicates = [sorted(p.token for p in teacher.predicates(doc)) for doc in references]
        docs = [eg.predicted for eg in examples]
        if not any(predicates):
            return docs, (docs, predicates), lambda potentials: (0.0, potentials)
        chain = role_distribution(teacher, references, predicates)
        counts = [len(own) for own in predicates]
        said = list(teachings(chain, teacher.tags, counts, mass=1.0, most=None))
        nothing = torch.zeros(sum(counts), dtype=torch.bool)
        lessons = self._lessons(docs, predicates, said, nothing)

        def loss(leaf: Potentials) -> torch.Tensor:
            zeros = torch.zeros(len(leaf.lengths), dtype=torch.float64, device=leaf.device)
            return lessons.losses(zeros, leaf).sum() / max(1, leaf.n_tokens)

        return docs, (docs, predicates), partial(loss_and_gradient, loss)

    def _gold_ids(
        self, docs: Sequence[Doc], frames: Sequence[Sequence[tuple[int, Frame | None]]]
    ) -> list[int]:
        """The output for each token of each predicate's sentence."""
        ids: dict[str | None, int] = {tag: i for i, tag in enumerate(self.tagset.tags)}
        ids[None] = UNKNOWN
        labels: list[int] = []
        for doc, found in zip(docs, frames, strict=True):
            predicates = [predicate for predicate, _ in found]
            places = labeled_propositions(self.pipe.model, doc, predicates)
            for (_, frame), place in zip(found, places, strict=True):
                if frame is None:
                    labels += [UNKNOWN] * (place.end - place.start)
                    continue
                try:
                    labels += [ids[t] for t in gold_tags(doc, frame, place.start, place.end)]
                except KeyError as error:
                    role, text = error.args[0].partition("-")[2], doc.text[:60]
                    names = {"role": role, "name": self.pipe.name, "text": text}
                    raise ValueError(Errors.P324.format(**names)) from None
        return labels
