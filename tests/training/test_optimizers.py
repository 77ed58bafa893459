"""SGD with momentum, against PyTorch's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from spacy.util import registry
from thinc.api import Linear, Model, Optimizer

from spacy_psa.training.optimizers import MomentumSGD, create_adadelta, create_sgd
from spacy_psa.training.paper_optimizer import BLOCK, _average
from spacy_psa.training.schedules import inverse_epoch_decay

from .steps import take_steps, take_torch_steps

STEPS = 20


def gradients(shape: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.normal(size=shape).astype("f") for _ in range(STEPS)]


def run(optimizer: Optimizer, weights: np.ndarray, *, step_schedules: bool = False) -> np.ndarray:
    return take_steps(optimizer, weights, gradients(weights.shape), step_schedules=step_schedules)


def run_torch(weights: np.ndarray, rates: list[float], **settings: float) -> np.ndarray:
    return take_torch_steps(torch.optim.SGD, weights, gradients(weights.shape), rates, **settings)


@pytest.fixture
def weights() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(4, 3)).astype("f")


@pytest.mark.parametrize("L2", [0.0, 0.1])
@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
def test_equals_pytorch(weights: np.ndarray, momentum: float, L2: float) -> None:
    found = run(create_sgd(0.05, momentum, L2), weights)
    expected = run_torch(weights, [0.05] * STEPS, momentum=momentum, weight_decay=L2)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_tables_larger_than_a_block_are_updated_alike() -> None:
    weights = np.random.default_rng(0).normal(size=(3, BLOCK // 2 + 1)).astype("f")
    found = run(create_sgd(0.05, 0.9, 0.1), weights)
    expected = run_torch(weights, [0.05] * STEPS, momentum=0.9, weight_decay=0.1)
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("make", [create_sgd, create_adadelta])
def test_the_layout_of_a_parameter_makes_no_difference(
    make: Callable[..., Optimizer], weights: np.ndarray
) -> None:
    ours, theirs = make(use_averages=True), make(use_averages=True)
    expected = run(ours, weights)
    found = weights.T.copy().T
    assert not found.flags.c_contiguous
    for gradient in gradients(weights.shape):
        found, _ = theirs((0, "W"), found, gradient.T.copy().T)
    # Up to the last digit: what is contiguous is updated in one pass
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(theirs.averages[0, "W"], ours.averages[0, "W"], rtol=1e-5)


@pytest.mark.parametrize("of_tensors", [False, True], ids=["arrays", "tensors"])
@pytest.mark.parametrize("make", [create_sgd, create_adadelta])
def test_an_update_equals_a_call_but_for_the_gradient(
    make: Callable[..., Optimizer], of_tensors: bool, weights: np.ndarray
) -> None:
    called, updated = make(use_averages=True, L2=0.1), make(use_averages=True, L2=0.1)
    expected, found = weights.copy(), weights.copy()
    for gradient in gradients(weights.shape):
        called((0, "W"), expected, gradient.copy(), lr_scale=0.5)
        given = (found, gradient)
        if of_tensors:  # that share the memory of the arrays
            given = torch.from_numpy(found), torch.from_numpy(gradient)
        updated.update_only((0, "W"), *given, lr_scale=0.5)
        assert gradient.any()
    np.testing.assert_array_equal(found, expected)
    for kept, wanted in zip(updated.moments, called.moments, strict=True):
        assert isinstance(kept[0, "W"], np.ndarray)
        np.testing.assert_array_equal(kept[0, "W"], wanted[0, "W"])
    np.testing.assert_array_equal(called.averages[0, "W"], updated.averages[0, "W"])


@pytest.mark.parametrize("make", [create_sgd, create_adadelta])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (3, 2)], ids=str)
def test_arrays_of_any_shape_and_precision_are_updated(
    make: Callable[..., Optimizer], dtype: str, shape: tuple[int, ...]
) -> None:
    optimizer = make(use_averages=True)
    weights, gradient = np.ones(shape, dtype=dtype), np.full(shape, 0.5, dtype=dtype)
    found, _ = optimizer((0, "W"), weights, gradient)
    assert found is weights and found.dtype == dtype
    assert (found < 1.0).all() and not gradient.any()
    assert optimizer.averages[0, "W"].dtype == np.float32
    assert optimizer.averages[0, "W"].shape == shape


@pytest.mark.parametrize("which", [0, 1], ids=["weights", "gradient"])
def test_what_is_read_only_is_an_error_and_stays(which: int) -> None:
    arrays = [np.ones(3, dtype="f"), np.ones(3, dtype="f")]
    arrays[which].flags.writeable = False
    with pytest.raises(ValueError, match=r"P214.*read-only"):
        create_sgd()((0, "W"), *arrays)
    assert all((array == 1.0).all() for array in arrays)


def test_arrays_that_go_backwards_are_an_error_and_stay() -> None:
    array = np.ones(3, dtype="f")
    with pytest.raises(ValueError, match="negative"):
        create_sgd()((0, "W"), array[::-1], np.ones(3, dtype="f"))
    assert (array == 1.0).all()


def test_momentum_makes_a_difference(weights: np.ndarray) -> None:
    with_it, without = (run(create_sgd(0.05, momentum), weights) for momentum in (0.9, 0.0))
    assert np.abs(with_it - without).max() > 0.1


def test_follows_a_schedule_as_pytorch_does(weights: np.ndarray) -> None:
    optimizer = create_sgd(inverse_epoch_decay(0.1, 0.5, steps_per_epoch=6))
    rates = [0.1 / (1 + 0.5 * (step // 6)) for step in range(STEPS)]
    found = run(optimizer, weights, step_schedules=True)
    np.testing.assert_allclose(found, run_torch(weights, rates, momentum=0.9), atol=1e-6)


def test_learn_rate_may_be_scaled(weights: np.ndarray) -> None:
    gradient = np.ones_like(weights)
    found, _ = create_sgd(0.1)((0, "W"), weights.copy(), gradient, lr_scale=0.5)
    np.testing.assert_allclose(found, weights - 0.05, rtol=1e-6)


def test_updates_in_place_and_resets_the_gradient(weights: np.ndarray) -> None:
    gradient = np.ones_like(weights)
    found, zeros = create_sgd()((0, "W"), weights, gradient)
    assert found is weights
    assert zeros is gradient
    assert not gradient.any()


def test_each_parameter_has_its_own_velocity() -> None:
    optimizer = create_sgd(1.0, 0.5)
    one, other = np.zeros(2, dtype="f"), np.zeros(2, dtype="f")
    for _ in range(2):
        optimizer((0, "one"), one, np.ones(2, dtype="f"))
    optimizer((0, "other"), other, np.ones(2, dtype="f"))
    assert one.tolist() == [-2.5, -2.5]
    assert other.tolist() == [-1.0, -1.0]


def test_without_averages_there_are_none(weights: np.ndarray) -> None:
    optimizer = create_sgd()
    run(optimizer, weights)
    assert optimizer.averages is None


def test_averages_are_those_of_thinc(weights: np.ndarray) -> None:
    ours = create_sgd(0.05, 0.0, use_averages=True)
    thincs = Optimizer(0.05, L2=0.0, beta1=0.0, beta2=0.0, grad_clip=0.0, use_averages=True)
    run(ours, weights)
    run(thincs, weights)
    found, expected = ours.averages[0, "W"], thincs.averages[0, "W"]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert np.abs(expected - weights).max() > 0.01


def test_late_averages_are_those_of_thinc(weights: np.ndarray) -> None:
    ours = create_sgd(0.05, 0.0, use_averages=True)
    thincs = Optimizer(0.05, L2=0.0, beta1=0.0, beta2=0.0, grad_clip=0.0, use_averages=True)
    averages = []
    for optimizer in (ours, thincs):
        optimizer.nr_update[0, "W"] = 1_000_000
        run(optimizer, weights)
        assert optimizer.averages is not None
        averages.append(np.asarray(optimizer.averages[0, "W"]))
    np.testing.assert_allclose(averages[0], averages[1], rtol=1e-4)


@pytest.mark.parametrize("step", [90_000, 1_000_000])
def test_averages_are_of_ten_thousand_steps_at_most(step: int) -> None:
    averages = torch.zeros(2, dtype=torch.float64)
    _average(averages, torch.ones(2), step)
    assert averages.tolist() == pytest.approx([1e-4, 1e-4], rel=1e-3)


@pytest.mark.parametrize("momentum", [-0.1, 1.0, 2.0])
def test_a_momentum_out_of_range_is_an_error(momentum: float) -> None:
    with pytest.raises(ValueError, match=r"P210.*momentum"):
        create_sgd(momentum=momentum)


def test_misspelled_attributes_are_refused() -> None:
    with pytest.raises(AttributeError):
        create_sgd().momnetum = 0.5


def test_is_made_from_a_config() -> None:
    config = {
        "optimizer": {
            "@optimizers": "spacy_psa.SGD.v1",
            "learn_rate": {
                "@schedules": "spacy_psa.inverse_epoch_decay.v1",
                "initial_rate": 0.2,
                "decay": 1.0,
                "steps_per_epoch": 2,
            },
        }
    }
    optimizer = registry.resolve(config)["optimizer"]
    assert isinstance(optimizer, MomentumSGD)
    rates = []
    for _ in range(4):
        rates.append(optimizer.learn_rate)
        optimizer.step_schedules()
    assert rates == pytest.approx([0.2, 0.2, 0.1, 0.1])


def test_updates_thincs_layers() -> None:
    layer: Model = Linear(2, 3).initialize()
    before = layer.get_param("W").copy()
    X = np.ones((4, 3), dtype="f")
    _, backprop = layer.begin_update(X)
    backprop(np.ones((4, 2), dtype="f"))
    layer.finish_update(create_sgd(0.5))
    np.testing.assert_allclose(layer.get_param("W"), before - 0.5 * 4.0, rtol=1e-5)
