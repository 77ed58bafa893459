"""BiLSTM-LAN and structured refinement as built from configs: sharing, sizes, errors."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn

from spacy_psa.inference import LinearChain, Potentials
from spacy_psa.layers import BiLSTM, ContextFusion, CRFDecoder, SequenceMask
from spacy_psa.models import encoders
from spacy_psa.models.label_refinement import (
    build_concatenation,
    build_label_attention,
    build_label_attention_decoder,
    build_label_crf,
    build_label_marginals,
    build_label_refinement,
    build_label_set,
    build_linear_projection,
    build_relu_projection,
    build_residual_norm,
)
from spacy_psa.models.types import DecoderBuilder, EncoderBuilder, build_layer

INPUT, WIDTH, LABELS = 6, 4, 5
LAN_PARTS = (build_label_attention(build_linear_projection(), 2), build_concatenation())
LAN_DECODER = build_label_attention_decoder(None)
STRUCTURED_PARTS = (build_label_marginals(), build_residual_norm())


def make_encoder(
    refine, connection, *, width: int = WIDTH, depth: int = 3, **tying: Any
) -> EncoderBuilder:
    lstm = encoders.build_bilstm(width, 1, 0.0, 0.5)
    return build_label_refinement(lstm, refine, connection, build_label_set(**tying), depth, 0.5)


def build(encoder: EncoderBuilder, decoder: DecoderBuilder, labels: int = LABELS) -> nn.ModuleList:
    encoder_module = encoder(INPUT, labels)
    return nn.ModuleList([encoder_module, decoder(encoder_module, labels)]).eval()


# Sharing


@pytest.mark.parametrize("depth", [2, 3])
def test_the_decoders_of_both_papers_share_the_encoders_labels(depth: int) -> None:
    encoder, decoder = build(make_encoder(*LAN_PARTS, depth=depth), LAN_DECODER)
    assert decoder.labels is encoder.labels is encoder.layers[0].refine.labels
    encoder, decoder = build(make_encoder(*STRUCTURED_PARTS, depth=depth), build_label_crf())
    assert decoder.labels is encoder.labels is encoder.layers[0].refine.labels
    assert decoder.transitions is encoder.transitions is encoder.layers[0].refine.transitions


@pytest.mark.parametrize("tie_embeddings", [True, False])
@pytest.mark.parametrize("tie_transitions", [True, False])
def test_each_kind_of_parameter_is_tied_on_its_own(
    tie_embeddings: bool, tie_transitions: bool
) -> None:
    builder = make_encoder(
        *STRUCTURED_PARTS, tie_embeddings=tie_embeddings, tie_transitions=tie_transitions
    )
    encoder, decoder = build(builder, build_label_crf())
    owners = [*(layer.refine for layer in encoder.layers), decoder]
    assert len({id(owner.labels) for owner in owners}) == (1 if tie_embeddings else 3)
    assert len({id(owner.transitions) for owner in owners}) == (1 if tie_transitions else 3)


def test_refining_layers_may_have_labels_of_their_own() -> None:
    builder = make_encoder(
        *STRUCTURED_PARTS, tie_embeddings=False, tie_transitions=False, n_latent=7
    )
    encoder, decoder = build(builder, build_label_crf())
    assert [layer.refine.labels.n_labels for layer in encoder.layers] == [7, 7]
    assert decoder.labels.n_labels == decoder.transitions.n_labels == LABELS


@pytest.mark.parametrize("decoder", [build_label_crf(), LAN_DECODER])
def test_decoders_on_other_encoders_have_labels_of_their_own(decoder: DecoderBuilder) -> None:
    _, module = build(encoders.build_bilstm(WIDTH, 1, 0.0, 0.0), decoder)
    assert (module.labels.n_labels, module.labels.width) == (LABELS, WIDTH)


@pytest.mark.parametrize(("scaled", "expected"), [(True, 1.0), (False, 400**-0.5)])
def test_labels_by_which_attention_is_scaled_are_not_small(scaled: bool, expected: float) -> None:
    decoder = build_label_attention_decoder(build_linear_projection(bias=False), scaled=scaled)
    _, module = build(encoders.build_bilstm(400, 1, 0.0, 0.0), decoder)
    assert float(module.labels.weight.detach().std()) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize(("deviation", "expected"), [(1.0, 1.0), (None, 400**-0.5)])
@pytest.mark.parametrize("tying", [{"depth": 1}, {"tie_embeddings": False}, {}])
@pytest.mark.parametrize("is_in_chain", [True, False])
@pytest.mark.parametrize("make_decoder", [build_label_crf(), LAN_DECODER])
def test_labels_of_the_decoder_deviate_as_those_of_the_encoder(
    make_decoder: DecoderBuilder,
    is_in_chain: bool,
    tying: dict[str, Any],
    deviation: float | None,
    expected: float,
) -> None:
    builder = make_encoder(*LAN_PARTS, width=400, deviation=deviation, **tying)
    _, decoder = build(encoders.build_chain(builder) if is_in_chain else builder, make_decoder)
    assert float(decoder.labels.weight.detach().std()) == pytest.approx(expected, rel=0.1)


def test_what_is_not_used_is_not_made() -> None:
    # Attention needs no transitions; a single layer needs no attention.
    encoder, _ = build(make_encoder(*LAN_PARTS), LAN_DECODER)
    assert encoder.transitions is None
    encoder, decoder = build(make_encoder(*STRUCTURED_PARTS, depth=1), build_label_crf())
    assert len(encoder.layers) == 0
    assert encoder.labels is None
    assert isinstance(encoder.last, BiLSTM)
    assert decoder.labels.n_labels == LABELS


def test_a_chain_offers_what_its_last_encoder_shares() -> None:
    chain = encoders.build_chain(encoders.build_bilstm(8), make_encoder(*STRUCTURED_PARTS))
    encoder, decoder = build(encoders.build_chain(chain), build_label_crf())
    inner = encoder.encoders[0].encoders[1]
    assert decoder.labels is inner.labels
    assert decoder.transitions is inner.transitions


# Depth


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_depth_counts_the_encoders(depth: int) -> None:
    encoder = make_encoder(*LAN_PARTS, depth=depth)(INPUT, LABELS)
    assert sum(isinstance(module, BiLSTM) for module in encoder.modules()) == depth
    assert len(encoder.layers) == depth - 1
    x, mask = torch.randn(1, 3, INPUT), SequenceMask(torch.tensor([3]), 3)
    assert len(encoder.label_distributions(x, mask)) == depth - 1


def test_the_distribution_of_the_last_layer_is_that_of_the_potentials() -> None:
    encoder, decoder = build(make_encoder(*LAN_PARTS, depth=2), LAN_DECODER)
    x, mask = torch.randn(1, 3, INPUT), SequenceMask(torch.tensor([3]), 3)
    emissions = decoder(encoder(x, mask), mask)[0].detach()
    marginals = LinearChain(Potentials(emissions, (3,), **decoder.transition_scores())).marginals
    torch.testing.assert_close(marginals, torch.softmax(emissions, 1))


# Sizes


def count(encoder: EncoderBuilder, decoder: DecoderBuilder, input_width: int, labels: int) -> int:
    """Count the parameters of encoder and decoder, shared ones once, without allocating memory."""
    with torch.device("meta"):
        encoder_module = encoder(input_width, labels)
        both = nn.ModuleList([encoder_module, decoder(encoder_module, labels)])
    return sum(parameter.numel() for parameter in both.parameters())


def count_lan(width: int, depth: int) -> int:
    """Count the parameters of BiLSTM-LAN for the 45 tags of WSJ, as published: word embeddings of
    width 100, character representations of width 50.

    The published code also counts a value projection in the last layer, which it does not use and
    we do not have.
    """
    refine = build_label_attention(build_relu_projection(), 5)
    encoder = make_encoder(refine, build_concatenation(), width=width, depth=depth)
    decoder = build_label_attention_decoder(build_relu_projection())
    return count(encoder, decoder, 150, 45) + width * width + width


def count_bilstm_crf(width: int, depth: int) -> int:
    def decoder(encoder: nn.Module, n_labels: int) -> nn.Module:
        return CRFDecoder(encoder.width, n_labels)

    return count(encoders.build_bilstm(width, depth), decoder, 150, 45)


@pytest.mark.parametrize(
    ("size", "base", "millions"),
    [
        (count_lan(400, 4), count_lan(400, 2), 12.2 - 8.1),
        (count_lan(600, 3), count_lan(400, 4), 16.5 - 12.2),
        (count_lan(600, 3), count_lan(400, 2), 16.5 - 8.1),
        (count_lan(400, 2), count_bilstm_crf(400, 1), 8.1 - 5.5),
        (count_lan(400, 4), count_bilstm_crf(400, 1), 12.2 - 5.5),
        (count_lan(600, 3), count_bilstm_crf(600, 3), 16.5 - 10.4),
    ],
)
def test_sizes_of_bilstm_lan_are_those_of_table_2(size: int, base: int, millions: float) -> None:
    """Compare differences, in which the word and character embeddings cancel out, to 2 %.

    Two rows contradict the others: width 400 with 3 layers has 10.0M, but by construction lies
    halfway between 8.1M and 12.2M; width 200 with 3 layers has 5.7M, only 0.6M more than a
    one-layer BiLSTM-CRF, although two more LSTMs with 400 inputs have 0.8M alone.
    """
    assert size - base == pytest.approx(millions * 1e6, rel=0.02)


def test_sizes_of_bilstm_lan_grow_by_the_same_for_each_layer() -> None:
    """Each adds a BiLSTM with 800 inputs, and three projections with biases."""
    layer = 8 * (800 * 200 + 200 * 200 + 2 * 200) + 3 * (400 * 400 + 400)
    assert count_lan(400, 3) - count_lan(400, 2) == layer
    assert count_lan(400, 4) - count_lan(400, 3) == layer


def count_structured(width: int, layers: int, labels: int = 73, **tying: Any) -> int:
    """Count the parameters of structured refinement for OntoNotes 5.0, with words and characters
    of width 100.
    """
    encoder = make_encoder(*STRUCTURED_PARTS, width=width, depth=layers + 1, **tying)
    return count(encoder, build_label_crf(), 200, labels)


TABLE_9 = {
    (1, 400): 6_227_985,
    (1, 600): 8_206_385,
    (1, 800): 10_904_785,
    (2, 400): 7_352_385,
    (2, 600): 10_732_985,
    (2, 800): 15_393_585,
}


def test_sizes_of_structured_refinement_are_those_of_table_9() -> None:
    """They match except for the word and character embeddings, the same in all rows."""
    rest = {size - count_structured(d, L) for (L, d), size in TABLE_9.items()}
    assert len(rest) == 1
    assert rest.pop() > 0


SEPARATE = {"tie_embeddings": False, "tie_transitions": False}


@pytest.mark.parametrize(
    ("tying", "size"),
    [
        ({**SEPARATE, "n_latent": 10}, 8_212_505),
        ({**SEPARATE, "n_latent": 20}, 8_218_825),
        ({**SEPARATE, "n_latent": 50}, 8_238_985),
        ({**SEPARATE, "n_latent": 73}, 8_255_660),
        (SEPARATE, 8_255_660),
        ({**SEPARATE, "n_latent": 100}, 8_276_585),
        ({"tie_transitions": False}, 8_211_860),
    ],
)
def test_sizes_with_separate_labels_are_those_of_table_7(tying: dict[str, Any], size: int) -> None:
    """The differences match exactly."""
    assert count_structured(600, 1, **tying) - count_structured(600, 1) == size - 8_206_385


# Errors


def test_layers_of_different_widths_are_an_error() -> None:
    # Attention is as wide as its input, which concatenation doubles.
    fusion = partial(build_layer, ContextFusion)
    refine = build_label_attention(build_linear_projection(), 1)
    builder = build_label_refinement(fusion, refine, build_concatenation(), build_label_set(), 2)
    with pytest.raises(ValueError, match=r"P211.*layer 2 is 12 wide"):
        builder(INPUT, LABELS)
    builder = build_label_refinement(fusion, refine, build_residual_norm(), build_label_set(), 2)
    assert builder(INPUT, LABELS).width == INPUT


@pytest.mark.parametrize("tying", [{}, {"tie_transitions": False}, {"tie_embeddings": False}])
def test_latent_labels_cannot_be_shared(tying: dict[str, bool]) -> None:
    with pytest.raises(ValueError, match="P212"):
        build_label_set(**tying, n_latent=7)


def test_heads_that_do_not_divide_the_width_are_an_error() -> None:
    refine = build_label_attention(build_linear_projection(), 3)
    with pytest.raises(ValueError, match="P213"):
        make_encoder(refine, build_concatenation())(INPUT, LABELS)


@pytest.mark.parametrize(
    "builder",
    [
        make_encoder(*LAN_PARTS),
        make_encoder(*STRUCTURED_PARTS),
        build_label_attention_decoder(build_relu_projection()),
        build_label_crf(),
    ],
)
def test_builders_can_be_pickled(builder) -> None:
    assert callable(pickle.loads(pickle.dumps(builder)))
