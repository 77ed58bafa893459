"""Record what the layers of a model compute for a document, in the order of its tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from thinc.api import Model
from torch import Tensor, nn

from ..inference import Potentials
from ..layers.labeler import Layout, SequenceLabelerNetwork
from ..layers.mask import SequenceMask
from ..models.network_shim import NetworkShim


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


Array = NDArray[np.float64]


@dataclass(frozen=True)
class Recording:
    """A recorded forward pass of a network.

    network (SequenceLabelerNetwork): The network.
    layout (Layout): The layout of the tokens.
    parts (List[List[Inspection]]): The inspections of the layers, for each bucket of the layout.
    potentials (Potentials): The output.
    """

    network: SequenceLabelerNetwork
    layout: Layout
    parts: list[list[Inspection]]
    potentials: Potentials


@dataclass(frozen=True)
class LayerView:
    """What one layer computed for the first tokens of one sequence.

    layer (str): Its name in the network, as in `named_modules`.
    values (Dict[str, NDArray]): The values by name: `attention`, (heads, tokens, tokens), with an
        additional column for attention to later tokens, if there are any; `bias`, (heads, tokens,
        tokens); `gate`, (tokens,), the mean over the features; `labels`, (heads, tokens, labels).
        NaN for pairs of tokens that do not share a window.
    """

    layer: str
    values: dict[str, Array]


def labeler_networks(model: Model) -> list[SequenceLabelerNetwork]:
    """Find the sequence labeling networks of a model: one, or those of an ensemble."""
    shims = (shim for node in model.walk() for shim in node.shims if isinstance(shim, NetworkShim))
    modules = (module for shim in shims for module in shim.network.modules())
    return [module for module in modules if isinstance(module, SequenceLabelerNetwork)]


@contextmanager
def recording(networks: Sequence[SequenceLabelerNetwork]) -> Iterator[list[Recording]]:
    """Record the forward passes of networks."""
    runs: list[Recording] = []
    with ExitStack() as stack:
        for network in networks:
            stack.enter_context(_recording(network, runs))
        yield runs


@contextmanager
def _recording(network: SequenceLabelerNetwork, runs: list[Recording]) -> Iterator[None]:
    starts: list[int] = []
    with inspecting(network) as found:

        def begin_bucket(encoder: Any, args: Any) -> None:
            starts.append(len(found))

        def end_run(labeler: Any, args: tuple[Tensor, Layout], output: Potentials) -> None:
            parts = [found[start:end] for start, end in pairwise([*starts, len(found)])]
            runs.append(Recording(network, args[1], parts, output.detach()))
            starts.clear()

        handles = [
            network.encoder.register_forward_pre_hook(begin_bucket),
            network.register_forward_hook(end_run),
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


@dataclass(frozen=True)
class _Place:
    """The place of a token in the layout.

    bucket (int): The bucket.
    row (int): The window in the bucket.
    position (int): The token's position in the window.
    offset (int): The position of the window's first token in the sequence.
    length (int): The number of tokens in the window.
    """

    bucket: int
    row: int
    position: int
    offset: int
    length: int


def layer_views(run: Recording, chain: int, n: int) -> list[LayerView]:
    """Collect the values that layers computed for a sequence. Values with names other than those in
    `LayerView` are ignored.
    """
    places = _places(run.layout, chain, n)
    views = []
    # All buckets pass through the same layers in the same order.
    for inspections in zip(*run.parts, strict=True):
        shown = {
            name: read([inspection.values[name] for inspection in inspections], places)
            for name, read in READERS.items()
            if all(name in inspection.values for inspection in inspections)
        }
        if shown:
            views.append(LayerView(inspections[0].layer, shown))
    return views


def _places(layout: Layout, chain: int, n: int) -> list[_Place]:
    start = sum(layout.lengths[:chain])
    bounds = np.cumsum([0, *(bucket.index.size for bucket in layout.buckets)])
    places = []
    for token in layout.rows[start : start + min(n, layout.lengths[chain])]:
        bucket = int(np.searchsorted(bounds, token, side="right")) - 1
        index = layout.buckets[bucket].index
        row, position = divmod(int(token - bounds[bucket]), index.shape[1])
        length = int(layout.buckets[bucket].lengths[row])
        places.append(_Place(bucket, row, position, int(index[row, 0]) - start, length))
    return places


def _row(values: Sequence[Tensor], place: _Place) -> Tensor:
    """The window of a token. Values that do not depend on tokens are shared by all windows."""
    value = values[place.bucket]
    return value[place.row % value.shape[0]].double().cpu()


def _read_pairs(values: Sequence[Tensor], places: Sequence[_Place]) -> Array:
    n = len(places)
    rows = []
    for place in places:
        window = _row(values, place)
        heads = window if window.dim() == 3 else window.unsqueeze(0)
        row = np.full((len(heads), n), np.nan)
        end = min(n, place.offset + place.length)
        row[:, place.offset : end] = heads[:, place.position, : end - place.offset]
        rows.append(row)
    return np.stack(rows, axis=1)


def _read_attention(values: Sequence[Tensor], places: Sequence[_Place]) -> Array:
    """Attention weights, with an additional column for the sum of weights on later tokens."""
    found = _read_pairs(values, places)
    if all(place.offset + place.length <= len(places) for place in places):
        return found
    heads = found.shape[0]
    rest = np.zeros((heads, len(places)))
    for i, place in enumerate(places):
        weights = _row(values, place).reshape(heads, *values[place.bucket].shape[-2:])
        seen = max(0, len(places) - place.offset)
        rest[:, i] = weights[:, place.position, seen : place.length].sum(dim=1)
    return np.concatenate([found, rest[:, :, None]], axis=2)


def _read_gate(values: Sequence[Tensor], places: Sequence[_Place]) -> Array:
    return np.array([float(_row(values, place)[place.position].mean()) for place in places])


def _read_labels(values: Sequence[Tensor], places: Sequence[_Place]) -> Array:
    return np.stack([_row(values, place)[place.position].numpy() for place in places], axis=1)


READERS: dict[str, Callable[[Sequence[Tensor], Sequence[_Place]], Array]] = {
    "attention": _read_attention,
    "bias": _read_pairs,
    "gate": _read_gate,
    "labels": _read_labels,
}
