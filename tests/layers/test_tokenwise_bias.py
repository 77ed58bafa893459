"""Attention of tokens without padding against that of padded batches."""

from __future__ import annotations

import pytest

from spacy_psa.layers import AdditiveSelfAttention, BiasMixture, PSABias, TokenPositionBias

from . import biases
from .helpers import assert_close, batch_of, mask_of, randomized

WIDTH = 3
LENGTHS = [[4, 2, 1], [2, 5, 3], [3, 3], [1]]


BIASES = {
    **biases.BIASES,
    "psa without gaussian": lambda width: PSABias(width, gaussian=False),
    "psa mask": lambda width: PSABias(width, gaussian=False, token_position=False),
    "mixture with custom": lambda width: BiasMixture(width, [biases.Squares, TokenPositionBias]),
}


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
        contexts = mask.pack(contexts)
        contexts.square().sum().backward()
        gradients = [parameter.grad for parameter in layer.parameters()]
        results.append([contexts, mask.pack(given.grad), *gradients])
        weights = layer.attention(given, mask)
        results[-1] += [weights[row, :n, :n] for row, n in enumerate(lengths)]
    for found, expected in zip(*results, strict=True):
        assert (found is None) == (expected is None)
        if found is not None:
            assert_close(found, expected.detach(), 1e-12)
