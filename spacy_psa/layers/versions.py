"""Whether weights are still what they were, for layers that keep what they made of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

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
        RETURNS (bool): Whether they are.
        """
        return len(weights) == len(self._seen) and all(
            weight.data_ptr() == seen.data_ptr() and _version(weight) == version
            for weight, (seen, version) in zip(weights, self._seen, strict=True)
        )


MadeT = TypeVar("MadeT")


class Kept(Generic[MadeT]):
    """What a layer made of its weights, for as long as they stay what they are: it is made anew
    where `Versions` tells that they are others than before. Threads may share it. Copies of it, and
    what other processes get, are empty.
    """

    def __init__(self) -> None:
        self._kept: tuple[Versions, MadeT] | None = None

    def __reduce__(self) -> tuple[type[Kept[MadeT]], tuple[()]]:
        return type(self), ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is kept."""
        return self._kept is None

    def forget(self) -> None:
        """Make it anew the next time."""
        self._kept = None

    def of(self, weights: Sequence[Tensor], make: Callable[..., MadeT]) -> MadeT:
        """What is made of weights.

        weights (Sequence[Tensor]): The weights.
        make (Callable[..., MadeT]): Makes it; called with the weights.
        RETURNS (MadeT): What it made, now or before. Nothing is kept if it raises an error.
        """
        kept = self._kept
        if kept is None or not kept[0].are_those_of(weights):
            return self.keep(weights, make(*weights))
        return kept[1]

    def keep(self, weights: Sequence[Tensor], made: MadeT) -> MadeT:
        """Keep something for weights.

        weights (Sequence[Tensor]): The weights.
        made (MadeT): What to keep.
        RETURNS (MadeT): The same.
        """
        self._kept = Versions(weights), made
        return made


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


def _version(weight: Tensor) -> int:
    return 0 if weight.is_inference() else weight._version
