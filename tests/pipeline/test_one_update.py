"""Updates that clip gradients and check weights on the way, against doing so before and after."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from thinc.api import SGD, Adam, Linear, Model, Optimizer, chain
from torch import nn

from spacy_psa.models.network_shim import NetworkShim
from spacy_psa.models.updating import LeavesGradient
from spacy_psa.pipeline.update import update_by
from spacy_psa.training.clipping import gradients_of
from spacy_psa.training.optimizers import create_adadelta, create_sgd

OPTIMIZERS = {
    "thinc_sgd": lambda: SGD(0.1, grad_clip=0.0),
    "thinc_adam": lambda: Adam(0.1, grad_clip=0.0),
    "momentum": lambda: create_sgd(0.1, 0.9, use_averages=True),
    "momentum_and_L2": lambda: create_sgd(0.1, 0.9, L2=0.1),
    "no_momentum": lambda: create_sgd(0.1, 0.0, L2=0.1),
    "adadelta": lambda: create_adadelta(eps=1e-2),
}


def network(shim: NetworkShim) -> Model:
    """A node for a network, which is not run."""
    return Model("network", lambda model, X, is_train: (X, lambda dX: dX), shims=[shim])


def make_model() -> tuple[Model, NetworkShim]:
    """A model with thinc's layers and a network, some of whose weights are not contiguous."""
    torch.manual_seed(0)
    shim = NetworkShim(lambda: nn.Linear(5, 4))
    shim.build()
    shim.network.extra = nn.Parameter(torch.randn(4, 3).t())
    layer = Linear(2, 3, init_W=lambda ops, shape: ops.asarray2f(np.arange(6.0).reshape(shape)))
    return chain(layer, network(shim)).initialize(), shim


def set_gradients(model: Model, step: int) -> None:
    rng = np.random.default_rng(step)
    for node in model.walk():
        for name in node.param_names:
            node.set_grad(name, rng.normal(size=node.get_param(name).shape).astype("f"))
        for shim in node.shims:
            for parameter in shim._model.parameters():
                drawn = rng.normal(size=tuple(parameter.shape)).astype("f")
                parameter.grad = torch.empty_like(parameter).copy_(torch.from_numpy(drawn))


def weights_of(model: Model, shim: NetworkShim) -> list[np.ndarray]:
    arrays = [node.get_param(name) for node in model.walk() for name in node.param_names]
    tensors = (parameter.detach().numpy() for parameter in shim.network.parameters())
    return [array.copy() for array in (*arrays, *tensors)]


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_equals_an_optimizer_whose_gradients_are_scaled_first(
    make: Callable[[], Optimizer],
) -> None:
    found, expected, untouched = (make_model() for _ in range(3))
    optimizers = [make() for _ in range(3)]
    for step in range(4):
        for model, _ in (found, expected, untouched):
            set_gradients(model, step)
        for gradient in gradients_of(expected[0]):
            gradient.mul_(0.25)
        update = update_by(optimizers[0], 0.25)
        found[0].finish_update(update)
        expected[0].finish_update(optimizers[1])
        untouched[0].finish_update(update_by(optimizers[2]))
        assert update.is_finite
    for a, b in zip(weights_of(*found), weights_of(*expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    # Without which the test would show nothing. Adam's steps hardly depend on the scale
    pairs = list(zip(weights_of(*found), weights_of(*untouched), strict=True))
    assert len(pairs) == 5
    assert not any(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_our_optimizers_leave_gradients_to_whoever_drops_them(scale: float) -> None:
    ours, theirs = (update_by(make(), scale) for make in (create_sgd, lambda: SGD(0.1)))
    assert isinstance(ours, LeavesGradient)
    assert not isinstance(theirs, LeavesGradient)
    weights, gradient = torch.ones(3), torch.ones(3)
    ours.update_only((0, "W"), weights, gradient)
    assert gradient.any()
    assert (weights < 1.0).all()


def add(number: float) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """An optimizer that adds a number to the first weight of a parameter that has two or more."""

    def optimizer(
        key: tuple[int, str], weights: np.ndarray, gradient: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        if weights.size > 1:
            weights.reshape(-1)[:1] += number
        return weights, gradient

    return optimizer


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, 1e30, 3e38])
@pytest.mark.parametrize("in_network", [False, True])
def test_weights_that_are_not_finite_are_noticed(number: float, in_network: bool) -> None:
    model, shim = make_model()
    set_gradients(model, 0)
    update = update_by(add(number))
    (network(shim) if in_network else model.layers[0]).finish_update(update)
    assert update.is_finite == math.isfinite(number)


def test_a_step_of_our_optimizers_that_is_too_large_is_noticed() -> None:
    model, _ = make_model()
    set_gradients(model, 0)
    optimizer = create_sgd()
    optimizer.learn_rate = math.inf  # create_sgd refuses it
    update = update_by(optimizer)
    model.finish_update(update)
    assert not update.is_finite


def test_an_update_of_nothing_is_finite() -> None:
    update = update_by(create_sgd())
    assert update.is_finite
    update.update_only((0, "W"), torch.zeros(0), torch.zeros(0))
    assert update.is_finite
