"""Record the operations of a network for one shape as CUDA graphs."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ...private_names import foreach

# Maps vectors (batch_size, n, d) and lengths (batch_size,) to scores (batch_size, n, L)
Body = Callable[[Tensor, Tensor], Tensor]


class Recording:
    """The recorded operations for one shape, forward and backward.

    body (Callable[[Tensor, Tensor], Tensor]): The function to record.
    network (nn.Module): Holds the parameters that it depends on.
    inputs (Tuple[Tensor, Tensor]): Vectors and lengths of this shape, to run it with.
    parameters (List[nn.Parameter]): Those that are trained.
    gradients (List[Tensor]): Where to write their gradients.
    pool: The memory pool that it may share with other graphs.
    """

    def __init__(
        self,
        body: Body,
        network: nn.Module,
        inputs: tuple[Tensor, Tensor],
        parameters: list[nn.Parameter],
        gradients: list[Tensor],
        pool: Any,
    ) -> None:
        self.vectors = inputs[0].clone().requires_grad_()
        self.lengths = inputs[1].clone()
        used = self._try(body, [self.vectors, *parameters])
        with fresh_leaves(network) as leaf_of:
            leaves = [self.vectors, *(leaf_of[parameter] for parameter in parameters)]
            if self._try(body, leaves) != used:
                raise RuntimeError("a layer keeps its parameters elsewhere")
            self.gradients = [
                (parameter, gradient)
                for parameter, gradient, is_used in zip(parameters, gradients, used, strict=True)
                if is_used
            ]
            self._record(body, leaves, pool)

    def _try(self, body: Body, leaves: list[Tensor]) -> list[bool]:
        """Run the function without recording. Kernels are then compiled, tables computed and
        algorithms chosen. Returns which parameters have gradients."""
        places = [leaf.data_ptr() for leaf in leaves]
        torch.cuda.synchronize()
        mode = torch.cuda.get_sync_debug_mode()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch calls this mode a prototype
            torch.cuda.set_sync_debug_mode("error")
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                scores = body(self.vectors, self.lengths)
                if not isinstance(scores, Tensor):
                    raise RuntimeError("the decoder returns more than emissions")
                found = _gradients(scores, leaves, torch.ones_like(scores))
        finally:
            torch.cuda.set_sync_debug_mode(mode)
        torch.cuda.synchronize()
        if [leaf.data_ptr() for leaf in leaves] != places:
            raise RuntimeError("a layer has moved its parameters")
        return [gradient is not None for gradient in found[1:]]

    def _record(self, body: Body, leaves: list[Tensor], pool: Any) -> None:
        self._forward, self._backward = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._forward, pool=pool):
            scores = body(self.vectors, self.lengths)
        self.upstream = torch.zeros_like(scores)
        with torch.cuda.graph(self._backward, pool=pool):
            self.for_vectors, *parts = _gradients(scores, leaves, self.upstream)
            targets = [gradient for _, gradient in self.gradients]
            foreach("copy_", targets, [part for part in parts if part is not None])
        self.scores = scores.detach()

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """RETURNS (Tensor): The scores, which the next call overwrites."""
        with torch.no_grad():
            self.vectors.copy_(vectors)
        self.lengths.copy_(lengths)
        self._forward.replay()
        return self.scores.detach()

    def backward(self, upstream: Tensor) -> Tensor:
        """Compute the gradients of the parameters."""
        self.upstream.copy_(upstream)
        self._backward.replay()
        for parameter, gradient in self.gradients:
            if parameter.grad is None:
                parameter.grad = gradient.detach()
            else:
                parameter.grad += gradient
        assert self.for_vectors is not None
        return self.for_vectors.detach()


@contextmanager
def fresh_leaves(network: nn.Module) -> Iterator[dict[nn.Parameter, nn.Parameter]]:
    """Replace a network's parameters by others in the same memory within the context.

    As long as anyone keeps the result of an earlier run, autograd keeps nodes for the parameters,
    which belong to that run's stream: they must not be recorded.
    """
    places = [
        (module, name, parameter)
        for module in network.modules()
        for name, parameter in module.named_parameters(recurse=False, remove_duplicate=False)
        if parameter is not None
    ]
    fresh = {
        parameter: nn.Parameter(parameter.detach(), requires_grad=parameter.requires_grad)
        for _, _, parameter in places
    }
    try:
        for module, name, parameter in places:
            _set_parameter(module, name, fresh[parameter])
        yield fresh
    finally:
        for module, name, parameter in places:
            _set_parameter(module, name, parameter)


def _set_parameter(module: nn.Module, name: str, parameter: nn.Parameter) -> None:
    setattr(module, name, parameter)
    if isinstance(module, nn.RNNBase):
        # Otherwise, PyTorch would notice the change, and move the parameters to new memory
        module._flat_weight_refs = [
            None if weight is None else weakref.ref(weight) for weight in module._flat_weights
        ]


def _gradients(scores: Tensor, leaves: list[Tensor], upstream: Tensor) -> tuple[Tensor | None, ...]:
    return torch.autograd.grad(scores, leaves, upstream, allow_unused=True)


def leave_recording(device: torch.device) -> None:
    """Let random numbers be drawn again: after an error while recording, PyTorch's generator would
    refuse to.
    """
    if device.type == "cuda":
        generator = torch.cuda.default_generators[device.index]
        generator.graphsafe_set_state(generator.clone_state())
