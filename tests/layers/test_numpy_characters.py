"""The NumPy LSTM for few words against the LSTM's equations."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from spacy_psa.layers import CharacterBiLSTM, characters, numpy_characters
from spacy_psa.layers.numpy_characters import NumpyCharacterBiLSTM, numpy_bilstm_weights
from spacy_psa.layers.versions import forget_weights

from .helpers import DTYPES, TOLERANCE, assert_close, randomized, state_of
from .reference import lstm, part

N_CHARACTERS = 9
LENGTHS = [[1], [3], [2, 2], [5, 1], [4, 3, 2, 1], [6, 6, 1, 1, 1], [9, *[2] * 7], [*[7] * 3, 3, 1]]
lengths_of_words = pytest.mark.parametrize("lengths", LENGTHS, ids=str)


def make(width: int = 4, dtype: torch.dtype = torch.float64) -> CharacterBiLSTM:
    return randomized(CharacterBiLSTM(N_CHARACTERS, embedding_width=3, width=width)).to(dtype)


def words_of(lengths: list[int], seed: int = 0) -> tuple[Tensor, Tensor]:
    ids = np.random.default_rng(seed).integers(1, N_CHARACTERS, (len(lengths), max(lengths)))
    ids[np.arange(max(lengths)) >= np.array(lengths)[:, None]] = 0
    return torch.from_numpy(ids), torch.tensor(lengths)


def read(layer: CharacterBiLSTM, *words: Tensor) -> Tensor:
    with torch.no_grad():
        return layer(*words)


@pytest.fixture
def n_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that records the number of words each time NumPy reads some."""
    numbers, read = [], NumpyCharacterBiLSTM.read

    def counted(self: NumpyCharacterBiLSTM, ids: Tensor, lengths: Tensor) -> Tensor:
        numbers.append(len(lengths))
        return read(self, ids, lengths)

    monkeypatch.setattr(NumpyCharacterBiLSTM, "read", counted)
    return numbers


@pytest.fixture
def by_pytorch(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Tensor]:
    """Read words without NumPy."""

    def slowly(layer: CharacterBiLSTM, *words: Tensor) -> Tensor:
        with monkeypatch.context() as patched:
            patched.setattr(characters, "numpy_bilstm_weights", lambda *parts: None)
            return read(layer, *words)

    return slowly


@pytest.mark.parametrize("dtype", DTYPES)
@lengths_of_words
def test_words_are_the_last_states_of_both_directions(lengths, dtype, n_read):
    layer = make(dtype=dtype)
    state, (ids, sizes) = state_of(layer.double()), words_of(lengths)
    output = read(layer.to(dtype), ids, sizes)
    assert n_read == [len(lengths)]
    assert output.dtype == dtype and output.shape == (len(lengths), 4)
    for row, n in enumerate(lengths):
        x = state["embedding.weight"][ids[row, :n].numpy()]
        last = lstm(x, part(state, "forwards"))[-1]
        first = lstm(x[::-1], part(state, "backwards"))[-1]
        assert_close(output[row], np.concatenate([last, first]), TOLERANCE[dtype])


@pytest.mark.parametrize("seed", range(20))
def test_any_words_come_to_what_pytorch_makes_of_them(seed, n_read, by_pytorch):
    rng = np.random.default_rng(seed)
    layer = make(2 * int(rng.integers(1, 30)))
    lengths = sorted(rng.integers(1, 21, int(rng.integers(1, 65))).tolist(), reverse=True)
    words = words_of(lengths, seed)
    assert_close(read(layer, *words), by_pytorch(layer, *words), 1e-12)
    assert n_read == [len(lengths)]


@pytest.mark.parametrize("ended", [0.01, 0.99])
@lengths_of_words
def test_it_does_not_matter_when_words_are_left_out(lengths, ended, monkeypatch, by_pytorch):
    monkeypatch.setattr(numpy_characters, "ENDED", ended)
    monkeypatch.setattr(numpy_characters, "FEWEST", 0)
    layer, words = make(), words_of(lengths)
    assert_close(read(layer, *words), by_pytorch(layer, *words), 1e-13)


def test_padding_is_not_read():
    layer, (ids, lengths) = make(), words_of([4, 2, 1])
    garbage = ids.where(ids > 0, 7)
    assert torch.equal(read(layer, garbage, lengths), read(layer, ids, lengths))


def test_in_many_words_none_is_read_by_numpy(n_read):
    layer = make()
    read(layer, *words_of([2] * (characters.FEW_WORDS + 1)))
    assert not n_read
    read(layer, *words_of([2] * characters.FEW_WORDS))
    assert n_read == [characters.FEW_WORDS]


def test_with_gradients_or_in_mixed_precision_none_is(n_read):
    layer, words = make(dtype=torch.float32), words_of([3, 1])
    layer(*words)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        read(layer, *words)
    assert not n_read


@pytest.mark.parametrize("which", ["embedding", "forwards", "backwards"])
def test_nor_if_someone_watches(which, n_read):
    layer, words, seen = make(), words_of([3, 1]), []
    handle = layer.get_submodule(which).register_forward_hook(lambda *what: seen.append(1))
    expected = read(layer, *words)
    assert seen and not n_read
    handle.remove()
    assert_close(read(layer, *words), expected, 1e-13)
    assert n_read


class Scaled(nn.Embedding):
    def forward(self, input: Tensor) -> Tensor:
        return 2.0 * super().forward(input)


def in_half_precision(layer: CharacterBiLSTM) -> None:
    layer.half()


def with_a_largest_norm(layer: CharacterBiLSTM) -> None:
    layer.embedding.max_norm = 0.1


def of_their_own(layer: CharacterBiLSTM) -> None:
    layer.embedding = randomized(Scaled(N_CHARACTERS, 3))


def by_pytorchs_own_lstm(layer: CharacterBiLSTM) -> None:
    layer.backwards = nn.LSTM(3, 2, num_layers=2, batch_first=True).double()


def of_other_widths(layer: CharacterBiLSTM) -> None:
    layer.backwards = randomized(CharacterBiLSTM(1, embedding_width=3, width=6)).backwards


def without_a_weight(layer: CharacterBiLSTM) -> None:
    del layer.forwards.bias_ih_l0


@pytest.mark.parametrize(
    "change",
    [
        in_half_precision,
        with_a_largest_norm,
        of_their_own,
        by_pytorchs_own_lstm,
        of_other_widths,
        without_a_weight,
    ],
)
def test_nor_by_parts_that_it_does_not_know(change):
    layer = make()
    parts = lambda: (layer.embedding, layer.forwards, layer.backwards)  # noqa: E731
    assert numpy_bilstm_weights(*parts()) is not None
    change(layer)
    assert numpy_bilstm_weights(*parts()) is None


def test_nor_if_the_table_of_characters_would_be_large(monkeypatch, n_read):
    layer, words = make(), words_of([3, 1])
    monkeypatch.setattr(numpy_characters, "LARGEST", N_CHARACTERS * 2 * 4 * 2 - 1)
    read(layer, *words)
    assert not n_read
    monkeypatch.setattr(numpy_characters, "LARGEST", N_CHARACTERS * 2 * 4 * 2)
    read(layer, *words)
    assert n_read


@pytest.mark.parametrize(("n_characters", "is_small"), [(2**16, True), (2**16 + 1, False)])
def test_a_table_of_a_million_numbers_is_the_largest(n_characters: int, is_small: bool) -> None:
    layer = CharacterBiLSTM(n_characters, embedding_width=1, width=4)
    weights = numpy_bilstm_weights(layer.embedding, layer.forwards, layer.backwards)
    assert (weights is not None) == is_small


@pytest.mark.parametrize("name", [name for name, _ in make().named_parameters()])
def test_it_notices_that_a_weight_has_changed(name, by_pytorch):
    layer, words = make(), words_of([3, 1])
    before = read(layer, *words)
    with torch.no_grad():
        layer.get_parameter(name).add_(0.5)
    after = read(layer, *words)
    assert not torch.equal(before, after)
    assert_close(after, by_pytorch(layer, *words), 1e-13)


def test_it_forgets_weights_when_it_is_told_to(by_pytorch):
    layer, words = make(), words_of([3, 1])
    before = read(layer, *words)
    # Unnoticed by PyTorch, like optimizers outside PyTorch
    layer.forwards.weight_hh_l0.data.numpy()[...] += 0.5
    forget_weights(nn.Sequential(layer))
    after = read(layer, *words)
    assert not torch.equal(before, after)
    assert_close(after, by_pytorch(layer, *words), 1e-13)


def test_weights_are_put_in_order_once():
    layer = make()
    read(layer, *words_of([3, 1]))
    ordered = layer._ordered._kept
    read(layer, *words_of([2]))
    assert layer._ordered._kept is ordered is not None


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_keep_nothing(copied):
    layer, words = make(), words_of([3, 1])
    expected = read(layer, *words)
    other = copied(layer)
    assert other._ordered._kept is None
    assert torch.equal(read(other, *words), expected)


def assert_the_same_in_silence(
    layer: CharacterBiLSTM, words: tuple[Tensor, Tensor], by_pytorch: Callable[..., Tensor]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read(layer, *words)
    expected = by_pytorch(layer, *words)
    assert torch.equal(found.isnan(), expected.isnan())
    assert_close(found.nan_to_num(), expected.nan_to_num().numpy(), 1e-6)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e30, -1e30])
@pytest.mark.parametrize("name", ["embedding.weight", "backwards.weight_hh_l0"])
def test_hostile_weights_come_to_what_they_come_to_in_pytorch(name, value, by_pytorch):
    layer, words = make(dtype=torch.float32), words_of([4, 2, 1])
    with torch.no_grad():
        layer.get_parameter(name)[1, 0] = value
    assert_the_same_in_silence(layer, words, by_pytorch)


@pytest.mark.parametrize(
    ("row", "weight"), [([np.inf, -np.inf, 1.0], 1.0), ([1e38, 1e38, 1e38], 10.0)]
)
def test_so_do_those_that_are_infinite_before_any_word_is_read(row, weight, by_pytorch):
    layer, words = make(dtype=torch.float32), words_of([4, 2, 1])
    with torch.no_grad():
        layer.embedding.weight[1] = torch.tensor(row)
        layer.forwards.weight_ih_l0.fill_(weight)
    assert_the_same_in_silence(layer, words, by_pytorch)


@pytest.mark.parametrize("seed", range(10))
def test_words_in_any_order_are_read_by_pytorch(seed, n_read, by_pytorch):
    rng = np.random.default_rng(seed)
    lengths = rng.permutation([9, 7, 4, 4, 3, 2, 1, 1, 1, 1]).tolist()
    layer, words = make(), words_of(lengths)
    assert_close(read(layer, *words), by_pytorch(layer, *words), 1e-13)
    assert not n_read


def test_words_without_characters_are_refused():
    layer, (ids, lengths) = make(), words_of([3, 1])
    lengths[1] = 0
    with pytest.raises(IndexError):
        read(layer, ids, lengths)


def test_words_that_are_long_or_wide_are_read_by_pytorch(monkeypatch, n_read, by_pytorch):
    layer, words = make(), words_of([5, 1])
    for name, most in (("MOST_CHARACTERS", 10), ("MOST_PRODUCTS", 2 * 2 * 2)):
        with monkeypatch.context() as patched:
            patched.setattr(numpy_characters, name, most - 1)
            assert_close(read(layer, *words), by_pytorch(layer, *words), 1e-13)
            assert not n_read
            patched.setattr(numpy_characters, name, most)
            read(layer, *words)
            assert n_read
            n_read.clear()


@pytest.mark.parametrize("number", [-1, N_CHARACTERS, 10**6])
def test_characters_that_are_not_there_are_refused(number):
    layer, (ids, lengths) = make(), words_of([3, 1])
    ids[0, 1] = number
    with pytest.raises(IndexError):
        read(layer, ids, lengths)


def test_what_was_read_in_inference_mode_serves_outside_of_it():
    layer, words = make(), words_of([3, 1])
    with torch.inference_mode():
        before = layer(*words)
    assert torch.equal(before.clone(), read(layer, *words))
