"""Multi-head self-attention against loops over the equations of Vaswani et al. (2017)."""

import functools
import math

import pytest
import torch

from spacy_psa.acceleration.cpu import CPUPrediction
from spacy_psa.layers import MultiHeadSelfAttention, SequenceMask, using

from .helpers import DTYPES, TOLERANCE, assert_close, batch_of, mask_of, randomized, state_of
from .reference_transformer import multi_head
from .test_position_bias import SETS, make_bias

LENGTHS, WIDTH, HEADS = [4, 2, 1], 6, 2
BIAS = {"k": 4, "r": 2}


def make_layer(factors: tuple[str, ...] | None, **config: object) -> MultiHeadSelfAttention:
    bias = None
    if factors is not None:
        bias = functools.partial(make_bias, factors, window=BIAS["k"], max_distance=BIAS["r"])
    return randomized(MultiHeadSelfAttention(WIDTH, HEADS, bias=bias, **config))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lengths", [LENGTHS, [4, 4], [1]], ids=str)
@pytest.mark.parametrize("share", [False, True], ids=["a bias each", "one bias"])
@pytest.mark.parametrize("factors", [*SETS, ("M",), None], ids=lambda f: "".join(f or ["none"]))
def test_outputs_and_weights_equal_loops(factors, share, lengths, dtype, device):
    layer = make_layer(factors, key_width=2, share_bias=share)
    x, state = batch_of(lengths, WIDTH), state_of(layer)
    config = {} if factors is None else {**BIAS, "factors": factors}
    layer.to(device, dtype)
    mask = mask_of(lengths, device)
    output = layer(x.to(device, dtype), mask)
    weights = layer.attention(x.to(device, dtype), mask)
    assert output.dtype == weights.dtype == dtype
    for row, n in enumerate(lengths):
        expected, expected_weights = multi_head(x[row, :n].numpy(), state, HEADS, **config)
        assert_close(output[row, :n], expected, TOLERANCE[dtype])
        assert_close(weights[row, :, :n, :n], expected_weights, TOLERANCE[dtype])


@pytest.mark.parametrize("scale", [1 / math.sqrt(WIDTH), 0.7])
def test_scale_can_be_set(scale):
    layer = make_layer(None, scale=scale)
    x = batch_of([4], WIDTH)
    expected, weights = multi_head(x[0].numpy(), state_of(layer), HEADS, scale=scale)
    assert_close(layer(x, mask_of([4]))[0], expected, 1e-12)
    assert_close(layer.attention(x, mask_of([4]))[0], weights, 1e-12)


def test_scale_is_that_of_a_head_by_default():
    assert make_layer(None).scale == pytest.approx(1 / math.sqrt(WIDTH / HEADS))
    assert make_layer(None, key_width=5).scale == pytest.approx(1 / math.sqrt(5))


def test_projections_have_no_biases():
    shapes = {name: tuple(p.shape) for name, p in make_layer(None, key_width=4).named_parameters()}
    down, up = (HEADS * 4, WIDTH), (WIDTH, HEADS * 4)
    names = {"query.weight": down, "key.weight": down, "value.weight": down, "output.weight": up}
    assert shapes == names


@pytest.mark.parametrize("share", [False, True])
def test_each_head_has_its_own_bias_unless_they_share_one(share):
    layer = make_layer(("M", "G", "P"), share_bias=share)
    assert len(layer.biases) == (1 if share else HEADS)
    # With zero projections, attention depends on the biases alone.
    for name in ("query", "key"):
        torch.nn.init.zeros_(getattr(layer, name).weight)
    first, second = layer.attention(batch_of([5], WIDTH), mask_of([5]))[0]
    assert torch.equal(first, second) == share


@pytest.mark.parametrize("n_heads", [4, 0, -2])
def test_a_width_that_heads_cannot_share_is_an_error(n_heads):
    with pytest.raises(ValueError, match=rf"P220.*{n_heads} attention heads.*6"):
        MultiHeadSelfAttention(6, n_heads)


def test_heads_of_another_width():
    assert MultiHeadSelfAttention(6, 4, key_width=2).query.weight.shape == (8, 6)


@pytest.mark.parametrize("lengths", [[1], [3, 1], [1, 1]], ids=str)
def test_only_token_under_the_mask_has_a_zero_output_and_finite_gradients(lengths):
    layer = make_layer(("M", "G", "P"))
    x, mask = batch_of(lengths, WIDTH).requires_grad_(), mask_of(lengths)
    output = layer(x, mask)
    assert not output[-1, 0].any()
    assert not layer.attention(x, mask)[-1, :, 0].any()
    output[mask.positions].square().sum().backward()
    assert all(tensor.grad.isfinite().all() for tensor in (x, *layer.parameters()))
    assert not x.grad[-1].any()


@pytest.mark.parametrize("factors", [("M", "G", "P"), ("M",), None])
def test_padding_receives_no_attention(factors):
    weights = make_layer(factors).attention(batch_of(LENGTHS, WIDTH), mask_of(LENGTHS))
    for row, n in enumerate(LENGTHS):
        assert not weights[row, :, :n, n:].any()


def test_long_sentences_stay_finite_under_the_gaussian_bias():
    bias = functools.partial(make_bias, ("M", "G"), window=1)
    layer = MultiHeadSelfAttention(4, 2, bias=bias)
    x = batch_of([600], 4).float().requires_grad_()
    output = layer(x, mask_of([600]))
    output.sum().backward()
    assert output.isfinite().all()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_mixed_precision_stays_finite(dtype):
    layer = make_layer(("M", "G", "P")).float()
    x, mask = batch_of(LENGTHS, WIDTH).float().requires_grad_(), mask_of(LENGTHS)
    with torch.autocast("cpu", dtype=dtype):
        output = layer(x, mask)
    output[mask.positions].float().sum().backward()
    assert output.isfinite().all()
    assert x.grad.isfinite().all()
    assert_close(output[0], layer(x, mask)[0], 0.05)


def test_dropout_falls_on_the_weights_in_training_only():
    torch.manual_seed(0)
    layer = make_layer(None, attention_dropout=0.5)
    x, mask = batch_of([4], WIDTH), mask_of([4])
    without = layer(x, mask)
    assert torch.equal(layer(x, mask), without)
    layer.train()
    outputs = torch.stack([layer(x, mask) for _ in range(500)])
    assert not torch.equal(outputs[0], without)
    # The expectation is the output without dropout: half of the weights are kept and doubled.
    assert_close(outputs.mean(dim=0), without, 0.3)
    scale = outputs.std(dim=0).mean()
    assert scale > 0.1


def test_inspection_shows_weights_and_bias():
    layer = make_layer(("M", "G", "P"))
    x, mask = batch_of(LENGTHS, WIDTH), mask_of(LENGTHS)
    values = layer.inspect(x, mask)
    assert torch.equal(values["attention"], layer.attention(x, mask))
    assert torch.equal(values["bias"][:, 1], layer.biases[1](x))
    assert set(make_layer(None).inspect(x, mask)) == {"attention"}


def test_masks_cost_nothing_where_nothing_is_masked(monkeypatch):
    seen = []
    kernel = torch.nn.functional.scaled_dot_product_attention

    def spy(*args, attn_mask, **kwargs):
        seen.append(attn_mask)
        return kernel(*args, attn_mask=attn_mask, **kwargs)

    monkeypatch.setattr("spacy_psa.layers.ops.scaled_dot_product_attention", spy)
    layer = make_layer(None)
    with using(CPUPrediction()):
        layer(batch_of([4, 4], WIDTH), mask_of([4, 4]))
        layer(batch_of([4, 2], WIDTH), SequenceMask(torch.tensor([4, 2]), 4))
    assert seen[0] is None
    assert seen[1].dtype == torch.bool
