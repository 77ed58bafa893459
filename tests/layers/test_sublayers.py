"""The nonlinear sub-layers of DeepAtt against loops over their equations."""

import pytest
import torch
from torch import nn

from spacy_psa.layers import ConvolutionSublayer, FeedForwardSublayer, RecurrentSublayer

from .deepatt_reference import NONLINEAR
from .helpers import (
    DTYPES,
    TOLERANCE,
    assert_close,
    batch_of,
    mask_of,
    randomized,
    state_of,
)

WIDTH = 3
# Unsorted and padded; not padded; shorter than a filter.
BATCHES = [[2, 5, 1], [4, 4], [1]]
SUBLAYERS = {
    "feed-forward": lambda: FeedForwardSublayer(WIDTH, hidden_width=5),
    "recurrent": lambda: RecurrentSublayer(WIDTH),
    "convolution": lambda: ConvolutionSublayer(WIDTH),
}


def assert_equals_loops(name, layer, lengths, dtype, device) -> None:
    x = batch_of(lengths, WIDTH)
    expected = [
        NONLINEAR[name](x[row, :n].numpy(), state_of(layer)) for row, n in enumerate(lengths)
    ]
    output = layer.to(device, dtype)(x.to(device, dtype), mask_of(lengths, device))
    assert output.dtype == dtype
    assert output.shape == x.shape
    for row, n in enumerate(lengths):
        assert_close(output[row, :n], expected[row], TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lengths", BATCHES, ids=str)
@pytest.mark.parametrize("name", SUBLAYERS)
def test_output_equals_loops(name, lengths, dtype, device):
    assert_equals_loops(name, randomized(SUBLAYERS[name]()), lengths, dtype, device)


@pytest.mark.parametrize("kernel_size", [1, 3, 5, 7])
def test_convolution_equals_loops_for_any_filter(kernel_size):
    layer = randomized(ConvolutionSublayer(WIDTH, kernel_size=kernel_size))
    assert_equals_loops("convolution", layer, [5, 2], torch.float64, torch.device("cpu"))


def test_convolution_sees_as_far_as_its_filter():
    layer = randomized(ConvolutionSublayer(WIDTH, kernel_size=3))
    x, mask = batch_of([7], WIDTH), mask_of([7])
    changed = x.clone()
    changed[0, 3] += 1
    moved = (layer(changed, mask) - layer(x, mask)).abs()[0].sum(dim=1) > 0
    assert moved.tolist() == [False, False, True, True, True, False, False]


@pytest.mark.parametrize("name", SUBLAYERS)
def test_width_stays(name):
    assert SUBLAYERS[name]().width == WIDTH


def test_settings_are_the_papers_by_default():
    layer = FeedForwardSublayer(200)
    assert (layer.hidden.out_features, layer.dropout.p) == (800, 0.1)
    assert ConvolutionSublayer(4).filters.kernel_size == (3,)


def test_recurrent_sublayer_has_the_full_width_in_each_direction():
    layer = RecurrentSublayer(6)
    for direction in (layer.bilstm.forwards, layer.bilstm.backwards):
        assert [(lstm.input_size, lstm.hidden_size) for lstm in direction] == [(6, 6)]


def assert_orthogonal(weight: torch.Tensor) -> None:
    """Check that the rows are orthonormal, or the columns if there are fewer of them."""
    matrix = weight.detach().flatten(1).double()
    if matrix.shape[0] > matrix.shape[1]:
        matrix = matrix.t()
    assert_close(matrix @ matrix.t(), torch.eye(len(matrix)), 1e-5)


def test_feed_forward_weights_are_orthogonal():
    layer = FeedForwardSublayer(12, hidden_width=30)
    assert_orthogonal(layer.hidden.weight)
    assert_orthogonal(layer.output.weight)


def test_both_filters_are_orthogonal():
    filters = ConvolutionSublayer(12).filters.weight
    assert_orthogonal(filters[:12])
    assert_orthogonal(filters[12:])


def test_gates_are_orthogonal_each():
    for name, parameter in RecurrentSublayer(12).named_parameters():
        if "weight" in name:
            for gate in parameter.chunk(4):
                assert_orthogonal(gate)


def test_gates_have_normal_biases():
    torch.manual_seed(0)
    parameters = dict(RecurrentSublayer(100).bilstm.named_parameters())
    for direction in ("forwards", "backwards"):
        bias = parameters[f"{direction}.0.bias_ih_l0"]
        assert float(bias.detach().std()) == pytest.approx(0.1, rel=0.15)
        assert not parameters[f"{direction}.0.bias_hh_l0"].any()


def test_feed_forward_dropout_falls_on_the_hidden_layer():
    torch.manual_seed(0)
    layer = randomized(FeedForwardSublayer(WIDTH, hidden_width=50, dropout=0.5)).train()
    seen = []
    layer.dropout.register_forward_hook(lambda _, args, output: seen.append((args[0], output)))
    layer(batch_of([6], WIDTH), mask_of([6]))
    ((before, after),) = seen
    assert before.shape == (1, 6, 50)
    positive = before > 0
    assert 0 < (after[positive] == 0).sum() < positive.sum()


def test_only_the_feed_forward_sublayer_has_dropout_of_its_own():
    for name in ("recurrent", "convolution"):
        rates = {m.p for m in SUBLAYERS[name]().modules() if isinstance(m, nn.Dropout)}
        assert rates <= {0.0}


@pytest.mark.parametrize("has_gradient", [True, False])
def test_what_hooks_have_seen_stays_as_it_was(has_gradient):
    layer, seen = randomized(SUBLAYERS["feed-forward"]()), []
    for module in (layer.hidden, layer.output):
        module.register_forward_hook(lambda _, args, output: seen.append((output, output.clone())))
    with torch.set_grad_enabled(has_gradient):
        layer(batch_of([4], WIDTH), mask_of([4]))
    assert all(torch.equal(output, copied) for output, copied in seen)
    assert (seen[0][0] < 0).any()
