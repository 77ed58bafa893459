"""The training of `psa_srl`."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from thinc.api import Optimizer

from ..annotation.frame_tags import check_arguments, gold_frames, gold_tags, role_tags
from ..annotation.propositions import PREDICATE_LABEL, Frame, get_frames
from ..errors import Errors
from ..inference import UNKNOWN, LinearChain, Potentials
from ..inference.smoothing import smoothed_log_prob
from ..models.srl import labeled_propositions
from .common import LabelSequencePipe, loss_and_gradient
from .input_errors import input_errors
from .vocabulary import Vocabulary


class RoleLearner(LabelSequencePipe):
    """The training part of `psa_srl`: converts frames to labels, loss and gradient."""

    def tags_of(self, labels: Sequence[str]) -> list[str]:
        """List the model's output tags.

        labels (Sequence[str]): The roles.
        RETURNS (List[str]): O, and B and I for each role.
        """
        return role_tags(labels)

    def gold_labels(self, doc: Doc) -> Iterable[str]:
        """Find the annotated roles.

        doc (Doc): A gold-standard document.
        YIELDS (str): Its roles, with repetitions; V for each predicate.
        """
        for frame in get_frames(doc):
            yield from _labels_of(frame)

    def is_annotated(self, example: Example) -> bool:
        """Check whether there is anything to learn from an example.

        example (Example): The example.
        RETURNS (bool): Whether any predicted token has a gold frame.
        """
        return bool(gold_frames(example))

    @input_errors()
    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Iterable[str] | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        """Initialize the model for training.

        get_examples (Callable[[], Iterable[Example]]): Returns all of the gold-standard training
            data, since the word embeddings take their vocabulary from it.
        nlp (Optional[Language]): The pipeline.
        labels (Optional[Iterable[str]]): The roles, e.g. from `spacy init labels`. By default, the
            roles in the examples.
        vocabulary (Optional[Dict[str, int]]): The tokens of the training data with their counts,
            from `psa vocabulary`. By default, those in the examples.
        RAISES (ValueError): If there are no examples, no tokens or no frames, or an argument has no
            role or no tokens. The labels are then unchanged.
        """
        if callable(get_examples) and next(iter(get_examples()), None) is None:
            raise ValueError(Errors.P306.format(name=self.name))
        validate_get_examples(get_examples, "psa_srl.initialize")
        if labels is None:
            found: set[str] = set()
            for eg in get_examples():
                check_arguments(eg.reference)
                found.update(self.gold_labels(eg.reference))
            if not found:
                raise ValueError(Errors.P323.format(name=self.name))
            labels = sorted(found)
        with self.restore_labels_on_error():
            for label in labels:
                self.add_label(label)
            self.initialize_model(get_examples, nlp, vocabulary)

    @input_errors()
    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Update the model with the annotated predicates and arguments of a batch. Roles that are
        new are added.

        examples (Iterable[Example]): The batch.
        drop (float): Dropout rate of thinc's layers. This package's layers have their own settings.
        sgd (Optional[Optimizer]): The optimizer; if None, gradients are accumulated.
        losses (Optional[Dict[str, float]]): The losses so far, by component.
        RETURNS (Dict[str, float]): The losses, with this batch's added.
        RAISES (ValueError): If training diverges.
        """
        examples = list(examples)
        validate_examples(examples, "psa_srl.update")
        self.add_new_labels(examples)
        docs = [eg.predicted for eg in examples]
        frames = [gold_frames(eg) for eg in examples]
        inputs = (docs, [[frame.predicate for frame in found] for found in frames])
        get_loss = partial(self._loss, docs, frames)
        return self.learn(docs, inputs, get_loss, drop=drop, sgd=sgd, losses=losses)

    def get_loss(
        self, examples: Iterable[Example], potentials: Potentials
    ) -> tuple[float, Potentials]:
        """Compute the loss and its gradient.

        The loss is the negative log-likelihood of the annotated labels (equation 13 of Tan et al.
        2018) with label smoothing, divided by the number of labels, as in the authors' code.

        examples (Iterable[Example]): The batch.
        potentials (Potentials): The model's output for the batch.
        RETURNS (Tuple[float, Potentials]): The loss and its gradient.
        RAISES (ValueError): If an example has a role that the component does not have.
        """
        examples = list(examples)
        validate_examples(examples, "psa_srl.get_loss")
        frames = [gold_frames(eg) for eg in examples]
        return self._loss([eg.predicted for eg in examples], frames, potentials)

    def _loss(
        self, docs: Sequence[Doc], frames: Sequence[Sequence[Frame]], potentials: Potentials
    ) -> tuple[float, Potentials]:
        labels = torch.tensor(self._gold_ids(docs, frames), dtype=torch.long)

        def negative_log_likelihood(leaf: Potentials) -> torch.Tensor:
            smoothing = self.cfg["label_smoothing"]
            log_prob = smoothed_log_prob(LinearChain(leaf), labels, smoothing)
            return -log_prob.sum() / max(1, len(labels))

        if not len(labels):
            return 0.0, potentials
        return loss_and_gradient(negative_log_likelihood, potentials)

    def _gold_ids(self, docs: Sequence[Doc], frames: Sequence[Sequence[Frame]]) -> list[int]:
        ids: dict[str | None, int] = {tag: i for i, tag in enumerate(self.tags)}
        ids[None] = UNKNOWN
        labels: list[int] = []
        for doc, found in zip(docs, frames, strict=True):
            predicates = [frame.predicate for frame in found]
            places = labeled_propositions(self.model, doc, predicates)
            for frame, place in zip(found, places, strict=True):
                try:
                    labels += [ids[t] for t in gold_tags(doc, frame, place.start, place.end)]
                except KeyError as error:
                    role, text = error.args[0].partition("-")[2], doc.text[:60]
                    raise ValueError(
                        Errors.P324.format(role=role, name=self.name, text=text)
                    ) from None
        return labels


def _labels_of(frame: Frame) -> set[str]:
    return {PREDICATE_LABEL, *(role for _, _, role in frame.arguments)}
