"""The training of components that predict label sequences.

Annotations are not postponed here: spaCy checks the settings of `initialize` by them. For
`Iterable[str]`, it would replace a string in the config, such as a path, by an iterator over its
characters, so `labels` can be anything, and is checked here.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import torch
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from thinc.api import Optimizer, set_dropout_rate

from ..errors import Errors, Warnings, warn
from ..inference import Potentials
from ..models.growth import can_resize, match_state
from ..models.network_shim import networks
from ..models.updating import scale_gradients
from .monitors import (
    DivergenceMonitor,
    StagnationMonitor,
    check_initialized,
    skip_update,
    skips_update,
)
from .pretrained import check_transformers, check_upstream, load_frozen, warn_of_overwritten
from .tagset import TagSet
from .teaching import check_same_words, teaching_of
from .vocabulary import Vocabulary, collect_words

Losses = dict[str, float]


class Learner(ABC):
    """Initializes a component's model, and trains it step by step, unless training diverges.

    pipe (TrainablePipe): The component.
    tagset (TagSet): Its labels.
    monitor (DivergenceMonitor): Stops training if it diverges.
    stagnation (StagnationMonitor): Warns if it goes nowhere.
    begin_sum (Optional[Callable[[float], Callable[[], float]]]): Starts to add up a number over the
        processes that share a batch, and returns what waits for the sum; None without others.
    """

    begin_sum: Callable[[float], Callable[[], float]] | None = None

    def __init__(self, pipe: TrainablePipe, tagset: TagSet) -> None:
        self.pipe, self.tagset = pipe, tagset
        self.monitor = DivergenceMonitor()
        self.stagnation = StagnationMonitor()

    @abstractmethod
    def is_annotated(self, example: Example) -> bool:
        """Whether any predicted token of an example has gold annotation."""

    @abstractmethod
    def check_labels(self, examples: Iterable[Example] = ()) -> None:
        """Raise a ValueError if the component cannot be trained with its labels, those of the
        examples."""

    @abstractmethod
    def inputs(self, examples: Sequence[Example]) -> Any:
        """What the model reads of examples."""

    @abstractmethod
    def get_loss(
        self, examples: Iterable[Example], potentials: Potentials
    ) -> tuple[float, Potentials]:
        """Compute the loss and its gradient.

        examples (Iterable[Example]): The batch.
        potentials (Potentials): The model's output for the batch.
        RETURNS (Tuple[float, Potentials]): The loss and its gradient.
        RAISES (ValueError): If an example has a label that the component does not have.
        """

    @abstractmethod
    def lesson(
        self, teacher: Any, examples: Sequence[Example]
    ) -> tuple[list[Doc], Any, Callable[[Potentials], tuple[float, Potentials]]]:
        """What a student learns from a teacher: documents, what the model reads of them, and the
        loss that compares it with what the teacher thinks of the references."""

    @abstractmethod
    def n_averaged(self, examples: Sequence[Example]) -> int:
        """Over how much of the examples the loss is a mean or a sum, e.g. their sentences."""

    @property
    def is_sum(self) -> bool:
        """Whether the loss is a sum over the examples rather than a mean."""
        return self.pipe.cfg.get("loss_reduction") == "sum"

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Any = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        """Initialize the model for training.

        get_examples (Callable[[], Iterable[Example]]): Returns all of the gold-standard training
            data, since the word embeddings take their vocabulary from it.
        nlp (Optional[Language]): The pipeline.
        labels (Optional[Iterable[str]]): The labels, e.g. from `spacy init labels`. By default, the
            labels in the examples.
        vocabulary (Optional[Dict[str, int]]): The tokens of the training data with their counts,
            from `psa vocabulary`. By default, those in the examples.
        RAISES (ValueError): If there are no examples, no tokens or no labels, the labels are no
            list, an annotation has no label or no tokens, or a weighted label does not exist. The
            labels are then unchanged.
        """
        check_get_examples(self.pipe, get_examples)
        if isinstance(labels, str | Mapping):  # which would be read as characters or keys
            names = {"name": self.pipe.name, "type": type(labels).__name__}
            raise ValueError(Errors.P335.format(**names, labels=repr(labels)[:60]))
        with self.tagset.restored_on_error():
            for label in self.tagset.annotated(get_examples()) if labels is None else labels:
                self.tagset.add_label(label)
            self.check_labels(get_examples())
            self._initialize_model(get_examples, nlp, vocabulary)

    def _initialize_model(
        self,
        get_examples: Callable[[], Iterable[Example]],
        nlp: Language | None,
        vocabulary: Vocabulary | None,
    ) -> None:
        self._check_examples(get_examples())
        self.monitor, self.stagnation = DivergenceMonitor(), StagnationMonitor()
        collect_words(self.pipe, get_examples, nlp, vocabulary)
        model, n_tags = self.pipe.model, len(self.tagset.tags)
        n_before = model.maybe_get_dim("nO")
        if n_before not in (None, n_tags) and not can_resize(model):
            raise ValueError(Errors.P315.format(name=self.pipe.name, found=n_before, n_tags=n_tags))
        model.set_dim("nO", n_tags, force=True)
        if nlp is not None:
            check_upstream(nlp, self.pipe)
            load_frozen(nlp, self.pipe)
        model.initialize(X=[eg.predicted for eg in islice(get_examples(), 10)])
        if nlp is not None:
            check_transformers(nlp)
            warn_of_overwritten(nlp, self.pipe)

    def _check_examples(self, examples: Iterable[Example]) -> None:
        """Check that there is at least one example to learn from."""
        n, has_tokens = 0, False
        for n, eg in enumerate(examples, 1):  # noqa: B007
            has_tokens = has_tokens or len(eg.predicted) > 0
            if self.is_annotated(eg) or teaching_of(eg.reference, self.pipe.name) is not None:
                return
        if not has_tokens:
            raise ValueError(Errors.P436.format(n=n, name=self.pipe.name))
        warn(Warnings.W431.format(name=self.pipe.name))

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: Losses | None = None,
    ) -> Losses:
        """Update the model with a batch of examples. Labels that are new are added.

        examples (Iterable[Example]): The batch.
        drop (float): Dropout rate of thinc's layers. This package's layers have their own settings.
        sgd (Optional[Optimizer]): The optimizer; if None, gradients are accumulated.
        losses (Optional[Dict[str, float]]): The losses so far, by component.
        RETURNS (Dict[str, float]): The losses, with this batch's added.
        RAISES (ValueError): If training diverges.
        """
        examples = list(examples)
        validate_examples(examples, f"{type(self.pipe).__name__}.update")
        self.check_trainable()
        self.tagset.take_new(examples)
        docs, inputs = [eg.predicted for eg in examples], self.inputs(examples)
        get_loss = self._shared_loss(examples)
        return self.step(docs, inputs, get_loss, drop=drop, sgd=sgd, losses=losses)

    def _shared_loss(
        self, examples: Sequence[Example]
    ) -> Callable[[Potentials], tuple[float, Potentials]]:
        """The component's loss: if the batch is shared, the part of these examples in it."""
        if self.begin_sum is None:
            return partial(self.pipe.get_loss, examples)
        n = self.n_averaged(examples)
        total = self.begin_sum(n)

        def get_loss(potentials: Potentials) -> tuple[float, Potentials]:
            loss, gradient = self.pipe.get_loss(examples, potentials)
            n_total = total()  # waits for the other processes, whatever is done with it
            return weighted(loss, gradient, 1.0 if self.is_sum else n / max(1.0, n_total))

        return get_loss

    def distill(
        self,
        teacher_pipe: TrainablePipe | None,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: Losses | None = None,
    ) -> Losses:
        """Train the model to agree with a teacher, with the signature of spaCy 4. The loss is the
        cross-entropy between the two distributions over label sequences, see `cross_entropy`.

        teacher_pipe (Optional[TrainablePipe]): The teacher, a component of the same kind with the
            same labels.
        examples (Iterable[Example]): A batch. The teacher reads the references, as the components
            before it have left them, the student the predicted documents; annotation is not used.
        drop, sgd, losses: See `update`.
        RETURNS (Dict[str, float]): The losses, with this batch's added.
        RAISES (ValueError): If the teacher is none of this kind or has other labels, the tokens of
            an example differ, or training diverges.
        """
        kind, found = type(self.pipe).__name__, type(teacher_pipe).__name__
        if not isinstance(getattr(teacher_pipe, "learner", None), type(self)):
            names = {"teacher": found, "kind": kind, "name": self.pipe.name, "found": found}
            raise ValueError(Errors.P530.format(**names))
        examples = list(examples)
        validate_examples(examples, f"{kind}.distill")
        self.check_trainable()
        check_same_words(examples)
        docs, inputs, get_loss = self.lesson(teacher_pipe, examples)
        return self.step(docs, inputs, get_loss, drop=drop, sgd=sgd, losses=losses)

    def check_trainable(self) -> None:
        """Raise a ValueError if the precision of a network has been reduced."""
        for shim in networks(self.pipe.model):
            shim.check_trainable(f"The component '{self.pipe.name}'")

    def step(
        self,
        docs: Sequence[Doc],
        inputs: Any,
        get_loss: Callable[[Potentials], tuple[float, Potentials]],
        *,
        drop: float,
        sgd: Optimizer | None,
        losses: Losses | None,
    ) -> Losses:
        """Perform a training step, unless the batch has no tokens, and add its loss to others. If
        training diverges, nothing is updated. Without an optimizer, gradients are accumulated."""
        pipe, losses = self.pipe, {} if losses is None else losses
        losses.setdefault(pipe.name, 0.0)
        if not any(len(doc) for doc in docs):
            return losses
        check_initialized(pipe)
        set_dropout_rate(pipe.model, drop)
        potentials, backprop = pipe.model.begin_update(inputs)
        loss, gradient = get_loss(potentials)
        self.monitor.check_loss(pipe.name, pipe.model, loss, gradient, docs)
        backprop(gradient)
        # Checked here, since a shared tok2vec is updated before this component
        self.monitor.check_gradients(pipe.name, pipe.model, docs)
        if sgd not in (None, False):
            pipe.finish_update(sgd)
        losses[pipe.name] += loss
        return losses

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Score predictions. Gold labels that the component does not have count as missed, and are
        listed in a warning.

        examples (Iterable[Example]): The examples.
        **kwargs: Further arguments of the scorer.
        RETURNS (Dict[str, Any]): The scores.
        """
        examples = list(examples)
        self.tagset.report_unknown(examples)
        scores = TrainablePipe.score(self.pipe, examples, **kwargs)
        self._observe(examples, scores)
        return scores

    def _observe(self, examples: Sequence[Example], scores: Mapping[str, Any]) -> None:
        """Take note of an evaluation, and warn if training goes nowhere."""
        updates = self.monitor.updates
        if not updates:
            return
        labels_of = self.pipe.target.labels_of
        predicted = [label for eg in examples for label in labels_of(eg.predicted)]
        n_tokens = sum(len(eg.predicted) for eg in examples)
        has_labels = any(label for eg in examples for label in labels_of(eg.reference))
        if examples and not has_labels and not any(map(self.is_annotated, examples)):
            self.stagnation.note_unannotated(self.pipe.name, self.pipe.target.name, len(examples))
        self.stagnation.observe(self.pipe.name, updates, predicted, n_tokens, scores)

    def finish_update(self, sgd: Optimizer) -> None:
        """Update the parameters with an optimizer, after clipping the gradients. If gradients
        scaled for mixed precision have overflowed, the update is skipped.

        sgd (Optimizer): The optimizer.
        RAISES (ValueError): If the parameters are no longer finite.
        """
        pipe, model = self.pipe, self.pipe.model
        if any(shim.earlier_shapes for shim in networks(model)):
            match_state(sgd, model)
        scale = self.monitor.gradient_scale(model, pipe.cfg["max_grad_norm"])
        scale_gradients(model, scale)
        self.stagnation.note_rate(pipe.name, getattr(sgd, "learn_rate", None))
        model.finish_update(skip_update if skips_update(model) else sgd)
        self.monitor.check_update(pipe.name, model)


def check_get_examples(pipe: TrainablePipe, get_examples: Callable[[], Iterable[Example]]) -> None:
    """Check that there are training examples."""
    if callable(get_examples) and next(iter(get_examples()), None) is None:
        raise ValueError(Errors.P306.format(name=pipe.name))
    validate_get_examples(get_examples, f"{type(pipe).__name__}.initialize")


def weighted(loss: float, gradient: Potentials, weight: float) -> tuple[float, Potentials]:
    """The part of a loss in a mean over more than these examples, and its gradient."""
    return weight * loss, gradient.map(lambda tensor: weight * tensor)


def loss_and_gradient(
    function: Callable[[Potentials], torch.Tensor], potentials: Potentials
) -> tuple[float, Potentials]:
    """Evaluate a scalar function of potentials, and its gradient with respect to each tensor."""
    leaf = potentials.requires_grad_()
    loss = function(leaf)
    loss.backward()
    return float(loss.detach()), Potentials(lengths=leaf.lengths, **leaf.gradients())
