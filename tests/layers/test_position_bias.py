"""The positional biases against loops over equations 4 and 9 to 11."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from spacy_psa.layers import GaussianBias, PSABias, TokenPositionBias

from .helpers import DTYPES, TOLERANCE, assert_close, normal, randomized, state_of
from .reference import equation_10, equation_11, positional_bias

N, WIDTH = 6, 3
# The rows of table 7, and the smaller sets.
SETS = [("M", "G", "P"), ("G", "P"), ("M", "G"), ("M", "P"), ("G",), ("P",)]


def make_bias(factors: tuple[str, ...], width: int = WIDTH, **config: float) -> PSABias:
    return PSABias(
        width,
        self_mask="M" in factors,
        gaussian="G" in factors,
        token_position="P" in factors,
        **config,
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("window", [1, 5, 10, 2.5])
def test_gaussian_bias_equals_equation_10(window, dtype, device):
    expected = [[[equation_10(i, j, window) for j in range(N)] for i in range(N)]]
    actual = GaussianBias(window)(torch.zeros(2, N, WIDTH, dtype=dtype, device=device))
    assert actual.dtype == dtype
    assert_close(actual, np.array(expected), TOLERANCE[dtype])


def test_gaussian_window_is_ten_by_default():
    # ε = 5, so the bias at distance 5 is −1/2.
    assert GaussianBias()(torch.zeros(1, 6, 1))[0, 0, 5].item() == pytest.approx(-0.5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("trade_off", [-1.0, 1.0])
def test_distant_tokens_have_finite_biases_in_half_precision(trade_off, dtype):
    x, layer = torch.zeros(1, 400, WIDTH, dtype=dtype), make_bias(("G", "P")).to(dtype)
    layer.trade_off.data.fill_(trade_off)
    assert layer(x).isfinite().all()
    expected = GaussianBias()(x.double()).clamp(min=torch.finfo(dtype).min)
    assert torch.equal(GaussianBias()(x), expected.to(dtype))


def test_gaussian_bias_has_nothing_to_train():
    assert not list(GaussianBias().parameters())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("max_distance", [0, 1, 3, N - 1, N, 50])
def test_token_position_bias_equals_equation_11(max_distance, dtype, device):
    layer = randomized(TokenPositionBias(WIDTH, max_distance=max_distance))
    x = normal(2, N, WIDTH)
    state = state_of(layer)
    R, v, b = state["relative"], state["vector"], float(state["bias"][0])
    expected = np.zeros((2, N, N))
    for row in range(2):
        for i in range(N):
            for j in range(N):
                x_i = x[row, i].numpy()
                expected[row, i, j] = equation_11(x_i, i, j, R, v, b, max_distance)
    layer.to(device, dtype)
    assert_close(layer(x.to(device, dtype)), expected, TOLERANCE[dtype])


def test_token_position_distance_is_clipped_at_ten_by_default():
    assert TokenPositionBias(WIDTH).relative.shape == (11, WIDTH)


def test_token_position_bias_trains_only_the_distances_that_occur():
    layer = TokenPositionBias(WIDTH, max_distance=5)
    layer(normal(1, 3, WIDTH).float()).sum().backward()
    assert layer.relative.grad.abs().sum(dim=1).bool().tolist() == [True] * 3 + [False] * 3


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factors", SETS, ids="".join)
def test_psa_bias_equals_equation_4(factors, dtype, device):
    layer = randomized(make_bias(factors, window=4, max_distance=2))
    x = normal(2, N, WIDTH)
    expected = np.zeros((2, N, N))
    for row in range(2):
        for i in range(N):
            for j in range(N):
                expected[row, i, j] = positional_bias(
                    x[row, i].numpy(), i, j, state_of(layer), k=4, r=2, factors=factors
                )
    layer.to(device, dtype)
    actual = layer(x.to(device, dtype)).expand(2, N, N)
    # The mask M is not added but given by `masks_self`.
    assert layer.masks_self == ("M" in factors)
    masked = np.isneginf(expected)
    assert np.array_equal(masked[0], np.eye(N, dtype=bool) & ("M" in factors))
    assert_close(actual.cpu()[torch.tensor(~masked)], expected[~masked], TOLERANCE[dtype])


@pytest.mark.parametrize("factors", [("M",), ()], ids=["mask alone", "nothing"])
def test_psa_bias_without_gaussian_and_position_adds_nothing(factors):
    layer = make_bias(factors)
    assert layer(normal(1, N, WIDTH)) is None
    assert layer.alpha is None
    assert layer.masks_self == bool(factors)
    assert not list(layer.parameters())


def test_psa_bias_has_all_factors_by_default():
    layer = PSABias(WIDTH)
    assert layer.masks_self
    assert isinstance(layer.gaussian, GaussianBias)
    assert isinstance(layer.token_position, TokenPositionBias)


def test_alpha_starts_in_the_middle():
    assert PSABias(WIDTH).alpha.item() == 0.5


@pytest.mark.parametrize("value", [-12.0, -1.0, 0.0, 1.0, 12.0])
def test_alpha_lies_between_zero_and_one(value):
    layer = PSABias(WIDTH)
    nn.init.constant_(layer.trade_off, value)
    assert 0 < layer.alpha.item() < 1
    assert layer.alpha.item() == pytest.approx(1 / (1 + math.exp(-value)), abs=1e-6)


@pytest.mark.parametrize("factors", SETS, ids="".join)
def test_alpha_is_trainable(factors):
    layer = randomized(make_bias(factors))
    assert any(parameter is layer.trade_off for parameter in layer.parameters())
    layer(normal(1, N, WIDTH)).square().sum().backward()
    assert layer.trade_off.grad.item() != 0
