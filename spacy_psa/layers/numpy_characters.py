"""A character BiLSTM in NumPy for a few words.

A sentence typically has only a few words that are not in the cache. For these, calling the LSTM of
PyTorch or oneDNN, which wakes up threads at each character, takes longer than the computation
itself. Here a character takes ten NumPy calls for both directions and all words:

- The input's contribution to the gates is looked up in a table with rows for each character.
- σ(x) = (1 + tanh(x / 2)) / 2, so one tanh computes the gates of both directions. With the factors
  1/2 in the weights and h' = 2h as the state,

      z = P x_t + U h'_{t−1},        i', f', o' = 1 + tanh(z_i, z_f, z_o),    g = tanh(z_g)
      c_t = (f' ⊙ c_{t−1} + i' ⊙ g) / 2,                                      h'_t = o' ⊙ tanh(c_t)

- Words are sorted by length, longest first, so that those that have ended can be skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from .inspection import has_hooks
from .reordered_lstm import NAMES, ReorderedLSTM

DTYPES = torch.float32, torch.float64
# PyTorch's order of gates is i, f, g, o; all but g take tanh(x / 2).
GATES = [0, 1, 3, 2]
HALVED = np.array([0.5, 0.5, 0.5, 1.0]).reshape(4, 1)
N_DIRECTIONS = 2
# Ended words are dropped when this share of the words being read has ended, but not if at most
# FEWEST are being read: moving the other states takes longer than reading past a few words' ends.
ENDED = 0.5
FEWEST = 8
# Maximum size of the character table in elements: 4 MB of float32, or 2,600 characters for words
# of width 100. Building it takes as long as reading twenty sentences.
LARGEST = 1 << 20
# Maximum number of characters, including padding, whose gates are in memory at a time
MOST_CHARACTERS = 1 << 14
# Maximum number of multiplications per character, gate and direction: from about here on, NumPy's
# BLAS library starts threads of its own
MOST_PRODUCTS = 1 << 18


class NumpyCharacterBiLSTM:
    """A character BiLSTM with its weights arranged for reading a few words.

    embedding (Tensor): The character embeddings. Shape: (characters, embedding width).
    *directions (Tensor): The weights and biases of the forward and the backward direction, as in
        `nn.LSTM`. Shapes for each: (4 · width, embedding width), (4 · width, width), (4 · width,)
        and (4 · width,). Both directions have the same width.

    Source: Hochreiter and Schmidhuber (1997), with the forget gate of Gers et al. (2000).
    """

    @np.errstate(all="ignore")  # PyTorch does not warn about infinities and NaN either
    def __init__(self, embedding: Tensor, *directions: Tensor) -> None:
        inputs, states = [], []
        for weights in (directions[: len(NAMES)], directions[len(NAMES) :]):
            w_input, w_state, b_input, b_state = map(_in_float64, weights)
            width = w_state.shape[1]
            added = _in_float64(embedding) @ w_input.T + b_input + b_state
            inputs.append(added.reshape(-1, 4, width)[:, GATES] * HALVED)
            # The other 1/2 is for h' = 2h
            states.append(w_state.T.reshape(width, 4, width)[:, GATES] * HALVED / 2)
        dtype = embedding.detach().numpy().dtype
        table = np.stack(inputs, axis=2).astype(dtype)  # (characters, 4, 2, width)
        self._inputs = table.reshape(-1, table.shape[-1])
        self._states = np.ascontiguousarray(np.stack(states).transpose(2, 0, 1, 3), dtype)

    def can_read(self, characters: Tensor, lengths: Tensor) -> bool:
        """Check whether words can be read correctly here, and faster than with PyTorch.

        characters, lengths (Tensor): As for `CharacterBiLSTM`, on the CPU.
        RETURNS (bool): Whether the words are sorted, are not empty, have no negative ids, and are
            neither too many nor too long for memory and for a single thread of NumPy.
        """
        ids, sizes = characters.numpy(), lengths.numpy()
        return bool(
            ids.size <= MOST_CHARACTERS
            and len(sizes) * self._states.shape[-1] ** 2 <= MOST_PRODUCTS
            and sizes[-1] > 0
            and (sizes[1:] <= sizes[:-1]).all()
            and ids.min() >= 0
        )

    @np.errstate(all="ignore")
    def read(self, characters: Tensor, lengths: Tensor) -> Tensor:
        """Represent words by the last states of both directions.

        characters, lengths (Tensor): Words that `can_read` accepts.
        RETURNS (Tensor): Shape: (words, 2 · width).
        RAISES (IndexError): If a character's id is beyond the embedding table.
        """
        sizes = lengths.numpy()
        rows = self._rows(characters.numpy(), sizes)
        n_words, width = len(sizes), self._states.shape[-1]
        words = np.empty((n_words, N_DIRECTIONS, width), self._states.dtype)
        h = np.zeros((N_DIRECTIONS, n_words, width), words.dtype)
        c = np.zeros_like(h)
        for start, stop, n_read, n_left in _stretches(sizes.tolist()):
            states = self._step(rows[start:stop, :, :, :n_read], h[:, :n_read], c[:, :n_read])
            ended = np.arange(n_left, n_read)
            words[ended] = states[sizes[ended] - 1 - start, :, ended]
            h, c = states[-1], c[:, :n_left].copy()
        words *= 0.5  # h = h' / 2
        return torch.from_numpy(words.reshape(n_words, -1))

    def _rows(self, characters: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of the input table by time step. Shape: (longest word, 4, 2, words)."""
        n_words, longest = characters.shape
        steps = np.arange(longest)[:, None]
        ids = np.empty((longest, 1, N_DIRECTIONS, n_words), np.int64)
        ids[:, 0, 0] = characters.T
        # Past the end of a word, any of its characters
        ids[:, 0, 1] = characters[np.arange(n_words), np.maximum(sizes - 1 - steps, 0)]
        n_rows = 4 * N_DIRECTIONS
        return ids * n_rows + np.arange(n_rows).reshape(4, N_DIRECTIONS, 1)

    def _step(
        self, rows: NDArray[np.int64], h: NDArray[np.floating], c: NDArray[np.floating]
    ) -> NDArray[np.floating]:
        """Read a stretch of the words. Returns all h', and leaves the last c in `c`."""
        gates = self._inputs.take(rows, axis=0)
        states = np.empty((len(gates), *c.shape), c.dtype)
        for z, state in zip(gates, states, strict=True):
            z += np.matmul(h, self._states)
            np.tanh(z, out=z)
            z[:3] += 1.0
            i, f, o, g = z
            c *= f
            i *= g
            c += i
            c *= 0.5
            h = np.tanh(c, out=state)
            h *= o
        return states


def numpy_bilstm_weights(
    embedding: nn.Module, forwards: nn.Module, backwards: nn.Module
) -> list[Tensor] | None:
    """The weights to build `NumpyCharacterBiLSTM` from.

    embedding (nn.Module): The character embedding.
    forwards, backwards (nn.Module): The directions of the LSTM.
    RETURNS (Optional[List[Tensor]]): The weights; None if the modules are of other classes or have
        hooks, if NumPy is slow for the weights' type, or if the table would be too large.
    """
    parts = embedding, forwards, backwards
    if tuple(map(type, parts)) != (nn.Embedding, ReorderedLSTM, ReorderedLSTM):
        return None  # custom or int8 modules
    if any(map(has_hooks, parts)):
        return None
    if parts[0].max_norm is not None:
        return None  # looking up embeddings changes them
    places = (embedding, "weight"), *((lstm, name) for lstm in parts[1:] for name in NAMES)
    weights: list[Tensor] = []
    for part, name in places:
        weight = part._parameters.get(name)
        if weight is None or weight.dtype not in DTYPES:
            return None
        weights.append(weight)
    n_characters, n_gates, n_others = (len(weights[i]) for i in (0, 1, 1 + len(NAMES)))
    is_small = n_characters * (n_gates + n_others) <= LARGEST
    return weights if n_gates == n_others and is_small else None


def _stretches(sizes: Sequence[int]) -> Iterator[tuple[int, int, int, int]]:
    """Cut words into stretches of characters, at positions where enough words have ended.

    sizes (Sequence[int]): Length of each word in characters, longest first.
    YIELDS (Tuple[int, int, int, int]): The start and the end (exclusive) of a stretch, the number
        of words read in it, and how many of these continue after it.
    """
    start, n_read = 0, len(sizes)
    while n_read:
        n_left = int(n_read * (1.0 - ENDED)) if n_read > FEWEST else 0
        stop = sizes[n_left]
        while n_left and sizes[n_left - 1] == stop:
            n_left -= 1
        yield start, stop, n_read, n_left
        start, n_read = stop, n_left


def _in_float64(weight: Tensor) -> NDArray[np.float64]:
    return weight.detach().double().numpy()
