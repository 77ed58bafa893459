"""Inspecting a component, checked against loops over the equations."""

from __future__ import annotations

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model
from torch import nn

from spacy_psa.analysis.attention import bias_by_distance, label, look_inside
from spacy_psa.layers import ContextFusion, LabelRefinement, MultiHeadSelfAttention, SequenceMask
from spacy_psa.pipeline.srl.predicates import set_predicates
from spacy_psa.pipeline.tagger import PSATagger

from ..layers.helpers import state_of
from ..layers.reference import (
    attention,
    contexts,
    equation_12,
    equation_13,
    part,
    positional_bias,
)
from ..layers.reference_transformer import multi_head
from ..pipeline import srl_data
from ..pipeline.conftest import annotation, initialized_nlp, tagger_of, tiny_model
from ..pipeline.tagger.test_config import FUSION, MIXTURE, TRANSFORMER
from ..pipeline.tagger.test_label_refinement import LAN, MARGINALS, refinement
from ..pipeline.tagger.test_label_refinement import attention as attending
from .inside import CLOSE, inputs, layers_with, look, make_doc, network_of, ours, paper_nlp
from .inside import SENTENCE as WORDS

SETTINGS = {"k": 3, "r": 4}
REFINEMENT = refinement(MARGINALS, "ResidualNorm", 2)


@pytest.fixture(scope="module")
def psa() -> Language:
    return paper_nlp()


def test_attention_of_context_fusion_equals_equations_5_to_7(psa: Language) -> None:
    network = network_of(psa)
    with inputs(network, ContextFusion) as found:
        layers = layers_with(look(psa), "attention")
    assert [layer.title for layer in layers] == ["context fusion 1", "context fusion 2"]
    for layer in layers:
        state = part(state_of(network.get_submodule(layer.view.layer)), "attention")
        expected = attention(found[layer.view.layer], state, **SETTINGS)
        np.testing.assert_allclose(layer.view.values["attention"][0], expected, atol=CLOSE)


def test_gate_is_the_mean_of_equation_13_over_features(psa: Language) -> None:
    network = network_of(psa)
    with inputs(network, ContextFusion) as found:
        layers = layers_with(look(psa), "gate")
    for layer in layers:
        x, state = found[layer.view.layer], state_of(network.get_submodule(layer.view.layer))
        s = contexts(x, part(state, "attention"), **SETTINGS)
        weights = [state[f"gate.{name}.weight"] for name in ("token", "context", "output")]
        for i, value in enumerate(layer.view.values["gate"]):
            s_i = equation_12(
                s[i], state["hidden.weight"], state["output.weight"], state["hidden.bias"]
            )
            expected = float(np.mean(equation_13(x[i], s_i, *weights)))
            assert value == pytest.approx(expected, abs=CLOSE)


def test_bias_is_averaged_over_all_pairs_that_are_equally_far_apart(psa: Language) -> None:
    network = network_of(psa)
    with inputs(network, ContextFusion) as found:
        insight = look(psa)
    curves = bias_by_distance(insight.passages)
    n = len(WORDS)
    for layer in layers_with(insight, "bias"):
        x = found[layer.view.layer]
        state = part(state_of(network.get_submodule(layer.view.layer)), "attention.bias")
        [rows] = curves[layer.title]
        # The paper's mask: no token attends to itself.
        assert rows[:, 0].tolist() == [-4, -3, -2, -1, 1, 2, 3, 4]
        for distance, mean, lowest, highest in rows.tolist():
            values = [
                positional_bias(x[i], i, j, state, factors=("G", "P"), **SETTINGS)
                for i in range(n)
                for j in range(n)
                if j - i == distance
            ]
            expected = [float(np.mean(values)), min(values), max(values)]
            assert [mean, lowest, highest] == pytest.approx(expected, abs=CLOSE)


def test_bias_at_distance_zero_is_shown_where_tokens_look_at_themselves() -> None:
    bias = {**FUSION["bias"], "self_mask": False}
    model = tiny_model(encoder__first_fusion={**FUSION, "bias": bias})
    [rows] = bias_by_distance(look(initialized_nlp(model=model)).passages)["context fusion 1"]
    assert 0 in rows[:, 0]


def test_a_gate_that_is_one_number_is_shown_as_it_is() -> None:
    scalar = {"@architectures": "spacy_psa.ScalarGate.v1"}
    fusion = {**FUSION, "bias": MIXTURE, "gate": scalar}
    nlp = initialized_nlp(model=tiny_model(encoder__first_fusion=fusion))
    layer = layers_with(look(nlp), "gate")[0]
    assert layer.view.values["gate"].shape == (len(WORDS),)
    assert ((layer.view.values["gate"] > 0) & (layer.view.values["gate"] < 1)).all()


def test_each_head_of_a_transformer_equals_scaled_dot_products() -> None:
    nlp = initialized_nlp(model=tiny_model(encoder=TRANSFORMER))
    network = network_of(nlp)
    with inputs(network, MultiHeadSelfAttention) as found:
        layers = layers_with(look(nlp), "attention")
    assert layers
    for layer in layers:
        module = network.get_submodule(layer.view.layer)
        _, expected = multi_head(found[layer.view.layer], state_of(module), module.n_heads)
        np.testing.assert_allclose(layer.view.values["attention"], expected, atol=CLOSE)


@pytest.mark.parametrize("encoder", [LAN, REFINEMENT], ids=["lan", "refinement"])
def test_labels_of_each_layer_are_its_distributions(encoder: dict) -> None:
    decoder = {"@architectures": "spacy_psa.LabelCRF.v1"}
    nlp = initialized_nlp(model=tiny_model(encoder=encoder, decoder=decoder))
    network = network_of(nlp)
    with inputs(network, LabelRefinement) as found:
        layers = layers_with(look(nlp), "labels")
    x = next(network.parameters()).new_tensor(found["encoder"]).unsqueeze(0)
    mask = SequenceMask(x.new_tensor([len(WORDS)]).long(), len(WORDS))
    expected = network.encoder.label_distributions(x, mask)
    assert len(layers) == len(expected) == encoder["depth"] - 1
    for layer, distributions in zip(layers, expected, strict=True):
        weights = distributions[0].transpose(0, 1).detach().numpy()
        np.testing.assert_allclose(layer.view.values["labels"], weights, atol=CLOSE)
        assert layer.tags == ours(nlp).tags


def test_labels_that_are_no_labels_of_the_task_have_no_names() -> None:
    settings = {"tie_embeddings": False, "tie_transitions": False}
    encoder = refinement(attending("LinearProjection", heads=4), "Concatenation", 2, **settings)
    decoder = {"@architectures": "spacy_psa.LabelCRF.v1"}
    nlp = initialized_nlp(model=tiny_model(encoder=encoder, decoder=decoder))
    assert [layer.tags for layer in layers_with(look(nlp), "labels")] == [None]


def test_probabilities_are_those_that_the_component_gives(psa: Language) -> None:
    tagger = tagger_of(psa)
    [passage] = look(psa).passages
    np.testing.assert_allclose(passage.marginals, tagger.marginals([make_doc(psa)])[0], atol=CLOSE)
    assert tagger.marginal_labels == tagger.tags
    assert passage.tags == [tagger.tags[i] for i in tagger.predict([make_doc(psa)])[0].ids]


def test_the_document_stays_as_it_is(psa: Language) -> None:
    doc = make_doc(psa)
    before = annotation(doc)
    look_inside(tagger_of(psa), doc)
    assert annotation(doc) == before
    assert not any(module._forward_hooks for module in network_of(psa).modules())


def test_transitions_are_the_parameters_where_the_tag_scheme_allows_them() -> None:
    nlp = initialized_nlp("spans")
    [scores] = look(nlp).transitions.values()
    decoder, allowed = network_of(nlp).decoder, tagger_of(nlp).constraints
    for shown, parameter, possible in (
        (scores[:-1, :-1], decoder.transitions, allowed.transitions),
        (scores[-1, :-1], decoder.start, allowed.start),
        (scores[:-1, -1], decoder.end, allowed.end),
    ):
        assert np.isnan(shown[~possible.numpy()]).all()
        known = parameter.detach().numpy()[possible.numpy()]
        np.testing.assert_allclose(shown[possible.numpy()], known, atol=1e-6)
    assert np.isnan(scores[-1, -1])


def test_transitions_that_depend_on_tokens_are_averaged() -> None:
    decoder = {"@architectures": "spacy_psa.PairwiseCRF.v1"}
    nlp = initialized_nlp(model=tiny_model(decoder=decoder))
    potentials = tagger_of(nlp).model.predict([make_doc(nlp)]).detach()
    [scores] = look(nlp).transitions.values()
    total = sum(potentials.pairwise[i].numpy() for i in range(1, len(WORDS)))
    expected = potentials.transitions.numpy() + total / (len(WORDS) - 1)
    np.testing.assert_allclose(scores[:-1, :-1], expected, atol=CLOSE)


def test_a_softmax_has_no_transitions() -> None:
    decoder = {"@architectures": "spacy_psa.Softmax.v1"}
    nlp = initialized_nlp("spans", model=tiny_model(decoder=decoder))
    assert look(nlp).transitions == {}


class Halves(nn.Module):
    """A user's encoder: each token attends to itself and to the first token."""

    def __init__(self, input_width: int, n_labels: int) -> None:
        super().__init__()
        self.width = input_width

    def forward(self, x, mask):
        return (x + x[:, :1]) / 2

    def inspect(self, x, mask):
        weights = x.new_zeros(len(x), x.shape[1], x.shape[1])
        weights[:, :, 0] += 0.5
        weights.diagonal(dim1=1, dim2=2).add_(0.5)
        return {"attention": weights, "mine": x}


def test_encoders_of_users_are_shown_by_what_they_report() -> None:
    name = "test_halves.v1"
    spacy.registry.architectures(name, func=lambda: Halves)
    recurrent = tiny_model()["encoder"]["recurrent"]
    chain = {"first": {"@architectures": name}, "second": recurrent}
    model = tiny_model(encoder={"@architectures": "spacy_psa.Chain.v1", "*": chain})
    [layer] = look(initialized_nlp(model=model)).passages[0].layers
    assert layer.title == "halves"
    assert layer.view.values.keys() == {"attention"}
    expected = np.eye(len(WORDS)) / 2
    expected[:, 0] += 0.5
    np.testing.assert_array_equal(layer.view.values["attention"][0], expected)


@pytest.mark.parametrize("allow", [False, True])
def test_roles_that_touch_white_space_are_impossible(allow: bool) -> None:
    nlp = srl_data.initialized_nlp(allow_space=allow)
    doc = Doc(nlp.vocab, words=["He", "said", "\n"])
    set_predicates(doc, [1])
    insight = look_inside(srl_data.srl_of(nlp), doc)
    (passage,) = insight.passages
    outside = insight.tags.index("O")
    np.testing.assert_allclose(passage.marginals.sum(axis=1), 1.0)
    assert (passage.marginals[2, outside] > 0.999) == (not allow)
    assert allow or passage.tags[2] == "O"


def test_roles_without_predicates_are_an_error() -> None:
    nlp = srl_data.initialized_nlp()
    with pytest.raises(ValueError, match=r"\[P383\]"):
        look_inside(srl_data.srl_of(nlp), make_doc(nlp))


def test_a_document_without_tokens_is_an_error(psa: Language) -> None:
    with pytest.raises(ValueError, match=r"\[P380\]"):
        look(psa, [])


def test_a_model_without_a_network_of_ours_is_an_error(psa: Language) -> None:
    plain: Model = Model("plain", lambda model, docs, is_train: (docs, lambda d: d))
    with pytest.raises(ValueError, match=r"\[P382\].*'mine'"):
        look_inside(PSATagger(psa.vocab, plain, "mine"), make_doc(psa))


def test_components_of_other_kinds_are_an_error(psa: Language) -> None:
    class Other:
        name = "other"

    with pytest.raises(ValueError, match=r"\[P382\].*'other'"):
        label(Other(), make_doc(psa))


@pytest.mark.parametrize("encoder", [LAN, refinement(MARGINALS, "ResidualNorm", 2)])
def test_labels_that_are_not_trained_yet_are_left_out(encoder: dict[str, object]) -> None:
    decoder = {"@architectures": "spacy_psa.LabelCRF.v1"}
    nlp = initialized_nlp("ents", model=tiny_model(encoder=encoder, decoder=decoder))
    before = look_inside(tagger_of(nlp), make_doc(nlp))
    tagger_of(nlp).add_label("NEW")
    after = look_inside(tagger_of(nlp), make_doc(nlp))
    assert after.tags == before.tags
    np.testing.assert_array_equal(after.passages[0].marginals, before.passages[0].marginals)
