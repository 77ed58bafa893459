"""A bidirectional LSTM over sentences that stand one behind the other, for training on a CPU."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn

from .rows import JoinedRows, gather

# What shuts a gate: far below what biases and the state before can add, which is no more than the
# sum of absolute values of a row of U, since states are between −1 and 1. A number of any type,
# half precision included.
SHUT = -3e4


def joined_bilstm(
    tokens: Tensor, rows: JoinedRows, forwards: nn.LSTM, backwards: nn.LSTM
) -> Tensor:
    """Run both directions of a layer over joined sequences.

    A batch of sentences as they come is padding for one half. PyTorch's packed LSTM leaves it out,
    but not with oneDNN's kernel for all steps, which reads padded sequences alone. Here short
    sentences fill the rows of long ones. In the free place between two of them there is one more
    feature, which has gates shut: with i = f = o = σ(SHUT) = 0,

        c_t = f ⊙ c_{t−1} + i ⊙ z = 0,            h_t = o ⊙ tanh(c_t) = 0,

    exactly, as before the first token of a sentence, whichever direction comes along; and nothing
    of a gradient goes through a gate that is shut. (That is for finite states. NaN goes on to what
    stands behind it in its row; a training that has one is stopped.)

    tokens (Tensor): The positions of one sequence after the other. Shape: (tokens, input_width).
    rows (JoinedRows): Where they are to stand, as by `join`.
    forwards (nn.LSTM): The parameters of one direction, of one layer.
    backwards (nn.LSTM): Those of the other one.
    RETURNS (Tensor): The states, in the order of the tokens. Shape: (tokens, width of both).

    Source: Hochreiter and Schmidhuber (1997), with the forget gate of Gers et al. (2000).
    """
    states = [
        gather(_read(tokens, places, rows, lstm), places)
        for places, lstm in zip(rows.places, (forwards, backwards), strict=True)
    ]
    return torch.cat(states, dim=1)


def _read(tokens: Tensor, places: Tensor, rows: JoinedRows, lstm: nn.LSTM) -> Tensor:
    """RETURNS (Tensor): The states of one direction. Shape: (n_steps * n_rows, hidden_width)."""
    steps = _Place.apply(tokens, places, rows.n_steps * rows.n_rows)
    w_input, *others = cast(list[Tensor], lstm.all_weights[0])
    shutting = w_input.new_full((4, lstm.hidden_size, 1), SHUT)
    shutting[2] = 0.0  # z, which is no gate
    weights = [torch.cat([w_input, shutting.flatten(0, 1)], dim=1), *others]
    zeros = steps.new_zeros(1, rows.n_rows, lstm.hidden_size)
    # As `nn.LSTM` calls it: with biases, one layer, no dropout, to be trained, one direction
    states, _, _ = torch._VF.lstm(
        steps.view(rows.n_steps, rows.n_rows, steps.shape[1]),
        (zeros, zeros),
        weights,
        True,
        1,
        0.0,
        True,
        False,
        False,
    )
    return states.flatten(0, 1)


class _Place(torch.autograd.Function):
    """Rows to their places, with one more feature, which is 1 where there is none."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, places: Tensor, n: int) -> Tensor:
        ctx.save_for_backward(places)
        placed = x.new_zeros(n, x.shape[1] + 1)
        placed[:, -1] = 1.0
        placed[:, -1].index_fill_(0, places, 0.0)
        placed[:, :-1].index_copy_(0, places, x)
        return placed

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (places,) = ctx.saved_tensors
        return grad[:, :-1].index_select(0, places), None, None
