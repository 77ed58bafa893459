"""Run a network's training steps as CUDA graphs.

A training step of a small network consists of hundreds of operations, each of which a GPU computes
in a few microseconds: less than it takes to start it. A CUDA graph records the operations once, and
starts all of them at once. It has fixed shapes, so that batches are padded to a few of them.
"""

from __future__ import annotations

import weakref
from collections import Counter
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ...errors import Warnings, warn
from ...layers.ops import are_chosen
from ...private_names import is_dispatched, is_watched
from .recording import Body, Recording, leave_recording

# A graph takes as long to record as a few steps, so a shape must occur this often before
FREQUENT = 2
# Of graphs for one network: each keeps its input and output in memory
MOST_GRAPHS = 64
# Batch sizes and lengths are rounded up to multiples of this
STEP = 8


class GraphedBody:
    """Run a function in training as CUDA graphs where possible.

    The function must give each sequence the same result whatever its padding and the other
    sequences of the batch, and must not wait for the GPU: if it does, this is found out before
    anything is recorded, and a warning is given.
    """

    def __init__(self) -> None:
        self._works = True
        self._places: tuple[int, ...] = ()
        self._clear()

    def _clear(self) -> None:
        self._seen: Counter[tuple[int, ...]] = Counter()
        self._graphs: dict[tuple[int, ...], Recording] = {}
        self._gradients: list[Tensor] = []
        self._pool: Any = None
        self._pending: weakref.ref[_Run] | None = None

    def __call__(self, body: Body, network: nn.Module, vectors: Tensor, lengths: Tensor) -> Any:
        """Compute scores (batch_size, n, L) from vectors (batch_size, n, d) and the lengths of the
        sequences (batch_size,)."""
        if not (network.training and self._is_possible(vectors)):
            return body(vectors, lengths)
        modules = list(network.modules())
        parameters = _trained_parameters(modules)
        # Gradients of several batches are added up by PyTorch
        has_gradients = any(parameter.grad is not None for parameter in parameters)
        # Hooks would be called while recording only
        if has_gradients or any(map(is_watched, modules)):
            return body(vectors, lengths)
        graph = self._graph_for(body, network, vectors, lengths, parameters)
        if graph is None:
            return body(vectors, lengths)
        run = _Run(graph)
        self._pending = weakref.ref(run)
        batch_size, n, _ = vectors.shape
        return _Replay.apply(run, *_padded(vectors, lengths))[:batch_size, :n]

    def _is_possible(self, vectors: Tensor) -> bool:
        if not (self._works and _is_on_gpu(vectors) and vectors.requires_grad):
            return False
        if not torch.is_grad_enabled() or torch.is_autocast_enabled("cuda"):
            return False
        if is_dispatched() or are_chosen():
            return False  # something counts operations, or the like, or wants others
        if _is_shared():
            self._give_up("several processes share the batches, with which this is not tested")
            return False
        # All graphs share memory, which must be kept until the gradient has been computed
        run = None if self._pending is None else self._pending()
        return run is None or run.is_done

    def _graph_for(
        self,
        body: Body,
        network: nn.Module,
        vectors: Tensor,
        lengths: Tensor,
        parameters: list[nn.Parameter],
    ) -> Recording | None:
        places = tuple(parameter.data_ptr() for parameter in parameters)
        if places != self._places:
            self._clear()
            self._places = places
        batch_size, n, width = vectors.shape
        key = batch_size + -batch_size % STEP, n + -n % STEP, width
        if key in self._graphs:
            return self._graphs[key]
        self._seen[key] += 1
        if self._seen[key] < FREQUENT or len(self._graphs) >= MOST_GRAPHS:
            return None
        if self._pool is None:
            self._pool = torch.cuda.graph_pool_handle()
            self._gradients = [torch.zeros_like(parameter) for parameter in parameters]
        inputs = _padded(vectors.detach(), lengths)
        try:
            graph = Recording(body, network, inputs, parameters, self._gradients, self._pool)
        except RuntimeError as error:
            leave_recording(vectors.device)
            self._give_up((str(error).strip().splitlines() or [type(error).__name__])[0])
            return None
        self._graphs[key] = graph
        return graph

    def _give_up(self, reason: str) -> None:
        self._works = False
        self._clear()
        warn(Warnings.W011.format(reason=reason.rstrip(".")))

    def __reduce__(self) -> tuple[type[GraphedBody], tuple[()]]:
        # What has been recorded reads and writes the memory of the original's parameters
        return GraphedBody, ()


class _Run:
    """A run of a graph, which exists as long as its gradient may be needed."""

    def __init__(self, graph: Recording) -> None:
        self.graph = graph
        self.is_done = False


class _Replay(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, run: _Run, vectors: Tensor, lengths: Tensor) -> Tensor:
        ctx.run = run
        return run.graph.forward(vectors, lengths)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, None]:
        ctx.run.is_done = True
        return None, ctx.run.graph.backward(grad), None


def _trained_parameters(modules: list[nn.Module]) -> list[nn.Parameter]:
    """Those of `network.parameters()` that are trained. Walking through the network again takes as
    long as starting a few operations."""
    parameters = (p for module in modules for p in module.parameters(recurse=False))
    trained = (p for p in parameters if p is not None and p.requires_grad)
    return list(dict.fromkeys(trained))


def _is_shared() -> bool:
    """Whether this is one of several processes that train together."""
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def _is_on_gpu(tensor: Tensor) -> bool:
    return tensor.is_cuda


def _padded(vectors: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Round the batch size and the length up, with sequences of one position."""
    rows, positions = -len(vectors) % STEP, -vectors.shape[1] % STEP
    if not rows and not positions:
        return vectors, lengths
    return (
        nn.functional.pad(vectors, (0, 0, 0, positions, 0, rows)),
        nn.functional.pad(lengths, (0, rows), value=1),
    )
