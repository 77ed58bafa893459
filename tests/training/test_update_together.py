"""Updates of all parameters at once, as on a GPU, against updates of each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from spacy_psa.models.updating import update_parameters
from spacy_psa.pipeline.update import update_by
from spacy_psa.training.optimizers import create_adadelta, create_sgd
from spacy_psa.training.paper_optimizer import PaperOptimizer


@pytest.mark.parametrize("L2", [0.0, 0.1])
@pytest.mark.parametrize("gradient_scale", [1.0, 0.25])
@pytest.mark.parametrize("create", [partial(create_sgd, momentum=0.0), create_sgd, create_adadelta])
def test_updating_parameters_together_is_updating_each(
    create: Callable[..., PaperOptimizer], gradient_scale: float, L2: float
) -> None:
    together, one_by_one = (create(0.1, L2=L2, use_averages=True) for _ in range(2))
    keys = [(1, "a"), (1, "b"), (2, "c")]
    generator = torch.Generator().manual_seed(0)
    weights = [torch.randn(shape, generator=generator) for shape in ((3, 4), (5,), (1, 1))]
    expected = [tensor.clone() for tensor in weights]
    # One is updated once more than the others, whose averages then differ
    steps = [keys[:1], keys, keys, keys]
    for some in steps:
        gradients = [torch.randn(w.shape, generator=generator) for w in weights[: len(some)]]
        for key, w, g in zip(some, expected, gradients, strict=False):
            one_by_one.update_only(key, w, g.clone(), gradient_scale=gradient_scale)
        together.update_together(
            some, weights[: len(some)], gradients, gradient_scale=gradient_scale
        )
    for tensor, wanted in zip(weights, expected, strict=True):
        torch.testing.assert_close(tensor, wanted, atol=1e-6, rtol=1e-6)
    compared = [(together.averages, one_by_one.averages)]
    if getattr(together, "momentum", 1.0):  # without momentum, there is no state
        compared += zip(together.moments, one_by_one.moments, strict=True)
    for arrays, wanted_arrays in compared:
        for key in keys:
            np.testing.assert_allclose(arrays[key], wanted_arrays[key], atol=1e-6, rtol=1e-5)


def test_state_that_has_been_replaced_is_used_from_then_on() -> None:
    # As when a checkpoint is restored
    optimizer = create_sgd(0.1, momentum=0.5)
    weights, key = torch.zeros(2), (1, "a")
    optimizer.update_together([key], [weights], [torch.ones(2)])
    optimizer.mom1[key] = np.full(2, 8.0, dtype="float32")
    weights.zero_()
    optimizer.update_together([key], [weights], [torch.ones(2)])
    assert optimizer.mom1[key].tolist() == [5.0, 5.0]
    assert weights.tolist() == [-0.5, -0.5]


def test_parameters_of_different_types_are_updated_one_by_one() -> None:
    optimizer = create_sgd(0.5, momentum=0.5)
    weights = [torch.zeros(2), torch.zeros(2, dtype=torch.float64), torch.zeros(2, 3).t()]
    optimizer.update_together(
        [(1, "a"), (1, "b"), (1, "c")], weights, [torch.ones_like(w) for w in weights]
    )
    assert all((w == -0.5).all() for w in weights)


@pytest.mark.parametrize("together", [False, True])
def test_networks_are_updated_either_way(together: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    optimizer, calls = create_sgd(0.5, momentum=0.9), []
    for name in ("update_only", "update_together"):
        method = getattr(PaperOptimizer, name)

        def note(self, *args, _method=method, _name=name, **settings):
            calls.append(_name)
            return _method(self, *args, **settings)

        monkeypatch.setattr(PaperOptimizer, name, note)
    network = nn.Linear(2, 1)
    before = [parameter.detach().clone() for parameter in network.parameters()]
    for parameter in network.parameters():
        parameter.grad = torch.ones_like(parameter)
    parameters = {(1, name): p for name, p in network.named_parameters()}
    update = update_by(optimizer, gradient_scale=0.5)
    update_parameters(update, parameters, together=together)
    assert calls == (["update_together"] if together else ["update_only"] * 2)
    assert update.is_finite
    for parameter, old in zip(network.parameters(), before, strict=True):
        torch.testing.assert_close(parameter.detach(), old - 0.25)
        assert parameter.grad is None


def test_weights_that_become_infinite_are_noticed() -> None:
    network = nn.Linear(2, 1)
    for parameter in network.parameters():
        parameter.grad = torch.full_like(parameter, torch.inf)
    update = update_by(create_sgd(0.5))
    update_parameters(
        update, {(1, name): p for name, p in network.named_parameters()}, together=True
    )
    assert not update.is_finite
