"""The optimizers, against PyTorch's and against their equations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from spacy.util import registry
from thinc.api import Adam, Optimizer
from torch import nn

from spacy_psa.models.network_shim import NetworkShim
from spacy_psa.training.optimizers import (
    create_adadelta,
    create_adamw,
    create_sgd,
)
from spacy_psa.training.schedules import halving, inverse_epoch_decay

STEPS = 300
# Ours, and PyTorch's with the same settings
PAIRS: dict[str, tuple[Callable[..., Any], Callable[..., Any], dict[str, Any], dict[str, Any]]] = {
    "sgd": (create_sgd, torch.optim.SGD, {"momentum": 0.9}, {"momentum": 0.9}),
    "sgd, less momentum": (create_sgd, torch.optim.SGD, {"momentum": 0.5}, {"momentum": 0.5}),
    "sgd, no momentum": (create_sgd, torch.optim.SGD, {"momentum": 0.0}, {}),
    "adadelta": (create_adadelta, torch.optim.Adadelta, {}, {"rho": 0.95, "eps": 1e-6}),
    "adadelta, other": (
        create_adadelta,
        torch.optim.Adadelta,
        {"rho": 0.9, "eps": 1e-3},
        {"rho": 0.9, "eps": 1e-3},
    ),
    "adamw": (create_adamw, torch.optim.AdamW, {}, {}),
    "adamw, other": (
        create_adamw,
        torch.optim.AdamW,
        {"beta1": 0.8, "beta2": 0.9, "eps": 1e-3},
        {"betas": (0.8, 0.9), "eps": 1e-3},
    ),
}
pairs = pytest.mark.parametrize(("ours", "theirs", "mine", "settings"), PAIRS.values(), ids=PAIRS)


def gradients(shape: tuple[int, ...], steps: int = STEPS) -> list[np.ndarray]:
    """Gradients of magnitudes from 1e-4 to 1e2, some of them zero."""
    rng = np.random.default_rng(1)
    scales = 10.0 ** rng.integers(-4, 3, size=shape)
    zeros = rng.random(size=(steps, *shape)) < 0.1
    values = np.where(zeros, 0.0, rng.normal(size=(steps, *shape))) * scales
    return list(values.astype("f"))


def run(optimizer: Optimizer, weights: np.ndarray) -> np.ndarray:
    weights = weights.copy()
    for gradient in gradients(weights.shape):
        weights, _ = optimizer((0, "W"), weights, gradient)
        optimizer.step_schedules()
    return weights


def run_torch(kind: Callable[..., Any], weights: np.ndarray, rates: Any, **settings: Any) -> Any:
    parameter = nn.Parameter(torch.tensor(weights))
    optimizer = kind([parameter], lr=1.0, **settings)
    for step, gradient in enumerate(gradients(weights.shape)):
        optimizer.param_groups[0]["lr"] = rates(step)
        parameter.grad = torch.tensor(gradient)
        optimizer.step()
    return parameter.detach().numpy()


@pytest.fixture
def weights() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(6, 5)).astype("f")


@pairs
@pytest.mark.parametrize("L2", [0.0, 0.1])
def test_equals_pytorch(
    weights: np.ndarray,
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    mine: dict[str, Any],
    settings: dict[str, Any],
    L2: float,
) -> None:
    found = run(ours(0.05, L2=L2, **mine), weights)
    expected = run_torch(theirs, weights, lambda step: 0.05, weight_decay=L2, **settings)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-6)
    assert np.abs(found - weights).max() > 0.005


def test_the_weight_decay_of_adamw_is_that_of_thinc(weights: np.ndarray) -> None:
    found = run(create_adamw(0.01, L2=0.1), weights)
    expected = run(Adam(0.01, L2=0.1, grad_clip=0.0), weights)
    np.testing.assert_allclose(found, expected, atol=2e-3)
    assert np.abs(run(create_adamw(0.01, L2=0.0), weights) - expected).max() > 0.05


def test_adadelta_equals_its_equations_number_by_number() -> None:
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


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        (
            lambda: inverse_epoch_decay(0.1, 0.5, steps_per_epoch=6),
            lambda step: 0.1 / (1 + 0.5 * (step // 6)),
        ),
        (
            lambda: halving(1.0, hold=100, every=100),
            lambda step: 1.0 if step < 100 else 0.5 ** (step // 100),
        ),
    ],
    ids=["inverse decay", "halving"],
)
def test_follows_a_schedule_as_pytorch_does(
    weights: np.ndarray, schedule: Callable[[], Any], rates: Callable[[int], float]
) -> None:
    expected = run_torch(torch.optim.SGD, weights, rates, momentum=0.9)
    np.testing.assert_allclose(run(create_sgd(schedule()), weights), expected, rtol=1e-4, atol=1e-4)


@pairs
def test_learns_a_network_as_pytorch_does(
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    mine: dict[str, Any],
    settings: dict[str, Any],
) -> None:
    def make() -> nn.Module:
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))

    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(16, width, generator=generator) for width in (4, 2))

    def learn(network: nn.Module) -> float:
        loss = (network(x) - y).square().mean()
        loss.backward()
        return float(loss.detach())

    shim, twin = NetworkShim(make), make()
    memory = {name: p.data_ptr() for name, p in shim.build().named_parameters()}
    optimizer = ours(0.05, L2=0.01, **mine)
    other = theirs(twin.parameters(), lr=0.05, weight_decay=0.01, **settings)
    before = [parameter.detach().clone() for parameter in twin.parameters()]
    for _ in range(50):
        found = learn(shim.network)
        shim.finish_update(optimizer)
        other.zero_grad()
        assert learn(twin) == pytest.approx(found, rel=1e-4)
        other.step()
    for (name, parameter), expected, old in zip(
        shim.network.named_parameters(), twin.parameters(), before, strict=True
    ):
        torch.testing.assert_close(parameter, expected, rtol=1e-3, atol=1e-5)
        assert not torch.equal(expected, old)
        assert parameter.data_ptr() == memory[name]
        assert parameter.grad is None


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("SGD", {"momentum": 0.5}),
        ("Adadelta", {"rho": 0.5, "eps": 0.1}),
        ("AdamW", {"beta1": 0.5, "beta2": 0.6, "eps": 0.1}),
    ],
)
def test_is_made_from_a_config(name: str, settings: dict[str, float]) -> None:
    schedule = {
        "@schedules": "spacy_psa.halving.v1",
        "initial_rate": 0.8,
        "hold": 2,
        "every": 1,
    }
    block = {"@optimizers": f"spacy_psa.{name}.v1", "learn_rate": schedule, **settings}
    optimizer = registry.resolve({"optimizer": block})["optimizer"]
    assert optimizer.step.keywords == settings
    rates = []
    for _ in range(4):
        rates.append(optimizer.learn_rate)
        optimizer.step_schedules()
    assert rates == pytest.approx([0.8, 0.8, 0.4, 0.2])


def test_settings_are_the_papers_by_default() -> None:
    sgd, adadelta = create_sgd(), create_adadelta()
    assert (sgd.learn_rate, sgd.L2, sgd.step.keywords) == (0.015, 0.0, {"momentum": 0.9})
    assert adadelta.learn_rate == 1.0
    assert adadelta.step.keywords == {"rho": 0.95, "eps": 1e-6}
