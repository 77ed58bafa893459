"""What stands in for CUDA graphs without a GPU."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from spacy_psa.acceleration.cuda import graphed


class StandIn:
    """Runs the function each time, with the inputs and outputs of `Recording`."""

    made = 0

    def __init__(self, body, network, inputs, parameters, gradients, pool):
        StandIn.made += 1
        self.body, self.parameters, self.shape = body, parameters, inputs[0].shape

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        assert vectors.shape == self.shape
        with torch.enable_grad():
            self.vectors = vectors.detach().requires_grad_()
            self.scores = self.body(self.vectors, lengths)
        return self.scores.detach()

    def backward(self, upstream: Tensor) -> Tensor:
        leaves = [self.vectors, *self.parameters]
        found = torch.autograd.grad(self.scores, leaves, upstream, allow_unused=True)
        for parameter, gradient in zip(self.parameters, found[1:], strict=True):
            if gradient is not None:
                gradient = gradient.contiguous()
                parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
        return found[0]


def use_stand_in(monkeypatch: pytest.MonkeyPatch) -> type[StandIn]:
    """Use the stand-in, as if there were a GPU."""
    monkeypatch.setattr(graphed, "Recording", StandIn)
    monkeypatch.setattr(graphed, "_is_on_gpu", lambda tensor: True)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    monkeypatch.setattr(StandIn, "made", 0)
    return StandIn
