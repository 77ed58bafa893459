"""DeepAtt and its parts against loops over the paper's equations."""

import functools
import math

import pytest
import torch
from torch import nn

from spacy_psa.layers import (
    ConvolutionSublayer,
    DeepAtt,
    FeedForwardSublayer,
    MultiHeadSelfAttention,
    PositionEmbedding,
    RecurrentSublayer,
    SinusoidalPositions,
)

from .deepatt_reference import deepatt
from .helpers import (
    DTYPES,
    TOLERANCE,
    assert_close,
    batch_of,
    mask_of,
    normal,
    randomized,
    state_of,
)
from .test_sublayers import assert_orthogonal

WIDTH, DEPTH, HEADS, LENGTHS = 4, 2, 2, [3, 5, 1]
SUBLAYERS = {
    "feed-forward": functools.partial(FeedForwardSublayer, hidden_width=5),
    "recurrent": RecurrentSublayer,
    "convolution": ConvolutionSublayer,
    None: None,
}
POSITIONS = {"timing": SinusoidalPositions, "embedding": PositionEmbedding, None: None}


def make(
    sublayer: str | None = "feed-forward", positions: str | None = "timing", **settings: float
) -> DeepAtt:
    own = {"input_width": WIDTH, "width": WIDTH, "depth": DEPTH, "n_heads": HEADS, **settings}
    return DeepAtt(sublayer=SUBLAYERS[sublayer], positions=POSITIONS[positions], **own)


def assert_equals_loops(layer, sublayer, positions, dtype, device, input_width=WIDTH) -> None:
    x, state = batch_of(LENGTHS, input_width), state_of(layer)
    output = layer.to(device, dtype)(x.to(device, dtype), mask_of(LENGTHS, device))
    assert output.dtype == dtype
    assert output.shape == (len(LENGTHS), max(LENGTHS), WIDTH)
    for row, n in enumerate(LENGTHS):
        expected = deepatt(
            x[row, :n].numpy(),
            state,
            sublayer=sublayer,
            positions=positions,
            depth=DEPTH,
            n_heads=HEADS,
        )
        assert_close(output[row, :n], expected, 10 * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("sublayer", SUBLAYERS)
def test_output_equals_loops(sublayer, positions, dtype, device):
    layer = randomized(make(sublayer, positions))
    assert_equals_loops(layer, sublayer, positions, dtype, device)


@pytest.mark.parametrize("input_width", [3, 6])
def test_input_of_another_width_goes_through_a_linear_map(input_width):
    layer = randomized(make(input_width=input_width))
    assert_equals_loops(
        layer, "feed-forward", "timing", torch.float64, torch.device("cpu"), input_width
    )


def test_input_of_the_same_width_goes_in_as_it_is():
    assert [name for name in make().state_dict() if name.startswith("input")] == []


def test_scaled_input_is_multiplied_by_the_root_of_the_width():
    plain, scaled = randomized(make()), randomized(make(scale_input=True))
    x, mask = batch_of(LENGTHS, WIDTH), mask_of(LENGTHS)
    assert_close(scaled(x, mask), plain(x * math.sqrt(WIDTH), mask), 1e-12)
    assert not torch.allclose(scaled(x, mask), plain(x, mask))


@pytest.mark.parametrize("n_heads", [1, 2, 4])
def test_dot_products_are_divided_by_the_root_of_the_width_of_a_head(n_heads):
    layer = make(n_heads=n_heads)
    scales = [m.scale for m in layer.modules() if isinstance(m, MultiHeadSelfAttention)]
    assert scales == [1 / math.sqrt(WIDTH / n_heads)] * DEPTH


def test_each_layer_is_a_nonlinear_sublayer_and_an_attention_in_this_order():
    parts = [type(block.sublayer) for block in make(depth=3).sublayers]
    assert parts == [FeedForwardSublayer, MultiHeadSelfAttention] * 3


def test_without_a_nonlinear_sublayer_there_is_attention_alone():
    parts = [type(block.sublayer) for block in make(None, depth=3).sublayers]
    assert parts == [MultiHeadSelfAttention] * 3


def test_settings_are_the_papers_by_default():
    layer = DeepAtt(200, sublayer=FeedForwardSublayer, positions=SinusoidalPositions)
    assert (layer.width, len(layer.sublayers)) == (200, 20)
    attentions = [m for m in layer.modules() if isinstance(m, MultiHeadSelfAttention)]
    assert {(a.n_heads, a.key_width, a.attention_dropout) for a in attentions} == {(8, 25, 0.1)}
    assert {block.dropout.p for block in layer.sublayers} == {0.2}
    assert (layer.input_dropout.p, layer.input_scale) == (0.0, 1.0)


@pytest.mark.parametrize("sublayer", ["feed-forward", None])
def test_without_positions_the_order_of_tokens_only_orders_the_output(sublayer):
    x, order = batch_of([5], WIDTH), [3, 0, 4, 1, 2]
    for positions, same in ((None, True), ("timing", False), ("embedding", False)):
        layer = randomized(make(sublayer, positions))
        shuffled = layer(x[:, order], mask_of([5]))
        assert torch.allclose(shuffled, layer(x, mask_of([5]))[:, order]) == same


def test_attention_weights_are_orthogonal():
    for block in make(None, width=12, input_width=12).sublayers:
        for name in ("query", "key", "value", "output"):
            assert_orthogonal(getattr(block.sublayer, name).weight)


def test_the_input_map_is_normal_with_the_deviation_of_one_over_the_root_of_the_width():
    torch.manual_seed(0)
    weight = make(input_width=300, width=100).input.weight.detach()
    assert float(weight.std()) == pytest.approx(0.1, rel=0.05)
    # About 4.6% of a normal distribution, but nothing of a uniform one, lies beyond two deviations.
    assert float((weight.abs() > 0.2).float().mean()) == pytest.approx(0.0455, abs=0.01)


def test_layer_normalization_begins_as_itself():
    for block in make().sublayers:
        assert (block.norm.weight == 1).all()
        assert not block.norm.bias.any()


def test_outputs_are_normalized():
    output = make()(normal(1, 3, WIDTH).float(), mask_of([3]))
    assert_close(output.mean(dim=2), torch.zeros(1, 3), 1e-6)
    assert_close(output.square().mean(dim=2), torch.ones(1, 3), 1e-3)


@pytest.mark.parametrize("dropout", ["residual_dropout", "attention_dropout", "input_dropout"])
def test_dropout_acts_in_training_only(dropout):
    torch.manual_seed(0)
    none = {"residual_dropout": 0.0, "attention_dropout": 0.0, "input_dropout": 0.0}
    layer = randomized(make("recurrent", **{**none, dropout: 0.5}))
    plain = randomized(make("recurrent", **none))
    x, mask = batch_of(LENGTHS, WIDTH), mask_of(LENGTHS)
    assert torch.equal(layer(x, mask), plain(x, mask))
    assert not torch.equal(layer.train()(x, mask), plain(x, mask))


def test_residual_dropout_falls_on_the_output_of_the_sublayer_alone():
    torch.manual_seed(0)
    block = randomized(make(residual_dropout=0.5)).sublayers[0].train()
    block.sublayer.eval()
    block.norm = nn.Identity()
    x, mask = batch_of([50], WIDTH), mask_of([50])
    added = block(x, mask) - x
    dropped = added == 0
    assert 0 < dropped.sum() < dropped.numel()
    assert_close(added[~dropped], 2 * block.sublayer(x, mask)[~dropped], 1e-12)


def test_initialization_is_repeatable_from_a_seed():
    states = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        states.append(make("recurrent", "embedding", input_width=3).state_dict())
    first, second, third = states
    assert all(torch.equal(first[key], second[key]) for key in first)
    assert not all(torch.equal(first[key], third[key]) for key in first)
