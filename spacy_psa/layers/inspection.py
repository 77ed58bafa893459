"""Look into a network while it runs: attention weights, gates and positional biases.

A layer that has something to show has a method `inspect(x, mask)`, which computes it from the
layer's input. Nothing is computed or kept unless somebody looks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import _global_forward_hooks

from .mask import SequenceMask


@dataclass(frozen=True)
class Inspection:
    """What one layer did to one padded batch.

    layer (str): The layer's name in the network, as in `named_modules`.
    mask (SequenceMask): The lengths of the sentences.
    values (Dict[str, Tensor]): By name what the layer's `inspect` shows, padding included, without
        gradients.
    """

    layer: str
    mask: SequenceMask
    values: dict[str, Tensor]


@contextmanager
def inspecting(network: nn.Module) -> Iterator[list[Inspection]]:
    """Record what the layers of a network do.

    network (nn.Module): Any network; its layers that have a method `inspect` are recorded.
    YIELDS (List[Inspection]): Filled while the network runs, in the order in which layers finish;
        a network that works off a batch in several parts adds to it for each.
    """
    found: list[Inspection] = []

    def record(name: str, layer: nn.Module) -> torch.utils.hooks.RemovableHandle:
        def hook(layer: Any, args: tuple[Tensor, SequenceMask], output: Any) -> None:
            x, mask = args
            with torch.no_grad():
                found.append(Inspection(name, mask, layer.inspect(x, mask)))

        return layer.register_forward_hook(hook)

    handles = [
        record(name, layer) for name, layer in network.named_modules() if hasattr(layer, "inspect")
    ]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def is_watched(layer: nn.Module) -> bool:
    """Tell whether someone may have kept the output of a layer, so that it is not to be overwritten
    by what comes next.

    layer (nn.Module): The layer.
    RETURNS (bool): Whether it has a hook that is given its output.
    """
    return bool(layer._forward_hooks or _global_forward_hooks)
