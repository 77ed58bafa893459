"""Notice that a training diverges, before the weights are spoilt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf, isfinite
from typing import Any

import torch
from spacy.tokens import Doc
from thinc.api import Model, PyTorchShim
from thinc.util import xp2torch
from torch import Tensor

from ..errors import Errors
from ..inference import Potentials
from ..layers.versions import Versions
from ..models.shim import NetworkShim
from ..training.clipping import (
    clip_global_norm,
    global_norm,
    gradients_of,
    gradients_of_arrays,
    gradients_of_networks,
    sum_of_squares,
)

# From here on neighbouring float32 numbers are more than 1 apart: scores of this size, in nats,
# cannot tell labels from each other. A loss of this size for each token is not one to learn from.
LARGEST_LOSS = 2.0**24
N_NAMED = 3


class Batch:
    """Some documents, as messages name them: how many of them have tokens, and how the first ones
    begin. They are not kept.
    """

    def __init__(self) -> None:
        self._n = 0
        self._texts: list[str] = []

    def add(self, docs: Iterable[Doc]) -> Batch:
        """Add documents.

        docs (Iterable[Doc]): The documents.
        RETURNS (Batch): The batch.
        """
        for doc in docs:
            if len(doc) and len(self._texts) < N_NAMED:
                self._texts.append(repr(doc[:20].text[:60]))
            self._n += len(doc) > 0
        return self

    def __str__(self) -> str:
        more = ", …" if self._n > len(self._texts) else ""
        return f"{self._n} document{'s' * (self._n != 1)} ({', '.join(self._texts)}{more})"


class TrainingWatch:
    """Check each step of a component's training, and say which batch made it diverge.

    All that can be checked before an update is, so that a training which is stopped leaves the
    weights as they were. What is scaled for mixed precision may overflow: such updates are skipped.

    updates (int): How many updates there were.
    problem (Optional[str]): Why training was stopped, until a batch is learnt from again.
    is_saved (bool): Whether there is a model on the disk, as it was before.
    """

    def __init__(self) -> None:
        self.updates = 0
        self.problem: str | None = None
        self.is_saved = False
        self._batch = Batch()
        self._norm: tuple[Versions, float] | None = None

    def check_loss(
        self, name: str, model: Model, loss: float, gradient: Potentials, docs: Sequence[Doc]
    ) -> None:
        """Check the loss of a batch, and its gradient, before it is propagated. Gradients of other
        batches are dropped if there is something wrong.

        name (str): The component.
        model (Model): Its model.
        loss (float): The loss.
        gradient (Potentials): Its gradient with respect to the potentials.
        docs (Sequence[Doc]): The batch.
        RAISES (ValueError): If they are not finite, or the loss is absurdly large.
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
        """Check the gradients of all parameters. They are dropped if there is something wrong.

        name (str): The component.
        model (Model): Its model.
        docs (Sequence[Doc]): The batch.
        RAISES (ValueError): If they are not finite.
        """
        arrays, tensors = list(gradients_of_arrays(model)), list(gradients_of_networks(model))
        norm = global_norm([*arrays, *tensors])
        # How often arrays were changed is not known
        self._norm = None if arrays else (Versions(tensors), norm)
        if isfinite(norm) or skips_update(model):
            self.problem = None
            return
        self._stop(name, model, "the gradient of the weights is not finite", docs)

    def clip_gradients(self, model: Model, max_norm: float | None) -> None:
        """Clip the global norm of all gradients. It is not found anew if they were checked and have
        not changed since, as far as PyTorch knows: see `Versions`.

        model (Model): The model.
        max_norm (Optional[float]): The largest norm that is left alone; None for any.
        """
        checked, self._norm = self._norm, None  # gradients should be gone when new ones are made
        if max_norm is None:
            return
        gradients, norm = gradients_of(model), None
        if checked is not None:
            versions, checked_norm = checked
            norm = checked_norm if versions.are_those_of(gradients) else None
        clip_global_norm(gradients, max_norm, norm=norm)

    def check_weights(self, name: str, model: Model) -> None:
        """Check the weights after an update.

        name (str): The component.
        model (Model): Its model.
        RAISES (ValueError): If they are not finite.
        """
        batch, self._batch = self._batch, Batch()
        self.updates += 1
        if not all_finite(_weights(model)):
            self.problem = Errors.P430.format(name=name, update=self.updates, batch=batch)
            raise ValueError(self.problem)

    def check_saving(self, name: str, model: Model) -> None:
        """Check that a model may be saved.

        name (str): The component.
        model (Model): Its model.
        RAISES (ValueError): If the weights are not finite, or if training has diverged and there is
            a model from before.
        """
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


def all_finite(tensors: Iterable[Tensor]) -> bool:
    """Tell whether all numbers are finite.

    tensors (Iterable[Tensor]): The tensors.
    RETURNS (bool): Whether there is neither NaN nor infinity.
    """
    filled = [tensor.detach() for tensor in tensors if tensor.numel()]
    if not filled:
        return True
    if isfinite(sum_of_squares(filled)):
        return True
    # The largest numbers: a sum of squares may overflow where they do not.
    return bool(torch.stack(torch._foreach_norm(filled, inf)).isfinite().all())


def _weights(model: Model) -> Iterator[Tensor]:
    for node in model.walk():
        for name in node.param_names:
            if node.has_param(name):
                yield xp2torch(node.get_param(name))
        for shim in _networks(node):
            yield from shim._model.parameters()


def _networks(node: Model) -> Iterator[PyTorchShim]:
    return (s for s in node.shims if isinstance(s, PyTorchShim) and s._model is not None)


def skips_update(model: Model) -> bool:
    """Tell whether gradients have overflowed because they are scaled for mixed precision: then
    there is to be no update, and they are scaled by less.

    model (Model): The model.
    RETURNS (bool): Whether it is so.
    """
    return any(
        shim._mixed_precision and shim._grad_scaler.found_inf
        for node in model.walk()
        for shim in _networks(node)
    )


def leave_alone(key: tuple[int, str], weights: Any, gradient: Any) -> tuple[Any, Any]:
    """An `Optimizer` for an update that is skipped: gradients go, and weights stay.

    key (Tuple[int, str]): The parameter.
    weights (FloatsXd): What it is.
    gradient (FloatsXd): Its gradient, which becomes zero.
    RETURNS (Tuple[FloatsXd, FloatsXd]): Both.
    """
    gradient[...] = 0.0
    return weights, gradient


def _drop_gradients(model: Model) -> None:
    for node in model.walk():
        for name in node.grad_names:
            if node.has_grad(name):
                node.set_grad(name, node.ops.alloc(node.get_grad(name).shape))
        for shim in _networks(node):
            for parameter in shim._model.parameters():
                parameter.grad = None
            if isinstance(shim, NetworkShim):
                shim.scaler.forget()
