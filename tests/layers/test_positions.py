"""Position encodings against the equations of Vaswani et al. (2017) and Tan et al. (2018)."""

import numpy as np
import pytest
import torch

from spacy_psa.layers import PositionEmbedding, SinusoidalPositions

from .helpers import DTYPES, TOLERANCE, assert_close, batch_of, mask_of, normal, randomized
from .reference_transformer import timing_signal


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 2, 7, 8])
def test_sinusoids_equal_the_formula(width, dtype, device):
    x = normal(2, 40, width)
    layer = SinusoidalPositions(width)
    expected = [[timing_signal(t, f, width) for f in range(width)] for t in range(40)]
    x_ = x.to(device, dtype)
    found = layer(x_, mask_of([40, 3], device))
    assert found.dtype == dtype
    assert_close(found, x.numpy() + np.array(expected), TOLERANCE[dtype])


def test_the_first_position_is_zero():
    signal = SinusoidalPositions(4)(torch.zeros(1, 1, 4), mask_of([1]))
    assert signal.flatten().tolist() == [0.0, 1.0, 0.0, 1.0]


def test_sinusoids_have_nothing_to_train():
    assert not list(SinusoidalPositions(4).parameters())


def test_half_precision_only_rounds_the_sinusoids():
    # Position 300 itself is not representable in this half-precision type.
    x = torch.zeros(1, 301, 8)
    exact = SinusoidalPositions(8)(x, mask_of([301]))
    rounded = SinusoidalPositions(8)(x.bfloat16(), mask_of([301]))
    assert_close(rounded, exact, 0.01)


@pytest.mark.parametrize("dtype", DTYPES)
def test_embeddings_are_added_by_position(dtype, device):
    layer = randomized(PositionEmbedding(3, max_length=6))
    x, table = normal(2, 5, 3), layer.weight.detach().clone()
    found = layer.to(device, dtype)(x.to(device, dtype), mask_of([5, 2], device))
    for row in range(2):
        for t in range(5):
            assert_close(found[row, t], x[row, t] + table[t], TOLERANCE[dtype])


def test_positions_beyond_the_last_share_its_embedding():
    layer = randomized(PositionEmbedding(3, max_length=4))
    found = layer(torch.zeros(1, 9, 3, dtype=torch.float64), mask_of([9]))[0]
    assert torch.equal(found[:4], layer.weight)
    assert torch.equal(found[4:], layer.weight[3:].expand(5, 3))


def test_there_are_512_embeddings_by_default():
    assert PositionEmbedding(3).weight.shape == (512, 3)


@pytest.mark.parametrize("layer", [SinusoidalPositions(3), PositionEmbedding(3, max_length=5)])
def test_padding_and_batch_mates_change_nothing(layer):
    layer.double()
    lengths = [4, 1, 6]
    x = batch_of(lengths, 3)
    found = layer(x, mask_of(lengths))
    for row, n in enumerate(lengths):
        assert_close(found[row, :n], layer(x[row : row + 1, :n], mask_of([n]))[0], 1e-12)
    assert layer.width == 3
