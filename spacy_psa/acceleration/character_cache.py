"""A cache of the character representations of words.

A sentence repeats most words of those before it: `benchmarks.ablation` measures what that saves.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import islice
from threading import Lock
from weakref import WeakSet

import numpy as np
import torch
from torch import Tensor, nn

from ..layers.mask import SequenceMask
from ..private_names import is_watched
from ..tensor_versions import TensorVersions, weights_of

# Words in the cache (8 MB at width 100), so that a long-running process does not grow.
CACHE_SIZE = 20_000
# Maximum length of a cached word in characters, for the same reason.
MAX_CACHED_LENGTH = 50


class CharacterCache:
    """A cache of words' character representations, valid until `TensorVersions` reports that the
    weights have changed. Threads may share it. Copies of it, also in other processes, are empty.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._versions = TensorVersions()
        self._rows: dict[bytes, int] = {}
        self._table = torch.empty(0, 0)
        _caches.add(self)

    def __reduce__(self) -> tuple[type[CharacterCache], tuple[()]]:
        return CharacterCache, ()

    def __len__(self) -> int:
        return len(self._rows)

    def represent(
        self,
        parts: tuple[nn.Module, ...],
        read: Callable[[Tensor, SequenceMask], Tensor],
        characters: Tensor,
        mask: SequenceMask,
    ) -> Tensor:
        """Represent words by their characters (words, longest word), reading only those that are
        not in the cache. *Shape:* (words, width)."""
        if not len(characters):
            return read(characters, mask)
        # For a few words, NumPy calls take a fraction of the time of PyTorch's
        array, sizes = characters.numpy(), mask.known_lengths
        keys = [row[:size].tobytes() for row, size in zip(array, sizes, strict=True)]
        with self._lock:
            weights = list(weights_of(parts))
            if not self._versions.are_those_of(weights):
                self._clear()
                self._versions = TensorVersions(weights)
            rows = list(map(self._rows.get, keys))
            if None not in rows:
                places = torch.from_numpy(np.array(rows, dtype=np.int64))
                return self._table.index_select(0, places)
            new = [i for i, row in enumerate(rows) if row is None]
            index = torch.from_numpy(np.array(new, dtype=np.int64))
            part = SequenceMask(mask.lengths.index_select(0, index), max(sizes[i] for i in new))
            found = output = read(characters[:, : part.width].index_select(0, index), part)
            if len(new) < len(keys):
                places = torch.from_numpy(np.array([row or 0 for row in rows]))
                output = self._table.index_select(0, places)
                output.index_copy_(0, index, found)
            self._store([keys[i] for i in new], [sizes[i] for i in new], found)
            return output

    def reset_after_fork(self) -> None:
        """Continue in a process that has just been forked. A thread of the parent that held the
        lock cannot release it here, and may have been writing to the cache: replace the lock, and
        clear the cache if the lock was held."""
        is_busy = self._lock.locked()
        self._lock = Lock()
        if is_busy:
            self._clear()

    def _clear(self) -> None:
        self._rows = {}
        self._table = torch.empty(0, 0)

    def _store(self, keys: list[bytes], sizes: list[int], found: Tensor) -> None:
        # Different words may have the same key: all unknown characters share one id
        found_at = {key: i for i, key in enumerate(keys) if sizes[i] <= MAX_CACHED_LENGTH}
        short = dict(islice(found_at.items(), CACHE_SIZE))
        n = len(self._rows)
        if n + len(short) > CACHE_SIZE:
            self._rows = {}
            n = 0
        if not len(self._table):
            # A tensor created in inference mode cannot be written to outside of it
            with torch.inference_mode(False):
                self._table = found.new_empty(CACHE_SIZE, found.shape[1])
        if short:
            places = torch.from_numpy(np.fromiter(short.values(), np.int64))
            self._table[n : n + len(short)] = found.index_select(0, places)
        self._rows.update(zip(short, range(n, n + len(short)), strict=True))


def can_be_cached(parts: tuple[nn.Module, ...]) -> bool:
    """Check whether what layers compute depends on their weights and input alone."""
    return (
        all(type(part) in (nn.Embedding, nn.LSTM) for part in parts)
        and not any(map(is_watched, parts))
        and not torch.is_autocast_enabled("cpu")
    )


_caches: WeakSet[CharacterCache] = WeakSet()


def _after_fork_in_child() -> None:
    for cache in _caches:
        cache.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
