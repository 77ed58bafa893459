"""How the tokens of a batch are laid out for the encoder: windows, sorted into padded buckets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors

# Positions, padding included, that go through the encoder at a time: large enough to keep the
# matrix products busy, small enough to waste little on padding and memory.
BUCKET_POSITIONS = 4096
# For a tagger's predictions on a CPU. Memory that they need for more is given back to the system
# after each bucket, and to get it anew costs PSA a twentieth of its time.
PREDICTED_POSITIONS = 2048


@dataclass(frozen=True)
class Bucket:
    """Windows of similar length, padded to the longest.

    index (NDArray): The token at each position; padding repeats the window's last token.
        Shape: (windows, longest window), int64.
    lengths (NDArray): Tokens of each window. Shape: (windows,), int64.
    """

    index: NDArray[np.int64]
    lengths: NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """Where each token of a batch goes, and comes back from.

    lengths (Tuple[int, ...]): Tokens of each sequence (sentence, or document without sentences),
        all at least one. The sequences follow each other.
    buckets (Tuple[Bucket, ...]): What the encoder sees.
    rows (NDArray): For each token, its place among the positions of all buckets, one bucket after
        the other. A token in the overlap of two windows is read from the one in which it has more
        context. Shape: (tokens,), int64.
    """

    lengths: tuple[int, ...]
    buckets: tuple[Bucket, ...]
    rows: NDArray[np.int64]


@dataclass(frozen=True)
class Window:
    """A part of a sequence.

    start (int): Its first token.
    length (int): How many tokens it has.
    keep_from, keep_to (int): Those that have more context in it than in its neighbours.
    """

    start: int
    length: int
    keep_from: int
    keep_to: int


def make_layout(
    lengths: Sequence[int],
    *,
    max_length: int,
    overlap: int,
    bucket_positions: int = BUCKET_POSITIONS,
) -> Layout:
    """Lay sequences out for the encoder.

    Sequences of up to `max_length` tokens are one window, longer ones are cut into windows of
    that length that overlap; nothing is ever truncated. Windows are sorted by length, so that
    little is padded, and bucketed, so that memory does not grow with the batch.

    lengths (Sequence[int]): Tokens of each sequence, all at least one.
    max_length (int): Tokens of a window at most.
    overlap (int): Tokens that neighbouring windows share at least.
    bucket_positions (int): Positions of a bucket at most, unless a single window is longer.
    RETURNS (Layout): The layout.
    """
    if len(lengths) == 1 and lengths[0] <= max_length:
        tokens = np.arange(lengths[0])
        return Layout(tuple(lengths), (Bucket(tokens[None], np.array(lengths)),), tokens)
    windows: list[Window] = []
    offset = 0
    for length in lengths:
        windows.extend(cut(offset, length, max_length, overlap))
        offset += length
    # The sort is stable, so that a layout depends on nothing but its lengths.
    windows.sort(key=lambda window: -window.length)
    rows = np.empty(offset, dtype=np.int64)
    buckets = []
    first = base = 0
    while first < len(windows):
        longest = windows[first].length
        members = windows[first : first + max(1, bucket_positions // longest)]
        starts = np.array([window.start for window in members])
        sizes = np.array([window.length for window in members])
        steps = np.minimum(np.arange(longest), sizes[:, None] - 1)
        buckets.append(Bucket(starts[:, None] + steps, sizes))
        for i, window in enumerate(members):
            begin = base + i * longest - window.start
            rows[window.keep_from : window.keep_to] = np.arange(
                begin + window.keep_from, begin + window.keep_to
            )
        base += len(members) * longest
        first += len(members)
    return Layout(tuple(lengths), tuple(buckets), rows)


def cut(offset: int, length: int, max_length: int, overlap: int) -> list[Window]:
    """Cut a sequence into overlapping windows.

    offset (int): Its first token.
    length (int): How many tokens it has, at least one.
    max_length (int): Tokens of a window at most.
    overlap (int): Tokens that neighbouring windows share at least.
    RETURNS (List[Window]): The windows, in order. What they keep is the sequence, once.
    RAISES (ValueError): If the overlap is not smaller than the window.
    """
    if length <= max_length:
        return [Window(offset, length, offset, offset + length)]
    # Both may have been set since the model was made
    if not 0 <= overlap < max_length:
        raise ValueError(Errors.P208.format(overlap=overlap, max_length=max_length))
    stride = max_length - overlap
    starts = [*range(0, length - max_length, stride), length - max_length]
    # Two windows part in the middle of what they share.
    cuts = [(start + before + max_length) // 2 for before, start in pairwise(starts)]
    bounds = [0, *cuts, length]
    return [
        Window(offset + start, max_length, offset + bounds[i], offset + bounds[i + 1])
        for i, start in enumerate(starts)
    ]
