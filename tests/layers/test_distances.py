"""Distances against loops over pairs."""

import numpy as np
import pytest
import torch

from spacy_psa.layers import GaussianBias
from spacy_psa.layers.position_bias import clipped_distances, clipped_offsets

from .helpers import DTYPES, TOLERANCE

SIZES = [1, 2, 7, 30]
EXPECTED = {
    clipped_distances: lambda i, j, most: min(abs(i - j), most),
    clipped_offsets: lambda i, j, most: max(-most, min(most, i - j)) + most,
}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("most", [0, 1, 10, 1000])
@pytest.mark.parametrize("table", EXPECTED)
def test_integers_equal_their_definition(table, most, n, device):
    actual = table(n, most, like=torch.zeros(1, device=device))
    assert actual.dtype == torch.int64
    assert actual.device.type == device.type
    expected = [[EXPECTED[table](i, j, most) for j in range(n)] for i in range(n)]
    np.testing.assert_array_equal(actual.cpu().numpy(), expected)


@pytest.mark.parametrize("dtype", [*DTYPES, torch.bfloat16])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("window", [1, 10])
def test_gaussian_equals_its_definition_in_the_type_of_the_tokens(window, n, dtype, device):
    (actual,) = GaussianBias(window)(torch.zeros(2, n, 3, dtype=dtype, device=device))
    assert actual.dtype == dtype
    expected = [[-((i - j) ** 2) / (window**2 / 2) for j in range(n)] for i in range(n)]
    found = actual.double().cpu().numpy()
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE.get(dtype, 0.01))
