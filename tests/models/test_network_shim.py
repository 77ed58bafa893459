"""The bridge to thinc: in-place updates, averages, serialization without code."""

from __future__ import annotations

import pickletools
from functools import partial

import numpy as np
import pytest
import srsly
import torch
from safetensors.torch import load, save
from thinc.api import SGD, Adam, ArgsKwargs, Optimizer
from torch import nn

from spacy_psa.models.network_shim import NetworkShim
from spacy_psa.tensor_versions import TensorVersions
from spacy_psa.training.optimizers import create_sgd


class Network(nn.Module):
    """A network with parameters of several shapes, a buffer, and layers that depend on the mode."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.dropout = nn.Dropout(0.5)
        self.scale = nn.Parameter(torch.ones(1))
        self.unused = nn.Parameter(torch.ones(2))
        self.register_buffer("steps", torch.zeros(3, dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = self.dropout(layer(x))
        return x * self.scale


def make_shim(width: int = 4, depth: int = 2) -> NetworkShim:
    torch.manual_seed(0)
    shim = NetworkShim(partial(Network))
    shim.build(width=width, depth=depth)
    return shim


def inputs(width: int = 4) -> ArgsKwargs:
    return ArgsKwargs(args=(torch.ones(3, width),), kwargs={})


def backpropagate(shim: NetworkShim) -> None:
    output, backward = shim.begin_update(inputs())
    backward([output], [torch.ones_like(output)])


def message(shim: NetworkShim) -> dict:
    return srsly.msgpack_loads(shim.to_bytes())


def states_equal(one: NetworkShim, other: NetworkShim) -> bool:
    a, b = one.network.state_dict(), other.network.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


# Running


def test_a_network_that_is_not_built_says_so() -> None:
    shim = NetworkShim(Network)
    for use in (shim.predict, shim.begin_update):
        with pytest.raises(ValueError, match="P201"):
            use(inputs())


def test_predicting_needs_no_gradient_and_leaves_the_mode() -> None:
    shim = make_shim()
    first, second = shim.predict(inputs()), shim.predict(inputs())
    assert not first.requires_grad
    assert torch.equal(first, second)
    assert not any(module.training for module in shim.network.modules())


def test_the_mode_is_set_back_after_an_error() -> None:
    shim = make_shim()
    with pytest.raises(RuntimeError):
        shim.begin_update(inputs(width=5))
    assert not any(module.training for module in shim.network.modules())


# Updating


@pytest.mark.parametrize("make", [partial(SGD, 0.1), partial(Adam, 0.1)])
def test_updates_in_place(make) -> None:
    shim = make_shim()
    places = {name: p.data_ptr() for name, p in shim.network.named_parameters()}
    before = {name: p.detach().clone() for name, p in shim.network.named_parameters()}
    backpropagate(shim)
    shim.finish_update(make())
    for name, parameter in shim.network.named_parameters():
        assert parameter.data_ptr() == places[name]
        assert torch.equal(parameter, before[name]) == (name == "unused")


@pytest.mark.parametrize("mixed_precision", [None, "fp16"])
def test_frozen_parameters_stay_as_they_are(mixed_precision: str | None) -> None:
    shim = NetworkShim(Network, mixed_precision=mixed_precision)
    network = shim.build(width=4, depth=2)
    network.layers.requires_grad_(False)
    backpropagate(shim)
    shim.finish_update(SGD(0.1))
    assert network.scale.item() != 1.0
    assert network.layers[0].weight.grad is None
    network.requires_grad_(False)
    before = network.scale.item()
    backpropagate(shim)
    shim.finish_update(SGD(0.1))
    assert network.scale.item() == before


@pytest.mark.parametrize("make", [SGD, Adam, create_sgd])
def test_a_parameter_may_be_a_single_number(make) -> None:
    shim, optimizer = make_shim(), make(0.1, use_averages=True)
    scale = shim.network.scale = nn.Parameter(torch.tensor(1.0))
    for _ in range(2):
        backpropagate(shim)
        shim.finish_update(optimizer)
    updated = scale.item()
    assert scale.shape == () and updated != 1.0
    with shim.use_params(optimizer.averages):
        assert scale.item() not in (1.0, updated)
    assert scale.item() == updated


def test_updates_where_the_optimizer_gives_another_array() -> None:
    shim = make_shim()
    place = shim.network.scale.data_ptr()
    backpropagate(shim)
    shim.finish_update(lambda key, weights, gradient: (weights * 0 + 7, gradient))
    assert shim.network.scale.data_ptr() == place
    assert shim.network.scale.item() == 7.0


def test_our_optimizers_do_not_spend_time_on_gradients_that_are_dropped() -> None:
    shim = make_shim()
    backpropagate(shim)
    before, gradient = shim.network.scale.item(), shim.network.scale.grad
    shim.finish_update(create_sgd(0.1))
    assert shim.network.scale.grad is None
    assert gradient.item() != 0.0
    assert shim.network.scale.item() == pytest.approx(before - 0.1 * gradient.item())


def test_an_optimizer_may_keep_the_gradient_for_later() -> None:
    # As `nlp.rehearse` does, which collects the gradients of all components first.
    shim = make_shim()
    collected = {}

    def collect(key, weights, gradient):
        collected[key] = (weights, gradient)
        return weights, gradient

    backpropagate(shim)
    shim.finish_update(collect)
    optimizer = SGD(1.0, L2=0.0, grad_clip=0.0, use_averages=False)
    before = shim.network.scale.item()
    gradient = collected[shim.id, "scale"][1].item()
    for key, (weights, kept) in collected.items():
        optimizer(key, weights, kept)
    assert gradient != 0.0
    assert shim.network.scale.item() == pytest.approx(before - gradient)


# Averages


def averaged(shim: NetworkShim) -> Optimizer:
    optimizer = Adam(0.1, use_averages=True)
    for _ in range(3):
        backpropagate(shim)
        shim.finish_update(optimizer)
    return optimizer


class Keeper(nn.Module):
    """Keeps twice its weight until a change is recorded."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.versions, self.double = TensorVersions(), None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            return 2 * self.weight * x
        if not self.versions.are_those_of([self.weight]):
            self.versions, self.double = TensorVersions([self.weight]), 2 * self.weight
        return self.double * x


@pytest.mark.parametrize("optimizer", [Adam(0.1), SGD(0.1), lambda key, w, dw: (w - dw, dw)])
def test_what_layers_keep_of_their_weights_is_forgotten_when_these_change(optimizer) -> None:
    shim = NetworkShim(lambda: nn.Sequential(Keeper()))
    keeper = shim.build()[0]
    args = ArgsKwargs(args=(torch.ones(1),), kwargs={})

    def is_up_to_date() -> bool:
        return torch.equal(shim.predict(args), 2 * keeper.weight)

    assert is_up_to_date()
    output, backward = shim.begin_update(args)
    backward([output], [torch.ones(1)])
    shim.finish_update(optimizer)
    assert keeper.weight != 1 and is_up_to_date()
    with shim.use_params({(shim.id, "0.weight"): np.full(1, 7.0, dtype="f")}):
        assert shim.predict(args) == 14 and is_up_to_date()
    assert keeper.weight != 7 and is_up_to_date()


def test_what_layers_keep_is_forgotten_also_if_an_update_breaks_off() -> None:
    shim = NetworkShim(lambda: nn.Sequential(Keeper(), Keeper()))
    first, second = shim.build()
    args = ArgsKwargs(args=(torch.ones(1),), kwargs={})
    shim.predict(args)
    output, backward = shim.begin_update(args)
    backward([output], [torch.ones(1)])

    def optimizer(key, weights, gradient):
        if key[1].startswith("1"):
            raise KeyboardInterrupt
        weights += 1
        return weights, gradient

    with pytest.raises(KeyboardInterrupt):
        shim.finish_update(optimizer)
    assert first.weight == 2
    assert shim.predict(args) == 2 * first.weight * 2 * second.weight


def test_averages_of_another_shim_are_not_used() -> None:
    shim, other = make_shim(), make_shim()
    averages = averaged(other).averages
    with shim.use_params(averages):
        assert states_equal(shim, make_shim())


def test_averages_stay_in_place() -> None:
    shim = make_shim()
    place = shim.network.scale.data_ptr()
    averages = averaged(shim).averages
    with shim.use_params(averages):
        assert shim.network.scale.data_ptr() == place
    assert shim.network.scale.data_ptr() == place


def test_averages_can_be_nested() -> None:
    shim = make_shim()
    with shim.use_params({(shim.id, "scale"): np.full(1, 2.0, "f")}):
        with shim.use_params({(shim.id, "scale"): np.full(1, 3.0, "f")}):
            assert shim.network.scale.item() == 3.0
        assert shim.network.scale.item() == 2.0
    assert shim.network.scale.item() == 1.0


# Bytes


def test_weights_survive_bytes_exactly() -> None:
    shim = make_shim()
    shim.network.steps += 5
    loaded = NetworkShim(Network).from_bytes(shim.to_bytes())
    assert states_equal(loaded, shim)
    assert loaded.cfg == {"width": 4, "depth": 2}
    assert not loaded.network.training


def test_a_network_that_is_not_built_survives_bytes() -> None:
    loaded = make_shim().from_bytes(NetworkShim(Network).to_bytes())
    with pytest.raises(ValueError, match="P201"):
        loaded.predict(inputs())


def test_tensors_that_are_not_contiguous_are_saved() -> None:
    shim = make_shim()
    weight = shim.network.layers[0].weight
    weight.data = weight.data.T
    assert states_equal(NetworkShim(Network).from_bytes(shim.to_bytes()), shim)


def test_bytes_are_a_config_and_safetensors() -> None:
    shim = make_shim()
    data = message(shim)
    assert set(data) == {"config", "state"}
    assert load(data["state"]).keys() == shim.network.state_dict().keys()


def test_bytes_contain_no_pickle() -> None:
    data = make_shim().to_bytes()
    for part in (data, message(make_shim())["state"]):
        with pytest.raises(ValueError, match=r".*"):
            list(pickletools.genops(part))
    assert b"PK\x03\x04" not in data, "an archive of torch.save"


def tampered(**changes: torch.Tensor | None) -> bytes:
    shim = make_shim()
    tensors = {name.replace(".", "__"): t for name, t in shim.network.state_dict().items()}
    tensors.update(changes)
    kept = {name.replace("__", "."): t for name, t in tensors.items() if t is not None}
    return srsly.msgpack_dumps({"config": shim.cfg, "state": save(kept)})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"scale": None}, "'scale' is missing"),
        ({"steps": None}, "'steps' is missing"),
        ({"other": torch.ones(1)}, "'other' is not part of the network"),
        ({"scale": torch.ones(2)}, r"'scale' has shape \(2,\), not \(1,\)"),
        ({"layers__0__bias": torch.ones(4, 1)}, r"'layers.0.bias' has shape \(4, 1\)"),
        ({"scale": torch.ones(1, dtype=torch.float64)}, r"'scale' has type torch.float64"),
        ({"steps": torch.zeros(3)}, r"'steps' has type torch.float32, not torch.int64"),
    ],
)
def test_tensors_of_another_network_are_refused(changes: dict, problem: str) -> None:
    shim = make_shim()
    with pytest.raises(ValueError, match=rf"P203.*{problem}"):
        shim.from_bytes(tampered(**changes))
    assert states_equal(shim, make_shim())


# Copies


# CUDA


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cudnn_keeps_its_flat_weights() -> None:
    cupy = pytest.importorskip("cupy", reason="needs cupy")
    assert cupy is not None
    from thinc.api import require_cpu, require_gpu

    require_gpu()
    try:
        shim = NetworkShim(lambda: nn.LSTM(4, 4))
        shim.build()
        places = [p.data_ptr() for p in shim.network.parameters()]
        shim.network.train()  # cuDNN has gradients only in training
        output, _ = shim.network(torch.ones(2, 1, 4, device="cuda"))
        output.sum().backward()
        shim.finish_update(Adam(0.1))
        assert [p.data_ptr() for p in shim.network.parameters()] == places
    finally:
        require_cpu()  # for other tests
