"""Adadelta, against its equations and against PyTorch's."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from spacy.util import registry
from thinc.api import Linear, Model, Optimizer
from torch import nn

from spacy_psa.models.network_shim import NetworkShim
from spacy_psa.training.optimizers import Adadelta, create_adadelta
from spacy_psa.training.schedules import halving

from .steps import take_steps, take_torch_steps

STEPS = 500


def gradients(shape: tuple[int, ...], steps: int = STEPS) -> list[np.ndarray]:
    """Gradients of magnitudes from 1e-4 to 1e2, some of them zero."""
    rng = np.random.default_rng(1)
    scales = 10.0 ** rng.integers(-4, 3, size=shape)
    zeros = rng.random(size=(steps, *shape)) < 0.1
    values = np.where(zeros, 0.0, rng.normal(size=(steps, *shape))) * scales
    return list(values.astype("f"))


def run(optimizer: Optimizer, weights: np.ndarray) -> np.ndarray:
    return take_steps(optimizer, weights, gradients(weights.shape))


def run_torch(weights: np.ndarray, rates: list[float], **settings: float) -> np.ndarray:
    kind = torch.optim.Adadelta
    return take_torch_steps(kind, weights, gradients(weights.shape), rates, **settings)


@pytest.fixture
def weights() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(6, 5)).astype("f")


@pytest.mark.parametrize("L2", [0.0, 0.1])
@pytest.mark.parametrize(("rho", "eps"), [(0.95, 1e-6), (0.9, 1e-3), (0.0, 1e-6)])
def test_equals_pytorch(weights: np.ndarray, rho: float, eps: float, L2: float) -> None:
    found = run(create_adadelta(1.0, rho, eps, L2), weights)
    expected = run_torch(weights, [1.0] * STEPS, rho=rho, eps=eps, weight_decay=L2)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=2e-6)
    assert np.abs(found - weights).max() > 0.1


def test_equals_its_equations_number_by_number() -> None:
    rho, eps, weight, squares, steps = 0.95, 1e-6, 0.3, 0.0, 0.0
    optimizer, found = create_adadelta(0.5), np.array([0.3], dtype="f")
    for (gradient,) in gradients((1,), steps=50):
        squares = rho * squares + (1 - rho) * gradient**2
        step = math.sqrt(steps + eps) / math.sqrt(squares + eps) * gradient
        steps = rho * steps + (1 - rho) * step**2
        weight -= 0.5 * step
        optimizer((0, "W"), found, np.array([gradient], dtype="f"))
        assert found[0] == pytest.approx(weight, abs=1e-6)
    assert weight != pytest.approx(0.3, abs=1e-3)


def test_follows_a_schedule_as_pytorch_does(weights: np.ndarray) -> None:
    optimizer = create_adadelta(halving(1.0, hold=100, every=100))
    rates = [1.0] * 100 + [0.5 ** (1 + step // 100) for step in range(STEPS - 100)]
    expected = run_torch(weights, rates, rho=0.95, eps=1e-6)
    np.testing.assert_allclose(run(optimizer, weights), expected, rtol=1e-6, atol=2e-6)


@pytest.mark.parametrize("L2", [0.0, 0.01])
def test_learns_a_network_as_pytorch_does(L2: float) -> None:
    def make() -> nn.Module:
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))

    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(16, width, generator=generator) for width in (4, 2))

    def learn(network: nn.Module) -> float:
        loss = (network(x) - y).square().sum()
        loss.backward()
        return float(loss.detach())

    shim, twin = NetworkShim(make), make()
    memory = {name: p.data_ptr() for name, p in shim.build().named_parameters()}
    ours = create_adadelta(L2=L2)
    theirs = torch.optim.Adadelta(twin.parameters(), lr=1.0, rho=0.95, eps=1e-6, weight_decay=L2)
    losses = []
    for _ in range(200):
        losses.append(learn(shim.network))
        shim.finish_update(ours)
        theirs.zero_grad()
        assert learn(twin) == pytest.approx(losses[-1], rel=1e-4)
        theirs.step()
    assert losses[-1] < losses[0] / 2
    for (name, parameter), other in zip(
        shim.network.named_parameters(), twin.parameters(), strict=True
    ):
        torch.testing.assert_close(parameter, other, rtol=1e-4, atol=1e-5)
        assert parameter.data_ptr() == memory[name]


def test_updates_thincs_layers() -> None:
    layer: Model = Linear(2, 3).initialize()
    before = layer.get_param("W").copy()
    _, backprop = layer.begin_update(np.ones((4, 3), dtype="f"))
    backprop(np.ones((4, 2), dtype="f"))
    layer.finish_update(create_adadelta())
    # The gradient is 4 everywhere, and the first step is √ε / √(0.05 · 4² + ε) times that.
    step = 1e-3 / math.sqrt(0.05 * 16 + 1e-6) * 4.0
    np.testing.assert_allclose(layer.get_param("W"), before - step, rtol=1e-4, atol=1e-7)


def test_the_size_of_gradients_hardly_matters(weights: np.ndarray) -> None:
    # The purpose of Adadelta: only ε depends on their scale.
    small, large = weights.copy(), weights.copy()
    one, other = create_adadelta(), create_adadelta()
    for gradient in gradients(weights.shape)[:100]:
        one((0, "W"), small, 100 * gradient + 10)
        other((0, "W"), large, 10000 * gradient + 1000)
    np.testing.assert_allclose(small, large, atol=1e-4)
    assert np.abs(small - weights).max() > 1e-2


def test_each_parameter_has_its_own_averages() -> None:
    optimizer = create_adadelta()
    one, other, alone = (np.zeros(2, dtype="f") for _ in range(3))
    for _ in range(5):
        optimizer((0, "one"), one, np.ones(2, dtype="f"))
    optimizer((0, "other"), other, np.ones(2, dtype="f"))
    create_adadelta()((0, "alone"), alone, np.ones(2, dtype="f"))
    assert other.tolist() == alone.tolist()
    assert one[0] < 5 * other[0] < 0


def test_updates_in_place_and_resets_the_gradient(weights: np.ndarray) -> None:
    gradient = np.ones_like(weights)
    found, zeros = create_adadelta()((0, "W"), weights, gradient)
    assert found is weights
    assert zeros is gradient
    assert not gradient.any()


def test_learn_rate_may_be_scaled(weights: np.ndarray) -> None:
    whole, half = (
        create_adadelta()((0, "W"), weights.copy(), np.ones_like(weights), lr_scale=scale)[0]
        for scale in (1.0, 0.5)
    )
    np.testing.assert_allclose(half - weights, (whole - weights) / 2, atol=1e-6)
    assert (whole < weights).all()


def test_averages_are_those_of_thinc(weights: np.ndarray) -> None:
    ours = create_adadelta(use_averages=True)
    thincs = Optimizer(1.0, L2=0.0, beta1=0.0, beta2=0.0, grad_clip=0.0, use_averages=True)
    found, other = weights.copy(), weights.copy()
    for gradient in gradients(weights.shape)[:50]:
        before = found.copy()
        ours((0, "W"), found, gradient.copy())
        thincs((0, "W"), other, before - found)
    np.testing.assert_allclose(ours.averages[0, "W"], thincs.averages[0, "W"], atol=1e-5)
    assert create_adadelta().averages is None


@pytest.mark.parametrize(
    ("settings", "name"),
    [({"rho": 1.0}, "rho"), ({"rho": -0.1}, "rho"), ({"eps": 0.0}, "eps"), ({"eps": -1.0}, "eps")],
)
def test_values_out_of_range_are_errors(settings: dict[str, float], name: str) -> None:
    with pytest.raises(ValueError, match=rf"P210.*'{name}'"):
        create_adadelta(**settings)


def test_misspelled_attributes_are_refused() -> None:
    with pytest.raises(AttributeError):
        create_adadelta().roh = 0.5


def test_is_made_from_a_config() -> None:
    config = {
        "optimizer": {
            "@optimizers": "spacy_psa.Adadelta.v1",
            "rho": 0.9,
            "eps": 1e-4,
            "learn_rate": {
                "@schedules": "spacy_psa.halving.v1",
                "initial_rate": 0.8,
                "hold": 2,
                "every": 1,
            },
        }
    }
    optimizer = registry.resolve(config)["optimizer"]
    assert isinstance(optimizer, Adadelta)
    assert (optimizer.rho, optimizer.eps) == (0.9, 1e-4)
    rates = []
    for _ in range(4):
        rates.append(optimizer.learn_rate)
        optimizer.step_schedules()
    assert rates == pytest.approx([0.8, 0.8, 0.4, 0.2])


def test_settings_are_the_papers_by_default() -> None:
    optimizer = create_adadelta()
    assert (optimizer.learn_rate, optimizer.rho, optimizer.eps) == (1.0, 0.95, 1e-6)
