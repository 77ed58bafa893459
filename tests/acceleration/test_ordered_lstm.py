"""LSTMs whose weights are kept in oneDNN's order, until they change."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import pytest
import torch
from torch import Tensor, nn

from spacy_psa.layers import PLAIN, BiLSTM, CharacterBiLSTM, using

from ..layers.helpers import assert_close, batch_of, mask_of, randomized

LENGTHS = [3, 1]
NAMES = "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"


def tokens() -> tuple[nn.Module, nn.LSTM, tuple[Tensor, object]]:
    layer = randomized(BiLSTM(2, hidden_width=4)).float()
    return layer, layer.forwards[0], (batch_of(LENGTHS, 2).float(), mask_of(LENGTHS))


def words() -> tuple[nn.Module, nn.LSTM, tuple[Tensor, object]]:
    layer = randomized(CharacterBiLSTM(4, embedding_width=2, width=4)).float()
    return layer, layer.forwards, (torch.tensor([[1, 2, 3], [2, 0, 0]]), torch.tensor(LENGTHS))


def in_place(layer: nn.LSTM, name: str) -> None:
    with torch.no_grad():
        getattr(layer, name).mul_(-2.0)


def by_data(layer: nn.LSTM, name: str) -> None:
    getattr(layer, name).data = getattr(layer, name).data + 1.0


def by_another(layer: nn.LSTM, name: str) -> None:
    setattr(layer, name, nn.Parameter(getattr(layer, name).detach() + 1.0))


def by_columns(layer: nn.LSTM, name: str) -> None:
    """Numbers that are not in memory row by row, if there is more than one row."""
    numbers = torch.atleast_2d(getattr(layer, name).detach() + 1.0)
    strided = numbers.mT.contiguous().mT
    setattr(layer, name, nn.Parameter(strided.view_as(getattr(layer, name))))


def by_fused_optimizer(layer: nn.LSTM, name: str) -> None:
    weight = getattr(layer, name)
    weight.grad = torch.ones_like(weight)
    torch.optim.AdamW([weight], lr=1.0, fused=True).step()


def test_weights_of_others_are_left_alone() -> None:
    layer = nn.LSTM(2, 3)
    before = dict(vars(layer.weight_ih_l0))
    by_fused_optimizer(layer, "weight_ih_l0")
    assert vars(layer.weight_ih_l0) == before


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", [in_place, by_data, by_another, by_columns, by_fused_optimizer])
@pytest.mark.parametrize("make", [tokens, words])
@torch.no_grad()
def test_other_weights_and_biases_are_read(
    make: Callable[..., tuple[nn.Module, nn.LSTM, tuple[Tensor, object]]],
    change: Callable[[nn.LSTM, str], None],
    name: str,
) -> None:
    layer, lstm, given = make()
    before = layer(*given)
    change(lstm, name)
    found = layer(*given)
    with using(PLAIN):
        expected = deepcopy(layer)(*given)
    assert_close(found[0], expected[0], 1e-5)
    assert not torch.allclose(found[0], before[0], atol=1e-3)


def test_words_are_read_on_their_own_device_whatever_the_default_is() -> None:
    layer, _, inputs = words()
    with torch.no_grad():
        expected = layer(*inputs)
        layer = deepcopy(layer)  # whose cache is empty
        with torch.device("meta"):
            found = layer(*inputs)
    assert torch.equal(found, expected)
