"""The share of each rank in a batch."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from spacy.training import Example

# A recurrent layer takes a step for each position of the longest document. With `psa` on a CPU, it
# costs as much as so many tokens.
STEP = 4


def shares(lengths: Sequence[int], n_ranks: int) -> list[list[int]]:
    """Divide a batch so that all ranks take about as long: from the longest document to the
    shortest, each goes to the rank that has the least to do, for its tokens and the steps of its
    longest document.

    lengths (Sequence[int]): The number of tokens of each document.
    n_ranks (int): The number of ranks.
    RETURNS (List[List[int]]): The indices of each rank's documents, ascending. Later ranks have
        none if there are fewer documents than ranks.
    """
    found: list[list[int]] = [[] for _ in range(n_ranks)]
    loads = [0] * n_ranks
    for i in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        rank = loads.index(min(loads))
        loads[rank] += max(1, lengths[i]) * (1 if found[rank] else 1 + STEP)
        found[rank].append(i)
    return [sorted(share) for share in found]


def digest(examples: Sequence[Example], start: int = 0) -> int:
    """A number that differs between ranks if their batches do.

    examples (Sequence[Example]): A batch.
    start (int): The digest of what came before it.
    RETURNS (int): The number, at most 32 bits.
    """
    for example in examples:
        doc = example.reference
        start = crc32(doc.to_array("ORTH").tobytes(), start)
    return crc32(np.int64(len(examples)).tobytes(), start)
