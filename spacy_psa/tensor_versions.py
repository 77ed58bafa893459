"""Detect changes of tensors, for what is kept of values computed from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from torch import Tensor, nn
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook

from .private_names import tensors_of, version_of

_CHANGES = "psa_changes"  # an attribute of tensors


class TensorVersions:
    """The versions of weights (or gradients) that something was computed from: their memory
    addresses and how often a change was recorded, by PyTorch or by `record_change`.

    Code that changes weights without PyTorch's knowledge, with `.data` or NumPy, must tell it with
    `torch.autograd.graph.increment_version`: comparing all numbers each time would take as long as
    what is kept saves.
    """

    def __init__(self, weights: Sequence[Tensor] = ()) -> None:
        # Keep the tensors alive: another one could get their memory otherwise
        self._kept = [weight.detach() for weight in weights]
        for weight in weights:
            if not hasattr(weight, _CHANGES):
                setattr(weight, _CHANGES, 0)
        self._versions = _versions(weights)

    def are_those_of(self, weights: Sequence[Tensor]) -> bool:
        """Check whether weights are the same and unchanged. False for weights created in inference
        mode, whose changes PyTorch does not record."""
        return _versions(weights) == self._versions


def record_change(weight: Tensor) -> None:
    """Record that an optimizer has changed a weight, unknown to PyTorch: `nlp.update` updates a
    shared embedding before the gradient of the components that listen to it has come back, which
    PyTorch would refuse.
    """
    setattr(weight, _CHANGES, getattr(weight, _CHANGES, 0) + 1)


def _record_step(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
    """Record what an optimizer of PyTorch with `fused=True` has changed, which PyTorch does not.
    Only of weights that something is kept of: others are none of our business."""
    for group in optimizer.param_groups:
        if group.get("fused"):
            for weight in group["params"]:
                if hasattr(weight, _CHANGES):
                    record_change(weight)


register_optimizer_step_post_hook(_record_step)


def weights_of(layers: Iterable[nn.Module]) -> Iterator[Tensor]:
    """Iterate over the parameters and buffers of layers, such as `network.modules()`, without those
    of their submodules. This takes a fraction of the time of `parameters()`."""
    found = chain.from_iterable(map(tensors_of, layers))
    return (tensor for tensor in found if tensor is not None)


def _versions(weights: Sequence[Tensor]) -> list[tuple[int, int, object]]:
    # PyTorch does not record changes of inference-mode weights; a new object equals nothing else
    return [
        (
            weight.data_ptr(),
            getattr(weight, _CHANGES, 0),
            object() if weight.is_inference() else version_of(weight),
        )
        for weight in weights
    ]
