"""The time of matrix multiplications in isolation."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from benchmarks import products
from benchmarks.counting import Counting
from benchmarks.products import Products, seconds_of_products
from spacy_psa.acceleration.bfloat16 import ORDERS_WEIGHTS, BFloat16Linear
from spacy_psa.layers.initialization import lstm


def training() -> Callable[[], None]:
    layer, x = nn.Linear(5, 7), torch.randn(3, 5, requires_grad=True)

    def act() -> None:
        layer(layer(x)[:, :5]).tanh().sum().backward()

    return act


def test_products_are_noted_by_shape_with_those_of_gradients() -> None:
    with Products() as found:
        training()()
    # The input of the second layer has different strides from x
    assert sum(found.times.values()) == 2 + 4
    # Different strides make a different product
    with Products() as found:
        a = torch.randn(4, 4)
        _ = a @ a, a @ a, a @ a.t(), a.double() @ a.double(), a + a
    assert sorted(found.times.values()) == [1, 1, 2]


@pytest.mark.parametrize("reads", [nn.Linear(6, 8), lstm(6, 8)], ids=["linear", "lstm"])
def test_what_is_computed_again_is_what_was_noted(reads: nn.Module) -> None:
    x = torch.randn(2, 9, 6)
    for is_trained in (False, True):
        with torch.set_grad_enabled(is_trained), Products() as found, Counting() as noted:
            result = reads(x)
            output: Tensor = result[0] if isinstance(result, tuple) else result
            if is_trained:
                output.sum().backward()
        with torch.inference_mode(), Counting() as again:
            for key, times in found.times.items():
                for _ in range(times):
                    found._makers[key]()()
        assert again.products == noted.products > 0


@pytest.mark.skipif(not ORDERS_WEIGHTS, reason="this PyTorch keeps no weights in oneDNN's order")
def test_layers_with_ordered_weights_are_products() -> None:
    layer, x = BFloat16Linear(nn.Linear(64, 32)), torch.randn(64, 64)
    with torch.no_grad():
        layer(x)  # the first time, oneDNN is tried
    with torch.no_grad(), Counting() as counting, Products() as found:
        layer(x)
    assert counting.products == 2 * 64 * 64 * 32
    (made,) = [make() for make in found._makers.values()]
    with torch.inference_mode(), Counting() as again:
        made()
    assert again.products == counting.products


def test_attention_is_a_product_with_its_gradients() -> None:
    query, key = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 7, 4)
    value = torch.randn(2, 3, 7, 4)
    product = 2 * (2 * 3 * 5 * 7 * 4)
    for mask in (None, torch.ones(2, 1, 5, 7, dtype=torch.bool)):
        leaves = [tensor.clone().requires_grad_() for tensor in (query, key, value)]
        with Counting() as counting:
            output = nn.functional.scaled_dot_product_attention(*leaves, attn_mask=mask)
        assert counting.products == 2 * product
        with Counting() as counting:
            output.sum().backward()
        assert counting.products == 5 * product


def test_nothing_is_written_to_what_was_noted() -> None:
    left, sums = torch.randn(3, 4), torch.ones(3, 3)
    with Products() as found:
        sums.unsqueeze(0).baddbmm_(left.unsqueeze(0), left.t().unsqueeze(0))
    before = sums.clone()
    assert found.seconds(itertools.count().__next__) > 0
    assert torch.equal(sums, before)


def test_each_counts_at_its_fastest_and_as_often_as_it_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a = torch.randn(4, 4)
    with Products() as found:
        for _ in range(5):
            a @ a
    monkeypatch.setattr(products, "repeated", lambda act, clock, least: (act, 10))
    # Three rounds of 4, 2 and 3 seconds
    times = iter([0.0, 4.0, 10.0, 12.0, 20.0, 23.0])
    assert found.seconds(times.__next__) == pytest.approx(5 * 2.0 / 10)


def test_an_action_is_done_once_and_what_is_no_product_takes_nothing() -> None:
    done: list[int] = []
    assert seconds_of_products(lambda: done.append(1), itertools.count().__next__) == 0.0
    assert done == [1]
    a = torch.randn(4, 4)
    once = [seconds_of_products(lambda: a @ a, itertools.count().__next__, n) for n in (1, 3)]
    assert once[0] == once[1] > 0
