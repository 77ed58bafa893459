"""Label attention against loops over the equations of Cui and Zhang (2019)."""

import math

import pytest
import torch

from spacy_psa.inference import LinearChain, Potentials
from spacy_psa.layers import (
    LabelAttention,
    LabelAttentionDecoder,
    LabelEmbeddings,
    LinearProjection,
    ReLUProjection,
    SoftmaxDecoder,
)

from .helpers import DTYPES, TOLERANCE, assert_close, batch_of, mask_of, randomized, state_of
from .label_reference import attended, attention_weights, projected

LENGTHS, WIDTH, LABELS = [3, 1], 6, 4
HEADS = [1, 2, 3, 6]
PROJECTIONS = {"linear": LinearProjection, "relu": ReLUProjection}


def make_attention(heads: int = 2, projection: str = "linear", **config) -> LabelAttention:
    labels = LabelEmbeddings(LABELS, WIDTH)
    make = PROJECTIONS[projection]
    return randomized(LabelAttention(labels, projection=make, heads=heads, **config))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("projection", PROJECTIONS)
@pytest.mark.parametrize("heads", HEADS)
def test_attention_equals_loops(heads, projection, dtype, device):
    layer, relu = make_attention(heads, projection), projection == "relu"
    x, state = batch_of(LENGTHS, WIDTH), state_of(layer)
    layer.to(device, dtype)
    output, weights = layer(x.to(device, dtype), mask_of(LENGTHS, device))
    assert output.dtype == weights.dtype == dtype
    assert weights.shape == (2, 3, heads, LABELS)
    for row, n in enumerate(LENGTHS):
        expected = attention_weights(x[row, :n].numpy(), state, heads, relu=relu)
        assert_close(weights[row, :n], expected, TOLERANCE[dtype])
        assert_close(output[row, :n], attended(expected, state, relu=relu), TOLERANCE[dtype])


@pytest.mark.parametrize("heads", [4, 0, -2])
def test_heads_that_do_not_divide_the_width_are_an_error(heads):
    with pytest.raises(ValueError, match=rf"P213.* {heads} heads .* width {WIDTH} "):
        make_attention(heads)


def test_weights_of_each_head_are_a_distribution():
    weights = make_attention().distributions(batch_of(LENGTHS, WIDTH), mask_of(LENGTHS))
    assert (weights > 0).all()
    assert_close(weights.sum(dim=3), torch.ones(2, 3, 2), 1e-12)


def test_heads_are_scaled_by_their_own_width():
    # Each of three identical heads does the same as a single head of that width.
    layer = LabelAttention(LabelEmbeddings(LABELS, WIDTH), heads=3).double()
    with torch.no_grad():
        for projection in (layer.query, layer.key):
            projection.linear.weight.copy_(projection.linear.weight[:2].repeat(3, 1))
    x = batch_of([4], WIDTH)
    weights = layer.distributions(x, mask_of([4]))
    queries = x[0] @ layer.query.linear.weight[:2].T
    keys = layer.labels.weight @ layer.key.linear.weight[:2].T
    expected = torch.softmax(queries @ keys.T / math.sqrt(2), dim=1)
    for head in range(3):
        assert_close(weights[0, :, head], expected, 1e-12)


def test_tokens_do_not_see_each_other():
    layer, x = make_attention(), batch_of([4], WIDTH)
    changed = x.clone()
    changed[0, 2] += 1.0
    difference = layer(changed, mask_of([4]))[0] - layer(x, mask_of([4]))[0]
    assert difference[0, 2].any()
    assert not difference[0, [0, 1, 3]].any()


def test_inspection_shows_the_weights():
    layer, x, mask = make_attention(), batch_of(LENGTHS, WIDTH), mask_of(LENGTHS)
    assert torch.equal(layer.inspect(x, mask)["labels"], layer(x, mask)[1])


def test_dropout_falls_on_the_weights_in_training_only():
    torch.manual_seed(0)
    layer, x, mask = make_attention(dropout=0.5), batch_of([9], WIDTH), mask_of([9])
    without = layer(x, mask)[0]
    assert torch.equal(layer(x, mask)[0], without)
    layer.train()
    seen = []
    layer.dropout.register_forward_hook(lambda _, args, output: seen.append((args[0], output)))
    assert not torch.equal(layer(x, mask)[0], without)
    before, after = seen[0]
    assert_close(before, layer.distributions(x, mask), 1e-12)
    kept = after != 0
    assert 0 < kept.sum() < kept.numel()
    assert_close(after[kept], 2 * before[kept], 1e-12)


def test_projections_have_the_biases_of_the_equations_and_of_the_code():
    assert {name for name, _ in LinearProjection(WIDTH).named_parameters()} == {"linear.weight"}
    names = {name for name, _ in ReLUProjection(WIDTH).named_parameters()}
    assert names == {"linear.weight", "linear.bias"}


def make_decoder(projection: str | None = None, *, scaled: bool = True) -> LabelAttentionDecoder:
    make = None if projection is None else PROJECTIONS[projection]
    labels = LabelEmbeddings(LABELS, WIDTH)
    return randomized(LabelAttentionDecoder(labels, projection=make, scaled=scaled))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scaled", [True, False])
def test_decoders_emissions_are_the_logits_of_the_attention(scaled, dtype, device):
    layer = make_decoder(scaled=scaled)
    x, state = batch_of(LENGTHS, WIDTH), state_of(layer)
    output = layer.to(device, dtype)(x.to(device, dtype), mask_of(LENGTHS, device))
    for row, n in enumerate(LENGTHS):
        expected = x[row, :n].numpy() @ state["labels.weight"].T
        expected = expected / math.sqrt(WIDTH) if scaled else expected
        assert_close(output[row, :n], expected, TOLERANCE[dtype])


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_decoder_projects_tokens_and_labels(projection):
    layer, x = make_decoder(projection), batch_of([3], WIDTH)
    state, relu = state_of(layer), projection == "relu"
    Q = projected(x[0].numpy(), state, "query", relu=relu)
    K = projected(state["labels.weight"], state, "key", relu=relu)
    assert_close(layer(x, mask_of([3]))[0], Q @ K.T / math.sqrt(WIDTH), 1e-12)


def test_prediction_is_the_attention_of_a_single_head():
    attention = make_attention(heads=1)
    layer = LabelAttentionDecoder(attention.labels).double()
    layer.query, layer.key = attention.query, attention.key
    x = batch_of([3], WIDTH)
    potentials = Potentials(layer(x, mask_of([3]))[0], (3,), **layer.transition_scores())
    expected = attention.distributions(x, mask_of([3]))[0, :, 0]
    assert_close(LinearChain(potentials).marginals, expected, 1e-12)


def test_decoder_without_projection_and_scale_is_a_softmax_layer_without_bias():
    decoder = make_decoder(scaled=False)
    x, mask = batch_of(LENGTHS, WIDTH), mask_of(LENGTHS)
    softmax = SoftmaxDecoder(WIDTH, LABELS).double()
    with torch.no_grad():
        softmax.emission.weight.copy_(decoder.labels.weight)
    assert not softmax.emission.bias.any()
    found, expected = decoder(x, mask), softmax(x, mask)
    assert_close(found[mask.positions], expected[mask.positions], 1e-12)
