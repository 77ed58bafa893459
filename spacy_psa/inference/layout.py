"""The time-major order in which recursions visit tokens, without padding."""

from functools import cached_property, lru_cache

import numpy as np

# Layouts of batches of up to this many tokens are cached. That of a long document takes megabytes,
# and little time to compute compared with the rest
MAX_CACHED_TOKENS = 1 << 14


class TimeMajor:
    """The tokens of many chains, sorted by position in the chain, then by the chain's length.

    Chains are ranked from the longest to the shortest. Step t of a recursion then works on one
    contiguous block of rows, the t-th tokens of the `counts[t]` longest chains, and their
    predecessors are the first `counts[t]` rows of the previous block. No padding is needed.

    lengths (Tuple[int, ...]): The lengths of the C chains, N tokens in total.
    """

    def __init__(self, lengths: tuple[int, ...]) -> None:
        sizes = np.asarray(lengths, dtype=np.int64)
        self.n_chains = sizes.size
        self.n_tokens = int(sizes.sum())
        n_steps = int(sizes.max(initial=0))
        counts = self.n_chains - np.cumsum(np.bincount(sizes, minlength=n_steps + 1))[:n_steps]
        offsets = np.cumsum(counts) - counts
        # The nonempty chains, from the longest to the shortest
        self.chains = np.argsort(-sizes, kind="stable")[: counts[0] if n_steps else 0]
        rank = np.zeros(self.n_chains, dtype=np.int64)
        rank[self.chains] = np.arange(self.chains.size)
        # Per token in the original order: its chain, its time step, its row in our order
        self.chain_of_token = np.repeat(np.arange(self.n_chains), sizes)
        self.first_tokens = (np.cumsum(sizes) - sizes)[self.chains]
        self.last_tokens = (np.cumsum(sizes) - 1)[self.chains]
        time = np.arange(self.n_tokens) - (np.cumsum(sizes) - sizes)[self.chain_of_token]
        self.row_of_token = offsets[time] + rank[self.chain_of_token]
        self.inner_tokens = np.flatnonzero(time)  # those with a predecessor
        # Per row in our order
        self.order = np.empty(self.n_tokens, dtype=np.int64)
        self.order[self.row_of_token] = np.arange(self.n_tokens)
        self.chain_of_row = self.chain_of_token[self.order]
        self.last_rows = self.row_of_token[self.last_tokens]
        self.sizes = sizes
        # Python integers, since inner loops use them to slice arrays
        self.counts: list[int] = counts.tolist()
        self.offsets: list[int] = offsets.tolist()

    @cached_property
    def blocks(self) -> list[tuple[int, int, int, int]]:
        """RETURNS (List[Tuple[int, int, int, int]]): For each time step after the first, begin and
        stop of the rows of its tokens, and begin and stop of those of their predecessors.
        """
        steps = zip(self.offsets[1:], self.counts[1:], self.offsets[:-1], strict=True)
        return [(row, row + count, before, before + count) for row, count, before in steps]

    @cached_property
    def runs(self) -> list[tuple[int, int, int, int]]:
        """RETURNS (List[Tuple[int, int, int, int]]): As `blocks`, but with consecutive steps merged
        if their predecessors are contiguous, too.
        """
        runs = self.blocks[:1]
        for begin, stop, before, before_stop in self.blocks[1:]:
            run_begin, _, run_before, run_before_stop = runs[-1]
            if run_before_stop == before:
                runs[-1] = (run_begin, stop, run_before, before_stop)
            else:
                runs.append((begin, stop, before, before_stop))
        return runs


def sum_by(index: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    """Sum the values (n,) of each index (n,), from 0 to size - 1, in float64."""
    # Without values, bincount returns integers
    return np.bincount(index, values, size).astype(np.float64, copy=False)


def time_major(lengths: tuple[int, ...]) -> TimeMajor:
    """The layout for these lengths, cached because each batch needs it several times. It is shared
    between callers: do not change it."""
    return _cached_layout(lengths) if sum(lengths) <= MAX_CACHED_TOKENS else TimeMajor(lengths)


_cached_layout = lru_cache(maxsize=16)(TimeMajor)
