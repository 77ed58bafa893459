"""Log-semiring matrix products by ordinary matrix products, against logsumexp."""

import numpy as np
import pytest

from spacy_psa.inference.engines.log_domain import logsumexp
from spacy_psa.inference.engines.log_product import LogProduct, mixture_entropy


def drawn(shape: tuple[int, int], scale: float, forbidden: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=shape) * scale
    scores[rng.random(shape) < forbidden] = -np.inf
    return scores


# At the largest scale, scores are further apart than exponentials can represent
@pytest.mark.parametrize("scale", [1.0, 100.0, 1e4])
@pytest.mark.parametrize("forbidden", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("n_columns", [1, 6])
def test_equals_summing_one_by_one(scale, forbidden, n_columns):
    values = drawn((40, 5), scale, forbidden, 1)
    scores = drawn((5, n_columns), scale, forbidden, 2)
    product = LogProduct(scores)
    summands = values[:, None, :] + scores.T
    np.testing.assert_allclose(product(values), logsumexp(summands), rtol=1e-12)
    entropies = np.random.default_rng(3).random((40, 5))
    np.testing.assert_allclose(
        product.entropy(values, entropies),
        mixture_entropy(summands, entropies[:, None, :]),
        rtol=1e-9,
        atol=1e-11,
    )


def test_only_way_on_lies_beyond_the_range_of_exponentials():
    # Label 0 is by far the best, but a dead end
    product = LogProduct(np.array([[-np.inf, 0.0], [0.0, -5000.0]]))
    assert product(np.array([[0.0, -3000.0]])).tolist() == [[-3000.0, 0.0]]
    assert product.entropy(np.array([[0.0, -3000.0]]), np.array([[1.0, 2.0]])).tolist() == [
        [2.0, 1.0]
    ]
