"""PyTorch's optimizers behind thinc's interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from thinc.api import Linear, Model, Optimizer
from torch import nn

from spacy_psa.models.network_shim import NetworkShim
from spacy_psa.training.optimizers import create_adadelta, create_adamw, create_sgd
from spacy_psa.training.torch_optimizer import TorchOptimizer

KEY = (0, "W")
makers = pytest.mark.parametrize("make", [create_sgd, create_adadelta, create_adamw])
Make = Callable[..., TorchOptimizer]


def gradients(shape: tuple[int, ...], steps: int = 20) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(1)
    return (rng.normal(size=shape).astype("f") for _ in range(steps))


def run(optimizer: Optimizer, weights: np.ndarray) -> np.ndarray:
    weights = weights.copy()
    for gradient in gradients(weights.shape):
        optimizer(KEY, weights, gradient)
    return weights


@pytest.fixture
def weights() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(4, 3)).astype("f")


@makers
def test_updates_in_place_and_resets_the_gradient(make: Make, weights: np.ndarray) -> None:
    gradient, before = np.ones_like(weights), weights.copy()
    found, zeros = make()(KEY, weights, gradient)
    assert found is weights and zeros is gradient
    assert (weights < before).all() and not gradient.any()


@makers
def test_a_parameter_of_another_shape_is_an_error(make: Make, weights: np.ndarray) -> None:
    optimizer = make()
    optimizer(KEY, weights.copy(), np.ones_like(weights))
    more = np.ones((5, 3), dtype="f")
    with pytest.raises(ValueError, match=r"P221.*'W'.* is \(5, 3\), and was \(4, 3\)"):
        optimizer(KEY, more, np.ones_like(more))
    assert (more == 1.0).all()


@makers
def test_learn_rate_may_be_scaled(make: Make, weights: np.ndarray) -> None:
    whole, half = (
        make(0.1, L2=0.0)(KEY, weights.copy(), np.ones_like(weights), lr_scale=scale)[0]
        for scale in (1.0, 0.5)
    )
    np.testing.assert_allclose(half - weights, (whole - weights) / 2, atol=1e-6)
    assert (whole < weights).all()


@makers
def test_the_layout_of_a_parameter_makes_no_difference(make: Make, weights: np.ndarray) -> None:
    ours, theirs = make(use_averages=True), make(use_averages=True)
    expected = run(ours, weights)
    found = weights.T.copy().T
    assert not found.flags.c_contiguous
    for gradient in gradients(weights.shape):
        theirs(KEY, found, gradient.T.copy().T)
    # Up to the last digit: what is contiguous is updated in one pass
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(theirs.averages[KEY], ours.averages[KEY], rtol=1e-5)


@makers
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (3, 2)], ids=str)
def test_arrays_of_any_shape_and_precision_are_updated(
    make: Make, dtype: str, shape: tuple[int, ...]
) -> None:
    optimizer = make(use_averages=True)
    weights, gradient = np.ones(shape, dtype=dtype), np.full(shape, 0.5, dtype=dtype)
    found, _ = optimizer(KEY, weights, gradient)
    assert found is weights and found.dtype == dtype
    assert (found < 1.0).all() and not gradient.any()
    assert optimizer.averages[KEY].dtype == np.float32
    assert optimizer.averages[KEY].shape == shape


@pytest.mark.parametrize("which", [0, 1], ids=["weights", "gradient"])
def test_what_is_read_only_is_an_error_and_stays(which: int) -> None:
    arrays = [np.ones(3, dtype="f"), np.ones(3, dtype="f")]
    arrays[which].flags.writeable = False
    with pytest.raises(ValueError, match=r"P214.*read-only"):
        create_sgd()(KEY, *arrays)
    assert all((array == 1.0).all() for array in arrays)


def test_arrays_that_go_backwards_are_an_error_and_stay() -> None:
    array = np.ones(3, dtype="f")
    with pytest.raises(ValueError, match="negative"):
        create_sgd()(KEY, array[::-1], np.ones(3, dtype="f"))
    assert (array == 1.0).all()


@makers
def test_each_parameter_has_its_own_state(make: Make) -> None:
    optimizer = make()
    one, other, alone = (np.zeros(2, dtype="f") for _ in range(3))
    for _ in range(5):
        optimizer((0, "one"), one, np.ones(2, dtype="f"))
    optimizer((0, "other"), other, np.ones(2, dtype="f"))
    make()((0, "alone"), alone, np.ones(2, dtype="f"))
    assert other.tolist() == alone.tolist()
    assert one[0] < other[0] < 0


@makers
def test_updating_parameters_together_is_updating_each(make: Make) -> None:
    together, one_by_one = (make(0.1, L2=0.1, use_averages=True) for _ in range(2))
    keys = [(1, "a"), (1, "b"), (2, "c"), (2, "d"), (3, "e")]
    generator = torch.Generator().manual_seed(0)
    found = [torch.randn(shape, generator=generator) for shape in ((3, 4), (5,), (1, 1))]
    found += [torch.randn(4, 2, generator=generator).t(), torch.ones(2, dtype=torch.float64)]
    expected = [tensor.clone().numpy() for tensor in found]
    # One is updated once more than the others
    for some in (keys[:1], keys, keys, keys):
        drawn = [torch.randn(w.shape, generator=generator).to(w.dtype) for w in found[: len(some)]]
        given = [gradient.clone() for gradient in drawn]
        together.update_together(some, found[: len(some)], given)
        for gradient, before in zip(given, drawn, strict=True):
            assert torch.equal(gradient, before)  # whoever drops it need not reset it
        for key, w, gradient in zip(some, expected, drawn, strict=False):
            one_by_one(key, w, gradient.numpy())
    for tensor, array in zip(found, expected, strict=True):
        np.testing.assert_allclose(tensor, array, atol=1e-6, rtol=1e-6)
    kept = [(together.averages, one_by_one.averages)]
    assert together.memories == one_by_one.memories
    kept += [(getattr(together, n), getattr(one_by_one, n)) for n in together.memories]
    assert len(kept) > 1
    for arrays, others in kept:
        for key in keys:
            np.testing.assert_allclose(arrays[key], others[key], atol=1e-6, rtol=1e-5)
    assert (
        together.nr_update == one_by_one.nr_update == dict(zip(keys, [4, 3, 3, 3, 3], strict=True))
    )


def test_state_that_has_been_replaced_is_used_from_then_on() -> None:
    # As when a checkpoint is restored
    optimizer, weights = create_sgd(0.1, momentum=0.5), torch.zeros(2)
    optimizer.update_together([KEY], [weights], [torch.ones(2)])
    optimizer.mom1[KEY] = np.full(2, 8.0, dtype="float32")
    weights.zero_()
    optimizer.update_together([KEY], [weights], [torch.ones(2)])
    assert optimizer.mom1[KEY].tolist() == [5.0, 5.0]
    assert weights.tolist() == [-0.5, -0.5]


def test_a_network_is_updated_by_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    update = TorchOptimizer.update_together
    monkeypatch.setattr(
        TorchOptimizer,
        "update_together",
        lambda self, keys, *rest: (calls.append(len(keys)), update(self, keys, *rest)),
    )
    shim = NetworkShim(lambda: nn.Linear(2, 1))
    for parameter in shim.build().parameters():
        parameter.grad = torch.ones_like(parameter)
    shim.finish_update(create_sgd())
    assert calls == [2]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@makers
def test_a_gpu_is_not_waited_for_and_computes_the_same(make: Make) -> None:
    pytest.importorskip("cupy", reason="thinc's arrays on a GPU are CuPy's")
    expected = [torch.randn(shape) for shape in ((300, 20), (7,), (1, 1))]
    found = [tensor.cuda() for tensor in expected]
    keys = [(1, "a"), (1, "b"), (1, "c")]
    on_cpu, on_gpu = (make(0.1, L2=0.1, use_averages=True) for _ in range(2))
    for step in range(4):
        drawn = [torch.randn(tensor.shape) for tensor in expected]
        given = [tensor.cuda() for tensor in drawn]
        on_cpu.update_together(keys, expected, drawn)
        torch.cuda.set_sync_debug_mode("error" if step else "default")
        try:
            on_gpu.update_together(keys, found, given)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    for tensor, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(tensor.cpu(), wanted, rtol=1e-4, atol=1e-5)
    for key in keys:
        average = torch.as_tensor(on_gpu.averages[key]).cpu()
        torch.testing.assert_close(
            average, torch.tensor(on_cpu.averages[key]), rtol=1e-4, atol=1e-5
        )


@makers
def test_updates_thincs_layers(make: Make) -> None:
    layer: Model = Linear(2, 3).initialize()
    expected = layer.get_param("W").copy()
    _, backprop = layer.begin_update(np.ones((4, 3), dtype="f"))
    backprop(np.ones((4, 2), dtype="f"))
    make()(KEY, expected, np.full_like(expected, 4.0))
    layer.finish_update(make())
    np.testing.assert_allclose(layer.get_param("W"), expected, rtol=1e-6)
    assert not layer.get_grad("W").any()


def test_without_averages_there_are_none(weights: np.ndarray) -> None:
    optimizer = create_sgd()
    run(optimizer, weights)
    assert optimizer.averages is None


@makers
@pytest.mark.parametrize("earlier", [0, 1_000_000])
def test_averages_are_those_of_thinc(make: Make, earlier: int, weights: np.ndarray) -> None:
    ours = make(0.05, use_averages=True)
    thincs = Optimizer(1.0, L2=0.0, beta1=0.0, beta2=0.0, grad_clip=0.0, use_averages=True)
    found, other = weights.copy(), weights.copy()
    for optimizer in (ours, thincs):
        optimizer.nr_update[KEY] = earlier
    for gradient in gradients(weights.shape):
        before = found.copy()
        ours(KEY, found, gradient)
        thincs(KEY, other, before - found)
    np.testing.assert_allclose(ours.averages[KEY], thincs.averages[KEY], rtol=1e-4, atol=1e-6)
    assert np.abs(ours.averages[KEY] - found).max() > 1e-4


@makers
def test_misspelled_attributes_are_refused(make: Make) -> None:
    with pytest.raises(AttributeError):
        make().momnetum = 0.5
