"""A batch where the network begins and ends: the rows of documents are joined and split, their
sequences cut into windows, and these sorted into padded buckets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

import numpy as np
from thinc.api import Ops
from thinc.types import Floats2d, Ints1d
from thinc.util import torch2xp
from torch import Tensor

from ..errors import Errors
from ..layers.labeler import Bucket, Layout

# Positions, including padding, that the encoder reads at a time: large enough for efficient matrix
# multiplications, small enough to waste little padding and memory.
BUCKET_POSITIONS = 4096
# For a tagger's predictions on a CPU. The memory of larger buckets is returned to the system after
# each bucket, and allocating it again takes PSA a twentieth of its time.
PREDICTED_POSITIONS = 2048


@dataclass(frozen=True)
class Window:
    """A part of a sequence.

    start (int): The first token.
    length (int): The number of tokens.
    keep_from, keep_to (int): The tokens that have more context here than in adjacent windows.
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

    Sequences of up to `max_length` tokens form one window; longer ones are cut into overlapping
    windows of that length, and nothing is truncated. Windows are sorted by length to reduce
    padding, and bucketed so that memory does not grow with the batch."""
    if len(lengths) == 1 and lengths[0] <= max_length:
        tokens = np.arange(lengths[0])
        return Layout(tuple(lengths), (Bucket(tokens[None], np.array(lengths)),), tokens)
    windows: list[Window] = []
    offset = 0
    for length in lengths:
        windows.extend(cut(offset, length, max_length, overlap))
        offset += length
    # The sort is stable, so the layout depends only on the lengths.
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
    """Cut a sequence of at least one token into overlapping windows, in order. Each token is kept
    by exactly one."""
    if length <= max_length:
        return [Window(offset, length, offset, offset + length)]
    # Both may have been set after the model was created
    if not 0 <= overlap < max_length:
        raise ValueError(Errors.P208.format(overlap=overlap, max_length=max_length))
    stride = max_length - overlap
    starts = [*range(0, length - max_length, stride), length - max_length]
    # Divide the overlap of two windows in the middle.
    cuts = [(start + before + max_length) // 2 for before, start in pairwise(starts)]
    bounds = [0, *cuts, length]
    return [
        Window(offset + start, max_length, offset + bounds[i], offset + bounds[i + 1])
        for i, start in enumerate(starts)
    ]


def flatten(ops: Ops, parts: Sequence[Floats2d]) -> Floats2d:
    """Join the rows of documents, (tokens, width)."""
    return cast(Floats2d, ops.flatten(parts))


def unflatten(ops: Ops, rows: Floats2d, lengths: Sequence[int]) -> list[Floats2d]:
    """Split the rows of a batch (tokens, width) by document, the inverse of `flatten`."""
    return ops.unflatten(rows, cast(Ints1d, lengths))


def to_rows(tensor: Tensor) -> Floats2d:
    """Convert a matrix that does not require a gradient to an array that shares its memory."""
    return cast(Floats2d, torch2xp(tensor))
