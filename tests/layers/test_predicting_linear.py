"""Linear layers in prediction: a row is the same in any batch, and weights are never stale."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor, nn

from spacy_psa.layers import linear as module
from spacy_psa.layers import onednn_linear
from spacy_psa.layers.activations import SIGMOID, TANH, Activation
from spacy_psa.layers.linear import Linear, activated, activated_sum, apply_linear

from .helpers import WEIGHT_CHANGES, in_place, normal, randomized, refusing

INPUT, WIDTH = 20, 24
ROWS = (1, 2, 7, 8, 16, 31, 33, 64, 65, 149)

pytestmark = pytest.mark.skipif(
    not (onednn_linear.is_available() and onednn_linear.ORDERS_WEIGHTS),
    reason="PyTorch cannot put weights in order here",
)


def make(*, bias: bool = True) -> Linear:
    return randomized(Linear(INPUT, WIDTH, bias=bias)).float()


def vectors(*shape: int) -> Tensor:
    return normal(*shape, INPUT, seed=1).float()


def plain(layer: nn.Linear, x: Tensor) -> Tensor:
    return nn.functional.linear(x, layer.weight, layer.bias)


@pytest.fixture
def ordered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows each time weights are reordered."""
    calls, in_order = [], module.in_order
    monkeypatch.setattr(module, "in_order", lambda weight: calls.append(1) or in_order(weight))
    return calls


@pytest.mark.parametrize("widths", [(200, 300), (600, 23), (17, 1), (1, 40)])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("activation", [None, TANH, SIGMOID])
def test_a_row_is_the_same_whatever_the_others_are(
    widths: tuple[int, int], bias: bool, activation: Activation | None
) -> None:
    layer = randomized(Linear(*widths, bias=bias), scale=0.1).float()
    x = normal(150, widths[0], seed=2).float()

    def run(rows: Tensor) -> Tensor:
        return layer(rows) if activation is None else activated(layer, rows, activation)

    with torch.no_grad():
        whole = run(x)
        for n in ROWS:
            assert torch.equal(run(x[:n]), whole[:n])
            assert torch.equal(run(x[150 - n :].clone()), whole[150 - n :])


def test_a_row_of_a_product_or_a_sum_is_the_same_whatever_the_others_are() -> None:
    first, second = (randomized(Linear(70, 50, bias=False), seed=i).float() for i in (1, 2))
    x, y = (normal(150, 70, seed=i).float() for i in (3, 4))
    with torch.no_grad():
        product, total = apply_linear(x, first.weight), activated_sum(first, x, second, y, TANH)
        for n in ROWS:
            assert torch.equal(apply_linear(x[:n], first.weight), product[:n])
            assert torch.equal(activated_sum(first, x[:n], second, y[:n], TANH), total[:n])


def test_the_order_changes_no_bit() -> None:
    layer, x = make(), vectors(33)
    with torch.no_grad():
        expected = apply_linear(x, layer.weight, layer.bias)
        assert torch.equal(layer(x), expected)


def test_weights_are_put_in_order_once(ordered: list[int]) -> None:
    layer = make()
    layer(vectors(5))
    assert not ordered
    with torch.no_grad():
        layer(vectors(2))
        activated(layer, vectors(3, 7), TANH)
    assert len(ordered) == 1


@pytest.mark.parametrize("change", WEIGHT_CHANGES)
def test_other_weights_are_put_in_order_anew(change: Callable[[nn.Linear], object]) -> None:
    layer, x = make(), vectors(5)
    with torch.no_grad():
        before = layer(x)
        change(layer)
        after = layer(x)
        torch.testing.assert_close(after, plain(layer, x), rtol=1e-5, atol=1e-5)
    assert not torch.allclose(before, after, atol=1e-2)


def test_training_after_a_prediction_is_predicted_with() -> None:
    layer, x = make(), vectors(5)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    for _ in range(3):
        with torch.no_grad():
            before = layer(x)
        layer(x).square().sum().backward()
        optimizer.step()
        with torch.no_grad():
            after = layer(x)
            torch.testing.assert_close(after, plain(layer, x), rtol=1e-4, atol=1e-4)
        assert not torch.allclose(before, after, atol=1e-2)


def test_other_weights_for_a_call_are_for_that_call() -> None:
    layer, other, x = make(), make(), vectors(5)
    with torch.no_grad():
        in_place(other)
        expected, mine = other(x), layer(x)
        found = torch.func.functional_call(layer, dict(other.named_parameters()), x)
        assert torch.equal(found, expected) and torch.equal(layer(x), mine)


@pytest.mark.parametrize("make_copy", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_keep_nothing(make_copy: Callable[[Linear], Linear]) -> None:
    layer, x = make(), vectors(5)
    with torch.no_grad():
        expected = layer(x)
        assert layer._ordered._kept is not None
        other = make_copy(layer)
        assert other._ordered is not layer._ordered and other._ordered._kept is None
        in_place(layer)
        assert torch.equal(other(x), expected)
    assert list(layer.state_dict()) == ["weight", "bias"]


def test_where_onednn_has_no_order_it_is_computed_without(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse = refusing()
    monkeypatch.setattr(torch.ops.mkldnn, "_reorder_linear_weight", refuse, raising=False)
    layer, x = make(), vectors(5)
    with torch.no_grad():
        for _ in range(2):
            assert torch.equal(layer(x), apply_linear(x, layer.weight, layer.bias))
    assert refuse.call_count == 1


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


def test_inference_mode_is_no_other_network() -> None:
    layer, x = make(), vectors(5)
    with torch.inference_mode():
        expected = layer(x)
    with torch.no_grad():
        assert torch.equal(layer(x), expected.clone())
    with torch.inference_mode():
        assert torch.equal(make()(x), expected)


def test_nothing_to_give_is_nothing() -> None:
    with torch.no_grad(), pytest.warns(UserWarning, match="zero-element"):
        assert Linear(INPUT, 0)(vectors(3)).shape == (3, 0)
