"""The base class of the trainable components, which predict label sequences."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from math import isnan
from typing import Any

import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Model, Optimizer, set_dropout_rate

from ..errors import Errors, Warnings, warn
from ..inference import Potentials
from ..models.growth import can_resize, grow, match_state
from ..models.loading import has_network
from ..models.quantization import check_trainable
from ..training.clipping import scale_gradients
from .divergence_monitor import Batch, skip_update, skips_update
from .input_errors import input_errors
from .pretrained import check_transformers
from .serialization import SavedPipe
from .stagnation import StagnationMonitor
from .vocabulary import Vocabulary, collect_words


class LabelSequencePipe(SavedPipe):
    """A component whose model scores sequences of tags that encode its labels.

    cfg (Dict[str, Any]): The saved settings: `labels`, `max_grad_norm`, and those that subclasses
        add.
    """

    model: Model
    _tags: tuple[tuple[str, ...], list[str]] = ((), [])
    _reported: frozenset[str] = frozenset()
    _stagnation_monitor: StagnationMonitor | None = None

    @abstractmethod
    def tags_of(self, labels: Sequence[str]) -> list[str]:
        """List the model's output tags for some labels.

        labels (Sequence[str]): The labels.
        RETURNS (List[str]): The tags.
        """

    @property
    def labels(self) -> tuple[str, ...]:
        """RETURNS (Tuple[str]): The labels."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> tuple[str, ...]:
        """RETURNS (Tuple[str]): The labels, as `initialize(labels=...)` accepts them."""
        return self.labels

    @property
    def tags(self) -> list[str]:
        """RETURNS (List[str]): The model's output tags."""
        labels = self.labels
        if self._tags[0] != labels:
            self._tags = (labels, self.tags_of(labels))
        return self._tags[1]

    def add_label(self, label: str) -> int:
        """Add a label. If the model has been trained, its predictions stay exactly the same until
        it is next trained.

        label (str): The label.
        RETURNS (int): 0 if the label exists already, otherwise 1.
        RAISES (ValueError): If the label is not a string or not a valid label, or if the model has
            too few outputs for it and cannot gain more.
        """
        if not isinstance(label, str):
            raise ValueError(Errors.P313.format(label=label, type=type(label).__name__))
        problem = self.label_problem(label)
        if problem is not None:
            raise ValueError(Errors.P434.format(label=label, name=self.name, problem=problem))
        label = self.normal_form(label)
        if label in self.cfg["labels"]:
            return 0
        n_tags = len(self.tags_of([*self.labels, label]))
        if self.model.has_dim("nO") and n_tags > self.model.get_dim("nO"):
            if not can_resize(self.model):
                n_outputs = self.model.get_dim("nO")
                raise ValueError(Errors.P304.format(name=self.name, label=label, n_tags=n_outputs))
            self.model = self.model.attrs["resize_output"](self.model, n_tags)
        self.cfg["labels"].append(label)
        self.vocab.strings.add(label)
        return 1

    @contextmanager
    def restore_labels_on_error(self) -> Iterator[None]:
        """Restore the labels if initialization fails: any left behind would become outputs."""
        before, n_tags = list(self.cfg["labels"]), self.model.maybe_get_dim("nO")
        try:
            yield
        except Exception:
            self.cfg["labels"] = before
            self.model.set_dim("nO", n_tags, force=True)  # type: ignore[arg-type]
            raise

    def add_new_labels(self, examples: Iterable[Example]) -> None:
        """Add the labels of training examples that a trained component does not have yet, with a
        warning that names them. If the model cannot gain outputs, they are left to `get_loss`,
        which refuses them.

        examples (Iterable[Example]): The examples.
        RAISES (ValueError): If the precision of the model has been reduced, or one of them cannot
            be a label.
        """
        check_trainable(self.name, self.model)
        if not can_resize(self.model):
            return
        found = {label for eg in examples for label in self.gold_labels(eg.reference)}
        new = sorted(found.difference(self.cfg["labels"], [""]))
        if new:
            self.take_labels(new)
            labels = ", ".join(f"'{label}'" for label in new)
            warn(Warnings.W433.format(name=self.name, labels=labels))

    def take_labels(self, labels: Iterable[str]) -> None:
        """Add labels to a trained component, and let its network grow.

        labels (Iterable[str]): The labels. Those that exist already are ignored.
        """
        with self.restore_labels_on_error():
            for label in labels:
                self.add_label(label)
            grow(self.model)

    def label_problem(self, label: str) -> str | None:
        """Check whether a string can be a label.

        label (str): The string.
        RETURNS (Optional[str]): The reason why it cannot; None if it can.
        """
        return None if label else "it is empty, which means 'not annotated'"

    def normal_form(self, label: str) -> str:
        """Convert a label to the form in which documents store it.

        label (str): The label.
        RETURNS (str): Its normal form.
        """
        return label

    @abstractmethod
    def gold_labels(self, doc: Doc) -> Iterable[str]:
        """Find the annotated labels.

        doc (Doc): A gold-standard document.
        YIELDS (str): Its labels, with repetitions.
        """

    @abstractmethod
    def is_annotated(self, example: Example) -> bool:
        """Check whether there is anything to learn from an example.

        example (Example): The example.
        RETURNS (bool): Whether any predicted token has gold annotation.
        """

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Score predictions. Gold labels that the component does not have count as missed, and are
        listed in a warning.

        examples (Iterable[Example]): The examples.
        **kwargs: Further arguments of the scorer.
        RETURNS (Dict[str, Any]): The scores.
        """
        examples = list(examples)
        known = self._reported.union(self.labels, [""])
        unknown = {label for eg in examples for label in self.gold_labels(eg.reference)} - known
        if unknown and self.labels and self.scorer is not None:
            self._reported |= unknown
            names = ", ".join(f"'{label}'" for label in sorted(unknown))
            warn(Warnings.W430.format(labels=names, name=self.name))
        scores = super().score(examples, **kwargs)
        if self._divergence_monitor is not None:
            predicted = [label for eg in examples for label in self.gold_labels(eg.predicted)]
            n_tokens = sum(len(eg.predicted) for eg in examples)
            updates = self._divergence_monitor.updates
            if self._stagnation_monitor is None:
                self._stagnation_monitor = StagnationMonitor()
            self._stagnation_monitor.observe(self.name, updates, predicted, n_tokens, scores)
        return scores

    def initialize_model(
        self,
        get_examples: Callable[[], Iterable[Example]],
        nlp: Language | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        """Initialize the model for the current labels.

        get_examples (Callable[[], Iterable[Example]]): Returns all of the training data, since the
            word embeddings take their vocabulary from it, unless it is given.
        nlp (Optional[Language]): The pipeline.
        vocabulary (Optional[Dict[str, int]]): The tokens of the training data with their counts.
        RAISES (ValueError): If the data has no tokens, or another number of outputs is configured.
        """
        self._check_examples(get_examples())
        self._divergence_monitor = None
        self._stagnation_monitor = None
        collect_words(self, get_examples, nlp, vocabulary)
        n_tags = len(self.tags)
        n_before = self.model.maybe_get_dim("nO")
        if n_before not in (None, n_tags) and not can_resize(self.model):
            raise ValueError(Errors.P315.format(name=self.name, found=n_before, n_tags=n_tags))
        self.model.set_dim("nO", n_tags, force=True)
        self.model.initialize(X=[eg.predicted for eg in islice(get_examples(), 10)])
        if nlp is not None:
            check_transformers(nlp)

    def _check_examples(self, examples: Iterable[Example]) -> None:
        """Check that there is at least one example to learn from."""
        n, has_tokens = 0, False
        for n, eg in enumerate(examples, 1):  # noqa: B007
            has_tokens = has_tokens or len(eg.predicted) > 0
            if self.is_annotated(eg):
                return
        if not has_tokens:
            raise ValueError(Errors.P436.format(n=n, name=self.name))
        warn(Warnings.W431.format(name=self.name))

    def learn(
        self,
        docs: Sequence[Doc],
        inputs: Any,
        get_loss: Callable[[Potentials], tuple[float, Potentials]],
        *,
        drop: float,
        sgd: Optimizer | None,
        losses: dict[str, float] | None,
    ) -> dict[str, float]:
        """Perform a training step, unless the batch has no tokens.

        docs (Sequence[Doc]): The documents of the batch.
        inputs (Any): The model's input for them.
        get_loss (Callable[[Potentials], Tuple[float, Potentials]]): Maps the model's output to the
            loss and its gradient.
        drop (float): Dropout rate of thinc's layers. This package's layers have their own settings.
        sgd (Optional[Optimizer]): The optimizer; if None, gradients are accumulated.
        losses (Optional[Dict[str, float]]): The losses so far, by component.
        RETURNS (Dict[str, float]): The losses, with this batch's added.
        RAISES (ValueError): If training diverges, or the precision of the model has been reduced.
            Nothing is updated then.
        """
        check_trainable(self.name, self.model)
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        if not any(len(doc) for doc in docs):
            return losses
        set_dropout_rate(self.model, drop)
        potentials, backprop = self.model.begin_update(inputs)
        loss, gradient = get_loss(potentials)
        self.divergence_monitor.check_loss(self.name, self.model, loss, gradient, docs)
        backprop(gradient)
        # Checked here, since a shared tok2vec is updated before this component
        self.divergence_monitor.check_gradients(self.name, self.model, docs)
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += loss
        return losses

    @input_errors()
    def finish_update(self, sgd: Optimizer) -> None:
        """Clip the gradients and update the parameters. If gradients scaled for mixed precision
        have overflowed, the update is skipped.

        sgd (Optimizer): The optimizer.
        RAISES (ValueError): If the parameters are no longer finite.
        """
        match_state(sgd, self.model)
        scale = self.divergence_monitor.gradient_scale(self.model, self.cfg["max_grad_norm"])
        scale_gradients(self.model, scale)
        super().finish_update(skip_update if skips_update(self.model) else sgd)
        self.divergence_monitor.check_update(self.name, self.model)

    def check_scores(self, potentials: Potentials, docs: Iterable[Doc]) -> None:
        """Check that the model's scores can be used for prediction.

        potentials (Potentials): The model's output.
        docs (Iterable[Doc]): The documents.
        RAISES (ValueError): If a score is NaN.
        """
        tensors = potentials.tensors().values()
        # Summing takes half the time, but ∞ − ∞ also gives NaN
        if any(isnan(tensor.sum().item()) and tensor.isnan().any() for tensor in tensors):
            raise ValueError(Errors.P435.format(name=self.name, batch=Batch().add(docs)))

    def _check_loaded(self, before: dict[str, Any]) -> None:
        super()._check_loaded(before)
        for label in self.labels:
            problem = self.label_problem(label)
            if problem is not None:
                raise ValueError(Errors.P434.format(label=label, name=self.name, problem=problem))
        is_there = self.labels or has_network(self.model)
        if is_there and self.model.has_dim("nO") and len(self.tags) != self.model.get_dim("nO"):
            raise ValueError(
                Errors.P309.format(
                    name=self.name, n_tags=len(self.tags), nO=self.model.get_dim("nO")
                )
            )


def loss_and_gradient(
    function: Callable[[Potentials], torch.Tensor], potentials: Potentials
) -> tuple[float, Potentials]:
    """Evaluate a scalar function of potentials and its gradient.

    function (Callable[[Potentials], Tensor]): Maps potentials to a scalar.
    potentials (Potentials): The potentials.
    RETURNS (Tuple[float, Potentials]): The value, and the gradient with respect to each tensor.
    """
    leaf = potentials.detach().requires_grad_()
    loss = function(leaf)
    tensors = leaf.tensors()
    gradients = torch.autograd.grad(loss, list(tensors.values()), allow_unused=True)
    zeros = {
        name: torch.zeros_like(tensor) if gradient is None else gradient
        for (name, tensor), gradient in zip(tensors.items(), gradients, strict=True)
    }
    return float(loss.detach()), Potentials(lengths=leaf.lengths, **zeros)
