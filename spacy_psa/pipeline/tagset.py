"""The labels of a component, and the tags that encode them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from spacy.pipeline import TrainablePipe
from spacy.training import Example

from ..errors import Errors, Warnings, warn
from ..inference import Constraints
from ..models.growth import can_resize, grow
from ..models.loading import has_network


class TagSet:
    """The labels that a component predicts, in `cfg["labels"]`, and the tags that encode them: one
    for each output of its model.

    pipe (TrainablePipe): The component. Its `target` says which tags encode a label.
    """

    def __init__(self, pipe: TrainablePipe) -> None:
        self.pipe = pipe
        self._known: tuple[tuple[str, ...], list[str]] = ((), [])
        self._constrained: tuple[list[str] | None, Constraints | None] = (None, None)
        self._reported: frozenset[str] = frozenset()

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels."""
        return tuple(self.pipe.cfg["labels"])

    @property
    def tags(self) -> list[str]:
        """The tags of all labels; the same list until a label is added."""
        labels = self.labels
        if self._known[0] != labels:
            self._known = (labels, self.tags_of(labels))
        return self._known[1]

    def tags_of(self, labels: Sequence[str]) -> list[str]:
        """List the tags of some labels, none of which may be a set of labels."""
        sets = self.pipe.target.sets
        for label in filter(sets.is_set, labels) if sets is not None else ():
            names = {"separator": sets.separator, "parts": label.split(sets.separator)}
            raise ValueError(Errors.P371.format(name=self.pipe.name, label=label, **names))
        return self.pipe.target.tags(labels)

    @property
    def constraints(self) -> Constraints | None:
        """Which tags may follow which; None for any."""
        tags = self.tags
        if self._constrained[0] is not tags:
            self._constrained = (tags, self.pipe.target.constraints(tags) if tags else None)
        return self._constrained[1]

    def add_label(self, label: str) -> int:
        """Add a label. If the model has been trained, its predictions stay exactly the same until
        it is next trained.

        label (str): The label.
        RETURNS (int): 0 if the label exists already, otherwise 1.
        RAISES (ValueError): If the label is not a string or not a valid label, or if the model has
            too few outputs for it and cannot gain more.
        """
        model, name = self.pipe.model, self.pipe.name
        if not isinstance(label, str):
            raise ValueError(Errors.P313.format(label=label, type=type(label).__name__))
        self._check_label(label)
        label = self.pipe.target.normal_form(label)
        if label in self.pipe.cfg["labels"]:
            return 0
        if self.pipe.target.has_spans:
            if re.match("[BI]-.", label):
                warn(Warnings.W443.format(name=name, label=label, meant=label[2:]))
            for known in self.pipe.cfg["labels"]:
                if known.casefold() == label.casefold():
                    warn(Warnings.W444.format(name=name, known=known, label=label))
        n_tags = len(self.tags_of([*self.labels, label]))
        if model.has_dim("nO") and n_tags > model.get_dim("nO"):
            if not can_resize(model):
                n_outputs = model.get_dim("nO")
                raise ValueError(Errors.P304.format(name=name, label=label, n_tags=n_outputs))
            self.pipe.model = model.attrs["resize_output"](model, n_tags)
        self.pipe.cfg["labels"].append(label)
        self.pipe.vocab.strings.add(label)
        return 1

    def _check_label(self, label: str) -> None:
        problem = self.pipe.target.label_problem(label)
        if problem is not None:
            name = self.pipe.name
            raise ValueError(Errors.P434.format(label=label, name=name, problem=problem))

    def take(self, labels: Iterable[str]) -> None:
        """Add labels to a trained component, unless it has them, and let its network grow."""
        with self.restored_on_error():
            for label in labels:
                self.add_label(label)
            grow(self.pipe.model)

    def take_new(self, examples: Iterable[Example]) -> None:
        """Add the labels of training examples that a trained component does not have yet, with a
        warning that names them. If the model cannot gain outputs, they are left to `get_loss`,
        which refuses them."""
        found = {label for eg in examples for label in self.pipe.target.labels_of(eg.reference)}
        new = sorted(found.difference(self.pipe.cfg["labels"], [""]))
        if new and can_resize(self.pipe.model):
            self.take(new)
            labels = ", ".join(f"'{label}'" for label in new)
            warn(Warnings.W433.format(name=self.pipe.name, labels=labels))

    @contextmanager
    def restored_on_error(self) -> Iterator[None]:
        """Restore the labels if the block fails: any left behind would become outputs."""
        before, n_tags = list(self.pipe.cfg["labels"]), self.pipe.model.maybe_get_dim("nO")
        try:
            yield
        except Exception:
            self.pipe.cfg["labels"] = before
            self.pipe.model.set_dim("nO", n_tags, force=True)
            raise

    def annotated(self, examples: Iterable[Example]) -> list[str]:
        """Find the labels of gold-standard examples, whose annotation is checked."""
        found: set[str] = set()
        for eg in examples:
            self.pipe.target.check(eg.reference)
            found.update(self.pipe.target.labels_of(eg.reference))
        return sorted(found)

    def report_unknown(self, examples: Iterable[Example]) -> None:
        """Warn, once for each, of gold labels to be scored that the component does not have."""
        found = {label for eg in examples for label in self.pipe.target.labels_of(eg.reference)}
        unknown = found.difference(self._reported, self.labels, [""])
        if unknown and self.labels and self.pipe.scorer is not None:
            self._reported |= unknown
            names = ", ".join(f"'{label}'" for label in sorted(unknown))
            warn(Warnings.W430.format(labels=names, name=self.pipe.name))

    def check_loaded(self) -> None:
        """Check that loaded labels are valid, and as many as the outputs of the loaded model."""
        model = self.pipe.model
        for label in self.labels:
            self._check_label(label)
        is_there = self.labels or has_network(model)
        if is_there and model.has_dim("nO") and len(self.tags) != model.get_dim("nO"):
            n_tags, n_outputs = len(self.tags), model.get_dim("nO")
            raise ValueError(Errors.P309.format(name=self.pipe.name, n_tags=n_tags, nO=n_outputs))
