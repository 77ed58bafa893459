"""The training of `psa_srl`."""

from collections.abc import Iterable, Sequence

import torch
from spacy.tokens import Doc
from spacy.training import Example, validate_examples

from ...annotation.frame_tags import gold_frames, gold_tags
from ...annotation.propositions import Frame
from ...errors import Errors
from ...inference import UNKNOWN, LinearChain, Potentials
from ...inference.smoothing import smoothed_log_prob
from ...models.srl import labeled_propositions
from ..learner import Learner, loss_and_gradient


class RoleLearner(Learner):
    """Converts frames to labels, loss and gradient.

    pipe (PSASemanticRoles): The component.
    tagset (TagSet): Its labels.
    """

    def is_annotated(self, example: Example) -> bool:
        """See `Learner`."""
        return bool(gold_frames(example))

    def check_labels(self) -> None:
        """See `Learner`. There must be frames."""
        if not self.tagset.labels:
            raise ValueError(Errors.P323.format(name=self.pipe.name))

    def inputs(self, examples: Sequence[Example]) -> tuple[list[Doc], list[list[int]]]:
        """See `Learner`: the documents, and the predicates of each."""
        predicates = [[frame.predicate for frame in gold_frames(eg)] for eg in examples]
        return [eg.predicted for eg in examples], predicates

    def get_loss(
        self, examples: Iterable[Example], potentials: Potentials
    ) -> tuple[float, Potentials]:
        """The negative log-likelihood of the annotated labels (equation 13 of Tan et al. 2018) with
        label smoothing, divided by the number of labels, as in the authors' code."""
        examples = list(examples)
        validate_examples(examples, "PSASemanticRoles.get_loss")
        found = [gold_frames(eg) for eg in examples]
        ids = self._gold_ids([eg.predicted for eg in examples], found)
        labels = torch.tensor(ids, dtype=torch.long)

        def negative_log_likelihood(leaf: Potentials) -> torch.Tensor:
            smoothing = self.pipe.cfg["label_smoothing"]
            log_prob = smoothed_log_prob(LinearChain(leaf), labels, smoothing)
            return -log_prob.sum() / max(1, len(labels))

        if not len(labels):
            return 0.0, potentials
        return loss_and_gradient(negative_log_likelihood, potentials)

    def _gold_ids(self, docs: Sequence[Doc], frames: Sequence[Sequence[Frame]]) -> list[int]:
        """The output for each token of each predicate's sentence."""
        ids: dict[str | None, int] = {tag: i for i, tag in enumerate(self.tagset.tags)}
        ids[None] = UNKNOWN
        labels: list[int] = []
        for doc, found in zip(docs, frames, strict=True):
            predicates = [frame.predicate for frame in found]
            places = labeled_propositions(self.pipe.model, doc, predicates)
            for frame, place in zip(found, places, strict=True):
                try:
                    labels += [ids[t] for t in gold_tags(doc, frame, place.start, place.end)]
                except KeyError as error:
                    role, text = error.args[0].partition("-")[2], doc.text[:60]
                    names = {"role": role, "name": self.pipe.name, "text": text}
                    raise ValueError(Errors.P324.format(**names)) from None
        return labels
