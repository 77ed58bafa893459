"""Tables of distances against loops over pairs, whether they are kept or computed."""

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from spacy_psa.layers import GaussianBias, PSABias
from spacy_psa.layers.distances import (
    MOST_KEPT,
    clipped_distances,
    clipped_offsets,
    gaussian,
)

from .helpers import DTYPES, TOLERANCE, assert_close, normal

SIZES = [1, 2, 7, 30, MOST_KEPT, MOST_KEPT + 1]
EXPECTED = {
    clipped_distances: lambda i, j, most: min(abs(i - j), most),
    clipped_offsets: lambda i, j, most: max(-most, min(most, i - j)) + most,
    gaussian: lambda i, j, epsilon: -((i - j) ** 2) / (2 * epsilon**2),
}


def expected(table, n: int, setting: float) -> np.ndarray:
    value = EXPECTED[table]
    return np.array([[value(i, j, setting) for j in range(n)] for i in range(n)])


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("most", [0, 1, 10, 1000])
@pytest.mark.parametrize("table", [clipped_distances, clipped_offsets])
def test_integers_equal_their_definition(table, most, n, device):
    actual = table(n, most, like=torch.zeros(1, device=device))
    assert actual.dtype == torch.int64
    assert actual.device.type == device.type
    np.testing.assert_array_equal(actual.cpu().numpy(), expected(table, n, most))


@pytest.mark.parametrize("dtype", [*DTYPES, torch.bfloat16])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("epsilon", [0.5, 5.0])
def test_gaussian_equals_its_definition_in_the_type_of_the_tokens(epsilon, n, dtype, device):
    actual = gaussian(n, epsilon, like=torch.zeros(1, dtype=dtype, device=device))
    assert actual.dtype == dtype
    tolerance = TOLERANCE.get(dtype, 0.01)
    np.testing.assert_allclose(
        actual.double().cpu().numpy(), expected(gaussian, n, epsilon), rtol=tolerance
    )


def test_settings_of_several_layers_are_not_confused():
    like = torch.zeros(1)
    for most in (2, 4, 2, 8, 4):
        np.testing.assert_array_equal(
            clipped_distances(9, most, like=like).numpy(), expected(clipped_distances, 9, most)
        )
        np.testing.assert_array_equal(
            clipped_offsets(9, most, like=like).numpy(), expected(clipped_offsets, 9, most)
        )


def test_a_table_made_in_prediction_can_be_used_in_training():
    # A setting that no other test uses, so that inference mode is what makes the table
    bias = PSABias(3, max_distance=17, window=17.5)
    x = normal(2, 6, 3).float()
    with torch.inference_mode():
        predicted = bias(x).clone()
    x.requires_grad_()
    trained = bias(x)
    trained.sum().backward()
    assert x.grad is not None
    assert_close(trained, predicted.numpy(), 1e-6)


def test_biases_leave_tables_as_they_are():
    x = normal(2, 11, 3).float()
    before = GaussianBias(10)(x).clone()
    for _ in range(2):
        bias = PSABias(3, self_mask=True, gaussian=True, token_position=True, window=10)
        bias(x.requires_grad_()).sum().backward()
    assert_close(GaussianBias(10)(x), before.numpy(), 0)


def test_tracing_computes_tables():
    # A kept table has numbers, which a tensor without numbers cannot be combined with
    with FakeTensorMode():
        x = torch.zeros(1, 9, 3)
        traced = gaussian(9, 5.0, like=x) + x.sum()
    assert traced.shape == (9, 9)
