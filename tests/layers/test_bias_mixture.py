"""The positional bias of the first version of PSA against loops over its equations 8 to 12."""

import functools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_psa.layers import (
    AdditiveSelfAttention,
    BiasMixture,
    GaussianBias,
    PSABias,
    TokenOffsetBias,
)

from .helpers import (
    DTYPES,
    TOLERANCE,
    assert_close,
    batch_of,
    mask_of,
    normal,
    randomized,
    state_of,
)
from .reference import arxiv_equation_11, arxiv_positional_bias, attention

N, WIDTH = 6, 3
WINDOW, DISTANCE = 4, 2
SETS = [("M", "P", "G"), ("P", "G"), ("M", "G"), ("M", "P"), ("G",), ("P",)]


def make_mixture(factors: tuple[str, ...], width: int = WIDTH) -> BiasMixture:
    parts = {
        "P": functools.partial(TokenOffsetBias, max_distance=DISTANCE),
        "G": lambda width: GaussianBias(WINDOW),
    }
    biases = [parts[name] for name in factors if name in parts]
    return BiasMixture(width, biases, self_mask="M" in factors)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("max_distance", [1, 3, N - 1, 50])
def test_token_offset_bias_equals_equation_11(max_distance, dtype, device):
    layer = randomized(TokenOffsetBias(WIDTH, max_distance=max_distance))
    x = normal(2, N, WIDTH)
    W = state_of(layer)["relative"]
    assert W.shape == (2 * max_distance + 1, WIDTH)
    expected = [
        [
            [arxiv_equation_11(x[row, i].numpy(), i, j, W, max_distance) for j in range(N)]
            for i in range(N)
        ]
        for row in range(2)
    ]
    layer.to(device, dtype)
    assert_close(layer(x.to(device, dtype)), np.array(expected), TOLERANCE[dtype])


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 9), r=st.integers(1, 6))
def test_offsets_on_both_sides_are_told_apart_until_they_are_clipped(n, r):
    layer = TokenOffsetBias(1, max_distance=r).double()
    with torch.no_grad():
        layer.relative.copy_(torch.arange(-r, r + 1).unsqueeze(1))
    found = layer(torch.ones(1, n, 1, dtype=torch.float64))[0]
    for i in range(n):
        for j in range(n):
            assert found[i, j] == max(-r, min(r, i - j))


def test_distances_are_clipped_at_ten_by_default():
    assert TokenOffsetBias(WIDTH).relative.shape == (21, WIDTH)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factors", [f for f in SETS if f != ("G",) and f != ("M", "G")])
def test_mixture_equals_equation_8(factors, dtype, device):
    layer = randomized(make_mixture(factors))
    x, state = normal(2, N, WIDTH), state_of(layer)
    expected = np.zeros((2, N, N))
    for row in range(2):
        for i in range(N):
            for j in range(N):
                expected[row, i, j] = arxiv_positional_bias(
                    x[row, i].numpy(), i, j, state, k=WINDOW, r=DISTANCE, factors=factors
                )
    masked = np.isneginf(expected)
    layer.to(device, dtype)
    actual = layer(x.to(device, dtype)).cpu()
    assert layer.masks_self == masked.any() == ("M" in factors)
    assert_close(actual[torch.tensor(~masked)], expected[~masked], TOLERANCE[dtype])


@pytest.mark.parametrize("factors", [("G",), ("M", "G")])
def test_mixture_without_token_positions_is_the_weighted_gaussian(factors):
    layer = randomized(make_mixture(factors))
    x = normal(1, N, WIDTH)
    assert_close(layer(x), layer.alphas[-1] * GaussianBias(WINDOW)(x), 1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lengths", [[5, 2, 1], [1]], ids=str)
def test_attention_of_the_first_version_equals_loops(lengths, dtype, device):
    factors = SETS[0]
    layer = randomized(
        AdditiveSelfAttention(WIDTH, bias=functools.partial(lambda width: make_mixture(factors)))
    )
    x, state = batch_of(lengths, WIDTH), state_of(layer)
    layer.to(device, dtype)
    weights = layer.attention(x.to(device, dtype), mask_of(lengths, device))
    config = {"psi": arxiv_positional_bias, "k": WINDOW, "r": DISTANCE, "factors": factors}
    for row, n in enumerate(lengths):
        expected = attention(x[row, :n].numpy(), state, **config)
        assert_close(weights[row, :n, :n], expected, TOLERANCE[dtype])


@pytest.mark.parametrize("factors", SETS, ids="".join)
def test_weights_sum_to_one_over_the_factors_that_are_there(factors):
    alphas = randomized(make_mixture(factors), scale=3.0).alphas
    assert alphas.shape == (len(factors),)
    assert (alphas > 0).all()
    assert alphas.sum().item() == pytest.approx(1.0)


def test_weights_start_equal():
    assert make_mixture(SETS[0]).alphas.tolist() == pytest.approx([1 / 3] * 3)


def test_weights_are_trainable():
    layer = randomized(make_mixture(SETS[0]))
    layer(normal(1, N, WIDTH)).square().sum().backward()
    assert layer.trade_off.grad.abs().min() > 0


@pytest.mark.parametrize("factors", [("M",), ()], ids=["mask alone", "nothing"])
def test_mixture_of_nothing_adds_nothing(factors):
    layer = make_mixture(factors)
    assert layer(normal(1, N, WIDTH)) is None
    assert layer.alphas is None
    assert layer.masks_self == bool(factors)
    assert not list(layer.parameters())


def test_a_mask_inside_the_mixture_is_kept():
    layer = BiasMixture(WIDTH, [PSABias, lambda width: GaussianBias()], self_mask=False)
    assert layer.masks_self
    assert layer.alphas.shape == (2,)


def test_a_part_that_adds_nothing_is_left_out_of_the_sum():
    mask_alone = functools.partial(PSABias, gaussian=False, token_position=False)
    layer = randomized(BiasMixture(WIDTH, [mask_alone, lambda width: GaussianBias(WINDOW)]))
    x = normal(1, N, WIDTH)
    assert_close(layer(x), layer.alphas[2] * GaussianBias(WINDOW)(x), 1e-12)
    assert BiasMixture(WIDTH, [mask_alone])(x) is None


def test_single_biases_do_not_mask():
    for bias in (GaussianBias(), TokenOffsetBias(WIDTH)):
        assert bias.masks_self is False
