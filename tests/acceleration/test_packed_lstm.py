"""The packed BiLSTM against a loop over its equations and against the padded BiLSTM."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from spacy_psa.acceleration import packed_lstm
from spacy_psa.acceleration.packed_lstm import packed_bilstm, steps_of
from spacy_psa.layers import PLAIN, CharacterBiLSTM, SequenceMask, using

from ..layers.helpers import (
    DTYPES,
    TOLERANCE,
    assert_close,
    batch_of,
    mask_of,
    normal,
    randomized,
    state_of,
)
from ..layers.reference import bilstm

WIDTH = 3
BATCHES = [[2, 5, 1], [4, 4], [1], [1, 7, 7, 2]]
batches = pytest.mark.parametrize("lengths", BATCHES, ids=str)


def directions(width: int = 2) -> tuple[nn.LSTM, nn.LSTM]:
    forwards, backwards = (nn.LSTM(WIDTH, width, batch_first=True) for _ in range(2))
    return randomized(forwards), randomized(backwards, seed=1)


def run(x: torch.Tensor, mask: SequenceMask, lstms: tuple[nn.LSTM, nn.LSTM]) -> torch.Tensor:
    places = steps_of(mask).places
    states = packed_bilstm(x.flatten(0, 1)[places], steps_of(mask).sizes, *lstms)
    both = [
        states.new_zeros(len(mask.lengths) * mask.width, states.shape[2]).index_copy(0, rows, found)
        for rows, found in zip(places, states, strict=True)
    ]
    return torch.cat(both, dim=1).unflatten(0, (len(mask.lengths), mask.width))


@pytest.mark.parametrize("dtype", DTYPES)
@batches
def test_states_equal_loops(lengths, dtype):
    lstms, x, mask = directions(), batch_of(lengths, WIDTH), mask_of(lengths)
    states = [state_of(lstm) for lstm in lstms]
    expected = [bilstm(x[i, :n].numpy(), *states) for i, n in enumerate(lengths)]
    output = run(x.to(dtype), mask, tuple(lstm.to(dtype) for lstm in lstms))
    assert output.dtype == dtype
    for row, n, wanted in zip(output, lengths, expected, strict=True):
        assert_close(row[:n], wanted, TOLERANCE[dtype])
        assert not row[n:].any()


@batches
def test_gradients_of_inputs_and_parameters_pass_gradcheck(lengths):
    lstms, mask = directions(), mask_of(lengths)
    x = batch_of(lengths, WIDTH).requires_grad_()
    parameters = [p for lstm in lstms for p in lstm.parameters()]

    def states(x: torch.Tensor, *parameters: torch.Tensor) -> torch.Tensor:
        return run(x, mask, lstms)

    assert torch.autograd.gradcheck(states, (x, *parameters))


def test_parameters_learn_where_inputs_do_not():
    lstms, mask = directions(), mask_of([3, 1])
    run(batch_of([3, 1], WIDTH), mask, lstms).sum().backward()
    assert all(p.grad is not None and p.grad.any() for lstm in lstms for p in lstm.parameters())


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(0, 2))
def test_steps_are_those_of_a_packed_sequence(lengths, extra):
    mask = SequenceMask(torch.tensor(lengths), max(lengths) + extra)
    x = normal(len(lengths), mask.width, 2, seed=3)
    packed = nn.utils.rnn.pack_padded_sequence(
        x, torch.tensor(lengths), batch_first=True, enforce_sorted=False
    )
    flat = x.flatten(0, 1)
    assert steps_of(mask).sizes == packed.batch_sizes.tolist()
    # Sequences of the same length may be in any order
    assert sorted(flat[steps_of(mask).places[0]].tolist()) == sorted(packed.data.tolist())
    forwards, backwards = flat[steps_of(mask).places]
    for i, n in enumerate(lengths):
        assert torch.equal(forwards[steps_of(mask).last[i]], x[i, n - 1])
        assert torch.equal(backwards[steps_of(mask).last[i]], x[i, 0])


# Integration


def test_characters_come_to_the_same_with_directions_of_other_widths():
    """With an odd width, PyTorch's packed LSTM is used."""
    words, lengths = torch.tensor([[1, 2, 3], [4, 5, 0], [6, 0, 0]]), torch.tensor([3, 2, 1])
    even = randomized(CharacterBiLSTM(9, embedding_width=2, width=4))
    odd = randomized(CharacterBiLSTM(9, embedding_width=2, width=5))
    for name in ("embedding", "forwards"):
        getattr(odd, name).load_state_dict(getattr(even, name).state_dict())
    assert_close(even(words, lengths)[:, :2], odd(words, lengths)[:, :2], 1e-12)


@pytest.mark.parametrize("learns", [False, True])
def test_layers_with_hooks_are_left_to_pytorch(learns):
    words, lengths = torch.ones(100, 2, dtype=torch.long), torch.full((100,), 2)
    layer = randomized(CharacterBiLSTM(3, embedding_width=2, width=4))
    layer.forwards.register_forward_pre_hook(lambda _, inputs: (2 * inputs[0],))
    with torch.set_grad_enabled(learns):
        output = layer(words, lengths)
        with using(PLAIN):
            assert_close(output, layer(words, lengths), 1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_left_to_pytorch(dtype):
    assert packed_lstm.may_be_packed(*directions())
    assert not packed_lstm.may_be_packed(*(lstm.to(dtype) for lstm in directions()))
