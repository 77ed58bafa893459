"""The bfloat16 linear layer, with weights in oneDNN's order, against PyTorch's."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from spacy_psa.acceleration import bfloat16
from spacy_psa.acceleration.bfloat16 import BFloat16Linear
from spacy_psa.layers.ops import lstm_types
from spacy_psa.private_names import OrderedLinear

from ..layers.helpers import WEIGHT_CHANGES, in_place, normal, randomized, refusing

INPUT, WIDTH = 20, 24

keeps_weights = pytest.mark.skipif(
    not bfloat16.ORDERS_WEIGHTS or torch.bfloat16 not in lstm_types(),
    reason="oneDNN has no bfloat16 here",
)


def make(*, bias: bool = True, dtype: torch.dtype = torch.float32) -> BFloat16Linear:
    return BFloat16Linear(randomized(nn.Linear(INPUT, WIDTH, bias=bias)).float(), dtype).eval()


def vectors(*shape: int) -> Tensor:
    return normal(*shape, INPUT, seed=1).float()


def plain(layer: BFloat16Linear, x: Tensor) -> Tensor:
    return linear(x.bfloat16(), layer.weight, layer.bias).to(layer.dtype)


@pytest.fixture
def ordered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows each time weights are reordered."""
    calls, in_order = [], bfloat16.in_order
    monkeypatch.setattr(bfloat16, "in_order", lambda weight: calls.append(1) or in_order(weight))
    return calls


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rows in each call of oneDNN."""
    rows, run = [], bfloat16.RUN_LAYER
    monkeypatch.setattr(
        bfloat16, "RUN_LAYER", lambda x, *arguments: rows.append(len(x)) or run(x, *arguments)
    )
    return rows


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (5,), (33,), (4, 13), (2, 3, 5), (3, 0, 2)])
def test_output_is_that_of_pytorch(shape: tuple[int, ...], bias: bool, dtype: torch.dtype) -> None:
    layer, x = make(bias=bias, dtype=dtype), vectors(*shape)
    with torch.no_grad():
        output, expected = layer(x), plain(layer, x)
    assert output.shape == expected.shape and output.dtype == dtype
    # A sum may be rounded up or down
    torch.testing.assert_close(output, expected, rtol=2.0**-7, atol=1e-5)


def test_tensors_in_another_order_are_read_as_well() -> None:
    layer, x = make(), vectors(6, 8)
    with torch.no_grad():
        for other in (x.transpose(0, 1), x[::2, 1:], x.flip(0)):
            expected = layer(other.contiguous())
            torch.testing.assert_close(layer(other), expected, rtol=2.0**-7, atol=2.0**-7)


@pytest.mark.parametrize("width", [INPUT - 1, 2 * INPUT])
def test_vectors_of_another_width_are_an_error(width: int) -> None:
    with torch.no_grad(), pytest.raises(RuntimeError, match=f"{width}"):
        make()(torch.ones(3, width))


@keeps_weights
def test_a_row_is_the_same_whatever_the_others_are() -> None:
    layer = BFloat16Linear(randomized(nn.Linear(200, 300), scale=0.1).float())
    x = normal(150, 200, seed=2).float()
    with torch.no_grad():
        whole = layer(x)
        for n in (1, 2, 7, 16, 31, 33, 64, 65, 149):
            assert torch.equal(layer(x[:n]), whole[:n])


@keeps_weights
def test_numbers_of_rows_are_filled_up(read: list[int]) -> None:
    layer = make()
    with torch.no_grad():
        for n in (30, 33, 34, 300):
            assert len(layer(vectors(n))) == n
        assert layer(vectors(7, 5)).shape == (7, 5, WIDTH)
    assert read == [8, 32, 40, 40, 304, 40]  # the first is a try


@keeps_weights
def test_where_onednn_has_no_order_it_is_pytorchs(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse = refusing()
    monkeypatch.setattr(bfloat16, "ONEDNN", OrderedLinear(refuse, bfloat16.RUN_LAYER))
    layer, x = make(), vectors(5)
    with torch.no_grad():
        for _ in range(2):
            assert torch.equal(layer(x), plain(layer, x))
    assert refuse.call_count == 1


def test_nothing_to_give_is_nothing() -> None:
    with torch.no_grad(), pytest.warns(UserWarning, match="zero-element"):
        assert BFloat16Linear(nn.Linear(INPUT, 0))(vectors(3)).shape == (3, 0)


def test_other_weights_for_a_call_are_for_that_call() -> None:
    layer, other, x = make(), make(), vectors(5)
    with torch.no_grad():
        in_place(other)
        expected, mine = other(x), layer(x)
        found = torch.func.functional_call(layer, dict(other.named_parameters()), x)
        assert torch.equal(found, expected) and torch.equal(layer(x), mine)


def test_inference_mode_is_no_other_network() -> None:
    layer, x = make(), vectors(5)
    with torch.inference_mode():
        expected = layer(x)
    with torch.no_grad():
        assert torch.equal(layer(x), expected.clone())
    with torch.inference_mode():
        assert torch.equal(make()(x), expected)


@keeps_weights
def test_weights_are_put_in_order_once(ordered: list[int]) -> None:
    layer = make()
    with torch.no_grad():
        layer(vectors(2))
        layer(vectors(3, 7))
    assert len(ordered) == 1


@pytest.mark.parametrize("change", WEIGHT_CHANGES)
def test_other_weights_are_put_in_order_anew(change: Callable[[nn.Linear], object]) -> None:
    layer, x = make(), vectors(5)
    with torch.no_grad():
        before = layer(x)
        change(layer)
        after = layer(x)
        torch.testing.assert_close(after, plain(layer, x), rtol=2.0**-7, atol=1e-5)
    assert not torch.allclose(before, after, atol=1e-2)


@pytest.mark.parametrize("what", ["gradients", "autocast", "switched off"])
def test_otherwise_it_is_pytorchs(
    what: str, ordered: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", what != "switched off")
    layer, x = make(), vectors(5)
    with (
        torch.set_grad_enabled(what == "gradients"),
        torch.autocast("cpu", enabled=what == "autocast"),
    ):
        assert torch.equal(layer(x), plain(layer, x))
    assert not ordered


@keeps_weights
@pytest.mark.parametrize("make_copy", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_keep_nothing(make_copy: Callable[[BFloat16Linear], BFloat16Linear]) -> None:
    layer, x = make(), vectors(5)
    with torch.no_grad():
        expected = layer(x)
        assert layer._kept._kept is not None
        other = make_copy(layer)
        assert other._kept is not layer._kept and other._kept._kept is None
        in_place(layer)
        assert torch.equal(other(x), expected)
    assert list(layer.state_dict()) == ["weight", "bias"]


@keeps_weights
def test_threads_share_the_weights(ordered: list[int]) -> None:
    layer = make()
    with torch.no_grad():
        layer(vectors(1))

    def read(i: int) -> Tensor:
        with torch.no_grad():
            return layer(vectors(1 + i % 3))

    with ThreadPoolExecutor(4) as pool:
        for i, found in enumerate(pool.map(read, range(24))):
            assert torch.equal(found, read(i))
    assert len(ordered) == 1
