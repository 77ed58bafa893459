"""Semantic roles in marked copies of sentences, compared with the labeling of each copy alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import torch
from spacy.tokens import Doc
from thinc.api import Model

from spacy_psa.analysis.attention import look_inside
from spacy_psa.annotation.propositions import get_frames
from spacy_psa.inference import Potentials
from spacy_psa.models import labeler
from spacy_psa.models.srl import labeled_propositions, predict_in_parts

from ..pipeline import srl_data
from ..pipeline.srl_data import WORDS, given_doc, initialized_nlp, make_examples, make_nlp, srl_of

PREDICATES = [[1], [1, 6, 7], [], [3, 6]]
DECODERS = ["CRF", "Softmax", "PairwiseCRF"]


def marked(decoder: str = "CRF", **settings: Any) -> dict[str, Any]:
    """A tiny model."""
    model = srl_data.tiny_model(**settings)
    del model["mask_width"]
    return {
        **model,
        "@architectures": "spacy_psa.MarkedRoleLabeler.v1",
        "encoder": {
            "@architectures": "spacy_psa.BiLSTM.v1",
            "hidden_width": 24,
            "input_dropout": 0.0,
            "output_dropout": 0.0,
        },
        "decoder": {"@architectures": f"spacy_psa.{decoder}.v1"},
    }


def docs_of(nlp: spacy.language.Language) -> list[Doc]:
    """All sentences."""
    return [given_doc(nlp, i) for i in range(len(WORDS))]


@pytest.mark.parametrize("decoder", DECODERS)
def test_scores_are_those_of_the_copies_without_the_markers(decoder: str) -> None:
    nlp = initialized_nlp(marked(decoder))
    model = srl_of(nlp).model
    found = model.predict((docs_of(nlp), PREDICATES))
    rows, pairs = [], []
    for words, predicates in zip(WORDS, PREDICATES, strict=True):
        for p in predicates:
            copy = [*words[:p], "*", words[p], "*", *words[p + 1 :]]
            alone, _ = labeler.forward(model, [Doc(nlp.vocab, words=copy)], False)
            kept = [i for i in range(len(copy)) if i not in (p, p + 2)]
            rows.append(alone.emissions[kept])
            pairs += [alone.pairwise[kept]] if alone.pairwise is not None else []
    assert found.lengths == tuple(map(len, rows))
    torch.testing.assert_close(found.emissions, torch.cat(rows), rtol=1e-5, atol=1e-5)
    if pairs:
        torch.testing.assert_close(found.pairwise, torch.cat(pairs), rtol=1e-5, atol=1e-5)
    if decoder == "CRF":
        assert found.transitions is not None and found.start is not None


def gradients(model: Model) -> dict[str, torch.Tensor]:
    """The gradients of the network, which are then forgotten."""
    (shim,) = model.get_ref("network").shims
    found = {
        name: p.grad.clone() for name, p in shim.network.named_parameters() if p.grad is not None
    }
    shim.network.zero_grad()
    return found


def test_gradients_are_those_of_the_copies() -> None:
    nlp = initialized_nlp(marked())
    model = srl_of(nlp).model
    docs, predicates = [given_doc(nlp, 1)], [[6]]
    potentials, backprop = model.begin_update((docs, predicates))
    weights = {name: torch.randn_like(scores) for name, scores in potentials.tensors().items()}
    backprop(Potentials(lengths=potentials.lengths, **weights))
    found = gradients(model)
    words = WORDS[1]
    copy = Doc(nlp.vocab, words=[*words[:6], "*", words[6], "*", *words[7:]])
    alone, backprop = labeler.forward(model, [copy], True)
    rows = torch.zeros_like(alone.emissions)
    rows[[i for i in range(len(copy)) if i not in (6, 8)]] = weights["emissions"]
    backprop(Potentials(lengths=alone.lengths, **{**weights, "emissions": rows}))
    wanted = gradients(model)
    assert found.keys() == wanted.keys() and found
    for name, gradient in wanted.items():
        torch.testing.assert_close(found[name], gradient, msg=name)


def test_roles_are_learned_saved_and_predicted_alike_in_any_batch(tmp_path: Path) -> None:
    nlp = initialized_nlp(marked())
    assert srl_data.train(nlp, steps=100) < 0.05
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    together = list(loaded.pipe(docs_of(loaded)))
    for i, doc in enumerate(together):
        wanted = [frame.arguments for frame in srl_data.FRAMES[i]]
        assert [frame.arguments for frame in get_frames(doc)] == wanted
        assert [f.arguments for f in get_frames(loaded(given_doc(loaded, i)))] == wanted


def test_labels_that_are_new_are_learned() -> None:
    nlp = initialized_nlp(marked())
    srl_data.train(nlp, steps=5)
    before = srl_of(nlp).model.predict((docs_of(nlp), PREDICATES)).emissions
    srl_of(nlp).add_label("A5")
    after = srl_of(nlp).model.predict((docs_of(nlp), PREDICATES)).emissions
    torch.testing.assert_close(after[:, : before.shape[1]], before)
    assert (after[:, before.shape[1] :] == -torch.inf).all()
    srl_data.train(nlp, steps=1)
    grown = srl_of(nlp).model.predict((docs_of(nlp), PREDICATES)).emissions
    assert torch.isfinite(grown).all()


def test_parts_are_those_of_the_whole() -> None:
    nlp = initialized_nlp(marked())
    model = srl_of(nlp).model
    whole = model.predict((docs_of(nlp), PREDICATES))
    parts = list(predict_in_parts(model, docs_of(nlp), PREDICATES, max_positions=12))
    assert len(parts) == 6
    assert sum((part.lengths for part in parts), ()) == whole.lengths
    emissions = torch.cat([part.emissions for part in parts])
    torch.testing.assert_close(emissions, whole.emissions, rtol=1e-5, atol=1e-5)


def test_a_long_sentence_is_read_around_its_predicate() -> None:
    nlp = initialized_nlp(marked(max_length=6, overlap=4))
    model = srl_of(nlp).model
    doc = given_doc(nlp, 1)
    places = labeled_propositions(model, doc, [1, 6])
    assert [(place.start, place.end) for place in places] == [(0, 6), (4, 10)]
    found = model.predict(([doc], [[1, 6]]))
    assert found.lengths == (6, 6)
    copy = Doc(nlp.vocab, words=[*WORDS[1][4:6], "*", WORDS[1][6], "*", *WORDS[1][7:]])
    alone, _ = labeler.forward(model, [copy], False)
    np.testing.assert_allclose(found.emissions[6:8], alone.emissions[:2], atol=1e-5)


def test_without_predicates_there_is_nothing_to_read() -> None:
    nlp = initialized_nlp(marked())
    docs = [Doc(nlp.vocab, words=["Rain"]), Doc(nlp.vocab)]
    potentials, backprop = srl_of(nlp).model.begin_update((docs, [[], []]))
    assert potentials.lengths == () and backprop(potentials) == []
    assert [get_frames(doc) for doc in nlp.pipe(docs)] == [[], []]
    nlp.update(make_examples(nlp)[2:3])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"marker": ""}, "P258"),
        ({"marker": "a b"}, "P258.*'a b'"),
        ({"max_length": 3, "overlap": 3}, "P208"),
    ],
)
def test_what_cannot_be_marked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        initialized_nlp({**marked(), **settings})


def test_copies_are_not_read_by_other_components() -> None:
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96}
    nlp = make_nlp({**marked(), "tok2vec": listener})
    nlp.add_pipe("tok2vec", first=True)
    with pytest.raises(ValueError, match="P249"):
        nlp.initialize(lambda: make_examples(nlp))


def test_the_internals_of_copies_are_not_drawn() -> None:
    nlp = initialized_nlp(marked())
    with pytest.raises(ValueError, match="P387"):
        look_inside(srl_of(nlp), given_doc(nlp, 0))


def test_an_ensemble_of_models_with_and_without_markers() -> None:
    models = {"one": marked(max_length=6, overlap=4)}
    models["two"] = srl_data.tiny_model(max_length=6, overlap=4)
    nlp = initialized_nlp({"@architectures": "spacy_psa.RoleEnsemble.v1", "*": models})
    ensemble = srl_of(nlp).model
    for layer in ensemble.layers:
        if "max_positions" in layer.attrs:
            layer.attrs["max_positions"] = 12
    found = list(predict_in_parts(ensemble, docs_of(nlp), PREDICATES))
    assert [part.lengths for part in found] == [(6, 6)] * 3
