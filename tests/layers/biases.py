"""Positional biases of every kind, for tests."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from spacy_psa.layers import (
    BiasMixture,
    GaussianBias,
    PSABias,
    TokenOffsetBias,
    TokenPositionBias,
)


class Squares(nn.Module):
    """A bias that no rule knows: the sum of squares of the token."""

    masks_self = False

    def __init__(self, width: int) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        return (self.factor * x.square().sum(dim=2, keepdim=True)).expand(-1, -1, x.shape[1])


BIASES: dict[str, Callable[[int], nn.Module]] = {
    "gaussian": lambda width: GaussianBias(),
    "token position": lambda width: TokenPositionBias(width, max_distance=3),
    "token offset": lambda width: TokenOffsetBias(width, max_distance=3),
    "psa": PSABias,
    "psa without position": lambda width: PSABias(width, token_position=False),
    "mixture": lambda width: BiasMixture(width, [TokenOffsetBias, lambda width: GaussianBias()]),
    "custom": Squares,
}
