"""Whether weights are still what they were, for layers that keep what they made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, runtime_checkable

from torch import Tensor, nn

Versions = list[tuple[int, int]]


@runtime_checkable
class Keeper(Protocol):
    """A layer that keeps what it made of its weights."""

    def forget(self) -> None:
        """Make it anew the next time."""
        ...


def versions_of(weights: Iterable[Tensor]) -> Versions:
    """Where tensors are, and how often they were changed, as far as PyTorch knows.

    Who changes weights behind PyTorch's back, by `.data` or NumPy, has to have the network forget
    what it keeps, as `NetworkShim` does: to compare all numbers each time would take as long as
    what is kept saves.

    weights (Iterable[Tensor]): The tensors.
    RETURNS (List[Tuple[int, int]]): Address and version of each.
    """
    return [(weight.data_ptr(), weight._version) for weight in weights]


def weights_of(layers: Iterable[nn.Module]) -> Iterator[Tensor]:
    """The parameters and buffers of layers, without those of their parts: with the layers listed
    once, this takes a fraction of the time of `parameters`.

    layers (Iterable[nn.Module]): The layers, e.g. `network.modules()`.
    YIELDS (Tensor): Each.
    """
    for layer in layers:
        for tensors in (layer._parameters, layer._buffers):
            yield from (tensor for tensor in tensors.values() if tensor is not None)


def forget_weights(network: nn.Module) -> None:
    """Have a network forget what its layers made of their weights.

    network (nn.Module): The network, whose weights have changed.
    """
    for layer in network.modules():
        if isinstance(layer, Keeper):
            layer.forget()
