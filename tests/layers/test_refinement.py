"""The complete stacks of BiLSTM-LAN and of structured refinement."""

import functools
from collections.abc import Callable

import pytest
import torch
from torch import nn

from spacy_psa.layers import (
    BiLSTM,
    Concatenation,
    LabelAttention,
    LabelAttentionDecoder,
    LabelCRFDecoder,
    LabelMarginals,
    LabelRefinement,
    LabelSet,
    RefiningLayer,
    ResidualNorm,
    SoftmaxDecoder,
)

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
from .label_reference import equation_11, lan, structured_refinement
from .test_gradients import gradcheck

LENGTHS, INPUT, WIDTH, LABELS = [3, 1, 2], 2, 4, 3


def attend(labels: LabelSet) -> nn.Module:
    return LabelAttention(labels.embeddings(), heads=2)


def infer(labels: LabelSet) -> nn.Module:
    return LabelMarginals(labels.embeddings(), labels.transitions())


def make(
    refine: Callable[[LabelSet], nn.Module],
    connection: Callable[[int], nn.Module],
    *,
    depth: int = 3,
    dropout: float = 0.0,
    **tying: bool,
) -> LabelRefinement:
    def recurrent(width: int) -> BiLSTM:
        return BiLSTM(width, hidden_width=WIDTH, input_dropout=0.0, output_dropout=dropout)

    labels = LabelSet(WIDTH, LABELS, **tying)
    layers, width = [], INPUT
    for _ in range(depth - 1):
        layers.append(RefiningLayer(recurrent(width), refine(labels), connection(WIDTH)))
        width = layers[-1].width
    return LabelRefinement(
        layers,
        recurrent(width),
        labels=labels.shared_embeddings,
        transitions=labels.shared_transitions,
        input_dropout=dropout,
    )


def make_lan(**config) -> LabelRefinement:
    return randomized(make(attend, Concatenation, **config))


def make_structured(**config) -> LabelRefinement:
    return randomized(make(infer, ResidualNorm, **config))


class Whole(nn.Module):
    """An encoder and a decoder with shared label parameters."""

    def __init__(self, encoder: nn.Module, decoder: nn.Module) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x, mask):
        return self.decoder(self.encoder(x, mask), mask)


def whole_lan() -> nn.Module:
    encoder = make_lan(depth=2)
    return randomized(Whole(encoder, LabelAttentionDecoder(encoder.labels)))


def whole_structured() -> nn.Module:
    encoder = make_structured(depth=2)
    return randomized(Whole(encoder, LabelCRFDecoder(encoder.labels, encoder.transitions)))


separate = {"tie_embeddings": False, "tie_transitions": False}
SYSTEMS: dict[str, Callable[[], nn.Module]] = {
    "lan": make_lan,
    "lan, separate labels": functools.partial(make_lan, **separate),
    "structured": functools.partial(make_structured, depth=2),
    "structured, separate labels": functools.partial(make_structured, depth=2, **separate),
    "structured, concatenated": lambda: randomized(
        make(infer, functools.partial(Concatenation, residual=False), depth=2)
    ),
    "lan with its decoder": whole_lan,
    "structured with its decoder": whole_structured,
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_lan_equals_loops(depth, dtype, device):
    layer = make_lan(depth=depth)
    x, state = batch_of(LENGTHS, INPUT), state_of(layer)
    output = layer.to(device, dtype)(x.to(device, dtype), mask_of(LENGTHS, device))
    assert output.shape == (3, 3, WIDTH)
    for row, n in enumerate(LENGTHS):
        expected = lan(x[row, :n].numpy(), state, depth=depth, heads=2)
        assert_close(output[row, :n], expected, TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_structured_refinement_equals_loops(depth, dtype, device):
    layer = make_structured(depth=depth)
    x, state = batch_of(LENGTHS, INPUT), state_of(layer)
    output = layer.to(device, dtype)(x.to(device, dtype), mask_of(LENGTHS, device))
    for row, n in enumerate(LENGTHS):
        expected = structured_refinement(x[row, :n].numpy(), state, depth=depth)
        assert_close(output[row, :n], expected, TOLERANCE[dtype])


@pytest.mark.parametrize("name", SYSTEMS)
def test_systems_pass_gradcheck(name):
    module, mask = SYSTEMS[name](), mask_of([3, 1])
    # Their layers are checked in all directions by themselves
    x = batch_of([3, 1], INPUT)
    assert gradcheck(module, lambda x: module(x, mask)[mask.positions], x, fast=True)


def test_a_single_layer_is_a_bilstm_softmax_without_bias():
    # Section 4.5 of Cui and Zhang (2019).
    encoder, lstm = make_lan(depth=1), BiLSTM(INPUT, hidden_width=WIDTH).double().eval()
    lstm.load_state_dict(encoder.last.state_dict())
    labels = LabelSet(WIDTH, LABELS).embeddings()
    decoder = LabelAttentionDecoder(labels, projection=None, scaled=False).double()
    softmax = SoftmaxDecoder(WIDTH, LABELS).double()
    with torch.no_grad():
        softmax.emission.weight.copy_(labels.weight)
    x, mask = batch_of(LENGTHS, INPUT), mask_of(LENGTHS)
    found, expected = decoder(encoder(x, mask), mask), softmax(lstm(x, mask), mask)
    assert_close(found[mask.positions], expected[mask.positions], 1e-12)


@pytest.mark.parametrize("residual", [True, False])
def test_concatenation(residual):
    connection = Concatenation(WIDTH, residual=residual)
    h, refined = normal(2, WIDTH, seed=1), normal(2, WIDTH, seed=2)
    output = connection(h, refined)
    assert connection.width == 2 * WIDTH
    assert torch.equal(output[:, :WIDTH], h)
    assert torch.equal(output[:, WIDTH:], refined + h if residual else refined)


def test_residual_norm_equals_equation_11():
    connection = randomized(ResidualNorm(WIDTH))
    h, refined = normal(5, WIDTH, seed=1), normal(5, WIDTH, seed=2)
    assert connection.width == WIDTH
    for i in range(5):
        expected = equation_11(h[i].numpy(), refined[i].numpy(), state_of(connection))
        assert_close(connection(h, refined)[i], expected, 1e-12)


def test_layers_that_share_labels_have_the_same_ones():
    encoder = make_structured(depth=3)
    assert all(layer.refine.labels is encoder.labels for layer in encoder.layers)
    assert all(layer.refine.transitions is encoder.transitions for layer in encoder.layers)


def test_layers_that_do_not_share_labels_offer_none():
    encoder = make_structured(depth=3, **separate)
    first, second = (layer.refine for layer in encoder.layers)
    assert encoder.labels is None and encoder.transitions is None
    assert first.labels is not second.labels
    assert first.transitions is not second.transitions


@pytest.mark.parametrize(("make_encoder", "heads"), [(make_lan, 2), (make_structured, 1)])
def test_distributions_of_all_layers_can_be_had(make_encoder, heads):
    encoder, x, mask = make_encoder(depth=3), batch_of(LENGTHS, INPUT), mask_of(LENGTHS)
    distributions = encoder.label_distributions(x, mask)
    assert len(distributions) == 2
    hidden = encoder.layers[0].recurrent(x, mask)
    expected = encoder.layers[0].refine.distributions(hidden, mask)
    assert_close(distributions[0][mask.positions], expected[mask.positions], 1e-12)
    for layer in distributions:
        assert layer.shape == (3, 3, heads, LABELS)
        assert_close(
            layer.sum(dim=3), mask.positions.unsqueeze(2).expand(-1, -1, heads) * 1.0, 1e-12
        )
    assert not torch.allclose(distributions[0], distributions[1])


def test_dropout_falls_on_the_input_and_on_the_hidden_states():
    torch.manual_seed(0)
    encoder = make(infer, ResidualNorm, depth=2, dropout=0.5).double().train()
    seen = {}
    for name in ("input_dropout", "layers.0.recurrent", "last"):
        encoder.get_submodule(name).register_forward_hook(
            lambda _, args, output, name=name: seen.update({name: output})
        )
    encoder(batch_of([20], INPUT), mask_of([20]))
    for output in seen.values():
        assert 0.25 < float((output == 0).double().mean()) < 0.75
    assert len(seen) == 3
