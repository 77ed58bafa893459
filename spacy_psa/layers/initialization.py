"""The papers' initialization: Glorot for weights, zero for biases."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .linear import Linear
from .reordered_lstm import ReorderedLSTM


def glorot_(weight: Tensor) -> Tensor:
    """Fill a weight matrix with Glorot's uniform distribution, a vector as a matrix of one row.

    weight (Tensor): Shape: (fan_out, fan_in) or (fan_in,). Changed in place.
    RETURNS (Tensor): The weight.

    Source: Glorot and Bengio (2010), equation 16; Wei et al. (2021), section 5.2.
    """
    fan_out, fan_in = (1, weight.shape[0]) if weight.dim() == 1 else weight.shape
    limit = math.sqrt(6.0 / (fan_in + fan_out))
    with torch.no_grad():
        return weight.uniform_(-limit, limit)


def linear(input_width: int, output_width: int, *, bias: bool = True) -> nn.Linear:
    """A linear layer with Glorot weights and a bias of zero.

    input_width (int): Width of the input.
    output_width (int): Width of the output.
    bias (bool): Whether to have a bias.
    RETURNS (nn.Linear): The layer.
    """
    layer = Linear(input_width, output_width, bias=bias)
    glorot_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def initialize_lstm(lstm: nn.LSTM) -> nn.LSTM:
    """Give an LSTM Glorot weights, gate by gate, and zero biases.

    PyTorch stacks the four gates in one matrix; taken as one, its fan-out would be four times
    too large.

    lstm (nn.LSTM): The layer. Changed in place.
    RETURNS (nn.LSTM): The layer.
    """
    for name, parameter in lstm.named_parameters():
        if name.startswith("weight"):
            for gate in parameter.chunk(4, dim=0):
                glorot_(gate)
        else:
            nn.init.zeros_(parameter)
    return lstm


def lstm(input_width: int, hidden_width: int) -> nn.LSTM:
    """A unidirectional LSTM over padded batches, initialized as the papers do.

    input_width (int): Width of the input.
    hidden_width (int): Width of the output.
    RETURNS (nn.LSTM): The layer.
    """
    return initialize_lstm(ReorderedLSTM(input_width, hidden_width))


def uniform_embedding_(weight: Tensor) -> Tensor:
    """Fill an embedding table so that its rows have the variance 1 / d.

    weight (Tensor): Shape: (rows, d). Changed in place.
    RETURNS (Tensor): The table.

    Source: Ma and Hovy (2016), section 4.1: U(−√(3/d), √(3/d)). The PSA paper only says 'randomly
    initialized' of its character embeddings.
    """
    limit = math.sqrt(3.0 / weight.shape[1])
    with torch.no_grad():
        return weight.uniform_(-limit, limit)


def project_orthogonally(vectors: Tensor, width: int) -> Tensor:
    """Project vectors by a random matrix whose rows or columns are orthonormal.

    To at least as many dimensions, lengths and angles stay what they are; to fewer, the vectors
    lose what lies outside a random subspace.

    vectors (Tensor): Shape: (n, d).
    width (int): The dimensions to project to.
    RETURNS (Tensor): Shape: (n, width).

    Source: Wang et al. (2021), section 3.5.
    """
    matrix = nn.init.orthogonal_(torch.empty(vectors.shape[1], width))
    return vectors @ matrix.to(vectors)
