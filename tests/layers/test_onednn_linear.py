"""Linear layers by oneDNN: the results of PyTorch's, whatever is around the rows."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from spacy_psa.layers import onednn_linear as module
from spacy_psa.layers.activations import SIGMOID, TANH, Activation
from spacy_psa.layers.linear import Linear, activated, activated_sum
from spacy_psa.layers.roomy import rounded_up

from .helpers import normal, randomized

WIDTHS = (70, 50)
KINDS = [None, TANH, SIGMOID]
SHAPES = [(1, 70), (7, 70), (8, 70), (33, 70), (250, 70), (777, 70), (3, 67, 70)]

pytestmark = pytest.mark.skipif(
    not module.is_available(), reason="this PyTorch cannot compute linear layers by oneDNN"
)


@pytest.fixture(autouse=True)
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of oneDNN's inputs, also for small layers."""
    seen: list[tuple[int, ...]] = []

    def run(x: Tensor, *others: object) -> Tensor:
        seen.append(tuple(x.shape))
        return original(x, *others)

    original = module.RUN_LAYER
    monkeypatch.setattr(module, "RUN_LAYER", run)
    monkeypatch.setattr(module, "LEAST", 1)
    monkeypatch.setattr(module, "has_fast_mkl", lambda: False)
    return seen


def make(bias: bool = True) -> tuple[Linear, nn.Linear]:
    """Our layer, and PyTorch's with the same weights in float64."""
    ours, theirs = (randomized(kind(*WIDTHS, bias=bias)) for kind in (Linear, nn.Linear))
    return ours.float(), theirs.double()


def apply(layer: nn.Module, x: Tensor, activation: Activation | None) -> Tensor:
    """The output, or a function of it."""
    if activation is None:
        return layer(x)
    if type(layer) is Linear:
        return activated(layer, x, activation)
    return {TANH: torch.tanh, SIGMOID: torch.sigmoid}[activation](layer(x))


def gradients(layer: nn.Module, x: Tensor, activation: Activation | None) -> list[Tensor]:
    """The output, and the gradients of a weighted sum."""
    leaves = [x.detach().requires_grad_(), *layer.parameters()]
    output = apply(layer, leaves[0], activation)
    weights = normal(*output.shape, seed=9).to(output)
    return [output, *torch.autograd.grad((output * weights).sum(), leaves)]


def assert_near(found: Tensor, wanted: Tensor) -> None:
    """Equal up to the rounding of sums of a few hundred numbers."""
    scale = float(wanted.detach().abs().max())
    torch.testing.assert_close(found.double(), wanted.double(), rtol=1e-5, atol=1e-5 * scale)


@pytest.mark.parametrize("activation", KINDS)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_output_and_gradients_are_those_of_pytorch(
    shape: tuple[int, ...], bias: bool, activation: Activation | None, calls: list[tuple[int, ...]]
) -> None:
    ours, theirs = make(bias)
    x = normal(*shape, seed=3) / 10
    found, wanted = gradients(ours, x.float(), activation), gradients(theirs, x, activation)
    assert calls
    for mine, expected in zip(found, wanted, strict=True):
        assert mine.shape == expected.shape
        assert mine.dtype == torch.float32
        assert_near(mine, expected)
    with torch.inference_mode():
        assert torch.equal(apply(ours, x.float(), activation), found[0])


def test_there_are_few_shapes(calls: list[tuple[int, ...]]) -> None:
    layer, _ = make()
    for n in range(1, 300):
        layer(torch.ones(n, 70)).sum().backward()
    assert len(set(calls)) < 3 * 40


def test_a_row_does_not_depend_on_others() -> None:
    layer, _ = make()
    x = normal(300, 70).float()
    expected = layer(x)
    for n in (1, 2, 9, 31, 299):
        assert torch.equal(layer(x[:n]), expected[:n])


def test_what_lies_behind_the_last_row_does_not_matter() -> None:
    layer, theirs = make()
    memory = torch.full((rounded_up(250), 70), torch.nan)
    x = normal(250, 70, seed=3) / 10
    memory[:250] = x
    found, wanted = gradients(layer, memory[:250], None), gradients(theirs, x, None)
    for mine, expected in zip(found, wanted, strict=True):
        assert_near(mine, expected)
    assert memory[250:].isnan().all()


@pytest.mark.parametrize("activation", KINDS)
def test_gradients_can_be_differentiated_again(activation: Activation | None) -> None:
    found = []
    x = normal(33, 70, seed=3) / 10
    for layer, inputs in zip(make(), (x.float(), x), strict=True):
        leaf = inputs.requires_grad_()
        output = apply(layer, leaf, activation)
        (first,) = torch.autograd.grad(output.square().sum(), leaf, create_graph=True)
        found.append(torch.autograd.grad(first.square().sum(), [leaf, layer.weight]))
    for mine, expected in zip(*found, strict=True):
        assert_near(mine, expected)


def test_what_needs_no_gradient_gets_none(calls: list[tuple[int, ...]]) -> None:
    layer, _ = make()
    layer.weight.requires_grad_(False)
    layer(normal(33, 70).float()).sum().backward()
    assert layer.weight.grad is None
    torch.testing.assert_close(layer.bias.grad, torch.full((50,), 33.0))
    assert len(calls) == 1


def test_the_output_may_be_overwritten() -> None:
    found = []
    x = normal(33, 70, seed=3) / 10
    for layer, inputs in zip(make(), (x.float(), x), strict=True):
        found.append(gradients(nn.Sequential(layer, nn.ReLU(True)), inputs, None))
    for mine, expected in zip(*found, strict=True):
        assert_near(mine, expected)


def test_hooks_see_the_output_before_tanh() -> None:
    layer, _ = make()
    seen = []
    x = normal(33, 70, seed=3).float()
    expected = layer(x)
    with layer.register_forward_hook(lambda *call: seen.append(call[2])):
        squashed = activated(layer, x, TANH)
    assert torch.equal(seen[0], expected)
    torch.testing.assert_close(squashed, torch.tanh(expected))


def test_pytorch_computes_what_onednn_should_not(calls: list[tuple[int, ...]]) -> None:
    layer, _ = make()
    x = normal(33, 70).float()
    with torch.backends.mkldnn.flags(enabled=False):
        layer(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        layer(x)
    layer.double()(x.double())
    assert not calls
    assert layer.float()(torch.ones(0, 70)).shape == (0, 50)
    with pytest.raises(RuntimeError):
        layer(torch.ones(33, 69))


def test_small_products_in_training_are_left_to_pytorch(
    calls: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    layer, _ = make()
    monkeypatch.setattr(module, "LEAST", 300 * 70 * 50)
    layer(torch.ones(299, 70))
    assert not calls
    layer(torch.ones(300, 70))
    assert calls


def test_training_is_left_to_mkl_where_that_is_faster_but_not_prediction(
    calls: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "has_fast_mkl", lambda: True)
    layer, _ = make()
    layer(torch.ones(300, 70))
    assert not calls
    with torch.no_grad():
        layer(torch.ones(300, 70))
    assert calls


def make_pair() -> list[tuple[nn.Module, nn.Module]]:
    """Two of our layers without biases, and PyTorch's with the same weights in float64."""
    pairs = []
    for kind in (Linear, nn.Linear):
        layers = [randomized(kind(*WIDTHS, bias=False), seed=seed) for seed in (1, 2)]
        pairs.append(tuple(layer.float() if kind is Linear else layer for layer in layers))
    return pairs


def summed(layers: tuple[nn.Module, nn.Module], x: Tensor, y: Tensor, kind: Activation) -> Tensor:
    """A function of the sum of two layers."""
    if type(layers[0]) is Linear:
        return activated_sum(layers[0], x, layers[1], y, kind)
    return {TANH: torch.tanh, SIGMOID: torch.sigmoid}[kind](layers[0](x) + layers[1](y))


@pytest.mark.parametrize("kind", [TANH, SIGMOID])
@pytest.mark.parametrize("shape", SHAPES)
def test_sums_and_their_gradients_are_those_of_pytorch(
    kind: Activation, shape: tuple[int, ...], calls: list[tuple[int, ...]]
) -> None:
    x, y = (normal(*shape, seed=seed) / 10 for seed in (3, 4))
    found = []
    for layers, dtype in zip(make_pair(), (torch.float32, torch.float64), strict=True):
        leaves = [z.to(dtype).requires_grad_() for z in (x, y)]
        leaves += [layer.weight for layer in layers]
        output = summed(layers, *leaves[:2], kind)
        with torch.no_grad():
            assert_near(summed(layers, x.to(dtype), y.to(dtype), kind), output)
        weights = normal(*output.shape, seed=9).to(output)
        found.append([output, *torch.autograd.grad((output * weights).sum(), leaves)])
    assert calls
    for mine, expected in zip(*found, strict=True):
        assert_near(mine, expected)


def test_gradients_of_sums_can_be_differentiated_again() -> None:
    found = []
    x, y = (normal(33, 70, seed=seed) / 10 for seed in (3, 4))
    for layers, dtype in zip(make_pair(), (torch.float32, torch.float64), strict=True):
        leaves = [z.to(dtype).requires_grad_() for z in (x, y)]
        output = summed(layers, *leaves, TANH)
        first = torch.autograd.grad(output.square().sum(), leaves, create_graph=True)
        weights = [layer.weight for layer in layers]
        total = sum(gradient.square().sum() for gradient in first)
        found.append(torch.autograd.grad(total, [*leaves, *weights]))
    for mine, expected in zip(*found, strict=True):
        assert_near(mine, expected)


@pytest.mark.parametrize("frozen", range(4))
def test_what_needs_no_gradient_in_a_sum_gets_none(frozen: int) -> None:
    layers, _ = make_pair()
    x, y = (normal(33, 70, seed=seed).float().requires_grad_() for seed in (3, 4))
    leaves = [x, y, *(layer.weight for layer in layers)]
    summed(layers, x, y, TANH).sum().backward()
    expected = [leaf.grad for leaf in leaves]
    for n, leaf in enumerate(leaves):
        leaf.grad = None
        leaf.requires_grad_(n != frozen)
    summed(layers, x, y, TANH).sum().backward()
    for n, (leaf, gradient) in enumerate(zip(leaves, expected, strict=True)):
        assert leaf.grad is None if n == frozen else torch.equal(leaf.grad, gradient)


def test_layers_with_hooks_or_biases_are_called_and_keep_their_outputs() -> None:
    layers, _ = make_pair()
    x, y = (normal(33, 70, seed=seed).float() for seed in (3, 4))
    expected = summed(layers, x, y, TANH)
    seen = []
    for layer in layers:
        hook = layer.register_forward_hook(lambda *call: seen.append((call[2], call[2].clone())))
        with hook, torch.no_grad():
            torch.testing.assert_close(summed(layers, x, y, TANH), expected)
    assert len(seen) == 2 and all(torch.equal(kept, copied) for kept, copied in seen)
    layers[1].bias = nn.Parameter(torch.ones(50))
    wanted = torch.tanh(layers[0](x) + layers[1](y))
    torch.testing.assert_close(summed(layers, x, y, TANH), wanted)
