"""Position-aware self-attention against loops over equations 5 to 9."""

import functools

import pytest
import torch

from spacy_psa.layers import AdditiveSelfAttention, PSABias

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
from .reference import attention, contexts
from .test_position_bias import SETS, make_bias

LENGTHS, WIDTH = [5, 2, 1], 3
BIAS = {"k": 4, "r": 2}


def make_attention(factors: tuple[str, ...] | None) -> AdditiveSelfAttention:
    bias = None
    if factors is not None:
        bias = functools.partial(make_bias, factors, window=BIAS["k"], max_distance=BIAS["r"])
    return randomized(AdditiveSelfAttention(WIDTH, bias=bias))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factors", [*SETS, ("M",), None], ids=lambda f: "".join(f or ["none"]))
def test_attention_and_contexts_equal_loops(factors, dtype, device):
    layer = make_attention(factors)
    x, mask = batch_of(LENGTHS, WIDTH), mask_of(LENGTHS, device)
    config = {} if factors is None else {**BIAS, "factors": factors}
    state = state_of(layer)
    layer.to(device, dtype)
    weights = layer.attention(x.to(device, dtype), mask)
    output = layer(x.to(device, dtype), mask)
    for row, n in enumerate(LENGTHS):
        sentence = x[row, :n].numpy()
        expected = attention(sentence, state, **config)
        assert_close(weights[row, :n, :n], expected, TOLERANCE[dtype])
        assert_close(output[row, :n], contexts(sentence, state, **config), TOLERANCE[dtype])


@pytest.mark.parametrize("factors", [("M", "G", "P"), ("G", "P"), None])
def test_rows_of_attention_sum_to_one(factors):
    lengths = [6, 4, 2]
    weights = make_attention(factors).attention(batch_of(lengths, WIDTH), mask_of(lengths))
    for row, n in enumerate(lengths):
        assert_close(weights[row, :n].sum(dim=1), torch.ones(n), 1e-12)


def test_padding_receives_no_attention():
    weights = make_attention(("G", "P")).attention(batch_of(LENGTHS, WIDTH), mask_of(LENGTHS))
    for row, n in enumerate(LENGTHS):
        assert not weights[row, :, n:].any()


def test_no_token_attends_to_itself_under_the_self_disabled_mask():
    layer = make_attention(("M", "G", "P"))
    weights = layer.attention(batch_of(LENGTHS, WIDTH), mask_of(LENGTHS))
    assert not weights.diagonal(dim1=1, dim2=2).any()


def test_tokens_attend_to_themselves_without_the_self_disabled_mask():
    weights = make_attention(("G", "P")).attention(batch_of([4], WIDTH), mask_of([4]))
    assert (weights.diagonal(dim1=1, dim2=2) > 0).all()


@pytest.mark.parametrize("lengths", [[1], [1, 1], [3, 1]], ids=str)
def test_only_token_of_a_sentence_has_zero_context(lengths):
    layer = make_attention(("M", "G", "P"))
    output = layer(batch_of(lengths, WIDTH), mask_of(lengths))
    assert not output[-1, 0].any()


@pytest.mark.parametrize("lengths", [[1], [3, 1]], ids=str)
def test_only_token_of_a_sentence_has_finite_gradients(lengths):
    layer = make_attention(("M", "G", "P"))
    x = batch_of(lengths, WIDTH).requires_grad_()
    mask = mask_of(lengths)
    layer(x, mask)[mask.positions].sum().backward()
    for tensor in (x, *layer.parameters()):
        assert tensor.grad.isfinite().all()
    assert not x.grad[-1, 0].any()


def test_only_token_of_a_sentence_attends_to_itself_without_the_mask():
    x = batch_of([1], WIDTH)
    assert_close(make_attention(None)(x, mask_of([1])), x, 1e-12)


def test_long_sentences_stay_finite_under_the_gaussian_bias():
    layer = AdditiveSelfAttention(2, bias=functools.partial(PSABias, window=1))
    x = normal(1, 600, 2).float().requires_grad_()
    # At a distance of 600 and ε = 1/2 the bias is -720,000, and its exponential is zero.
    output = layer(x, mask_of([600]))
    output.sum().backward()
    assert output.isfinite().all()
    assert x.grad.isfinite().all()


def test_large_inputs_equal_loops():
    layer = make_attention(("M", "G", "P"))
    x = batch_of([4], WIDTH) * 100
    expected = contexts(x[0].numpy(), state_of(layer), **BIAS)
    assert_close(layer(x, mask_of([4]))[0], expected, 1e-10)
