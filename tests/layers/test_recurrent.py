"""The BiLSTM against a loop over its equations and against PyTorch's packed BiLSTM."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from spacy_psa.layers import BiLSTM

from .helpers import (
    DTYPES,
    TOLERANCE,
    assert_close,
    batch_of,
    mask_of,
    randomized,
    state_of,
)
from .reference import bilstm, part

WIDTH = 3
# Unsorted and padded; not padded.
BATCHES = [[2, 5, 1], [4, 4]]


def expected_rows(layer: BiLSTM, x: torch.Tensor, lengths: list[int]) -> list[np.ndarray]:
    state = state_of(layer)
    rows = []
    for row, n in enumerate(lengths):
        output = x[row, :n].numpy()
        for i in range(len(layer.forwards)):
            output = bilstm(output, part(state, f"forwards.{i}"), part(state, f"backwards.{i}"))
        rows.append(output)
    return rows


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("hidden_width", [4, 5])
@pytest.mark.parametrize("lengths", BATCHES, ids=str)
def test_output_equals_loops(lengths, hidden_width, depth, dtype, device):
    layer = randomized(BiLSTM(WIDTH, hidden_width=hidden_width, depth=depth))
    x = batch_of(lengths, WIDTH)
    expected = expected_rows(layer, x, lengths)
    output = layer.to(device, dtype)(x.to(device, dtype), mask_of(lengths, device))
    assert output.dtype == dtype
    assert output.shape == (len(lengths), max(lengths), hidden_width)
    for row, n in enumerate(lengths):
        assert_close(output[row, :n], expected[row], TOLERANCE[dtype])


def packed_twin(layer: BiLSTM, depth: int) -> nn.LSTM:
    """PyTorch's bidirectional LSTM with the same parameters."""
    half = layer.width // 2
    twin = nn.LSTM(WIDTH, half, num_layers=depth, bidirectional=True, batch_first=True).double()
    own = {}
    for i in range(depth):
        for module, suffix in ((layer.forwards[i], ""), (layer.backwards[i], "_reverse")):
            for name, value in module.state_dict().items():
                own[name.replace("_l0", f"_l{i}") + suffix] = value
    twin.load_state_dict(own)
    return twin


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("lengths", BATCHES, ids=str)
def test_output_and_gradients_equal_the_packed_lstm(lengths, depth):
    layer = randomized(BiLSTM(WIDTH, hidden_width=6, depth=depth))
    twin, mask = packed_twin(layer, depth), mask_of(lengths)
    ours = batch_of(lengths, WIDTH).requires_grad_()
    theirs = ours.detach().clone().requires_grad_()
    packed = pack_padded_sequence(
        theirs, torch.tensor(lengths), batch_first=True, enforce_sorted=False
    )
    expected, _ = pad_packed_sequence(twin(packed)[0], batch_first=True)
    actual = layer(ours, mask)
    assert_close(actual[mask.positions], expected[mask.positions], 1e-12)
    actual[mask.positions].square().sum().backward()
    expected[mask.positions].square().sum().backward()
    assert_close(ours.grad, theirs.grad, 1e-12)
    gradients = dict(twin.named_parameters())
    for name, parameter in layer.named_parameters():
        direction, i, own = name.split(".")
        suffix = "_reverse" if direction == "backwards" else ""
        other = gradients[own.replace("_l0", f"_l{i}") + suffix]
        assert_close(parameter.grad, other.grad, 1e-11)


@pytest.mark.parametrize(("hidden_width", "halves"), [(6, (3, 3)), (7, (3, 4)), (300, (150, 150))])
def test_hidden_width_is_both_directions_together(hidden_width, halves):
    layer = BiLSTM(WIDTH, hidden_width=hidden_width)
    assert layer.width == hidden_width
    assert (layer.forwards[0].hidden_size, layer.backwards[0].hidden_size) == halves


def test_settings_are_the_papers_by_default():
    layer = BiLSTM(WIDTH)
    assert (layer.width, len(layer.forwards)) == (300, 1)
    assert (layer.input_dropout.p, layer.output_dropout.p) == (0.55, 0.55)


def test_depth_adds_layers_over_both_directions():
    layer = BiLSTM(WIDTH, hidden_width=5, depth=3)
    assert [lstm.input_size for lstm in layer.forwards] == [WIDTH, 5, 5]
    assert [lstm.input_size for lstm in layer.backwards] == [WIDTH, 5, 5]


def test_first_half_sees_only_the_left_and_second_half_only_the_right():
    layer = randomized(BiLSTM(WIDTH, hidden_width=4))
    x, mask = batch_of([5], WIDTH), mask_of([5])
    changed = x.clone()
    changed[0, 2] += 1
    moved = (layer(changed, mask) - layer(x, mask)).abs()[0] > 0
    assert moved[:, :2].all(dim=1).tolist() == [False, False, True, True, True]
    assert moved[:, 2:].all(dim=1).tolist() == [True, True, True, False, False]
    assert not moved[:2, :2].any()
    assert not moved[3:, 2:].any()


@pytest.mark.parametrize("dropout", ["input_dropout", "output_dropout"])
def test_dropout_acts_in_training_only(dropout):
    torch.manual_seed(0)
    rates = {"input_dropout": 0.0, "output_dropout": 0.0, dropout: 0.5}
    layer = randomized(BiLSTM(WIDTH, hidden_width=4, **rates))
    plain = randomized(BiLSTM(WIDTH, hidden_width=4, input_dropout=0.0, output_dropout=0.0))
    x, mask = batch_of([5], WIDTH), mask_of([5])
    assert torch.equal(layer(x, mask), plain(x, mask))
    layer.train()
    assert not torch.equal(layer(x, mask), plain(x, mask))


def test_output_dropout_zeroes_features_and_scales_the_others():
    torch.manual_seed(0)
    layer = randomized(BiLSTM(WIDTH, hidden_width=8, input_dropout=0.0, output_dropout=0.5))
    x, mask = batch_of([6], WIDTH), mask_of([6])
    plain = layer(x, mask)
    dropped = layer.train()(x, mask)
    kept = dropped != 0
    assert 0 < kept.sum() < kept.numel()
    assert_close(dropped[kept], 2 * plain[kept], 1e-12)


# One sentence, and a batch that is mostly padding, whose sentences are joined
@pytest.mark.parametrize("lengths", [[6], [20, *[2] * 30]], ids=["padded", "joined"])
@pytest.mark.parametrize("dropout", ["input_dropout", "output_dropout"])
def test_variational_dropout_is_the_same_for_all_tokens_of_a_sentence(lengths, dropout):
    torch.manual_seed(0)
    rates = {"input_dropout": 0.0, "output_dropout": 0.0, dropout: 0.5}
    layer = randomized(BiLSTM(WIDTH, hidden_width=8, variational=True, **rates)).train()
    seen = {}
    getattr(layer, dropout).register_forward_hook(
        lambda _, args, output: seen.update(before=args[0], after=output)
    )
    layer(batch_of(lengths, WIDTH), mask_of(lengths))
    dropped = []
    for before, after, n in zip(seen["before"], seen["after"], lengths, strict=True):
        factors = (after[:n] / before[:n]).round(decimals=6)
        assert torch.equal(factors, factors[:1].expand_as(factors))
        assert set(factors.flatten().tolist()) <= {0.0, 2.0}
        dropped.append(factors[0] == 0)
    dropped = torch.stack(dropped).double()
    assert 0 < dropped.mean() < 1
    # Sentences differ
    assert len(lengths) == 1 or len(dropped.unique(dim=0)) > 1


def test_dropouts_fall_on_the_input_once_and_on_the_output_of_each_layer():
    layer = randomized(BiLSTM(WIDTH, hidden_width=4, depth=2)).train()
    widths = {"input": [], "output": []}
    for name, dropout in (("input", layer.input_dropout), ("output", layer.output_dropout)):
        dropout.register_forward_hook(
            lambda _, args, output, name=name: widths[name].append(output.shape[-1])
        )
    layer(batch_of([3], WIDTH), mask_of([3]))
    assert widths == {"input": [WIDTH], "output": [4, 4]}
