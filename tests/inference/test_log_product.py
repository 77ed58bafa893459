"""Products in the log semiring, which are products of matrices where their range suffices."""

import pytest
import torch
from torch import Tensor

from spacy_psa.inference.engines.trellis import LogMatMul
from spacy_psa.inference.entropy import mixture_entropy, through

INF = float("inf")


def drawn(*shape: int, scale: float, forbidden: float, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(shape, generator=generator, dtype=torch.float64) * scale
    return scores.masked_fill(torch.rand(shape, generator=generator) < forbidden, -INF)


# At the largest scale, scores are further apart than exponentials can represent
@pytest.mark.parametrize("scale", [1.0, 100.0, 1e4])
@pytest.mark.parametrize("forbidden", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("shape", [(5, 1), (5, 6), (40, 5, 6)], ids=str)
def test_equals_summing_one_by_one(scale: float, forbidden: float, shape: tuple[int, ...]) -> None:
    values = drawn(40, 5, scale=scale, forbidden=forbidden, seed=1)
    scores = drawn(*shape, scale=scale, forbidden=forbidden, seed=2)
    ways = values.unsqueeze(1) + scores.mT
    found = LogMatMul.apply(values, scores)
    torch.testing.assert_close(found, torch.logsumexp(ways, dim=2), rtol=1e-12, atol=1e-12)
    entropies = torch.rand(40, 5, generator=torch.Generator().manual_seed(3)).double()
    expected = mixture_entropy(ways, entropies.unsqueeze(1))
    found = through(values, scores, entropies)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)


def test_only_way_on_lies_beyond_the_range_of_exponentials() -> None:
    # Label 0 is by far the best, but a dead end
    scores = torch.tensor([[-INF, 0.0], [0.0, -5000.0]]).double()
    values = torch.tensor([[0.0, -3000.0]]).double()
    assert LogMatMul.apply(values, scores).tolist() == [[-3000.0, 0.0]]
    entropies = torch.tensor([[1.0, 2.0]]).double()
    assert through(values, scores, entropies).tolist() == [[2.0, 1.0]]


def test_no_number_in_one_row_leaves_the_others_alone() -> None:
    # The second row is beyond the range of exponentials, too
    scores = torch.tensor([[-INF, 0.0], [0.0, -5000.0]]).double()
    values = torch.tensor([[torch.nan, 0.0], [0.0, -3000.0]]).double()
    found = LogMatMul.apply(values, scores)
    assert bool(found[0].isnan().any())
    assert found[1].tolist() == [-3000.0, 0.0]
