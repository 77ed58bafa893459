"""One update of a model: gradients are clipped, and new weights checked, while the optimizer has
them in the processor's cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf, isfinite
from typing import Any

import torch
from thinc.types import FloatsXd
from thinc.util import xp2torch
from torch import Tensor

from ..models.updating import LeavesGradient
from ..private_names import foreach
from ..training.clipping import sum_of_squares


class Update:
    """Pass a model's parameters to an optimizer, with gradients scaled to clip their norm, and
    check that the new parameters are finite.

    optimizer (Callable): Called with a parameter's key, the parameter and its gradient, as thinc's
        models call an `Optimizer`.
    gradient_scale (float): A factor for all gradients.
    """

    def __init__(self, optimizer: Callable[..., Any], gradient_scale: float = 1.0) -> None:
        self.optimizer = optimizer
        self.gradient_scale = gradient_scale
        self._doubtful: list[Tensor] = []

    def __call__(
        self, key: tuple[int, str], weights: FloatsXd, gradient: FloatsXd
    ) -> tuple[FloatsXd, FloatsXd]:
        """Update a parameter.

        key (Tuple[int, str]): The parameter's key.
        weights (FloatsXd): The parameter.
        gradient (FloatsXd): Its gradient, scaled in place.
        RETURNS (Tuple[FloatsXd, FloatsXd]): What the optimizer returns.
        """
        if self.gradient_scale != 1.0:
            gradient *= self.gradient_scale
        weights, gradient = self.optimizer(key, weights, gradient)
        self.note(xp2torch(weights))
        return weights, gradient

    def note(self, weights: Tensor) -> None:
        """Check a parameter later if a quick look does not show that it is finite.

        weights (Tensor): The parameter after its update.
        """
        # On a GPU, a look would wait for the optimizer
        if weights.device.type != "cpu" or not isfinite(sum_of_squares([weights])):
            self._doubtful.append(weights)

    @property
    def is_finite(self) -> bool:
        """Whether all numbers of the updated parameters are finite."""
        return all_finite(self._doubtful)


class UpdateInPlace(Update):
    """An update by an optimizer that need not reset gradients, such as our own.

    optimizer (LeavesGradient): The optimizer.
    gradient_scale (float): A factor for all gradients.
    """

    optimizer: Any

    def update_only(
        self,
        key: tuple[int, str],
        weights: Tensor,
        gradient: Tensor,
        *,
        gradient_scale: float = 1.0,
    ) -> None:
        """Update a parameter in place. See `LeavesGradient`.

        key (Tuple[int, str]): The parameter's key.
        weights (Tensor): The parameter.
        gradient (Tensor): Its gradient. Overwritten.
        gradient_scale (float): Another factor for this gradient.
        """
        scale = self.gradient_scale * gradient_scale
        self.optimizer.update_only(key, weights, gradient, gradient_scale=scale)
        self.note(weights)

    def update_together(
        self,
        keys: Sequence[tuple[int, str]],
        weights: list[Tensor],
        gradients: list[Tensor],
        *,
        gradient_scale: float = 1.0,
    ) -> None:
        """Update parameters in place. See `LeavesGradient`.

        keys (Sequence[Tuple[int, str]]): The parameters' keys.
        weights (list[Tensor]): The parameters.
        gradients (list[Tensor]): Their gradients. Overwritten.
        gradient_scale (float): Another factor for these gradients.
        """
        scale = self.gradient_scale * gradient_scale
        self.optimizer.update_together(keys, weights, gradients, gradient_scale=scale)
        for tensor in weights:
            self.note(tensor)


def update_by(optimizer: Callable[..., Any], gradient_scale: float = 1.0) -> Update:
    """Create the update that takes the least time with an optimizer.

    optimizer (Callable): See `Update`.
    gradient_scale (float): A factor for all gradients.
    RETURNS (Update): The update, which can be used as an optimizer.
    """
    kind = UpdateInPlace if isinstance(optimizer, LeavesGradient) else Update
    return kind(optimizer, gradient_scale)


def all_finite(tensors: Iterable[Tensor]) -> bool:
    """Check whether all numbers are finite.

    tensors (Iterable[Tensor]): The tensors, all on one device.
    RETURNS (bool): Whether none is NaN or infinite.
    """
    filled = [tensor.detach() for tensor in tensors if tensor.numel()]
    if not filled:
        return True
    if isfinite(sum_of_squares(filled)):
        return True
    # Check the maxima: a sum of squares may overflow even if all numbers are finite.
    return bool(torch.stack(list(foreach("norm", filled, inf))).isfinite().all())
