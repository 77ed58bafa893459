"""The characters of a few words, read by NumPy.

A sentence has a few words that were not read before. What a bidirectional LSTM computes for them
takes less time than to call PyTorch's or oneDNN's for it, which wake up their threads at each
character. Here a character takes ten calls of NumPy, for both directions and all words, because

- what the input adds to the gates is a table with a row for each character, made once;
- σ(x) = (1 + tanh(x / 2)) / 2, so that the gates of both directions are one tanh. With the halves
  in the weights and h' = 2h as the state,

      z = P x_t + U h'_{t−1},        i', f', o' = 1 + tanh(z_i, z_f, z_o),    g = tanh(z_g)
      c_t = (f' ⊙ c_{t−1} + i' ⊙ g) / 2,                                      h'_t = o' ⊙ tanh(c_t)

- words stand from the longest to the shortest, so that those that have ended are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from .reordered_lstm import NAMES, ReorderedLSTM

DTYPES = torch.float32, torch.float64
# PyTorch's order of gates is i, f, g, o; tanh(x / 2) is that of all but g.
GATES = [0, 1, 3, 2]
HALVED = np.array([0.5, 0.5, 0.5, 1.0]).reshape(4, 1)
N_DIRECTIONS = 2
# Words are left out when this share of those that are read has ended, and not if only so many are
# read: to move the states of the others takes longer than to read on a few that have ended.
ENDED = 0.5
FEWEST = 8
# Numbers of the table that is made of the characters, at most: 4 MB of float32, which takes as long
# to make as to read twenty sentences; 2,600 characters for words of width 100
LARGEST = 1 << 20
# Characters, padding included, whose gates are in memory at a time
MOST_CHARACTERS = 1 << 14
# Products of numbers at a character, for a gate of a direction: from about so many on, NumPy's
# library has threads of its own
MOST_PRODUCTS = 1 << 18


class FewWords:
    """The weights of a character BiLSTM, in the order in which few words are read.

    embedding (Tensor): The embeddings of characters. Shape: (characters, embedding width).
    *directions (Tensor): The weights and biases of the forward direction and of the backward one,
        as `nn.LSTM` has them. Shapes: (4 · width, embedding width), (4 · width, width), and twice
        (4 · width,); the width of both is the same.

    Source: Hochreiter and Schmidhuber (1997), with the forget gate of Gers et al. (2000).
    """

    @np.errstate(all="ignore")  # as PyTorch, which is silent about infinities and what they become
    def __init__(self, embedding: Tensor, *directions: Tensor) -> None:
        inputs, states = [], []
        for weights in (directions[: len(NAMES)], directions[len(NAMES) :]):
            w_input, w_state, b_input, b_state = map(_in_float64, weights)
            width = w_state.shape[1]
            added = _in_float64(embedding) @ w_input.T + b_input + b_state
            inputs.append(added.reshape(-1, 4, width)[:, GATES] * HALVED)
            # The other half is that of h'
            states.append(w_state.T.reshape(width, 4, width)[:, GATES] * HALVED / 2)
        dtype = embedding.detach().numpy().dtype
        table = np.stack(inputs, axis=2).astype(dtype)  # (characters, 4, 2, width)
        self._inputs = table.reshape(-1, table.shape[-1])
        self._states = np.ascontiguousarray(np.stack(states).transpose(2, 0, 1, 3), dtype)

    def can_read(self, characters: Tensor, lengths: Tensor) -> bool:
        """Tell whether words are such as are read correctly here, and faster than by PyTorch.

        characters, lengths (Tensor): As for `CharacterBiLSTM`, on the CPU.
        RETURNS (bool): Whether they are sorted and of known characters, and neither so many nor so
            long that memory or NumPy's own threads would matter.
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

        characters, lengths (Tensor): Words that `can_read` is true of.
        RETURNS (Tensor): Shape: (words, 2 · width).
        RAISES (IndexError): If there is no such character.
        """
        sizes = lengths.numpy()
        rows = self._rows(characters.numpy(), sizes)
        n_words, width = len(sizes), self._states.shape[-1]
        words = np.empty((n_words, N_DIRECTIONS, width), self._states.dtype)
        h = np.zeros((N_DIRECTIONS, n_words, width), words.dtype)
        c = np.zeros_like(h)
        for start, stop, n_read, n_left in _stretches(sizes.tolist()):
            states = self._go_on(rows[start:stop, :, :, :n_read], h[:, :n_read], c[:, :n_read])
            ended = np.arange(n_left, n_read)
            words[ended] = states[sizes[ended] - 1 - start, :, ended]
            h, c = states[-1], c[:, :n_left].copy()
        words *= 0.5  # of h'
        return torch.from_numpy(words.reshape(n_words, -1))

    def _rows(self, characters: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of the inputs, by step. Shape: (longest word, 4, 2, words)."""
        n_words, longest = characters.shape
        steps = np.arange(longest)[:, None]
        ids = np.empty((longest, 1, N_DIRECTIONS, n_words), np.int64)
        ids[:, 0, 0] = characters.T
        # Where a word has ended, any of its characters
        ids[:, 0, 1] = characters[np.arange(n_words), np.maximum(sizes - 1 - steps, 0)]
        n_rows = 4 * N_DIRECTIONS
        return ids * n_rows + np.arange(n_rows).reshape(4, N_DIRECTIONS, 1)

    def _go_on(
        self, rows: NDArray[np.int64], h: NDArray[np.floating], c: NDArray[np.floating]
    ) -> NDArray[np.floating]:
        """Read a stretch of all words. Gives all h', and leaves the last c in its place."""
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


def weights_for_few_words(
    embedding: nn.Module, forwards: nn.Module, backwards: nn.Module
) -> list[Tensor] | None:
    """The weights that `FewWords` is made of.

    embedding (nn.Module): The characters' embedding.
    forwards, backwards (nn.Module): The directions of the LSTM.
    RETURNS (Optional[List[Tensor]]): The weights; None if there are others, or in a type that NumPy
        is slow for, if the table of characters would be large, or if someone watches the parts.
    """
    parts = embedding, forwards, backwards
    if tuple(map(type, parts)) != (nn.Embedding, ReorderedLSTM, ReorderedLSTM):
        return None  # someone's own, or such as are in int8
    if any(part._forward_hooks or part._forward_pre_hooks for part in parts):
        return None
    if parts[0].max_norm is not None:
        return None  # embeddings change when they are looked up
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
    """Cut words, from the longest to the shortest, where enough of them have ended.

    sizes (Sequence[int]): Characters of each word.
    YIELDS (Tuple[int, int, int, int]): The first character of a stretch, the one behind it, how
        many words it is of, and how many of them go on.
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
