"""Layers that accept tokens without padding give the same results as with padded batches."""

from functools import partial

import pytest
import torch
from torch import nn

from spacy_psa.acceleration.cpu import CPUPrediction
from spacy_psa.layers import BiLSTM, ContextFusion, SequenceMask, positions, using
from spacy_psa.layers.deepatt import (
    ConvolutionSublayer,
    DeepAtt,
    FeedForwardSublayer,
    RecurrentSublayer,
    ResidualSublayer,
)
from spacy_psa.layers.label_attention import LabelAttention
from spacy_psa.layers.label_marginals import LabelMarginals
from spacy_psa.layers.label_parameters import LabelEmbeddings, LabelTransitions
from spacy_psa.layers.mask import PackedLayer, apply_packed
from spacy_psa.layers.multihead import MultiHeadSelfAttention
from spacy_psa.layers.refinement import LabelRefinement, RefiningLayer, ResidualNorm
from spacy_psa.layers.transformer import TransformerEncoder, TransformerLayer

from .helpers import assert_close, batch_of, mask_of, randomized
from .test_gradients import PSA

WIDTH, LABELS = 4, 3
LENGTHS = [[5, 2, 1, 2], [3], [2, 2], [1, 6]]
LAYERS = {
    "bilstm": lambda: BiLSTM(WIDTH, hidden_width=6, depth=2),
    "fusion": lambda: ContextFusion(WIDTH, bias=PSA),
    "heads": lambda: MultiHeadSelfAttention(WIDTH, 2),
    "position-aware heads": lambda: MultiHeadSelfAttention(WIDTH, 2, bias=PSA),
    "feed-forward": lambda: FeedForwardSublayer(WIDTH, hidden_width=5),
    "recurrent": lambda: RecurrentSublayer(WIDTH),
    "transformer layer": lambda: TransformerLayer(MultiHeadSelfAttention(WIDTH, 2), hidden_width=5),
    "residual": lambda: ResidualSublayer(FeedForwardSublayer(WIDTH), WIDTH, 0.0),
    "residual convolution": lambda: ResidualSublayer(ConvolutionSublayer(WIDTH), WIDTH, 0.0),
}
REFINES = {
    "attention": lambda: LabelAttention(LabelEmbeddings(LABELS, WIDTH), heads=2),
    "marginals": lambda: LabelMarginals(LabelEmbeddings(LABELS, WIDTH), LabelTransitions(LABELS)),
}


def transformer(**settings) -> TransformerEncoder:
    sizes = {"width": 4, "n_heads": 2, "key_width": None, "hidden_width": 5, "depth": 2}
    return TransformerEncoder(3, **sizes, **settings)


def refinement() -> LabelRefinement:
    first, last = (BiLSTM(n, hidden_width=WIDTH) for n in (3, WIDTH))
    return LabelRefinement([RefiningLayer(first, REFINES["attention"](), ResidualNorm(4))], last)


STACKS = {
    "transformer": lambda: transformer(positions=positions.SinusoidalPositions),
    "transformer before": lambda: transformer(pre_norm=True, bias=PSA),
    "deepatt": lambda: DeepAtt(
        3,
        sublayer=partial(FeedForwardSublayer, hidden_width=5),
        positions=positions.PositionEmbedding,
        width=WIDTH,
        depth=2,
        n_heads=2,
    ),
    "refinement": refinement,
}
lengths = pytest.mark.parametrize("lengths", LENGTHS, ids=str)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("learns", [True, False])
@lengths
def test_tokens_come_to_the_same_as_padded_ones(name, lengths, learns):
    layer = randomized(LAYERS[name]())
    assert isinstance(layer, PackedLayer)
    mask, found = mask_of(lengths), []
    for is_packed in (False, True):
        x = batch_of(lengths, WIDTH)
        x = (mask.pack(x) if is_packed else x).requires_grad_(learns)
        with torch.set_grad_enabled(learns):
            output = layer(x, mask)
        assert output.dim() == x.dim()
        output = output if is_packed else output[mask.positions]
        gradients = []
        if learns:
            layer.zero_grad()
            output.square().sum().backward()
            assert x.grad is not None
            gradients = [x.grad if is_packed else x.grad[mask.positions]]
            gradients += [p.grad for p in layer.parameters()]
        found.append([output, *gradients])
    for padded, packed in zip(*found, strict=True):
        assert_close(packed, padded, 1e-12)


@pytest.mark.parametrize("name", REFINES)
@lengths
def test_labels_are_attended_to_with_and_without_padding(name, lengths):
    layer, x, mask = randomized(REFINES[name]()), batch_of(lengths, WIDTH), mask_of(lengths)
    for padded, packed in zip(layer(x, mask), layer(mask.pack(x), mask), strict=True):
        assert_close(packed, padded[mask.positions], 1e-12)
    shown = layer.inspect(mask.pack(x), mask)["labels"]
    assert_close(shown[mask.positions], layer.inspect(x, mask)["labels"][mask.positions], 1e-12)
    assert shown.shape[:2] == x.shape[:2]


def test_heads_are_shown_padded():
    layer, mask = randomized(LAYERS["position-aware heads"]()), mask_of([3, 1])
    tokens = mask.pack(batch_of([3, 1], WIDTH))
    shown, expected = (layer.inspect(x, mask) for x in (tokens, mask.unpack(tokens)))
    assert set(shown) == {"attention", "bias"}
    for name, values in shown.items():
        assert_close(values, expected[name], 1e-12)


@pytest.mark.parametrize("learns", [True, False])
@pytest.mark.parametrize("name", STACKS)
def test_projections_and_normalizations_of_stacks_see_no_padding(name, learns):
    stack, lengths = randomized(STACKS[name]()), [6, 1, 2]
    rows: list[int] = []
    for layer in stack.modules():
        if isinstance(layer, nn.Linear | nn.LayerNorm):
            layer.register_forward_pre_hook(
                lambda _, args: rows.append(args[0].numel() // args[0].shape[-1])
            )
    with torch.set_grad_enabled(learns), using(CPUPrediction()):
        output = stack(batch_of(lengths, 3), mask_of(lengths))
    assert output.shape == (3, 6, WIDTH)
    # Projections of label embeddings have a row for each label
    assert set(rows) - {LABELS} == {sum(lengths)}


class Shift(nn.Module):
    """Replaces each token by the previous one; accepts padded batches only."""

    def forward(self, x: torch.Tensor, mask: SequenceMask) -> torch.Tensor:
        assert x.dim() == 3
        return x.roll(1, dims=1)


def test_other_layers_are_given_padded_batches():
    mask, tokens = mask_of([3, 1]), torch.arange(4.0).unsqueeze(1)
    assert apply_packed(Shift(), tokens, mask).flatten().tolist() == [2.0, 0.0, 1.0, 0.0]
    layer = RefiningLayer(Shift(), REFINES["attention"](), ResidualNorm(WIDTH)).double()
    output, _ = layer(mask.pack(batch_of([3, 1], WIDTH)), mask)
    assert output.shape == (4, WIDTH)


def test_forms_are_told_apart():
    mask, x = mask_of([3, 1]), batch_of([3, 1], 2)
    tokens = mask.pack(x)
    assert mask.pack(tokens) is tokens and mask.unpack(x) is x
    for given in (x, tokens):
        for other in (mask.unpack(tokens), tokens):
            assert torch.equal(mask.pack(mask.in_form_of(given, other)), tokens)
            assert mask.in_form_of(given, other).dim() == given.dim()
