"""Clipping of the global norm over thinc's and PyTorch's parameters, against PyTorch's."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from thinc.api import Linear, Model, PyTorchWrapper, chain
from torch import nn

from spacy_psa.models.updating import (
    all_finite,
    clipping_scale,
    global_norm,
    gradients_of,
    scale_gradients,
    sum_of_squares,
)


def mixed_model() -> Model:
    """Layers of both kinds, with gradients."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 4))
    model = chain(Linear(3, 2), PyTorchWrapper(module), Linear(2, 4)).initialize()
    rng = np.random.default_rng(0)
    for node in model.walk():
        for name in node.param_names:
            shape = node.get_param(name).shape
            node.set_grad(name, rng.normal(size=shape).astype("f"))
    for parameter in module.parameters():
        parameter.grad = torch.randn(parameter.shape)
    return model


def gradients(model: Model) -> list[torch.Tensor]:
    found = []
    for node in model.walk():
        found.extend(torch.tensor(node.get_grad(name)) for name in node.grad_names)
        for shim in node.shims:
            grads = (parameter.grad for parameter in shim._model.parameters())
            found.extend(grad.clone() for grad in grads if grad is not None)
    return found


def norm_of(model: Model) -> float:
    return global_norm(gradients_of(model))


@pytest.mark.parametrize("max_norm", [0.1, 1.0, 5.0, 1000.0])
def test_equals_pytorch(max_norm: float) -> None:
    model = mixed_model()
    parameters = [nn.Parameter(torch.zeros_like(gradient)) for gradient in gradients(model)]
    for parameter, gradient in zip(parameters, gradients(model), strict=True):
        parameter.grad = gradient
    expected_norm = nn.utils.clip_grad_norm_(parameters, max_norm)
    norm = norm_of(model)
    assert norm == pytest.approx(float(expected_norm), rel=1e-6)
    assert len(parameters) == 8
    scale = clipping_scale(norm, max_norm)
    for found, parameter in zip(gradients(model), parameters, strict=True):
        torch.testing.assert_close(found * scale, parameter.grad, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_all_gradients_are_scaled(scale: float) -> None:
    model = mixed_model()
    before = gradients(model)
    scale_gradients(model, scale)
    for found, old in zip(gradients(model), before, strict=True):
        torch.testing.assert_close(found, old * scale)
    scale_gradients(Linear(2, 3).initialize(), 0.5)  # has none


@pytest.mark.parametrize("max_norm", [10.0, 1e6, math.inf, None])
def test_a_small_norm_is_left_alone(max_norm: float | None) -> None:
    assert clipping_scale(10.0, max_norm) == 1.0


def test_a_norm_that_is_unknown_is_left_alone() -> None:
    assert clipping_scale(math.nan, 1.0) == 1.0


@pytest.mark.parametrize("size", [1e-30, 1e-20, 1e-3, 1e15, 1e25])
def test_squares_may_be_beyond_what_float32_holds(size: float) -> None:
    module = nn.Linear(30, 20)
    for parameter in module.parameters():
        parameter.grad = torch.full_like(parameter, size)
    model = PyTorchWrapper(module)
    n = sum(parameter.numel() for parameter in module.parameters())
    assert norm_of(model) == pytest.approx(size * n**0.5, rel=1e-5)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_noticed(bad: float) -> None:
    tensors = [torch.zeros(4), torch.tensor([1.0, bad]), torch.zeros(0)]
    assert not math.isfinite(sum_of_squares(tensors))
    assert sum_of_squares(tensors[::2]) == 0.0
    module = nn.Linear(2, 1)
    for parameter in module.parameters():
        parameter.grad = torch.full_like(parameter, bad)
    assert not math.isfinite(norm_of(PyTorchWrapper(module)))


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, 1e30, 3e38])
def test_numbers_are_finite_even_if_their_squares_are_not(number: float) -> None:
    tensors = [torch.zeros(4), torch.tensor([1.0, number]), torch.zeros(0)]
    assert all_finite(tensors) == math.isfinite(number)
    assert all_finite([]) and all_finite(tensors[::2])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_squares_are_added_up_in_any_precision(dtype: torch.dtype) -> None:
    values = torch.arange(300, dtype=dtype).view(20, 15).t()
    assert sum_of_squares([values]) == pytest.approx(
        float(values.double().square().sum()), rel=1e-6
    )


def test_a_model_without_gradients_has_the_norm_zero() -> None:
    assert norm_of(Linear(2, 3).initialize()) == 0.0
    assert norm_of(PyTorchWrapper(nn.Linear(2, 3))) == 0.0


def test_parameters_without_gradients_do_not_count() -> None:
    module = nn.Linear(2, 3)
    module.bias.grad = torch.full((3,), 2.0)
    assert norm_of(PyTorchWrapper(module)) == pytest.approx(np.sqrt(12.0))
    assert module.weight.grad is None
