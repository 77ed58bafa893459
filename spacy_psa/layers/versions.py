"""Whether weights are still what they were, for layers that keep what they made of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from math import nan
from typing import TypeVar

from torch import Tensor, nn


class Versions:
    """Which weights something was made of, or gradients, by where they are and how often they were
    changed, as far as PyTorch knows.

    Who changes weights behind PyTorch's back, by `.data` or NumPy, has to have the network forget
    what it keeps, as `NetworkShim` does: to compare all numbers each time would take as long as
    what is kept saves. So has who updates them by a fused optimizer, but for networks that go to
    training mode for it, and back.

    weights (Sequence[Tensor]): The weights.
    """

    def __init__(self, weights: Sequence[Tensor] = ()) -> None:
        # Kept, since another tensor could get their place in memory
        self._seen = [(weight.detach(), _version(weight)) for weight in weights]

    def are_those_of(self, weights: Sequence[Tensor]) -> bool:
        """Tell whether weights are the same, unchanged.

        weights (Sequence[Tensor]): The weights.
        RETURNS (bool): Whether they are. Of weights made in inference mode nobody knows: False.
        """
        return len(weights) == len(self._seen) and all(
            weight.data_ptr() == seen.data_ptr() and _version(weight) == version
            for weight, (seen, version) in zip(weights, self._seen, strict=True)
        )


def weights_of(layers: Iterable[nn.Module]) -> Iterator[Tensor]:
    """The parameters and buffers of layers, without those of their parts: over `modules`, this
    takes a fraction of the time of `parameters`.

    layers (Iterable[nn.Module]): The layers, e.g. `network.modules()`.
    YIELDS (Tensor): Each.
    """
    for layer in layers:
        for tensors in (layer._parameters, layer._buffers):
            yield from (tensor for tensor in tensors.values() if tensor is not None)


ForgetfulT = TypeVar("ForgetfulT", bound="Forgetful")


class Forgetful(nn.Module):
    """A layer that keeps what it made of its weights, and can forget it. It does so whenever it
    goes to training mode, or comes back from there."""

    @abstractmethod
    def forget_weights(self) -> None:
        """Make anew the next time what was kept."""

    def train(self: ForgetfulT, mode: bool = True) -> ForgetfulT:
        """Go to training mode, or to evaluation mode.

        mode (bool): Whether to train.
        RETURNS (Forgetful): The layer.
        """
        self.forget_weights()
        return super().train(mode)


def forget_weights(network: nn.Module) -> None:
    """Have a network forget what its layers made of their weights.

    network (nn.Module): The network, whose weights have changed.
    """
    for layer in network.modules():
        if isinstance(layer, Forgetful):
            layer.forget_weights()


def _version(weight: Tensor) -> float:
    # PyTorch does not count how often weights of inference mode are changed: NaN is never the same
    return nan if weight.is_inference() else weight._version
