"""Additive attention in bfloat16: its products, its positional biases and what they depend on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from spacy_psa.acceleration import bfloat16_attention, onednn
from spacy_psa.acceleration.bfloat16 import BFloat16Linear
from spacy_psa.acceleration.bfloat16_attention import Float64Bias, reduced_bias
from spacy_psa.acceleration.reduced_precision import reduce_precision
from spacy_psa.acceleration.roomy import rounded_up
from spacy_psa.layers import AdditiveSelfAttention, PSABias

from ..layers.biases import BIASES, Squares
from ..layers.helpers import mask_of, normal, randomized

WIDTH = 40
# Half the distance between adjacent numbers at 1
UNIT = 2.0**-9
by_onednn = pytest.mark.skipif(
    torch.bfloat16 not in onednn.DTYPES, reason="oneDNN has no bfloat16 here"
)


def weights_of(lengths: list[int], *, seed: int = 0) -> Tensor:
    """Attention weights with zeros at padding, but not in the rows of padding."""
    mask = mask_of(lengths)
    scores = normal(len(lengths), mask.width, mask.width, seed=seed)
    return torch.softmax(scores.masked_fill(~mask.pairs(), -torch.inf), dim=2)


@by_onednn
@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    lengths=st.lists(st.integers(1, 90), min_size=1, max_size=20),
    width=st.sampled_from([1, 8, 30, 200, 601]),
    seed=st.integers(0, 2**20),
)
def test_weighted_sums_are_exact_but_for_rounding_and_the_same_in_any_batch(lengths, width, seed):
    mask, weights = mask_of(lengths), weights_of(lengths, seed=seed)
    tokens = normal(sum(lengths), width, seed=seed + 1).bfloat16()
    sums = bfloat16_attention._weighted_sums(weights, tokens, mask)
    assert sums.dtype == torch.bfloat16 and sums.shape == tokens.shape
    exact = mask.pack(weights.bfloat16().double() @ mask.unpack(tokens.double()))
    # They are rounded once more; before, they are sums in float32 of numbers of any sign
    torch.testing.assert_close(sums.double(), exact, rtol=2 * UNIT, atol=1e-4)
    start = 0
    for row, n in enumerate(lengths):
        own = slice(start, start + n)
        alone = bfloat16_attention._weighted_sums(
            weights[row : row + 1, :n, :n], tokens[own], mask_of([n])
        )
        assert torch.equal(alone, sums[own])
        start += n


@by_onednn
def test_products_have_a_few_shapes(monkeypatch: pytest.MonkeyPatch):
    shapes, bmm = set(), torch.bmm
    monkeypatch.setattr(torch, "bmm", lambda a, b: shapes.add(tuple(a.shape)) or bmm(a, b))
    for n_rows in range(9, 33):
        for n in range(17, 33):
            lengths = [n] * n_rows
            tokens = normal(n * n_rows, 4).bfloat16()
            bfloat16_attention._weighted_sums(weights_of(lengths), tokens, mask_of(lengths))
    assert shapes == {(rows, n, n) for rows in (16, 24, 32) for n in (24, 32)}
    assert all(rounded_up(size) == size for shape in shapes for size in shape)


@pytest.mark.parametrize("name", list(BIASES))
def test_biases_are_close_to_full_precision_and_do_not_depend_on_padding(name: str):
    def make() -> nn.Module:
        return randomized(BIASES[name](WIDTH), scale=0.3).float()

    lengths, x = [9, 5, 1], normal(3, 9, WIDTH, seed=3, scale=0.5).float()
    full, reduced = make(), reduced_bias(make())
    assert reduced.masks_self == full.masks_self
    with torch.no_grad():
        expected, output = full(x), reduced(x)
        assert output.shape == expected.shape
        error = (output - expected).abs().max()
        assert error <= 8 * UNIT * max(1.0, float(expected.abs().max()))
        for row, n in enumerate(lengths):
            alone = reduced(x[row : row + 1, :n])[0]
            assert torch.equal(alone, output[min(row, len(output) - 1), :n, :n])


def test_only_products_of_known_biases_are_in_bfloat16():
    found = reduced_bias(randomized(PSABias(WIDTH)).float())
    assert isinstance(found, PSABias) and found.trade_off.dtype == torch.float32
    assert [type(m) for m in found.token_position.children()] == [BFloat16Linear]
    mixture = reduced_bias(randomized(BIASES["mixture"](WIDTH)).float())
    assert [type(bias).__name__ for bias in mixture.biases] == ["BFloat16TokenBias", "GaussianBias"]
    assert isinstance(reduced_bias(Squares(WIDTH)), Float64Bias)


@pytest.mark.parametrize("bias", [None, PSABias])
def test_contexts_are_the_same_with_and_without_padding(bias: Callable[[int], nn.Module] | None):
    layer = randomized(AdditiveSelfAttention(WIDTH, bias=bias), scale=0.2).float()
    lengths, x = [12, 7, 1], normal(3, 12, WIDTH, seed=2).float()
    mask = mask_of(lengths)
    with torch.no_grad():
        full = layer(mask.pack(x), mask)
        assert torch.equal(full, mask.pack(layer(x, mask)))
        reduced = reduce_precision(layer, "bf16")
        found = reduced(mask.pack(x), mask)
        assert torch.equal(found.float(), mask.pack(reduced(x, mask)))
        assert reduced(x, mask).dtype == torch.float32
    assert (found - full).abs().max() < 16 * UNIT


def test_without_onednn_sums_are_in_float64(monkeypatch: pytest.MonkeyPatch):
    layer = randomized(AdditiveSelfAttention(WIDTH, bias=PSABias), scale=0.2).float()
    reduced = reduce_precision(layer, "bf16")
    lengths, x = [12, 7, 1], normal(3, 12, WIDTH, seed=2).float()
    with torch.no_grad():
        expected = reduced(x, mask_of(lengths))
        monkeypatch.setattr(bfloat16_attention, "DTYPES", {torch.float32})
        output = reduced(x, mask_of(lengths))
        assert 0 < (output - expected).abs().max() < 8 * UNIT
        for row, n in enumerate(lengths):
            assert torch.equal(reduced(x[row : row + 1, :n], mask_of([n]))[0], output[row, :n])
