"""Detect training that diverges, before it corrupts the weights, and training that goes nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite, isnan
from typing import Any

from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from thinc.api import Model
from thinc.util import xp2torch
from torch import Tensor

from ..errors import Errors, Warnings, warn
from ..inference import Potentials
from ..models.network_shim import NetworkShim
from ..models.updating import (
    all_finite,
    clipping_scale,
    global_norm,
    gradients_of,
    gradients_of_arrays,
    gradients_of_networks,
    torch_shims,
)
from ..private_names import gradient_scaler_of, network_of
from ..tensor_versions import TensorVersions
from .pretrained import warn_of_unread

# Beyond this, adjacent float32 numbers are more than 1 apart, so scores of this size (in nats)
# cannot distinguish labels, and nothing can be learned from such a loss per token.
LARGEST_LOSS = 2.0**24
N_NAMED = 3


class Batch:
    """A description of some documents for messages: the number of nonempty documents, and the
    beginnings of the first ones. The documents themselves are not stored.
    """

    def __init__(self) -> None:
        self._n = 0
        self._texts: list[str] = []

    def add(self, docs: Iterable[Doc]) -> Batch:
        """Add documents."""
        for doc in docs:
            if len(doc) and len(self._texts) < N_NAMED:
                self._texts.append(repr(doc[:20].text[:60]))
            self._n += len(doc) > 0
        return self

    def __str__(self) -> str:
        more = ", …" if self._n > len(self._texts) else ""
        return f"{self._n} document{'s' * (self._n != 1)} ({', '.join(self._texts)}{more})"


class DivergenceMonitor:
    """Check each step of a component's training, and report which batch made it diverge.

    As much as possible is checked before an update, so that stopping leaves the weights unchanged.
    Gradients scaled for mixed precision may overflow: such updates are skipped.

    updates (int): The number of updates so far.
    problem (Optional[str]): Why training was stopped. Reset by the next good batch.
    is_saved (bool): Whether an earlier state of the model has been saved to disk.
    """

    def __init__(self) -> None:
        self.updates = 0
        self.problem: str | None = None
        self.is_saved = False
        self._batch = Batch()
        self._norm: tuple[TensorVersions, float] | None = None

    def check_loss(
        self, name: str, model: Model, loss: float, gradient: Potentials, docs: Sequence[Doc]
    ) -> None:
        """Check that the loss of a batch and its gradient are finite, and the loss is not absurdly
        large, before backpropagation. If not, accumulated gradients of other batches are dropped.
        """
        self._batch.add(docs)
        self._norm = None
        largest = LARGEST_LOSS * max(gradient.lengths, default=1)
        if not isfinite(loss):
            self._stop(name, model, f"the loss is {loss}", docs)
        elif loss > largest:
            self._stop(name, model, f"the loss is {loss:.3g}", docs)
        elif not all_finite(gradient.tensors().values()):
            self._stop(name, model, "the gradient of the loss is not finite", docs)

    def check_gradients(self, name: str, model: Model, docs: Sequence[Doc]) -> None:
        """Check that the gradients of all parameters are finite, unless scaling for mixed precision
        has caused it. If not, they are dropped."""
        arrays, tensors = list(gradients_of_arrays(model)), list(gradients_of_networks(model))
        norm = global_norm([*arrays, *tensors])
        # Changes to arrays cannot be tracked
        self._norm = None if arrays else (TensorVersions(tensors), norm)
        if isfinite(norm) or skips_update(model):
            self.problem = None
            return
        self._stop(name, model, "the gradient of the weights is not finite", docs)

    def gradient_scale(self, model: Model, max_norm: float | None) -> float:
        """Compute the factor for all gradients, at most 1, that clips their global norm; None clips
        nothing. The norm computed by `check_gradients` is reused if the gradients have not changed
        since, as far as PyTorch can tell: see `TensorVersions`."""
        checked, self._norm = self._norm, None  # do not keep old gradients alive
        if max_norm is None:
            return 1.0
        gradients, norm = gradients_of(model), None
        if checked is not None:
            versions, checked_norm = checked
            norm = checked_norm if versions.are_those_of(gradients) else None
        return clipping_scale(global_norm(gradients) if norm is None else norm, max_norm)

    def check_update(self, name: str, model: Model) -> None:
        """Check that the weights are finite after an update."""
        batch, self._batch = self._batch, Batch()
        self.updates += 1
        if not all_finite(_weights(model)):
            self.problem = Errors.P430.format(name=name, update=self.updates, batch=batch)
            raise ValueError(self.problem)

    def check_saving(self, name: str, model: Model) -> None:
        """Check that a model may be saved: its weights are finite, and training has not diverged
        since an earlier model has been saved."""
        problem = self.problem if self.is_saved else None
        if not all_finite(_weights(model)):
            problem = self.problem or "its weights are not finite"
        if problem is not None:
            raise ValueError(Errors.P431.format(name=name, problem=problem))

    def _stop(self, name: str, model: Model, problem: str, docs: Sequence[Doc]) -> None:
        _drop_gradients(model)
        self._batch, self._norm = Batch(), None
        self.problem = Errors.P307.format(
            name=name, problem=problem, update=self.updates + 1, batch=Batch().add(docs)
        )
        raise ValueError(self.problem)


def check_initialized(pipe: TrainablePipe) -> None:
    """Check that a component's model knows its number of outputs, as one with weights does."""
    if pipe.model.has_dim("nO") is None:
        raise ValueError(Errors.P201.format(what=f"The model of '{pipe.name}'"))


def scores_of(pipe: TrainablePipe, docs: Sequence[Doc], *more: Any) -> Potentials:
    """The scores of some documents by a component's model, which may need more than the documents,
    after a check of the model and of the scores."""
    check_initialized(pipe)
    warn_of_unread(pipe, docs)
    inputs = (list(docs), *more) if more else list(docs)
    potentials = pipe.model.predict(inputs).detach()
    check_scores(pipe.name, potentials, docs)
    return potentials


def check_scores(name: str, potentials: Potentials, docs: Iterable[Doc]) -> None:
    """Check that no score of a component's model is NaN, before it is used for prediction."""
    tensors = potentials.tensors().values()
    # Summing takes half the time, but ∞ − ∞ also gives NaN
    if any(isnan(tensor.sum().item()) and tensor.isnan().any() for tensor in tensors):
        raise ValueError(Errors.P435.format(name=name, batch=Batch().add(docs)))


def _weights(model: Model) -> Iterator[Tensor]:
    for node in model.walk():
        for name in node.param_names:
            if node.has_param(name):
                yield xp2torch(node.get_param(name))
    for shim in torch_shims(model):
        yield from network_of(shim).parameters()


def skips_update(model: Model) -> bool:
    """Check whether gradients scaled for mixed precision have overflowed. The update must then be
    skipped, and the scale will be reduced.
    """
    scalers = map(gradient_scaler_of, torch_shims(model))
    return any(scaler is not None and scaler.found_inf for scaler in scalers)


def skip_update(key: tuple[int, str], weights: Any, gradient: Any) -> tuple[Any, Any]:
    """A no-op `Optimizer` for a skipped update: it zeroes gradients and leaves weights alone."""
    gradient[...] = 0.0
    return weights, gradient


def _drop_gradients(model: Model) -> None:
    for node in model.walk():
        for name in node.grad_names:
            if node.has_grad(name):
                node.set_grad(name, node.ops.alloc(node.get_grad(name).shape))
    for shim in torch_shims(model):
        for parameter in network_of(shim).parameters():
            parameter.grad = None
        if isinstance(shim, NetworkShim):
            shim.scaler.forget()


# So many are no accident
EVALUATIONS = 3


class StagnationMonitor:
    """Count the evaluations in a row, with updates between them, that find nothing. spaCy evaluates
    after the very first update, which says nothing and does not count.
    """

    def __init__(self) -> None:
        self._updates = 1
        self._idle = 0
        self._has_warned = False
        self._still = 0
        self._has_told = False

    def note_rate(self, name: str, rate: float | None) -> None:
        """Take note of the learning rate of an update, and warn at the second of 0 in a row: where
        a schedule warms up from 0, only spaCy's training loop steps it."""
        self._still = self._still + 1 if rate == 0.0 else 0
        if self._still == 2:
            warn(Warnings.W438.format(name=name))

    def note_unannotated(self, name: str, target: str, n: int) -> None:
        """Warn once that none of the examples of an evaluation is annotated."""
        if not self._has_told:
            self._has_told = True
            warn(Warnings.W446.format(name=name, target=target, n=n))

    def observe(
        self,
        name: str,
        updates: int,
        predicted: Sequence[str],
        n_tokens: int,
        scores: Mapping[str, Any],
    ) -> None:
        """Take note of an evaluation, and warn once."""
        if updates <= self._updates or not n_tokens:
            return
        self._updates = updates
        numbers = [value for value in scores.values() if isinstance(value, (int, float))]
        perfect = min(numbers, default=0.0) >= 1.0
        what = None
        if not predicted:
            what = "nothing at all"
        elif len(set(predicted)) == 1 and len(predicted) >= n_tokens and not perfect:
            what = f"the same label, '{predicted[0]}', for all tokens"
        elif numbers and not any(numbers):
            what = "nothing that is correct"
        self._idle = 0 if what is None else self._idle + 1
        if self._idle >= EVALUATIONS and not self._has_warned:
            self._has_warned = True
            warn(Warnings.W435.format(name=name, n=self._idle, what=what))
