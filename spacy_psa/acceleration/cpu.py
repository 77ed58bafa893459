"""What is faster on a CPU."""

from __future__ import annotations

from typing import cast
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from ..layers.mask import SequenceMask
from ..layers.ops import Ops, full_precision, lstm_precision
from .character_cache import CharacterCache, can_be_cached
from .joined_lstm import join, joined_bilstm
from .ordered_lstm import OrderedLSTM, can_be_ordered
from .packed_lstm import is_usual, may_be_packed, packed_bilstm, steps_of
from .tiled_scores import tiled_scores

# oneDNN takes a millisecond to prepare for the first batch of each shape, ten times what reading a
# few words takes: their number and the length of the longest are multiples of this
FEWER_SHAPES = 4


class CPUPrediction(Ops):
    """What is faster on a CPU without gradients."""

    # Up to this many words are read with padding: calls cost more than the computation
    _few_words = 64
    # Weights change after each batch of training
    _keeps_words = True

    def __init__(self) -> None:
        self._ordered: WeakKeyDictionary[nn.LSTM, OrderedLSTM] = WeakKeyDictionary()
        self._caches: WeakKeyDictionary[nn.Module, CharacterCache] = WeakKeyDictionary()

    def without_padding(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """See `Ops`."""
        return mask.pack(x)

    def has_padding(self, mask: SequenceMask) -> bool:
        """See `Ops`."""
        return min(mask.known_lengths, default=mask.width) < mask.width

    def additive_scores(
        self, queries: Tensor, keys: Tensor, weight: Tensor, mask: SequenceMask
    ) -> Tensor:
        """See `Ops`."""
        return tiled_scores(mask.unpack(queries), mask.unpack(keys), weight, mask.known_lengths)

    def attention(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None,
        *,
        scale: float,
        dropout: float,
    ) -> Tensor:
        """See `Ops`. PyTorch's backward pass takes twice as long in half precision."""
        with full_precision(queries, keys, values) as (q, k, v):
            return super().attention(q, k, v, mask, scale=scale, dropout=dropout)

    def bilstm(
        self, x: Tensor, mask: SequenceMask, forwards: nn.Module, backwards: nn.Module
    ) -> Tensor:
        """See `Ops`. Weights are kept in oneDNN's order until they change."""
        left, right = self._in_order(forwards, x), self._in_order(backwards, x)
        if left is None or right is None:
            return super().bilstm(x, mask, forwards, backwards)
        # Time-major, as oneDNN reads them
        if not mask.is_padded:
            steps = mask.unpack(x).transpose(0, 1).contiguous()
            states = [left.read(steps), right.read(steps, turned=True)]
            return mask.in_form_of(x, torch.cat(states, dim=2).transpose(0, 1))
        tokens, n_rows = mask.pack(x), len(mask.lengths)
        row, step = mask.positions.nonzero(as_tuple=True)
        states = []
        for lstm, at in (left, step), (right, mask.lengths[row] - 1 - step):
            places = at * n_rows + row
            steps = x.new_zeros(mask.width * n_rows, x.shape[-1]).index_copy_(0, places, tokens)
            read = lstm.read(steps.view(mask.width, n_rows, x.shape[-1]))
            states.append(read.flatten(0, 1).index_select(0, places))
        return mask.in_form_of(x, torch.cat(states, dim=1))

    def _in_order(self, layer: nn.Module, x: Tensor) -> OrderedLSTM | None:
        if not (isinstance(layer, nn.LSTM) and can_be_ordered(layer, x)):
            return None
        kept = self._ordered.get(layer)
        if kept is None or not kept.is_of(layer):
            kept = self._ordered[layer] = OrderedLSTM(layer)
        return kept

    def last_states(
        self,
        characters: Tensor,
        mask: SequenceMask,
        embedding: nn.Module,
        forwards: nn.Module,
        backwards: nn.Module,
    ) -> Tensor:
        """See `Ops`. The representations of words are kept until the weights change."""
        parts = embedding, forwards, backwards

        def read(characters: Tensor, mask: SequenceMask) -> Tensor:
            return self._read_words(characters, mask, *parts)

        if not (self._keeps_words and can_be_cached(parts)):
            return read(characters, mask)
        cache = self._caches.get(forwards)
        if cache is None:
            cache = self._caches.setdefault(forwards, CharacterCache())
        return cache.represent(parts, read, characters, mask)

    def _read_words(
        self,
        characters: Tensor,
        mask: SequenceMask,
        embedding: nn.Module,
        forwards: nn.Module,
        backwards: nn.Module,
    ) -> Tensor:
        directions = cast(nn.LSTM, forwards), cast(nn.LSTM, backwards)
        n_words, longest = characters.shape
        if n_words <= self._few_words:
            # Time-major, in both directions
            shape = (-(-n // FEWER_SHAPES) * FEWER_SHAPES for n in (longest, n_words))
            ids = np.zeros((2, *shape), np.int64)
            for i, (row, n) in enumerate(zip(characters.numpy(), mask.known_lengths, strict=True)):
                ids[0, :n, i], ids[1, :n, i] = row[:n], row[:n][::-1]
            steps = embedding(torch.from_numpy(ids))
            left, right = (self._in_order(layer, steps) for layer in directions)
            if left is not None and right is not None:
                last = mask.lengths - 1, torch.arange(n_words, device="cpu")
                return torch.cat([left.read(steps[0])[last], right.read(steps[1])[last]], dim=1)
        if n_words <= self._few_words or not may_be_packed(*directions):
            return Ops.last_states(self, characters, mask, embedding, *directions)
        sizes, places, ends = steps_of(mask)
        inputs = embedding(characters.flatten()[places])
        states = packed_bilstm(inputs, sizes, *directions)
        return states[:, ends].transpose(0, 1).flatten(1)


class CPUTraining(CPUPrediction):
    """What is faster on a CPU with gradients."""

    _few_words = 0
    _keeps_words = False

    def bilstm(
        self, x: Tensor, mask: SequenceMask, forwards: nn.Module, backwards: nn.Module
    ) -> Tensor:
        """See `Ops`."""
        rows = join(mask.known_lengths)
        may_be_joined = is_usual(forwards) and is_usual(backwards)
        if rows.n_rows == len(mask.lengths) or not may_be_joined:
            return Ops.bilstm(self, x, mask, forwards, backwards)
        directions = cast(nn.LSTM, forwards), cast(nn.LSTM, backwards)
        with lstm_precision(x) as x:
            return mask.in_form_of(x, joined_bilstm(mask.pack(x), rows, *directions))
