"""Parameters shared by modules: the bridge to thinc handles each of them once."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import srsly
import torch
from safetensors.torch import load, save
from thinc.api import SGD, Adam, ArgsKwargs
from torch import nn

from spacy_psa.models.network_shim import NetworkShim


class Encoder(nn.Module):
    def __init__(self, labels: nn.Module) -> None:
        super().__init__()
        self.labels = labels

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.labels(x)


class Network(nn.Module):
    """Two modules that share a third."""

    def __init__(self) -> None:
        super().__init__()
        labels = nn.Linear(3, 3)
        self.encoder, self.decoder = Encoder(labels), Encoder(labels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.decoder(self.encoder(x))


NAMES = {"encoder.labels.weight", "encoder.labels.bias"}


def make_shim() -> NetworkShim:
    torch.manual_seed(0)
    shim = NetworkShim(partial(Network))
    shim.build()
    return shim


def backpropagate(shim: NetworkShim) -> torch.Tensor:
    """The gradient of the shared weight, summed over both of its uses."""
    output, backward = shim.begin_update(ArgsKwargs(args=(torch.ones(2, 3),), kwargs={}))
    backward([output], [torch.ones_like(output)])
    return shim.network.encoder.labels.weight.grad.clone()


def test_they_are_saved_once() -> None:
    state = load(srsly.msgpack_loads(make_shim().to_bytes())["state"])
    assert set(state) == NAMES


def test_they_are_loaded_and_still_shared() -> None:
    shim = make_shim()
    with torch.no_grad():
        shim.network.encoder.labels.weight += 1.0
    loaded = NetworkShim(partial(Network)).from_bytes(shim.to_bytes()).network
    assert loaded.encoder.labels is loaded.decoder.labels
    assert torch.equal(loaded.decoder.labels.weight, shim.network.encoder.labels.weight)


def test_they_are_updated_once() -> None:
    shim = make_shim()
    before = shim.network.encoder.labels.weight.detach().clone()
    gradient = backpropagate(shim)
    keys = []

    def optimizer(key, weights, gradient):
        keys.append(key)
        return SGD(0.1, grad_clip=0.0, L2=0.0)(key, weights, gradient)

    shim.finish_update(optimizer)
    assert set(keys) == {(shim.id, name) for name in NAMES}
    assert len(keys) == 2
    expected = before - 0.1 * gradient
    torch.testing.assert_close(shim.network.decoder.labels.weight.detach(), expected)


def test_they_are_averaged_once() -> None:
    shim, optimizer = make_shim(), Adam(0.1, use_averages=True)
    for _ in range(3):
        backpropagate(shim)
        shim.finish_update(optimizer)
    assert set(optimizer.averages) == {(shim.id, name) for name in NAMES}
    weight = shim.network.decoder.labels.weight
    before, average = weight.detach().clone(), optimizer.averages[shim.id, "encoder.labels.weight"]
    with shim.use_params(optimizer.averages):
        np.testing.assert_array_equal(weight.detach().numpy(), average)
    assert torch.equal(weight.detach(), before)
    assert not np.array_equal(before.numpy(), average)


def test_a_copy_shares_its_own() -> None:
    shim = make_shim()
    copied = shim.copy().network
    assert copied.encoder.labels is copied.decoder.labels
    assert copied.encoder.labels is not shim.network.encoder.labels


@pytest.mark.parametrize("name", ["decoder.labels.weight", "other"])
def test_other_names_are_refused(name: str) -> None:
    shim = make_shim()
    message = srsly.msgpack_loads(shim.to_bytes())
    message["state"] = save({**load(message["state"]), name: torch.zeros(3, 3)})
    with pytest.raises(ValueError, match=f"P203.*'{name}' is not part of the network"):
        make_shim().from_bytes(srsly.msgpack_dumps(message))
    message["state"] = save({"encoder.labels.weight": torch.zeros(3, 3)})
    with pytest.raises(ValueError, match=r"P203.*'encoder\.labels\.bias' is missing"):
        make_shim().from_bytes(srsly.msgpack_dumps(message))
