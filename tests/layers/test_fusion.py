"""The context fusion layer against loops over equations 12 to 14 and algorithm 1."""

import functools

import numpy as np
import pytest
import torch

from spacy_psa.layers import ContextFusion, FeatureGate, PSABias, ScalarGate

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
from .reference import algorithm_1, equation_13, equation_14, gate
from .test_position_bias import SETS, make_bias

LENGTHS, WIDTH = [4, 2, 1], 3


def make_fusion(factors: tuple[str, ...] = SETS[0], **config: object) -> ContextFusion:
    bias = functools.partial(make_bias, factors, window=4, max_distance=2)
    return randomized(ContextFusion(WIDTH, bias=bias, **config))


@pytest.mark.parametrize("dtype", DTYPES)
def test_gate_equals_equations_13_and_14(dtype, device):
    layer = randomized(FeatureGate(WIDTH))
    x, context = normal(4, WIDTH, seed=1), normal(4, WIDTH, seed=2)
    state = state_of(layer)
    layer.to(device, dtype)
    x_, context_ = x.to(device, dtype), context.to(device, dtype)
    lambdas, outputs = layer.gate(x_, context_), layer(x_, context_)
    weights = [state[f"{name}.weight"] for name in ("token", "context", "output")]
    for i in range(4):
        pair = x[i].numpy(), context[i].numpy()
        assert_close(lambdas[i], equation_13(*pair, *weights), TOLERANCE[dtype])
        assert_close(outputs[i], gate(*pair, state), TOLERANCE[dtype])


def test_gate_lies_between_zero_and_one_for_each_feature():
    layer = randomized(FeatureGate(WIDTH), scale=2.0)
    lambdas = layer.gate(normal(50, WIDTH, seed=1), normal(50, WIDTH, seed=2))
    assert lambdas.shape == (50, WIDTH)
    assert ((lambdas > 0) & (lambdas < 1)).all()


def test_gate_mixes_between_token_and_context():
    x, context = normal(50, WIDTH, seed=1), normal(50, WIDTH, seed=2)
    output = randomized(FeatureGate(WIDTH))(x, context)
    assert (output > torch.minimum(x, context)).all()
    assert (output < torch.maximum(x, context)).all()


def test_gate_has_no_biases():
    shapes = {name: tuple(p.shape) for name, p in FeatureGate(WIDTH).named_parameters()}
    square = (WIDTH, WIDTH)
    assert shapes == {"token.weight": square, "context.weight": square, "output.weight": square}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factors", SETS[:4], ids="".join)
def test_fusion_equals_algorithm_1(factors, dtype, device):
    layer = make_fusion(factors)
    x, state = batch_of(LENGTHS, WIDTH), state_of(layer)
    output = layer.to(device, dtype)(x.to(device, dtype), mask_of(LENGTHS, device))
    assert output.dtype == dtype
    for row, n in enumerate(LENGTHS):
        expected = algorithm_1(x[row, :n].numpy(), state, k=4, r=2, factors=factors)
        assert_close(output[row, :n], expected, TOLERANCE[dtype])


def test_fusion_without_positional_bias_equals_algorithm_1_without_it():
    layer = randomized(ContextFusion(WIDTH))
    x = batch_of([4], WIDTH)
    assert_close(layer(x, mask_of([4]))[0], algorithm_1(x[0].numpy(), state_of(layer)), 1e-12)


def test_fusion_of_a_single_token_still_passes_through_the_layers():
    layer = make_fusion()
    x = batch_of([1], WIDTH)
    state = state_of(layer)
    hidden = np.tanh(state["output.weight"] @ np.tanh(state["hidden.bias"]))
    expected = layer.gate(x[0], torch.tensor(hidden).unsqueeze(0))
    assert_close(layer(x, mask_of([1]))[0], expected, 1e-12)


def test_fusion_keeps_its_width():
    assert ContextFusion(WIDTH).width == WIDTH


def test_another_gate_can_take_the_place_of_the_feature_gate():
    class Sum(torch.nn.Module):
        def forward(self, x, context):
            return x + context

    layer = make_fusion(gate=lambda width: Sum())
    x, mask = batch_of([3], WIDTH), mask_of([3])
    s = layer.attention(x, mask)
    context = torch.tanh(layer.output(torch.tanh(layer.hidden(s))))
    assert_close(layer(x, mask), x + context, 1e-12)


def test_dropout_falls_on_the_output_of_the_attention_in_training_only():
    torch.manual_seed(0)
    layer = make_fusion(dropout=0.5)
    x, mask = batch_of([4], WIDTH), mask_of([4])
    without = layer(x, mask)
    assert torch.equal(layer(x, mask), without)
    layer.train()
    seen = []
    layer.dropout.register_forward_hook(lambda _, args, output: seen.append((args[0], output)))
    assert not torch.equal(layer(x, mask), without)
    before, after = seen[0]
    assert_close(before, layer.attention(x, mask), 1e-12)
    kept = after != 0
    assert 0 < kept.sum() < kept.numel()
    assert_close(after[kept], 2 * before[kept], 1e-12)


def test_dropout_is_the_papers_by_default():
    assert ContextFusion(WIDTH, bias=PSABias).dropout.p == 0.2


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalar_gate_is_one_number_for_all_features(dtype, device):
    layer = randomized(ScalarGate(WIDTH))
    x, context = normal(4, WIDTH, seed=1), normal(4, WIDTH, seed=2)
    weights = [state_of(layer)[f"{name}.weight"] for name in ("token", "context", "output")]
    assert weights[2].shape == (1, WIDTH)
    layer.to(device, dtype)
    lambdas = layer.gate(x.to(device, dtype), context.to(device, dtype))
    outputs = layer(x.to(device, dtype), context.to(device, dtype))
    for i in range(4):
        pair = x[i].numpy(), context[i].numpy()
        expected = equation_13(*pair, *weights)
        assert_close(lambdas[i], expected, TOLERANCE[dtype])
        assert_close(outputs[i], equation_14([*expected] * WIDTH, *pair), TOLERANCE[dtype])


@pytest.mark.parametrize("gate", [FeatureGate, ScalarGate])
def test_inspection_shows_what_the_layer_computes(gate):
    layer = make_fusion(gate=gate)
    x, mask = batch_of(LENGTHS, WIDTH), mask_of(LENGTHS)
    values = layer.inspect(x, mask)
    assert_close(values["attention"], layer.attention.attention(x, mask), 1e-12)
    assert_close(values["bias"], layer.attention.bias(x), 1e-12)
    context = torch.tanh(layer.output(torch.tanh(layer.hidden(values["attention"] @ x))))
    mixed = values["gate"] * x + (1 - values["gate"]) * context
    real = mask.positions
    assert_close(mixed[real], layer(x, mask)[real], 1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_inspection_in_mixed_precision(dtype):
    layer = randomized(ContextFusion(WIDTH, bias=PSABias), scale=0.3).float()
    x, mask = batch_of([3, 1], WIDTH).float(), mask_of([3, 1])
    expected = layer.inspect(x, mask)
    with torch.autocast("cpu", dtype=dtype):
        values = layer.inspect(x, mask)
    assert set(values) == set(expected)
    for name, value in values.items():
        assert_close(value[mask.positions], expected[name][mask.positions], 0.03)


@pytest.mark.parametrize("bias", [None, functools.partial(make_bias, ("M",))])
def test_inspection_shows_no_bias_where_none_is_added(bias):
    layer = randomized(ContextFusion(WIDTH, bias=bias))
    assert set(layer.inspect(batch_of([3], WIDTH), mask_of([3]))) == {"attention", "gate"}


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize("lengths", [LENGTHS, [4]], ids=str)
@pytest.mark.parametrize("gate", [FeatureGate, ScalarGate])
def test_what_hooks_have_seen_stays_as_it_was(gate, lengths, everywhere):
    layer, x, mask = make_fusion(gate=gate), batch_of(lengths, WIDTH), mask_of(lengths)
    with torch.no_grad():
        expected = layer(x, mask)
    seen = {}

    def keep(module, args, output):
        if isinstance(output, torch.Tensor):
            seen[module] = output, output.clone()

    if everywhere:
        handles = [torch.nn.modules.module.register_module_forward_hook(keep)]
    else:
        handles = [module.register_forward_hook(keep) for module in layer.modules()]
    with torch.no_grad():
        output = layer(x, mask)
    for handle in handles:
        handle.remove()
    assert {layer, layer.hidden, layer.output, layer.attention.query, layer.gate.output} <= {*seen}
    for output_, copied in seen.values():
        assert torch.equal(output_, copied)
    assert torch.equal(output, expected)
