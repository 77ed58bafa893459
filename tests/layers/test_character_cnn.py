"""The character CNN against loops over its definition."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_psa.layers import CharacterCNN

from .helpers import DTYPES, TOLERANCE, assert_close, randomized, state_of
from .reference import Array, State, inner

CHARACTERS = torch.tensor([[3, 1, 4, 1], [5, 2, 6, 0], [5, 2, 0, 0], [7, 0, 0, 0]])
LENGTHS = torch.tensor([4, 3, 2, 1])


def make_layer(window: int = 3, width: int = 5) -> CharacterCNN:
    return randomized(CharacterCNN(8, embedding_width=3, width=width, window=window))


def convolved(word: list[int], state: State) -> Array:
    """A word's representation, from every window that contains at least one of its characters."""
    W, b = state["filters.weight"], state["filters.bias"]
    n_filters, _, k = W.shape
    output = np.zeros(n_filters)
    for f in range(n_filters):
        best = -math.inf
        for end in range(len(word) + k - 1):
            score = float(b[f])
            for tap in range(k):
                place = end - k + 1 + tap
                if 0 <= place < len(word):
                    score += inner(W[f, :, tap], state["embedding.weight"][word[place]])
            best = max(best, score)
        output[f] = math.tanh(best)
    return output


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("window", [1, 2, 3, 5])
def test_words_are_the_maxima_of_the_convolution(window, dtype, device):
    layer = make_layer(window)
    state = state_of(layer)
    output = layer.to(device, dtype)(CHARACTERS.to(device), LENGTHS)
    assert output.shape == (4, 5)
    assert output.dtype == dtype
    for row, n in enumerate(LENGTHS.tolist()):
        expected = convolved(CHARACTERS[row, :n].tolist(), state)
        assert_close(output[row], expected, TOLERANCE[dtype])


@settings(max_examples=20, deadline=None)
@given(
    words=st.lists(st.lists(st.integers(1, 7), min_size=1, max_size=6), min_size=1, max_size=4),
    padding=st.integers(0, 4),
    junk=st.integers(0, 7),
)
def test_padding_and_other_words_change_nothing(words, padding, junk):
    layer = make_layer()
    longest = max(map(len, words)) + padding
    characters = torch.tensor([word + [junk] * (longest - len(word)) for word in words])
    output = layer(characters, torch.tensor([len(word) for word in words]))
    for row, word in enumerate(words):
        alone = layer(torch.tensor([word]), torch.tensor([len(word)]))
        assert_close(output[row], alone[0], 1e-12)


def test_padding_gets_no_gradient():
    layer = make_layer()
    layer(CHARACTERS, LENGTHS).square().sum().backward()
    assert not layer.embedding.weight.grad[0].any()
    assert layer.embedding.weight.grad[1:].any()


def test_order_of_characters_matters():
    layer, three = make_layer(), torch.tensor([3])
    abc, cba = torch.tensor([[1, 2, 3]]), torch.tensor([[3, 2, 1]])
    assert not torch.allclose(layer(abc, three), layer(cba, three))


def test_settings_are_those_of_ma_and_hovy_by_default():
    layer = CharacterCNN(8)
    assert layer.width == 30
    assert layer.embedding.weight.shape == (8, 30)
    assert layer.filters.weight.shape == (30, 30, 3)
    assert layer.dropout.p == 0.5


def test_filters_start_in_glorots_range_without_biases():
    layer = CharacterCNN(8, embedding_width=20, width=40, window=3)
    limit = math.sqrt(6 / (40 + 60))
    assert layer.filters.weight.abs().max() <= limit
    assert layer.filters.weight.abs().max() > 0.95 * limit
    assert not layer.filters.bias.any()


def test_dropout_falls_on_the_embeddings_in_training_only():
    torch.manual_seed(0)
    layer = make_layer()
    without = layer(CHARACTERS, LENGTHS)
    assert torch.equal(layer(CHARACTERS, LENGTHS), without)
    seen = []
    layer.dropout.register_forward_hook(lambda _, args, output: seen.append((args[0], output)))
    assert not torch.equal(layer.train()(CHARACTERS, LENGTHS), without)
    before, after = seen[0]
    assert torch.equal(before, layer.embedding(CHARACTERS))
    kept = after != 0
    assert 0 < kept.sum() < kept.numel()
    assert_close(after[kept], 2 * before[kept], 1e-12)
