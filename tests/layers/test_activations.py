"""tanh computed with exponentials against PyTorch's."""

import math

import pytest
import torch
from torch import Tensor

from spacy_psa.layers import activations, processor
from spacy_psa.layers.activations import tanh, write_tanh

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
MANY = activations.FEW_NUMBERS // 4


@pytest.fixture(autouse=True, params=[False, True], ids=["exponentials", "MKL"])
def has_fast_mkl(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activations, "has_fast_mkl", lambda: request.param)


def numbers(dtype: torch.dtype) -> Tensor:
    x = torch.tensor([0.0, -0.0, 1e-8, 1e-3, 0.5, -2.0, 30.0, 1e38, -math.inf, math.nan])
    return x.to(dtype)


@pytest.mark.parametrize("times", [1, MANY], ids=["few", "many"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_equals_pytorch(dtype, times, device):
    x = numbers(dtype).repeat(times).to(device)
    expected = torch.tanh(x)
    torch.testing.assert_close(
        tanh(x), expected, rtol=0.0, atol=torch.finfo(dtype).eps, equal_nan=True
    )


def test_does_not_depend_on_the_position_on_this_processor(monkeypatch):
    monkeypatch.setattr(activations, "has_fast_mkl", processor.has_fast_mkl)
    x = 3.0 * torch.randn(70_000, generator=torch.Generator().manual_seed(0))
    whole = tanh(x)
    for n in [*range(1, 70), 1000, 4097, 65_537]:
        for start in (0, 1, 7, 33):
            part = slice(start, start + n)
            assert torch.equal(tanh(x[part].clone()), whole[part])
    assert torch.equal(tanh(x.view(700, 100).t()).t().flatten(), whole)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_small_numbers_stay_precise_in_half_precision(dtype):
    x = torch.full((10 * MANY,), 1e-3, dtype=dtype)
    torch.testing.assert_close(tanh(x), x, rtol=torch.finfo(dtype).eps, atol=0.0)


@pytest.mark.parametrize("times", [1, MANY], ids=["few", "many"])
def test_is_written_where_it_may_be_and_nowhere_else(times):
    x = numbers(torch.float32).repeat(times)
    kept = x.clone()
    result = tanh(x)
    torch.testing.assert_close(x, kept, rtol=0.0, atol=0.0, equal_nan=True)
    assert tanh(x, overwrite=True) is x
    torch.testing.assert_close(x, result, rtol=0.0, atol=0.0, equal_nan=True)


@pytest.mark.parametrize("few", [0, 100], ids=["many", "few"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_may_be_written_anywhere(dtype, few, monkeypatch):
    monkeypatch.setattr(activations, "FEW_NUMBERS", few)
    x = numbers(dtype)
    expected, out = torch.tanh(x), torch.empty_like(x)
    assert write_tanh(x, out=out) is out
    assert write_tanh(x, out=x) is x
    for result in (x, out):
        torch.testing.assert_close(
            result, expected, rtol=0.0, atol=torch.finfo(dtype).eps, equal_nan=True
        )


def test_a_number_is_the_same_among_few_and_among_many():
    x = torch.randn(10 * MANY)
    for size in (1, 7, 100):
        assert torch.equal(tanh(x), torch.cat([tanh(part) for part in x.split(size)]))


def test_gradient_passes_gradcheck_and_nothing_is_overwritten():
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: tanh(x, overwrite=True), x)
