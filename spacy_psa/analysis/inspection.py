"""Inspect a network while it runs: attention weights, gates and positional biases.

A layer that supports this has a method `inspect(x, mask)`, which computes the values from the
layer's input. Nothing is computed or kept outside of `inspecting`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..layers.mask import SequenceMask


@dataclass(frozen=True)
class Inspection:
    """The internal values of a layer for one padded batch.

    layer (str): The layer's name in the network, as in `named_modules`.
    mask (SequenceMask): The lengths of the sentences.
    values (Dict[str, Tensor]): The output of the layer's `inspect` by name, including padding,
        without gradients.
    """

    layer: str
    mask: SequenceMask
    values: dict[str, Tensor]


@contextmanager
def inspecting(network: nn.Module) -> Iterator[list[Inspection]]:
    """Record the internal values of a network's layers.

    network (nn.Module): Any network; all its layers that have a method `inspect` are recorded.
    YIELDS (List[Inspection]): Filled while the network runs, in the order in which layers finish. A
        network that processes a batch in several parts adds entries for each part.
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
