"""Dropout from random bits."""

import pytest
import torch

from spacy_psa.layers import BiLSTM
from spacy_psa.layers.dropout import LEVELS, Dropout, SharedDropout, random_mask

from .helpers import DTYPES, assert_close, normal


@pytest.mark.parametrize("p", [0.1, 0.5, 0.55, 0.999])
def test_values_are_dropped_with_the_probability(p):
    torch.manual_seed(0)
    n = 200_000
    dropped = (Dropout(p)(torch.ones(n)) == 0).double().mean().item()
    assert dropped == pytest.approx(p, abs=5 * (p * (1 - p) / n) ** 0.5 + 1 / LEVELS)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_kept_is_scaled_by_what_it_is_kept_with(dtype):
    torch.manual_seed(0)
    x = normal(50, 7).to(dtype)
    y = Dropout(0.3)(x)
    kept = y != 0
    assert y.dtype == dtype and 0 < kept.sum() < kept.numel()
    assert_close(y[kept], x[kept] * LEVELS / round(0.7 * LEVELS), 1e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_rounded_only_once(dtype):
    torch.manual_seed(0)
    x = normal(50, 7).to(dtype).requires_grad_()
    y = Dropout(0.55)(x)
    y.backward(x.detach())
    kept, scale = y != 0, LEVELS / round(0.45 * LEVELS)
    assert x.dtype == y.dtype == x.grad.dtype and 0 < kept.sum() < kept.numel()
    assert torch.equal(y[kept], (x[kept].float() * scale).to(dtype))
    assert torch.equal(x.grad[kept], y[kept])


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 1001])
def test_each_value_has_a_number_of_its_own(n):
    torch.manual_seed(0)
    masks = torch.stack([random_mask(torch.Size([n]), LEVELS // 2) for _ in range(2000)]).double()
    assert masks.mean(dim=0).sub(0.5).abs().max() < 0.06
    # Adjacent values come from the same integer and must be independent
    both = (masks[:, 1:] * masks[:, :-1]).mean(dim=0)
    assert both.numel() == 0 or both.sub(0.25).abs().max() < 0.05


def test_gradients_pass_where_values_do():
    torch.manual_seed(0)
    x = normal(40).requires_grad_()
    y = Dropout(0.5)(x)
    y.backward(torch.full_like(y, 3.0))
    assert_close(x.grad, torch.where(y != 0, 6.0, 0.0).double(), 1e-12)


def test_gradients_pass_gradcheck():
    layer = Dropout(0.4)

    def seeded(x: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(0)
        return layer(x)

    x = normal(4, 3).requires_grad_()
    assert torch.autograd.gradcheck(seeded, x)
    assert torch.autograd.gradgradcheck(lambda x: seeded(x) ** 2, x)


def test_the_seed_decides():
    layer, x = Dropout(0.5), torch.ones(100)
    outputs = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        outputs.append(layer(x))
    assert torch.equal(outputs[0], outputs[1]) and not torch.equal(outputs[1], outputs[2])


def test_prediction_is_left_alone():
    x = normal(5)
    assert Dropout(0.5).eval()(x) is x


@pytest.mark.parametrize(("p", "factor"), [(0.0, 1.0), (1.0, 0.0)])
def test_all_or_nothing(p, factor):
    x = normal(5)
    assert torch.equal(Dropout(p)(x), factor * x)


def test_shapes_and_strides_do_not_matter():
    torch.manual_seed(0)
    y = Dropout(0.5)(torch.ones(6, 5, 4).transpose(0, 2))
    assert y.shape == (4, 5, 6) and set(y.unique().tolist()) == {0.0, 2.0}
    assert Dropout(0.5)(torch.ones(0, 3)).shape == (0, 3)


def test_layers_have_it_in_place_of_pytorchs():
    layer = BiLSTM(3, hidden_width=4)
    assert isinstance(layer.input_dropout, Dropout) and isinstance(layer.output_dropout, Dropout)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_what_is_shared_is_the_same_along_the_axis(axis):
    torch.manual_seed(0)
    x = normal(6, 7, 8)
    factors = SharedDropout(0.4, axis=axis)(x) / x
    assert torch.allclose(factors, factors.narrow(axis, 0, 1).expand_as(factors))
    kept = round(0.6 * LEVELS) / LEVELS
    assert_close(
        torch.tensor(sorted(set(factors.round(decimals=9).flatten().tolist()))),
        torch.tensor([0.0, 1 / kept]),
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
