"""Weights and optimizer state: read, and restored under different keys."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from thinc.api import Adam, Linear, Model, Optimizer, PyTorchWrapper, Shim, chain
from thinc.layers import HashEmbed
from torch import nn

from spacy_psa.tensor_versions import TensorVersions
from spacy_psa.training.optimizers import create_adadelta, create_adamw, create_sgd
from spacy_psa.training.state import read_state, write_state


class Network(nn.Module):
    """Two layers that share a matrix, a buffer, and a parameter without a gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.unused = nn.Parameter(torch.zeros(1))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x (Tensor): Any. RETURNS (Tensor): Something of the same shape."""
        self.count += 1
        return self.second(torch.tanh(self.first(x)))


def make_pipeline(seed: int) -> Any:
    """A pipeline of two components, one with thinc layers and one with PyTorch layers."""
    torch.manual_seed(seed)
    np.random.seed(seed)
    dense = chain(Linear(3, 3), Linear(3, 3)).initialize(X=np.zeros((1, 3), "f"))
    wrapped = PyTorchWrapper(Network())
    pipes = [
        (name, SimpleNamespace(is_trainable=True, model=model))
        for name, model in (("dense", dense), ("wrapped", wrapped))
    ]
    return SimpleNamespace(pipeline=[*pipes, ("rules", SimpleNamespace(is_trainable=False))])


def update(nlp: Any, optimizer: Optimizer, n: int = 1, skip: str = "") -> None:
    """Train all components except `skip` on random numbers."""
    rng = np.random.default_rng(n)
    for _ in range(n):
        for name, pipe in nlp.pipeline:
            if not pipe.is_trainable:
                continue
            if name != skip:
                x = rng.normal(size=(2, 3)).astype("f")
                y, backprop = pipe.model.begin_update(x)
                backprop(y - 1)
            pipe.model.finish_update(optimizer)
        optimizer.step_schedules()


def weights(nlp: Any) -> list[np.ndarray]:
    dense, wrapped = nlp.pipeline[0][1].model, nlp.pipeline[1][1].model
    arrays = [node.get_param(n).copy() for node in dense.walk() for n in node.param_names]
    tensors = wrapped.shims[0]._model.state_dict().values()
    return [*arrays, *(tensor.numpy().copy() for tensor in tensors)]


OPTIMIZERS = {
    "adam": lambda: Adam(0.01, use_averages=True),
    "radam": lambda: Optimizer(0.01, use_radam=True, use_averages=False),
    "momentum": lambda: create_sgd(0.1, use_averages=True),
    "adamw": lambda: create_adamw(0.01, use_averages=True),
    "adadelta": lambda: create_adadelta(use_averages=True),
}


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("skip", ["", "dense", "wrapped"])
def test_training_goes_on_where_it_was(kind: str, skip: str) -> None:
    nlp, optimizer = make_pipeline(0), OPTIMIZERS[kind]()
    update(nlp, optimizer, 4)
    tensors, rest = read_state(nlp, optimizer, [])
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    other, other_optimizer = make_pipeline(1), OPTIMIZERS[kind]()
    write_state(other, other_optimizer, [], tensors, json.loads(json.dumps(rest)))
    # A component without a batch in a step still moves by momentum.
    for n, left_out in ((1, skip), (3, "")):
        update(nlp, optimizer, n, left_out)
        update(other, other_optimizer, n, left_out)
    for found, expected in zip(weights(other), weights(nlp), strict=True):
        assert_array_equal(found, expected)
    if optimizer.averages is not None:
        averages = [list(o.averages.values()) for o in (other_optimizer, optimizer)]
        assert len(averages[0]) == len(averages[1])
        assert {a.tobytes() for a in averages[0]} == {a.tobytes() for a in averages[1]}


def test_restored_weights_are_known_to_have_changed() -> None:
    nlp, other = make_pipeline(0), make_pipeline(1)
    tensors = list(other.pipeline[1][1].model.shims[0]._model.parameters())
    before = TensorVersions(tensors)
    assert before.are_those_of(tensors)
    write_state(other, Adam(0.01), [], *read_state(nlp, Adam(0.01), []))
    # So layers do not use what they keep of the earlier ones
    assert not before.are_those_of(tensors)


def test_the_keys_of_the_test_differ() -> None:
    first, second = (
        {node.id for node in make_pipeline(0).pipeline[0][1].model.walk()} for _ in "ab"
    )
    assert first.isdisjoint(second)


def test_shared_parameters_are_saved_once() -> None:
    nlp, optimizer = make_pipeline(0), Adam(0.01)
    update(nlp, optimizer)
    tensors, _ = read_state(nlp, optimizer, [])
    assert "weights/wrapped/0/torch0/first.weight" in tensors
    assert "weights/wrapped/0/torch0/second.weight" not in tensors
    assert "mom1/wrapped/0/torch0/first.weight" in tensors


def test_frozen_components_are_left_out() -> None:
    nlp, optimizer = make_pipeline(0), Adam(0.01)
    tensors, rest = read_state(nlp, optimizer, ["dense"])
    assert not any("/dense/" in name for name in tensors)
    before = weights(nlp)
    other = make_pipeline(1)
    untouched = weights(other)[:4]
    write_state(other, Adam(0.01), ["dense"], tensors, rest)
    for found, expected in zip(weights(other), [*untouched, *before[4:]], strict=True):
        assert_array_equal(found, expected)


def test_settings_that_come_from_a_counter_are_put_back() -> None:
    models = [HashEmbed(2, 10).initialize() for _ in range(2)]
    first, second = (
        SimpleNamespace(pipeline=[("embed", SimpleNamespace(is_trainable=True, model=model))])
        for model in models
    )
    assert models[0].attrs["seed"] != models[1].attrs["seed"]
    tensors, rest = read_state(first, Adam(0.01), [])
    write_state(second, Adam(0.01), [], tensors, rest)
    assert models[0].attrs["seed"] == models[1].attrs["seed"]
    ids = np.arange(20, dtype=np.uint64)
    assert_array_equal(models[0].predict(ids), models[1].predict(ids))


def test_parameters_that_are_in_no_model_are_an_error() -> None:
    nlp, optimizer = make_pipeline(0), Adam(0.01)
    optimizer((-1, "stray"), np.zeros(2, "f"), np.ones(2, "f"))
    with pytest.raises(ValueError, match=r"\[P282\].*'stray'"):
        read_state(nlp, optimizer, [])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda w: w.pop("weights/dense/1/W"), "'dense/1/W' is missing"),
        (lambda w: w.update({"weights/dense/9/W": torch.ones(1)}), "'dense/9/W' is not part"),
        (lambda w: w.update({"weights/dense/1/b": torch.ones(2)}), r"shape \(2,\), not \(3,\)"),
    ],
)
def test_weights_of_another_pipeline_are_an_error_that_changes_nothing(
    change: Any, problem: str
) -> None:
    tensors, rest = read_state(make_pipeline(0), Adam(0.01), [])
    change(tensors)
    other = make_pipeline(1)
    before = weights(other)
    with pytest.raises(ValueError, match=rf"\[P287\].*{problem}"):
        write_state(other, Adam(0.01), [], tensors, rest)
    for found, expected in zip(weights(other), before, strict=True):
        assert_array_equal(found, expected)


def test_networks_of_other_libraries_are_an_error() -> None:
    model: Model = Model("foreign", lambda model, x, is_train: (x, lambda y: y), shims=[Shim(None)])
    pipe = SimpleNamespace(is_trainable=True, model=model)
    with pytest.raises(ValueError, match=r"\[P289\].*'foreign/0' holds.*Shim"):
        read_state(SimpleNamespace(pipeline=[("foreign", pipe)]), Adam(0.01), [])
