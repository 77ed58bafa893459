"""What trainable components of label sequences have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Optimizer, set_dropout_rate

from ..errors import Errors
from ..inference import Potentials
from ..training.clipping import clip_global_norm
from .checksums import add_checksum, check_bytes, check_folder, write_checksum


class LabelSequencePipe(TrainablePipe):
    """A component whose model scores sequences of tags that express its labels.

    cfg (Dict[str, Any]): What is saved: `labels`, `max_grad_norm`, and what subclasses add.
    """

    cfg: dict[str, Any]
    _tags: tuple[tuple[str, ...], list[str]] = ((), [])

    @abstractmethod
    def tags_of(self, labels: Sequence[str]) -> list[str]:
        """List the model's outputs for some labels.

        labels (Sequence[str]): The labels.
        RETURNS (List[str]): The tags.
        """

    @property
    def labels(self) -> tuple[str, ...]:
        """RETURNS (Tuple[str]): The labels."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> tuple[str, ...]:
        """RETURNS (Tuple[str]): What `initialize(labels=...)` accepts."""
        return self.labels

    @property
    def tags(self) -> list[str]:
        """RETURNS (List[str]): The model's outputs."""
        labels = self.labels
        if self._tags[0] != labels:
            self._tags = (labels, self.tags_of(labels))
        return self._tags[1]

    def add_label(self, label: str) -> int:
        """Add a label, before the model is initialized.

        label (str): The label.
        RETURNS (int): 0 if it is there already, otherwise 1.
        RAISES (ValueError): If it is no string, or the model has no room for it.
        """
        if not isinstance(label, str):
            raise ValueError(Errors.P313.format(label=label, type=type(label).__name__))
        if label in self.cfg["labels"]:
            return 0
        n_tags = len(self.tags_of([*self.labels, label]))
        if self.model.has_dim("nO") and n_tags > self.model.get_dim("nO"):
            raise ValueError(
                Errors.P304.format(name=self.name, label=label, n_tags=self.model.get_dim("nO"))
            )
        self.cfg["labels"].append(label)
        self.vocab.strings.add(label)
        return 1

    def initialize_model(self, get_examples: Callable[[], Iterable[Example]]) -> None:
        """Initialize the model for the labels that there are.

        get_examples (Callable[[], Iterable[Example]]): Returns the training data: all of it, since
            word embeddings take their words from it.
        """
        for node in self.model.walk():
            if "observe" in node.attrs:
                node.attrs["observe"](node, (eg.predicted for eg in get_examples()))
        self.model.set_dim("nO", len(self.tags))
        self.model.initialize(X=[eg.predicted for eg in islice(get_examples(), 10)])

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
        """Take a step of training, unless there is no token to learn from.

        docs (Sequence[Doc]): The documents of the batch.
        inputs (Any): What the model gets of them.
        get_loss (Callable[[Potentials], Tuple[float, Potentials]]): From the model's output to the
            loss and its gradient.
        drop (float): Dropout rate of thinc's layers. Ours have theirs in their config.
        sgd (Optional[Optimizer]): The optimizer; without it gradients add up.
        losses (Optional[Dict[str, float]]): The losses so far, by component.
        RETURNS (Dict[str, float]): The losses, with this batch's added.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        if not any(len(doc) for doc in docs):
            return losses
        set_dropout_rate(self.model, drop)
        potentials, backprop = self.model.begin_update(inputs)
        loss, gradient = get_loss(potentials)
        backprop(gradient)
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += loss
        return losses

    def finish_update(self, sgd: Optimizer) -> None:
        """Clip the gradients and update the parameters.

        sgd (Optimizer): The optimizer.
        """
        max_norm = self.cfg["max_grad_norm"]
        if max_norm is not None:
            clip_global_norm(self.model, max_norm)
        super().finish_update(sgd)

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialize the component to bytes.

        exclude (Iterable[str]): What to leave out.
        RETURNS (bytes): Settings, vocabulary, model, and the model's checksum.
        """
        return add_checksum(super().to_bytes(exclude=exclude))

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the component to a directory.

        path (Union[str, Path]): The directory.
        exclude (Iterable[str]): What to leave out.
        """
        super().to_disk(path, exclude=exclude)
        if "model" not in exclude:
            write_checksum(Path(path))

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> LabelSequencePipe:
        """Load the component from bytes.

        bytes_data (bytes): The output of `to_bytes`.
        exclude (Iterable[str]): What not to load.
        RETURNS (LabelSequencePipe): The component.
        RAISES (ValueError): If the data is damaged or of another configuration.
        """

        def load(data: bytes, *, exclude: Iterable[str]) -> None:
            if "model" not in exclude:
                check_bytes(data)
            super(LabelSequencePipe, self).from_bytes(data, exclude=exclude)

        load_or_restore(self, load, self._check_loaded, bytes_data, exclude, source="bytes")
        return self

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> LabelSequencePipe:
        """Load the component from a directory.

        path (Union[str, Path]): The directory.
        exclude (Iterable[str]): What not to load.
        RETURNS (LabelSequencePipe): The component.
        RAISES (ValueError): If the data is damaged or of another configuration.
        """

        def load(path: str | Path, *, exclude: Iterable[str]) -> None:
            if "model" not in exclude:
                check_folder(Path(path))
            super(LabelSequencePipe, self).from_disk(path, exclude=exclude)

        load_or_restore(self, load, self._check_loaded, path, exclude, source=path)
        return self

    def _check_loaded(self, before: dict[str, Any]) -> None:
        """Check that what was loaded fits together.

        before (Dict[str, Any]): What `cfg` was.
        RAISES (ValueError): If it does not.
        """
        if self.labels and self.model.has_dim("nO") and len(self.tags) != self.model.get_dim("nO"):
            raise ValueError(
                Errors.P309.format(
                    name=self.name, n_tags=len(self.tags), nO=self.model.get_dim("nO")
                )
            )


def loss_and_gradient(
    function: Callable[[Potentials], torch.Tensor], potentials: Potentials
) -> tuple[float, Potentials]:
    """Evaluate a function of potentials, and its gradient.

    function (Callable[[Potentials], Tensor]): From potentials to a number.
    potentials (Potentials): The potentials.
    RETURNS (Tuple[float, Potentials]): The number, and the gradient with respect to each tensor.
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


def load_or_restore(
    pipe: TrainablePipe,
    load: Callable[..., Any],
    check: Callable[[dict[str, Any]], None],
    data: Any,
    exclude: Iterable[str],
    source: Any,
) -> None:
    """Load a component, or leave it as it was.

    pipe (TrainablePipe): The component.
    load (Callable): Its `from_bytes` or `from_disk`.
    check (Callable[[Dict[str, Any]], None]): Raises if what was loaded does not fit together, or
        not with what `cfg` was.
    data (Any): What to load.
    exclude (Iterable[str]): What not to load.
    source (Any): Where the data is from, for messages.
    RAISES (ValueError): If the data is damaged or of another configuration.
    """
    # A model that has no weights yet costs next to nothing to keep.
    before, weights = deepcopy(pipe.cfg), pipe.model.to_bytes()
    nodes = [
        (node, {d: node.maybe_get_dim(d) for d in node.dim_names}, dict(node.attrs))
        for node in pipe.model.walk()
    ]
    try:
        load(data, exclude=exclude)
        check(before)
    except Exception as error:
        pipe.cfg = before
        pipe.model.from_bytes(weights)
        for node, sizes, attrs in nodes:
            for name, size in sizes.items():
                node.set_dim(name, size, force=True)
            # Damaged names may have come in as new ones
            node.attrs.clear()
            node.attrs.update(attrs)
        known = isinstance(error, ValueError | OSError)
        problem = error if known else Errors.P202.format(problem=repr(error))
        raise ValueError(
            Errors.P311.format(name=pipe.name, path=source, problem=problem)
        ) from error
