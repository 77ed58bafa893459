"""The BiLSTM over joined sentences against its equations and against the padded BiLSTM."""

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import nn

from spacy_psa.acceleration import cpu
from spacy_psa.acceleration.joined_lstm import SHUT, join, joined_bilstm
from spacy_psa.layers import BiLSTM
from spacy_psa.layers.initialization import lstm

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
BATCHES = [[2, 5, 1], [4, 4], [1], [1, 7, 7, 2], [9, 3, 2, 2, 1, 1]]
# One row for the sentence of 20 tokens, and three rows of ten short sentences each
UNEVEN = [20, *[1] * 30]
batches = pytest.mark.parametrize("lengths", BATCHES, ids=str)
some_lengths = st.lists(st.integers(1, 12), min_size=1, max_size=12)


def directions(left: int = 2, right: int = 2) -> tuple[nn.LSTM, nn.LSTM]:
    return randomized(lstm(WIDTH, left)), randomized(lstm(WIDTH, right), seed=1)


# Placement of sequences


@settings(deadline=None, derandomize=True)
@given(some_lengths)
@example([5, 2, 2])  # fills a row to its end
@example([4, 2, 2])  # does not
def test_sequences_are_in_one_piece_with_a_free_place_between_them(lengths):
    rows = join(tuple(lengths))
    assert rows.n_steps == max(lengths)
    assert rows.n_rows <= len(lengths)
    free = torch.ones(rows.n_steps + 1, rows.n_rows, dtype=torch.bool)  # with one additional place
    for places in rows.places[0].split(lengths):
        steps, row = places // rows.n_rows, places[0] % rows.n_rows
        assert (places % rows.n_rows == row).all()
        assert steps.tolist() == list(range(int(steps[0]), int(steps[0]) + len(places)))
        assert free[steps, row].all()
        free[steps, row] = False
    for row in range(rows.n_rows):
        begins = {
            int(places[0] // rows.n_rows)
            for places in rows.places[0].split(lengths)
            if places[0] % rows.n_rows == row
        }
        assert all(begin == 0 or free[begin - 1, row] for begin in begins)
    turned = free[:-1].flip(0).flatten()
    assert not turned[rows.places[1]].any()
    assert (~turned).sum() == sum(lengths) == len(rows.places[1].unique())


@pytest.mark.parametrize(
    ("lengths", "n_rows"),
    [([5, 2, 2], 2), ([4, 2, 2], 3), ([3, 3], 2), (UNEVEN, 4), ([7, 1, 5, 1, 3, 3], 4)],
)
def test_rows_are_filled(lengths, n_rows):
    assert join(tuple(lengths)).n_rows == n_rows


# Results


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("right", [2, 3])
@batches
def test_states_equal_loops(lengths, right, dtype):
    both, x = directions(right=right), batch_of(lengths, WIDTH)
    states = [state_of(lstm) for lstm in both]
    expected = [bilstm(x[i, :n].numpy(), *states) for i, n in enumerate(lengths)]
    tokens = torch.cat([row[:n] for row, n in zip(x, lengths, strict=True)]).to(dtype)
    output = joined_bilstm(tokens, join(tuple(lengths)), *(lstm.to(dtype) for lstm in both))
    assert output.dtype == dtype
    for rows, wanted in zip(output.split(lengths), expected, strict=True):
        assert_close(rows, wanted, TOLERANCE[dtype])


@batches
def test_gradients_of_inputs_and_parameters_pass_gradcheck(lengths):
    both = directions()
    tokens = normal(sum(lengths), WIDTH, seed=2).requires_grad_()
    parameters = [p for lstm in both for p in lstm.parameters()]

    def states(tokens, *parameters):
        return joined_bilstm(tokens, join(tuple(lengths)), *both)

    assert torch.autograd.gradcheck(states, (tokens, *parameters))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_nothing_of_a_sentence_is_left_for_the_next_one(dtype, scale):
    """States and gradients are identical to the bit, whatever precedes a sentence in its row."""
    both = directions(4, 4)
    with torch.no_grad():
        for parameter in (p for lstm in both for p in lstm.to(dtype).parameters()):
            parameter.mul_(scale)
    lengths = [9, 4, 4]  # the second and the third share a row
    rows = join(tuple(lengths))
    assert rows.n_rows == 2
    found = []
    for neighbour in (0.0, 1.0, 1e3):
        tokens = normal(sum(lengths), WIDTH, seed=2).to(dtype)
        tokens[9:13] *= neighbour
        tokens.requires_grad_()
        states = joined_bilstm(tokens, rows, *both)
        (gradient,) = torch.autograd.grad(states[13:].square().sum(), tokens)
        assert not gradient[:13].any()
        assert gradient[13:].any()
        found.append((states[13:], gradient[13:]))
    for states, gradient in found[1:]:
        assert torch.equal(states, found[0][0])
        assert torch.equal(gradient, found[0][1])


def test_what_shuts_a_gate_is_a_number_of_any_type():
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        number = torch.tensor(SHUT, dtype=dtype)
        assert number.isfinite()
        assert torch.sigmoid(number) == 0


# Integration


@pytest.fixture
def calls(monkeypatch) -> list[int]:
    """A list that records the number of tokens in each call of `joined_bilstm`."""
    calls = []

    def counted(tokens, *arguments):
        calls.append(len(tokens))
        return joined_bilstm(tokens, *arguments)

    monkeypatch.setattr(cpu, "joined_bilstm", counted)
    return calls


@pytest.mark.parametrize("depth", [1, 2])
def test_training_joins_sentences_where_that_saves_rows(calls, depth):
    layer = randomized(BiLSTM(WIDTH, hidden_width=4, depth=depth))
    layer(batch_of(UNEVEN, WIDTH), mask_of(UNEVEN))
    assert calls == [sum(UNEVEN)] * depth


@pytest.mark.parametrize("lengths", [[6], [4, 4], [5, 4, 5]], ids=str)
def test_other_batches_are_padded(calls, lengths):
    randomized(BiLSTM(WIDTH, hidden_width=4))(batch_of(lengths, WIDTH), mask_of(lengths))
    assert not calls


@pytest.mark.parametrize(
    "register",
    ["register_forward_pre_hook", "register_forward_hook", "register_full_backward_hook"],
)
def test_hooks_are_called(calls, register):
    layer, seen = randomized(BiLSTM(WIDTH, hidden_width=4)), []
    for direction in (*layer.forwards, *layer.backwards):
        getattr(direction, register)(lambda *_: seen.append(1))
    layer(batch_of(UNEVEN, WIDTH).requires_grad_(), mask_of(UNEVEN)).sum().backward()
    assert len(seen) == 2 and not calls


def test_what_was_joined_in_inference_mode_serves_training():
    layer, x = randomized(BiLSTM(WIDTH, hidden_width=4)), batch_of(UNEVEN, WIDTH)
    join.cache_clear()
    with torch.inference_mode(), torch.enable_grad():
        expected = layer(x, mask_of(UNEVEN))
    output = layer(x, mask_of(UNEVEN))
    output.sum().backward()
    assert torch.equal(output, expected) and layer.forwards[0].weight_ih_l0.grad.any()


def test_prediction_joins_nothing(calls):
    with torch.no_grad():
        randomized(BiLSTM(WIDTH, hidden_width=4))(batch_of(UNEVEN, WIDTH), mask_of(UNEVEN))
    assert not calls


def test_dropout_falls_on_joined_states_as_on_padded_ones(calls):
    torch.manual_seed(0)
    layer = randomized(BiLSTM(WIDTH, hidden_width=8, input_dropout=0.0, output_dropout=0.25))
    x, mask = batch_of(UNEVEN, WIDTH), mask_of(UNEVEN)
    plain = layer(x, mask)[mask.positions]
    dropped = layer.train()(x, mask)[mask.positions]
    assert len(calls) == 2
    kept = dropped != 0
    assert 0.65 < kept.double().mean() < 0.85
    assert_close(dropped[kept], plain[kept] / 0.75, 1e-12)


def test_sentences_are_joined_under_autocast(calls):
    layer = randomized(BiLSTM(WIDTH, hidden_width=4)).float()
    x, mask = batch_of(UNEVEN, WIDTH).float(), mask_of(UNEVEN)
    expected = layer(x, mask)[mask.positions]
    x.requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = layer(x, mask)[mask.positions]
    output.float().sum().backward()
    assert len(calls) == 2
    assert_close(output.float(), expected, 0.05)
    assert x.grad is not None and x.grad[mask.positions].all()
