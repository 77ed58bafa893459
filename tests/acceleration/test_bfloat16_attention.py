"""Additive attention in bfloat16: its products, its positional biases and what they depend on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from spacy_psa.acceleration.bfloat16 import BFloat16Linear
from spacy_psa.acceleration.bfloat16_attention import Float64Bias, reduced_bias
from spacy_psa.acceleration.reduced_precision import reduce_precision
from spacy_psa.layers import PLAIN, AdditiveSelfAttention, PSABias, using

from ..layers.biases import BIASES, Squares
from ..layers.helpers import mask_of, normal, randomized

WIDTH = 40
# Half the distance between adjacent numbers at 1
UNIT = 2.0**-9


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


@pytest.mark.parametrize("factor", [1.0, 60.0])
def test_weights_are_the_same_by_the_definitions(factor: float):
    """The definitions read padding, too; and large numbers are scored differently."""
    layer = reduce_precision(randomized(AdditiveSelfAttention(WIDTH), scale=0.2).float(), "bf16")
    lengths, x = [12, 7, 1], normal(3, 12, WIDTH, seed=2).float()
    x[1] *= factor
    mask = mask_of(lengths)
    with torch.no_grad():
        found = layer.attention(x, mask)
        with using(PLAIN):
            expected = layer.attention(x, mask)
    assert ((found - expected)[mask.positions]).abs().max() < UNIT
