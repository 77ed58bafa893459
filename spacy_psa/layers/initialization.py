"""Initialization as in the papers: Glorot for weights, zero for biases."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def glorot_(weight: Tensor) -> Tensor:
    """Initialize a weight matrix (fan_out, fan_in) in place from Glorot's uniform distribution; a
    vector counts as one row (Glorot and Bengio 2010, equation 16; Wei et al. 2021, section 5.2)."""
    fan_out, fan_in = (1, weight.shape[0]) if weight.dim() == 1 else weight.shape
    limit = math.sqrt(6.0 / (fan_in + fan_out))
    with torch.no_grad():
        return weight.uniform_(-limit, limit)


def linear(input_width: int, output_width: int, *, bias: bool = True) -> nn.Linear:
    """Create a linear layer with Glorot weights and a zero bias."""
    layer = nn.Linear(input_width, output_width, bias=bias)
    glorot_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def lstm(input_width: int, hidden_width: int) -> nn.LSTM:
    """Create a unidirectional LSTM over padded batches, with Glorot weights, gate by gate, and zero
    biases. PyTorch stacks the four gates in one matrix, whose fan-out is four times that of a gate.
    """
    layer = nn.LSTM(input_width, hidden_width, batch_first=True)
    for name, parameter in layer.named_parameters():
        if name.startswith("weight"):
            for gate in parameter.chunk(4, dim=0):
                glorot_(gate)
        else:
            nn.init.zeros_(parameter)
    return layer


def uniform_embedding_(weight: Tensor) -> Tensor:
    """Initialize an embedding table (rows, d) in place, from U(−√(3/d), √(3/d)), which has the
    variance 1 / d (Ma and Hovy 2016, section 4.1)."""
    limit = math.sqrt(3.0 / weight.shape[1])
    with torch.no_grad():
        return weight.uniform_(-limit, limit)
