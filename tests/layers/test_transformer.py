"""The Transformer against loops over the equations of Vaswani et al. (2017)."""

import functools

import pytest
import torch
from torch import nn

from spacy_psa.layers import (
    MultiHeadSelfAttention,
    PositionEmbedding,
    PSABias,
    SinusoidalPositions,
    TransformerEncoder,
    TransformerLayer,
)

from .helpers import DTYPES, TOLERANCE, assert_close, batch_of, mask_of, randomized, state_of
from .reference_transformer import encoder, layer, timing_signal
from .test_position_bias import SETS, make_bias

LENGTHS, INPUT, WIDTH, HEADS = [4, 2, 1], 3, 4, 2
SMALL = {"width": WIDTH, "n_heads": HEADS, "key_width": 3, "hidden_width": 5, "dropout": 0.0}


def make_encoder(**config: object) -> TransformerEncoder:
    return randomized(TransformerEncoder(INPUT, **{**SMALL, **config}))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factors", [*SETS[:4], None], ids=lambda f: "".join(f or ["none"]))
def test_layer_equals_loops(factors, dtype, device):
    bias = None
    if factors is not None:
        bias = functools.partial(make_bias, factors, window=4, max_distance=2)
    attention = MultiHeadSelfAttention(WIDTH, HEADS, bias=bias)
    module = randomized(TransformerLayer(attention, hidden_width=5))
    config = {} if factors is None else {"k": 4, "r": 2, "factors": factors}
    x, state = batch_of(LENGTHS, WIDTH), state_of(module)
    output = module.to(device, dtype)(x.to(device, dtype), mask_of(LENGTHS, device))
    for row, n in enumerate(LENGTHS):
        expected = layer(x[row, :n].numpy(), state, HEADS, **config)
        assert_close(output[row, :n], expected, 10 * TOLERANCE[dtype])


@pytest.mark.parametrize("pre_norm", [False, True])
@pytest.mark.parametrize("depth", [1, 3])
def test_encoder_with_sinusoids_equals_loops(depth, pre_norm):
    module = make_encoder(depth=depth, positions=SinusoidalPositions, pre_norm=pre_norm)
    x = batch_of(LENGTHS, INPUT)
    output = module(x, mask_of(LENGTHS))
    for row, n in enumerate(LENGTHS):
        expected = encoder(
            x[row, :n].numpy(),
            state_of(module),
            HEADS,
            depth,
            positions=lambda t, f: timing_signal(t, f, WIDTH),
            pre_norm=pre_norm,
        )
        assert_close(output[row, :n], expected, 1e-10)


def test_encoder_with_embedded_positions_equals_loops():
    module = make_encoder(positions=functools.partial(PositionEmbedding, max_length=9))
    x, state = batch_of([5], INPUT), state_of(module)
    table = state["positions.weight"]
    expected = encoder(x[0].numpy(), state, HEADS, 1, positions=lambda t, f: table[t, f])
    assert_close(module(x, mask_of([5]))[0], expected, 1e-10)


def test_encoder_with_the_bias_of_psa_equals_loops():
    bias = functools.partial(PSABias, window=4, max_distance=2)
    module = make_encoder(bias=bias, depth=2)
    x = batch_of(LENGTHS, INPUT)
    output = module(x, mask_of(LENGTHS))
    for row, n in enumerate(LENGTHS):
        expected = encoder(x[row, :n].numpy(), state_of(module), HEADS, 2, k=4, r=2)
        assert_close(output[row, :n], expected, 1e-10)


def test_settings_are_those_of_table_10_by_default():
    module = TransformerEncoder(100)
    assert module.width == 512
    assert len(module.layers) == 1
    first = module.layers[0]
    assert (first.attention.n_heads, first.attention.key_width) == (8, 64)
    assert first.feed_forward.hidden.weight.shape == (1024, 512)
    assert module.norm is None


def test_without_positions_words_are_a_bag():
    module = make_encoder(depth=2)
    x, mask = batch_of([5], INPUT), mask_of([5])
    order = [3, 1, 4, 0, 2]
    assert_close(module(x[:, order], mask), module(x, mask)[:, order], 1e-12)


@pytest.mark.parametrize("config", [{"positions": SinusoidalPositions}, {"bias": PSABias}])
def test_with_positions_order_counts(config):
    module = make_encoder(**config)
    x, mask = batch_of([5], INPUT), mask_of([5])
    order = [3, 1, 4, 0, 2]
    assert (module(x[:, order], mask) - module(x, mask)[:, order]).abs().max() > 1e-3


def test_post_norm_output_is_normalized():
    module = make_encoder(positions=SinusoidalPositions)
    norm = module.layers[0].around_feed_forward.norm
    nn.init.ones_(norm.weight), nn.init.zeros_(norm.bias)
    output = module(batch_of([5], INPUT), mask_of([5]))
    assert_close(output.mean(dim=2), torch.zeros(1, 5), 1e-6)
    assert_close(output.std(dim=2, unbiased=False), torch.ones(1, 5), 1e-3)


def test_dropout_falls_on_input_and_sublayers_in_training_only():
    torch.manual_seed(0)
    module = make_encoder(dropout=0.5)
    x, mask = batch_of([4], INPUT), mask_of([4])
    without = module(x, mask)
    assert torch.equal(module(x, mask), without)
    rates = [part.p for part in module.modules() if isinstance(part, nn.Dropout)]
    assert rates == [0.5] * 3
    assert not torch.equal(module.train()(x, mask), without)
