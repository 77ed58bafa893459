"""A bidirectional LSTM over sentences concatenated into rows, for training on a CPU."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn


class JoinedRows(NamedTuple):
    """Sequences concatenated into rows as long as the longest, with a free place between two.

    n_steps (int): Number of places in a row.
    n_rows (int): Number of rows.
    places (Tensor): The place of each position of each sequence, for the forward direction and the
        backward one, which reads from the ends of rows. Places are numbered by step: the first
        places of all rows, then the second ones, etc. Shape: (2, positions), integers.
    """

    n_steps: int
    n_rows: int
    places: Tensor


@lru_cache(8)
def join(lengths: tuple[int, ...]) -> JoinedRows:
    """Arrange sequences of at least one position in rows, longest first, each in the row with the
    least space that fits it."""
    n_steps, n_rows = max(lengths, default=0), 0
    row_of, begin_of = [0] * len(lengths), [0] * len(lengths)
    rows_by_space: list[list[int]] = [[] for _ in range(n_steps + 1)]
    for sequence in sorted(range(len(lengths)), key=lambda sequence: -lengths[sequence]):
        length = lengths[sequence]
        for space in range(length + 1, n_steps + 1):
            if rows_by_space[space]:
                row, left = rows_by_space[space].pop(), space - length - 1
                break
        else:
            row, left, n_rows = n_rows, n_steps - length, n_rows + 1
        row_of[sequence], begin_of[sequence] = row, n_steps - left - length
        rows_by_space[left].append(row)
    counts = np.asarray(lengths, dtype=np.int64)
    before = (counts.cumsum() - counts).repeat(counts)
    steps = np.arange(len(before)) - before + np.repeat(begin_of, counts)
    places = np.stack([steps, n_steps - 1 - steps]) * n_rows + np.repeat(row_of, counts)
    with torch.inference_mode(False):  # training may reuse the cached tensor
        return JoinedRows(n_steps, n_rows, torch.from_numpy(places))


# The input that shuts a gate: far below anything that biases and the previous state can add. Since
# states are between −1 and 1, the state adds at most the sum of absolute values of a row of U. The
# number is representable in all types, including half precision.
SHUT = -3e4


def joined_bilstm(
    tokens: Tensor, rows: JoinedRows, forwards: nn.LSTM, backwards: nn.LSTM
) -> Tensor:
    """Run both directions of a layer over joined sequences.

    Half of an unsorted batch of sentences is padding. PyTorch's packed LSTM skips it, but cannot
    use oneDNN's kernel for all steps, which reads only padded sequences. Here short sentences fill
    the rows of long ones. The free position between two sentences is marked by an additional input
    feature that shuts all gates: with i = f = o = σ(SHUT) = 0,

        c_t = f ⊙ c_{t−1} + i ⊙ z = 0,            h_t = o ⊙ tanh(c_t) = 0,

    exactly as before the first token of a sentence, in both directions; and no gradient passes
    through a shut gate. (This requires finite states. A NaN spreads to the rest of its row, but
    then training is stopped anyway.) Maps (tokens, input_width) to (tokens, width of both).

    Source: Hochreiter and Schmidhuber (1997), with the forget gate of Gers et al. (2000).
    """
    states = [
        _read(tokens, places, rows, lstm).index_select(0, places)
        for places, lstm in zip(rows.places, (forwards, backwards), strict=True)
    ]
    return torch.cat(states, dim=1)


def _read(tokens: Tensor, places: Tensor, rows: JoinedRows, lstm: nn.LSTM) -> Tensor:
    """RETURNS (Tensor): The states of one direction. Shape: (n_steps * n_rows, hidden_width)."""
    steps = _Place.apply(tokens, places, rows.n_steps * rows.n_rows)
    w_input, *others = cast(list[Tensor], lstm.all_weights[0])
    shutting = w_input.new_full((4, lstm.hidden_size, 1), SHUT)
    shutting[2] = 0.0  # z is not a gate
    weights = [torch.cat([w_input, shutting.flatten(0, 1)], dim=1), *others]
    zeros = steps.new_zeros(1, rows.n_rows, lstm.hidden_size)
    # The arguments that `nn.LSTM` passes: biases, 1 layer, no dropout, training, one direction
    states, _, _ = torch.lstm(
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
    """Copy rows to their places, and add a feature that is 1 at free places."""

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
