"""Dropout with a mask that is shared along an axis."""

import pytest
import torch

from spacy_psa.layers.dropout import SharedDropout

from .helpers import assert_close, normal


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_what_is_shared_is_the_same_along_the_axis(axis):
    torch.manual_seed(0)
    x = normal(6, 7, 8)
    factors = SharedDropout(0.4, axis=axis)(x) / x
    assert torch.allclose(factors, factors.narrow(axis, 0, 1).expand_as(factors))
    assert_close(
        torch.tensor(sorted(set(factors.round(decimals=9).flatten().tolist()))),
        torch.tensor([0.0, 1 / 0.6]),
        1e-6,
    )


def test_what_is_shared_is_dropped_with_the_probability():
    torch.manual_seed(0)
    dropped = (SharedDropout(0.3, axis=1)(torch.ones(100_000, 2)) == 0).double().mean().item()
    assert dropped == pytest.approx(0.3, abs=0.01)


def test_shared_dropout_passes_gradcheck_and_leaves_prediction_alone():
    layer, x = SharedDropout(0.4, axis=1), normal(4, 3, 2).requires_grad_()

    def seeded(x: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(0)
        return layer(x)

    assert torch.autograd.gradcheck(seeded, x)
    assert layer.eval()(x) is x
    assert SharedDropout(0.0, axis=1)(x) is x
