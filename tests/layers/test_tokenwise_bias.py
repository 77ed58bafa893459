"""Positional biases and attention of tokens without padding against those of padded batches."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from spacy_psa.layers import (
    AdditiveSelfAttention,
    BiasMixture,
    GaussianBias,
    PSABias,
    TokenOffsetBias,
    TokenPositionBias,
)
from spacy_psa.layers.position_bias import positional_bias

from .helpers import assert_close, batch_of, mask_of, randomized

WIDTH = 3
LENGTHS = [[4, 2, 1], [2, 5, 3], [3, 3], [1]]


class SumOfPair(nn.Module):
    """A bias of another library, which only knows padded batches."""

    masks_self = False

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        scores = x @ self.weight
        return scores.unsqueeze(1) + scores.unsqueeze(2)


BIASES: dict[str, Callable[[int], nn.Module]] = {
    "gaussian": lambda width: GaussianBias(),
    "token position": lambda width: TokenPositionBias(width, max_distance=3),
    "token offset": lambda width: TokenOffsetBias(width, max_distance=3),
    "psa": PSABias,
    "psa without position": lambda width: PSABias(width, token_position=False),
    "psa without gaussian": lambda width: PSABias(width, gaussian=False),
    "psa mask": lambda width: PSABias(width, gaussian=False, token_position=False),
    "mixture": lambda width: BiasMixture(width, [TokenOffsetBias, lambda width: GaussianBias()]),
    "mixture with custom": lambda width: BiasMixture(width, [SumOfPair, TokenPositionBias]),
    "custom": SumOfPair,
}


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("name", BIASES)
def test_biases_are_those_of_padded_batches(name: str, lengths: list[int], device: torch.device):
    bias = randomized(BIASES[name](WIDTH)).to(device)
    x, mask = batch_of(lengths, WIDTH).to(device), mask_of(lengths, device)
    expected = positional_bias(bias, x, None)
    found = positional_bias(bias, mask.pack(x), mask)
    assert (found is None) == (expected is None) == (name == "psa mask")
    if found is not None and expected is not None:
        shape = len(lengths), mask.width, mask.width
        found, expected = found.expand(shape), expected.expand(shape)
        for row, n in enumerate(lengths):
            assert_close(found[row, :n, :n], expected[row, :n, :n].cpu().detach(), 1e-12)


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("name", [*BIASES, None])
def test_contexts_and_gradients_are_those_of_padded_batches(name: str | None, lengths: list[int]):
    layer = randomized(AdditiveSelfAttention(WIDTH, bias=None if name is None else BIASES[name]))
    x, mask = batch_of(lengths, WIDTH), mask_of(lengths)
    results = []
    for given in (x, mask.pack(x)):
        layer.zero_grad()
        given = given.clone().requires_grad_()
        contexts = layer(given, mask)
        assert contexts.shape == given.shape
        contexts = mask.packed(contexts)
        contexts.square().sum().backward()
        gradients = [parameter.grad for parameter in layer.parameters()]
        results.append([contexts, mask.packed(given.grad), *gradients])
        weights = layer.attention(given, mask)
        results[-1] += [weights[row, :n, :n] for row, n in enumerate(lengths)]
    for found, expected in zip(*results, strict=True):
        assert (found is None) == (expected is None)
        if found is not None:
            assert_close(found, expected.detach(), 1e-12)
