"""Layers trained in mixed precision: outputs and gradients are close to full precision."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from unittest.mock import patch

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from spacy_psa.inference import LinearChain
from spacy_psa.layers import (
    AdditiveSelfAttention,
    BiasMixture,
    BiLSTM,
    Chain,
    ContextFusion,
    CRFDecoder,
    DeepAtt,
    FeatureGate,
    LabelMarginals,
    LabelSet,
    MultiHeadSelfAttention,
    PairwiseCRFDecoder,
    PSABias,
    ScalarGate,
    TokenOffsetBias,
    ops,
)
from spacy_psa.layers.deepatt import (
    ConvolutionSublayer,
    FeedForwardSublayer,
    RecurrentSublayer,
)
from spacy_psa.layers.labeler import SequenceLabelerNetwork
from spacy_psa.layers.ops import PLAIN, lstm_types
from spacy_psa.layers.transformer import TransformerEncoder
from spacy_psa.models.batches import make_layout

from .helpers import batch_of, mask_of, normal, randomized
from .test_refinement import INPUT, make_lan, make_structured

LENGTHS = [7, 5, 5, 1]
OTHER_LENGTHS = [[5], [4, 4], [1]]
HALF = [torch.bfloat16, torch.float16]
# Half the distance between adjacent numbers at 1
UNIT = {torch.bfloat16: 2.0**-9, torch.float16: 2.0**-12}
LAYERS: dict[str, tuple[int, Callable[[], nn.Module]]] = {
    "bilstm": (6, lambda: BiLSTM(6, hidden_width=10, depth=2)),
    "fusion": (6, lambda: ContextFusion(6, bias=PSABias)),
    "fusion, scalar gate": (6, lambda: ContextFusion(6, gate=ScalarGate)),
    "multihead": (6, lambda: MultiHeadSelfAttention(6, n_heads=2, bias=PSABias)),
    "transformer": (6, lambda: TransformerEncoder(6, width=12, n_heads=2, hidden_width=16)),
    "deepatt": (12, lambda: deepatt(ConvolutionSublayer)),
    "deepatt, feed-forward": (12, lambda: deepatt(FeedForwardSublayer)),
    "deepatt, recurrent": (12, lambda: deepatt(RecurrentSublayer)),
    "bilstm, variational": (6, lambda: BiLSTM(6, hidden_width=8, variational=True)),
    "bias of the first version": (6, lambda: AdditiveSelfAttention(6, bias=first_bias)),
    "lan": (INPUT, make_lan),
    "structured refinement": (INPUT, make_structured),
    "chain": (6, lambda: Chain(6, [ContextFusion(6), BiLSTM(6, hidden_width=8)])),
}


def deepatt(sublayer: Callable[[int], nn.Module]) -> nn.Module:
    return DeepAtt(12, sublayer=sublayer, positions=None, width=12, depth=2, n_heads=2)


def first_bias(width: int) -> BiasMixture:
    return BiasMixture(width, [TokenOffsetBias])


def run(
    layer: nn.Module, x: Tensor, dtype: torch.dtype | None, lengths: list[int]
) -> tuple[Tensor, list[Tensor]]:
    """The output at real positions, and the gradients of a weighted sum of it."""
    mask = mask_of(lengths, x.device)
    leaves = [x.clone().requires_grad_(), *layer.parameters()]
    with torch.autocast(x.device.type, dtype=dtype, enabled=dtype is not None):
        output = layer(leaves[0], mask)[mask.positions].float()
    weights = normal(*output.shape, seed=9).to(output)
    gradients = torch.autograd.grad((output * weights).sum(), leaves, allow_unused=True)
    return output, [g for g in gradients if g is not None]


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("name", LAYERS)
def test_output_and_gradients_are_close_to_full_precision(
    name: str, dtype: torch.dtype, device: torch.device
) -> None:
    width, make = LAYERS[name]
    layer = randomized(make(), scale=0.4).float().to(device)
    for part in layer.modules():
        if isinstance(part, nn.LSTM):
            part.train()  # cuDNN's have gradients only in training
    x = batch_of(LENGTHS, width, seed=3).float().to(device)
    expected, expected_gradients = run(layer, x, None, LENGTHS)
    output, gradients = run(layer, x, dtype, LENGTHS)
    error = (output - expected).detach().abs().max()
    # On a CPU, the LSTM may run in float32 if there is none in this type
    assert error > 0 or ("bilstm" in name and dtype not in lstm_types())
    assert error < 32 * UNIT[dtype] * max(1.0, float(expected.detach().abs().max()))
    assert len(gradients) == len(expected_gradients)
    largest = max(g.norm() for g in expected_gradients)
    for found, wanted in zip(gradients, expected_gradients, strict=True):
        assert found.dtype == torch.float32
        if wanted.norm() > 1e-2 * largest:
            assert cosine_similarity(found.flatten(), wanted.flatten(), dim=0) > 0.98


@pytest.mark.parametrize("lengths", OTHER_LENGTHS)
@pytest.mark.parametrize("name", LAYERS)
def test_sentences_without_padding(name: str, lengths: list[int]) -> None:
    width, make = LAYERS[name]
    layer = randomized(make(), scale=0.4).float()
    x = batch_of(lengths, width, seed=3).float()
    expected, _ = run(layer, x, None, lengths)
    for given in (x, x.bfloat16()):
        output, gradients = run(layer, given, torch.bfloat16, lengths)
        assert all(gradient.isfinite().all() for gradient in gradients)
        error = (output - expected).detach().abs().max()
        scale = max(1.0, float(expected.detach().abs().max()))
        assert error < 32 * UNIT[torch.bfloat16] * scale


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("gate", [FeatureGate, ScalarGate])
def test_what_a_token_keeps_of_its_own_is_not_rounded(
    gate: type[FeatureGate | ScalarGate], dtype: torch.dtype
) -> None:
    layer = randomized(gate(6)).float()
    layer.gate = lambda x, context: torch.ones(len(x), layer.output.out_features, dtype=dtype)
    x = normal(5, 6).float()
    with torch.autocast("cpu", dtype=dtype):
        assert torch.equal(layer(x, normal(5, 6, seed=1).to(dtype)), x)


@pytest.mark.parametrize("dtype", HALF)
def test_additive_scores_are_not_rounded(dtype: torch.dtype) -> None:
    queries, keys = (normal(2, 5, 6, seed=seed).to(dtype) for seed in (1, 2))
    weight, mask = normal(6).float(), mask_of([5, 5])
    with torch.autocast("cpu", dtype=dtype):
        scores = PLAIN.additive_scores(queries, keys, weight, mask)
    expected = PLAIN.additive_scores(queries.float(), keys.float(), weight, mask)
    assert torch.equal(scores, expected)
    assert PLAIN.additive_scores(queries, keys, weight, mask).dtype == dtype


class SeenBias(nn.Module):
    """A bias of zeros that records its input."""

    masks_self = False

    def __init__(self, width: int) -> None:
        super().__init__()
        self.seen: list[tuple[torch.dtype, bool]] = []

    def forward(self, x: Tensor) -> Tensor:
        """x (Tensor): Shape: (batch_size, n, d). RETURNS (Tensor): Shape: (1, n, n)."""
        self.seen.append((x.dtype, torch.is_autocast_enabled(x.device.type)))
        return x.new_zeros(1, x.shape[1], x.shape[1])


@pytest.mark.parametrize("given", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", ["additive", "multihead"])
def test_positional_biases_are_found_in_full_precision(kind: str, given: torch.dtype) -> None:
    additive = partial(AdditiveSelfAttention, 6, bias=SeenBias)
    multihead = partial(MultiHeadSelfAttention, 6, n_heads=2, bias=SeenBias, share_bias=True)
    layer = randomized(additive() if kind == "additive" else multihead()).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        layer(normal(2, 5, 6).to(given), mask_of([5, 3]))
    (bias,) = (module for module in layer.modules() if isinstance(module, SeenBias))
    assert bias.seen == [(torch.float32, False)]


@pytest.mark.parametrize("given", [torch.float32, torch.bfloat16])
def test_what_is_attended_to_is_added_up_in_full_precision(given: torch.dtype) -> None:
    layer = randomized(AdditiveSelfAttention(6, bias=PSABias)).float()
    x, mask = normal(2, 5, 6).to(given), mask_of([5, 3])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        weights, context = layer.attention(x, mask), layer(x, mask)
    assert weights.dtype == torch.float32
    torch.testing.assert_close(weights.sum(dim=2)[0], torch.ones(5), rtol=1e-6, atol=0.0)
    assert torch.equal(context, weights @ x.float())


@pytest.mark.parametrize("decoder", [CRFDecoder, PairwiseCRFDecoder])
def test_labels_are_scored_in_full_precision(decoder: type[CRFDecoder]) -> None:
    encoder = Chain(6, [ContextFusion(6), BiLSTM(6, hidden_width=4)])
    network = randomized(SequenceLabelerNetwork(encoder, decoder(4, 3))).float()
    x, mask = normal(7, 6).float(), mask_of([7])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        potentials = network(x, make_layout([7], max_length=9, overlap=0))
        encoded = network.encoder(x.unsqueeze(0), mask)
    assert encoded.dtype == torch.bfloat16
    expected = network.decoder(encoded.float(), mask)
    expected = {"emissions": expected} if isinstance(expected, Tensor) else expected
    for name, scores in expected.items():
        assert torch.equal(getattr(potentials, name), scores[0])


@pytest.mark.parametrize("make", [make_lan, make_structured])
def test_weights_of_labels_are_found_in_full_precision(make: Callable[[], nn.Module]) -> None:
    layer = make().float().layers[0].refine
    hidden, mask = normal(7, layer.labels.width).float(), mask_of([7])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        refined, distributions = layer(hidden, mask)
    assert refined.dtype == distributions.dtype == torch.float32
    sums = distributions.sum(dim=2)
    torch.testing.assert_close(sums, torch.ones_like(sums), rtol=1e-6, atol=0.0)


def test_marginals_inside_a_network_are_found_in_full_precision() -> None:
    labels = LabelSet(4, 3)
    layer = randomized(LabelMarginals(labels.embeddings(), labels.transitions())).float()
    x, mask = normal(7, 4).float(), mask_of([7])
    seen = []

    def chain(potentials, **settings):
        seen.append((potentials.emissions.dtype, torch.is_autocast_enabled("cpu")))
        return LinearChain(potentials, **settings)

    replaced = patch.object(ops, "LinearChain", chain)
    with replaced, torch.autocast("cpu", dtype=torch.bfloat16):
        layer(x, mask)
        assert torch.is_autocast_enabled("cpu")
    assert seen == [(torch.float32, False)]


@pytest.mark.parametrize("with_gradient", [True, False])
def test_lstms_are_in_float32_where_a_cpu_has_them_in_no_other_type(
    with_gradient: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ops, "lstm_types", lambda: {torch.float32})
    layer = randomized(BiLSTM(6, hidden_width=4)).float()
    x, mask = normal(len(LENGTHS), max(LENGTHS), 6).float(), mask_of(LENGTHS)
    expected = layer(x, mask)[mask.positions]
    for dtype in HALF:
        with torch.autocast("cpu", dtype=dtype), torch.set_grad_enabled(with_gradient):
            output = layer(x, mask)[mask.positions]
            rounded = layer(x.to(dtype), mask)
            assert torch.is_autocast_enabled("cpu")
        torch.testing.assert_close(output, expected, rtol=0.0, atol=1e-6)
        assert rounded.dtype == torch.float32
