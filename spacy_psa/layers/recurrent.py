"""Bidirectional LSTM over padded batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn

from .autocast import full_precision
from .dropout import Dropout, SharedDropout
from .initialization import lstm
from .joined_lstm import joined_bilstm
from .mask import SequenceMask
from .onednn import must_disable_autocast
from .rows import JoinedRows
from .tokens import Tokenwise

# Sentences that a BiLSTM reads at a time in prediction on a CPU: few, since they are cut to the
# longest of them, but enough for oneDNN to be fast, whose tiles have 16 rows.
ROWS_AT_ONCE = 32


class BiLSTM(Tokenwise, nn.Module):
    """A bidirectional LSTM with dropout on its input and its output.

    Each direction is a unidirectional LSTM over the padded batch; the backward direction reads each
    sentence reversed, with its padding still at the end. So padding never affects a real position,
    and the result equals a packed bidirectional LSTM's, but without packing: the padded kernels
    (oneDNN, cuDNN) are about twice as fast on a CPU. There, `joined_bilstm` reads the sentences if
    gradients are needed and it takes fewer rows; without gradients, a few are read at a time.

    input_width (int): Width of the input.
    hidden_width (int): Width of the output, half for each direction.
    depth (int): Number of layers. The output dropout applies between layers, too.
    input_dropout (float): Dropout on the input.
    output_dropout (float): Dropout on the output of each layer.
    variational (bool): Whether dropout uses the same mask for all tokens of a sentence.

    Source: Wei et al. (2021), sections 3 and 5.2 (both dropouts are 0.55 there); for `variational`,
    Gal and Ghahramani (2016), section 4.1.
    """

    def __init__(
        self,
        input_width: int,
        *,
        hidden_width: int = 300,
        depth: int = 1,
        input_dropout: float = 0.55,
        output_dropout: float = 0.55,
        variational: bool = False,
    ) -> None:
        super().__init__()
        self.width = hidden_width
        half = hidden_width // 2
        # Generators: a list would be as long as the depth, which may be absurdly large
        self.forwards = nn.ModuleList(
            lstm(hidden_width if i else input_width, half) for i in range(depth)
        )
        self.backwards = nn.ModuleList(
            lstm(hidden_width if i else input_width, hidden_width - half) for i in range(depth)
        )
        make = partial(SharedDropout, axis=1) if variational else Dropout
        self.variational = variational
        self.input_dropout = make(input_dropout)
        self.output_dropout = make(output_dropout)

    def directions(self) -> Iterator[tuple[nn.LSTM, nn.LSTM]]:
        """YIELDS (Tuple[nn.LSTM, nn.LSTM]): Both directions of each layer."""
        for pair in zip(self.forwards, self.backwards, strict=True):
            yield cast(tuple[nn.LSTM, nn.LSTM], pair)

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Encode the tokens of each sentence.

        x (Tensor): Token vectors. Shape: (batch_size, n, input_width), or (tokens, input_width)
            without padding.
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): Shape: (batch_size, n, hidden_width), or (tokens, hidden_width).
        """
        if must_disable_autocast(x.device):
            with full_precision(x) as (x,):
                output: Tensor = self(x, mask)
                return output
        if torch.is_grad_enabled() and mask.joined is not None:
            return mask.in_form_of(x, self._read_joined(x, mask, mask.joined))
        padded = self.input_dropout(mask.padded(x))
        if torch.is_grad_enabled():
            padded = self._read(padded, mask)
        else:
            padded = in_groups(self._read, padded, mask, self.width)
        return mask.in_form_of(x, padded)

    def _read(self, x: Tensor, mask: SequenceMask) -> Tensor:
        for forwards, backwards in self.directions():
            x = self.output_dropout(read_both_ways(x, mask, forwards, backwards))
        return x

    def _read_joined(self, x: Tensor, mask: SequenceMask, rows: JoinedRows) -> Tensor:
        """RETURNS (Tensor): Shape: (tokens, hidden_width)."""
        tokens = self._dropped(self.input_dropout, x, mask)
        for forwards, backwards in self.directions():
            states = joined_bilstm(tokens, rows, forwards, backwards)
            tokens = self._dropped(self.output_dropout, states, mask)
        return tokens

    def _dropped(self, dropout: nn.Module, x: Tensor, mask: SequenceMask) -> Tensor:
        """Apply dropout without drawing for padding; a mask shared by a sentence needs padding."""
        return mask.packed(dropout(mask.padded(x) if self.variational else mask.packed(x)))


def in_groups(
    read: Callable[[Tensor, SequenceMask], Tensor], x: Tensor, mask: SequenceMask, width: int
) -> Tensor:
    """Apply a layer to a few sequences at a time on a CPU, cut to the longest of them.

    read (Callable[[Tensor, SequenceMask], Tensor]): Maps vectors and a mask to vectors.
    x (Tensor): Shape: (batch_size, n, d).
    mask (SequenceMask): The lengths of the sequences, ideally sorted, longest first.
    width (int): Width of the output.
    RETURNS (Tensor): Shape: (batch_size, n, width).
    """
    lengths = mask.known_lengths
    if lengths is None or len(lengths) <= ROWS_AT_ONCE:
        return read(x, mask)
    parts = []
    for start in range(0, len(lengths), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        n = max(lengths[rows])
        parts.append(read(x[rows, :n], SequenceMask(mask.lengths[rows], n)))
    # In the type of the parts, which differs from that of x under autocast
    output = parts[0].new_zeros(*x.shape[:2], width)
    for part, rows_of_part in zip(parts, output.split(ROWS_AT_ONCE), strict=True):
        rows_of_part[:, : part.shape[1]] = part
    return output


def read_both_ways(x: Tensor, mask: SequenceMask, forwards: nn.LSTM, backwards: nn.LSTM) -> Tensor:
    """Compute the states of both directions of a layer, concatenated.

    x (Tensor): Shape: (batch_size, n, input_width).
    mask (SequenceMask): The lengths of the sequences.
    forwards, backwards (nn.LSTM): The directions.
    RETURNS (Tensor): Shape: (batch_size, n, width of both).
    """
    # Time-major, as the layers read them, so that neither makes its own copy
    steps = x.transpose(0, 1).contiguous()
    left, _ = forwards(steps.transpose(0, 1))
    right, _ = backwards(mask.turn_steps(steps).transpose(0, 1))
    return torch.cat([left, mask.turn_steps(right.transpose(0, 1)).transpose(0, 1)], dim=2)
