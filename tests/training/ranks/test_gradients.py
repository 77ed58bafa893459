"""Gradients are added up in messages that leave out what no rank has used."""

from __future__ import annotations

from threading import Barrier, Thread
from typing import Any

import torch
from torch import Tensor

from spacy_psa.training.ranks import gradients


class Threads:
    """Ranks that are threads."""

    def __init__(self, n: int) -> None:
        self.barrier = Barrier(n)
        self.tensors: list[Tensor] = []
        self.sizes: list[int] = []

    def sum_tensor(self, tensor: Tensor) -> None:
        self.tensors.append(tensor)
        if self.barrier.wait(10) == 0:
            total = sum(t.clone() for t in self.tensors)
            for t in self.tensors:
                t.copy_(total)
            self.sizes.append(tensor.nbytes)
            self.tensors.clear()
        self.barrier.wait(10)


def test_of_a_large_table_only_the_rows_in_use_are_sent() -> None:
    torch.manual_seed(0)
    n = gradients.LARGE_TABLE
    ranks = [[torch.zeros(n, 50), torch.randn(3, 4), torch.zeros(n, 2)] for _ in range(2)]
    ranks[0][0][[3, 8]] = torch.randn(2, 50)
    ranks[1][0][[8, 9]] = torch.randn(2, 50)
    expected = [first + second for first, second in zip(*ranks, strict=True)]
    group: Any = Threads(2)
    threads = [Thread(target=gradients._sum, args=(rank, group)) for rank in ranks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rank in ranks:
        assert all(torch.equal(a, b) for a, b in zip(rank, expected, strict=True))
    assert group.sizes == [2 * n * 4, (3 * 50 + 3 * 4) * 4]
