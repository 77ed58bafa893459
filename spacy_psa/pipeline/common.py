"""What trainable components of label sequences have in common."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from math import isnan
from pathlib import Path
from typing import Any, ClassVar

import srsly
import torch
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Optimizer, set_dropout_rate

from ..errors import Errors, Warnings, warn
from ..inference import Potentials
from ..messages import unpack
from ..models.loading import has_network, read_model
from ..models.precision import check_trainable
from . import workers  # noqa: F401  (what workers do when they are forked)
from .checksums import add_checksum, check_bytes, check_folder, with_checksum
from .input_errors import input_errors
from .restoring import load_or_restore
from .settings import CFG, Setting, check_saved, check_settings, dump_settings
from .watch import Batch, TrainingWatch, leave_alone, skips_update


class LabelSequencePipe(TrainablePipe):
    """A component whose model scores sequences of tags that express its labels.

    cfg (Dict[str, Any]): What is saved: `labels`, `max_grad_norm`, and what subclasses add.
    settings (Dict[str, Setting]): Which values that can have.
    """

    cfg: dict[str, Any]
    settings: ClassVar[dict[str, Setting]] = {}
    _tags: tuple[tuple[str, ...], list[str]] = ((), [])
    _watch: TrainingWatch | None = None
    _reported: frozenset[str] = frozenset()

    @property
    def watch(self) -> TrainingWatch:
        """RETURNS (TrainingWatch): What stops a training that diverges."""
        if self._watch is None:
            self._watch = TrainingWatch()
        return self._watch

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
        RAISES (ValueError): If it is no string, or none that can be a label, or the model has no
            room for it.
        """
        if not isinstance(label, str):
            raise ValueError(Errors.P313.format(label=label, type=type(label).__name__))
        problem = self.label_problem(label)
        if problem is not None:
            raise ValueError(Errors.P434.format(label=label, name=self.name, problem=problem))
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

    @contextmanager
    def keeping_labels(self) -> Iterator[None]:
        """Leave no labels behind if an initialization fails, which would become outputs."""
        before = list(self.cfg["labels"])
        try:
            yield
        except Exception:
            self.cfg["labels"] = before
            raise

    def label_problem(self, label: str) -> str | None:
        """Say why a string cannot be a label.

        label (str): The string.
        RETURNS (Optional[str]): The reason; None if it can.
        """
        return None if label else "it is empty, which means 'not annotated'"

    @abstractmethod
    def gold_labels(self, doc: Doc) -> Iterable[str]:
        """Find the labels that are annotated.

        doc (Doc): A gold-standard document.
        YIELDS (str): Its labels, with repetitions.
        """

    @abstractmethod
    def is_annotated(self, example: Example) -> bool:
        """Say whether there is something to learn from an example.

        example (Example): The example.
        RETURNS (bool): Whether a token that is predicted has annotation.
        """

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Score predictions. Labels that the component has not are missed, and named in a warning.

        examples (Iterable[Example]): The examples.
        **kwargs: What the scorer is given besides.
        RETURNS (Dict[str, Any]): The scores.
        """
        examples = list(examples)
        known = self._reported.union(self.labels, [""])
        unknown = {label for eg in examples for label in self.gold_labels(eg.reference)} - known
        if unknown and self.labels and self.scorer is not None:
            self._reported |= unknown
            names = ", ".join(f"'{label}'" for label in sorted(unknown))
            warn(Warnings.W430.format(labels=names, name=self.name))
        return super().score(examples, **kwargs)

    def initialize_model(self, get_examples: Callable[[], Iterable[Example]]) -> None:
        """Initialize the model for the labels that there are.

        get_examples (Callable[[], Iterable[Example]]): Returns the training data: all of it, since
            word embeddings take their words from it.
        RAISES (ValueError): If there is no token in it.
        """
        self._check_examples(get_examples())
        self._watch = None
        for node in self.model.walk():
            if "observe" in node.attrs:
                node.attrs["observe"](node, (eg.predicted for eg in get_examples()))
        n_tags = len(self.tags)
        if self.model.has_dim("nO") and self.model.get_dim("nO") != n_tags:
            raise ValueError(
                Errors.P315.format(name=self.name, found=self.model.get_dim("nO"), n_tags=n_tags)
            )
        self.model.set_dim("nO", n_tags)
        self.model.initialize(X=[eg.predicted for eg in islice(get_examples(), 10)])

    def _check_examples(self, examples: Iterable[Example]) -> None:
        """Find the first example that there is something to learn from."""
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
        """Take a step of training, unless there is no token to learn from.

        docs (Sequence[Doc]): The documents of the batch.
        inputs (Any): What the model gets of them.
        get_loss (Callable[[Potentials], Tuple[float, Potentials]]): From the model's output to the
            loss and its gradient.
        drop (float): Dropout rate of thinc's layers. Ours have theirs in their config.
        sgd (Optional[Optimizer]): The optimizer; without it gradients add up.
        losses (Optional[Dict[str, float]]): The losses so far, by component.
        RETURNS (Dict[str, float]): The losses, with this batch's added.
        RAISES (ValueError): If training diverges, or the precision of the model has been reduced:
            nothing is updated then.
        """
        check_trainable(self.name, self.model)
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        if not any(len(doc) for doc in docs):
            return losses
        set_dropout_rate(self.model, drop)
        potentials, backprop = self.model.begin_update(inputs)
        loss, gradient = get_loss(potentials)
        self.watch.check_loss(self.name, self.model, loss, gradient, docs)
        backprop(gradient)
        # Now, since a tok2vec that listens is updated before this component is
        self.watch.check_gradients(self.name, self.model, docs)
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += loss
        return losses

    @input_errors()
    def finish_update(self, sgd: Optimizer) -> None:
        """Clip the gradients and update the parameters, unless gradients have overflowed that are
        scaled for mixed precision: then none is updated.

        sgd (Optimizer): The optimizer.
        RAISES (ValueError): If the parameters are not finite any more.
        """
        self.watch.clip_gradients(self.model, self.cfg["max_grad_norm"])
        super().finish_update(leave_alone if skips_update(self.model) else sgd)
        self.watch.check_weights(self.name, self.model)

    def check_scores(self, potentials: Potentials, docs: Iterable[Doc]) -> None:
        """Check that there is something to predict by.

        potentials (Potentials): The model's output.
        docs (Iterable[Doc]): What it is for.
        RAISES (ValueError): If it has NaN.
        """
        tensors = potentials.tensors().values()
        # A sum takes half of the time, but is NaN for ∞ − ∞, too
        if any(isnan(tensor.sum().item()) and tensor.isnan().any() for tensor in tensors):
            raise ValueError(Errors.P435.format(name=self.name, batch=Batch().add(docs)))

    @input_errors()
    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialize the component to bytes.

        exclude (Iterable[str]): What to leave out.
        RETURNS (bytes): Settings, vocabulary, model, and the model's checksum.
        RAISES (ValueError): If the weights are not finite, or a setting is out of its range.
        """
        self._check_saving(exclude)
        data = super().to_bytes(exclude=[*exclude, CFG])
        return add_checksum(data, {} if CFG in exclude else {CFG: dump_settings(self.cfg)})

    @input_errors()
    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the component to a directory. Where one was saved before, it is not touched before
        the new one is on the disk.

        path (Union[str, Path]): The directory.
        exclude (Iterable[str]): What to leave out.
        RAISES (OutputError): If it cannot be written.
        RAISES (ValueError): If the weights are not finite, or a setting is out of its range; or if
            training has diverged, and a model has been saved before, which is kept.
        """
        self._check_saving(exclude)
        with with_checksum(Path(path)) as temporary:
            super().to_disk(temporary, exclude=[*exclude, CFG])
            if CFG not in exclude:
                (temporary / CFG).write_text(dump_settings(self.cfg), encoding="utf8")
        self.watch.is_saved |= "model" not in exclude

    def _check_saving(self, exclude: Iterable[str]) -> None:
        if CFG not in exclude:
            self.check_cfg()
        if "model" not in exclude:
            self.watch.check_saving(self.name, self.model)

    def check_cfg(self) -> None:
        """Check that settings, which anyone may have changed, are such as can be loaded again.

        RAISES (ValueError): If one of them is out of its range.
        """
        check_settings(self.cfg, self.settings)

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
            entries = unpack(data)
            weights, own = entries.pop("model", None), entries.pop(CFG, None)
            rest = srsly.msgpack_dumps(entries)
            super(LabelSequencePipe, self).from_bytes(rest, exclude=exclude)
            if own is not None and CFG not in exclude:
                self._take_settings(own)
            # Not by `super`: each part of the model is checked before thinc takes it
            if weights is not None and "model" not in exclude:
                read_model(self.model, weights)

        load_or_restore(self, load, self._check_loaded, bytes_data, exclude, source="bytes")
        self._watch = None
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
            super(LabelSequencePipe, self).from_disk(path, exclude=[*exclude, CFG, "model"])
            own = Path(path) / CFG
            if CFG not in exclude and own.exists():
                self._take_settings(own.read_text(encoding="utf8"))
            if "model" not in exclude:
                read_model(self.model, (Path(path) / "model").read_bytes())

        load_or_restore(self, load, self._check_loaded, path, exclude, source=path)
        self._watch = None
        return self

    def _take_settings(self, text: str) -> None:
        """Take settings that were saved.

        text (str): JSON.
        RAISES (ValueError): If they are not settings of the component.
        """
        values = json.loads(text)
        check_saved(values, self.cfg, self.settings)
        self.cfg.update(values)

    def _check_loaded(self, before: dict[str, Any]) -> None:
        """Check that what was loaded fits together.

        before (Dict[str, Any]): What `cfg` was.
        RAISES (ValueError): If it does not.
        """
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
