"""The character BiLSTM against a loop over the LSTM's equations."""

import numpy as np
import pytest
import torch

from spacy_psa.layers import CharacterBiLSTM

from .helpers import DTYPES, TOLERANCE, assert_close, randomized, state_of
from .reference import lstm, part

CHARACTERS = torch.tensor([[3, 1, 4, 1], [5, 2, 6, 0], [5, 2, 0, 0], [7, 0, 0, 0]])
LENGTHS = torch.tensor([4, 3, 2, 1])


def make_layer(width: int = 5) -> CharacterBiLSTM:
    return randomized(CharacterBiLSTM(8, embedding_width=3, width=width))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [4, 5])
def test_words_are_the_last_states_of_both_directions(width, dtype, device):
    layer = make_layer(width)
    state = state_of(layer)
    output = layer.to(device, dtype)(CHARACTERS.to(device), LENGTHS)
    assert output.shape == (4, width)
    assert output.dtype == dtype
    for row, n in enumerate(LENGTHS.tolist()):
        x = state["embedding.weight"][CHARACTERS[row, :n].numpy()]
        last = lstm(x, part(state, "forwards"))[-1]
        first = lstm(x[::-1], part(state, "backwards"))[-1]
        assert_close(output[row], np.concatenate([last, first]), TOLERANCE[dtype])


def test_padding_of_characters_changes_nothing():
    layer = make_layer()
    garbage = CHARACTERS.clone()
    garbage[CHARACTERS == 0] = 6
    assert torch.equal(layer(garbage, LENGTHS), layer(CHARACTERS, LENGTHS))


def test_padding_of_characters_gets_no_gradient():
    layer = make_layer()
    layer(CHARACTERS, LENGTHS).square().sum().backward()
    assert not layer.embedding.weight.grad[0].any()
    assert layer.embedding.weight.grad[1:].any(dim=1).all()


@pytest.mark.parametrize("row", range(4))
def test_other_words_of_the_batch_change_nothing(row):
    layer, n = make_layer(), int(LENGTHS[row])
    alone = layer(CHARACTERS[row : row + 1, :n], LENGTHS[row : row + 1])
    assert_close(layer(CHARACTERS, LENGTHS)[row], alone[0], 1e-12)


@pytest.mark.parametrize("learns", [False, True])
def test_no_words_are_no_rows(learns):
    layer = CharacterBiLSTM(9, embedding_width=2, width=4)
    with torch.set_grad_enabled(learns):
        output = layer(torch.zeros(0, 3, dtype=torch.long), torch.zeros(0, dtype=torch.long))
    assert output.shape == (0, 4)


def test_order_of_characters_matters():
    layer, two = make_layer(), torch.tensor([2])
    ab, ba = torch.tensor([[1, 2]]), torch.tensor([[2, 1]])
    assert not torch.allclose(layer(ab, two), layer(ba, two))


def test_settings_are_the_papers_by_default():
    layer = CharacterBiLSTM(8)
    assert layer.width == 100
    assert layer.embedding.weight.shape == (8, 30)
    assert layer.forwards.hidden_size + layer.backwards.hidden_size == 100
