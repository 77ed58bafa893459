"""The component `psa_srl`: what it learns, predicts and rejects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_psa.annotation.frame_tags import gold_tags
from spacy_psa.annotation.propositions import Frame, has_frames, set_frames
from spacy_psa.pipeline.srl.predicates import Predicate, set_predicates
from spacy_psa.training.optimizers import create_adadelta

from ..conftest import HASH
from ..srl_data import (
    FRAMES,
    LABELS,
    NAME,
    WORDS,
    arguments,
    deepatt,
    expected,
    given_doc,
    gold_doc,
    initialized_nlp,
    make_examples,
    make_nlp,
    srl_of,
    tiny_model,
    train,
    trained_nlp,
)

BILSTM = {
    "@architectures": "spacy_psa.BiLSTM.v1",
    "hidden_width": 16,
    "input_dropout": 0.0,
    "output_dropout": 0.0,
}
FUSION = {
    "@architectures": "spacy_psa.ContextFusion.v1",
    "bias": {"@architectures": "spacy_psa.PSABias.v1"},
    "gate": {"@architectures": "spacy_psa.FeatureGate.v1"},
    "dropout": 0.0,
}
PSA = {
    "@architectures": "spacy_psa.PSAEncoder.v1",
    "first_fusion": FUSION,
    "recurrent": BILSTM,
    "second_fusion": None,
}
CRF = {"@architectures": "spacy_psa.CRF.v1"}
MODELS = {
    "DeepAtt-FFN": tiny_model(),
    "DeepAtt-RNN": tiny_model(encoder=deepatt("RNN")),
    "DeepAtt-CNN": tiny_model(encoder=deepatt("CNN")),
    "BiLSTM": tiny_model(encoder=BILSTM),
    "PSA with CRF": tiny_model(encoder=PSA, decoder=CRF),
    "CRF": tiny_model(decoder=CRF),
    "HashEmbedCNN": tiny_model(tok2vec=HASH),
}


def misc(name: str, **settings: Any) -> dict[str, Any]:
    return {"@misc": f"spacy_psa.{name}.v1", **settings}


def test_the_default_is_the_papers_with_fewer_recurrent_layers() -> None:
    config = spacy.blank("en").add_pipe(NAME)
    nlp = spacy.blank("en")
    nlp.add_pipe(NAME)
    model = nlp.config["components"][NAME]["model"]
    assert config.cfg["label_smoothing"] == 0.1
    assert config.cfg["max_grad_norm"] == 1.0
    assert model["mask_width"] == 100
    assert {key: model["encoder"][key] for key in ("width", "depth", "n_heads")} == {
        "width": 200,
        "depth": 4,
        "n_heads": 8,
    }
    assert model["encoder"]["sublayer"]["@architectures"] == "spacy_psa.RecurrentSublayer.v1"
    assert model["tok2vec"]["characters"] is not None
    assert model["decoder"]["@architectures"] == "spacy_psa.Softmax.v1"


@pytest.mark.parametrize("name", MODELS)
def test_models_learn_and_are_saved(name: str) -> None:
    nlp = initialized_nlp(MODELS[name])
    train(nlp, steps=80)
    loaded = make_nlp(MODELS[name]).from_bytes(nlp.to_bytes())
    for pipeline in (nlp, loaded):
        found = [pipeline(given_doc(pipeline, i)) for i in range(len(WORDS))]
        assert [arguments(doc) for doc in found] == [expected(i) for i in range(len(WORDS))]


def test_labels_come_from_the_frames() -> None:
    nlp = initialized_nlp()
    assert srl_of(nlp).labels == LABELS
    assert srl_of(nlp).model.get_dim("nO") == 2 * len(LABELS) + 1


def test_labels_can_be_given() -> None:
    nlp = make_nlp()
    labels = [*LABELS, "A3"]
    examples = make_examples(nlp)
    srl_of(nlp).initialize(lambda: examples, nlp=nlp, labels=labels)
    assert srl_of(nlp).label_data == tuple(labels)


def test_examples_without_frames_are_refused() -> None:
    nlp = make_nlp()
    doc = Doc(nlp.vocab, words=["Hi"])
    with pytest.raises(ValueError, match="P323"):
        nlp.initialize(lambda: [Example(doc, doc)])


def test_an_unknown_role_is_refused_by_a_model_that_cannot_grow() -> None:
    nlp = initialized_nlp()
    del srl_of(nlp).model.attrs["resize_output"]
    gold = gold_doc(nlp, 0)
    set_frames(gold, [Frame(1, None, None, [(0, 1, "A4")])])
    with pytest.raises(ValueError, match=r"P324.*'A4'"):
        nlp.update([Example(given_doc(nlp, 0), gold)])


@pytest.mark.parametrize(
    "config", [{"max_grad_norm": 0.0}, {"label_smoothing": 1.0}, {"label_smoothing": -0.1}]
)
def test_settings_out_of_range_are_refused(config: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="P210"):
        make_nlp(**config)


def test_all_predicates_go_through_the_network_once() -> None:
    nlp = trained_nlp()
    model = srl_of(nlp).model
    network = model.get_ref("network").shims[0].network
    calls = []
    network.register_forward_hook(lambda module, args, output: calls.append(output.lengths))
    list(nlp.pipe([given_doc(nlp, i) for i in range(len(WORDS))]))
    assert calls == [(9, 10, 10, 10, 8, 8)]


def test_tokens_are_embedded_once() -> None:
    nlp = trained_nlp()
    embedding = srl_of(nlp).model.layers[0].shims[0].network
    sizes = []
    embedding.register_forward_hook(lambda module, args, output: sizes.append(len(output)))
    nlp(given_doc(nlp, 1))
    assert sizes == [len(WORDS[1])]


def test_sentences_are_labeled_one_by_one() -> None:
    nlp = trained_nlp()
    words = [*WORDS[0], *WORDS[2], *WORDS[3]]
    starts = {0, len(WORDS[0]), len(WORDS[0]) + len(WORDS[2])}
    doc = Doc(nlp.vocab, words=words, sent_starts=[i in starts for i in range(len(words))])
    offset = max(starts)
    set_predicates(doc, [1, offset + 3, offset + 6])
    shifted = [
        (p + offset, [(s + offset, e + offset, role) for s, e, role in spans])
        for p, spans in expected(3)
    ]
    assert arguments(nlp(doc)) == expected(0) + shifted


def test_documents_without_predicates_have_no_frames() -> None:
    nlp = trained_nlp()
    docs = list(nlp.pipe([Doc(nlp.vocab, words=WORDS[0]), Doc(nlp.vocab), given_doc(nlp, 0)]))
    assert [len(doc._.frames) for doc in docs] == [0, 0, 1]
    assert all(has_frames(doc) for doc in docs)


def test_a_batch_without_predicates_can_be_learnt_from() -> None:
    nlp = initialized_nlp()
    assert nlp.update([make_examples(nlp)[2]])[NAME] == 0.0


@pytest.mark.parametrize("index", [-1, 9])
def test_predicates_out_of_range_are_refused(index: int) -> None:
    nlp = trained_nlp()
    doc = Doc(nlp.vocab, words=WORDS[0])
    with pytest.raises(ValueError, match="P320"):
        set_predicates(doc, [index])


def test_a_predicate_that_is_a_token_is_refused() -> None:
    doc = Doc(trained_nlp().vocab, words=WORDS[0])
    with pytest.raises(ValueError, match=rf"P320.*predicate {doc[1].text} is not.*token\.i"):
        set_predicates(doc, [doc[1]])


def test_predicates_that_a_rule_puts_out_of_range_are_refused() -> None:
    nlp = trained_nlp()
    srl_of(nlp).predicates = lambda doc: [Predicate(99)]
    with pytest.raises(ValueError, match="P320"):
        nlp("Hi")


def test_a_predicate_that_is_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="P321"):
        set_predicates(Doc(Vocab(), words=WORDS[0]), [1, 1])


def test_adadelta_learns_with_smoothed_labels() -> None:
    nlp = initialized_nlp(label_smoothing=0.1)
    examples, optimizer = make_examples(nlp), create_adadelta()
    first = nlp.update(examples, sgd=optimizer)[NAME]
    for _ in range(20):
        last = nlp.update(examples, sgd=optimizer)[NAME]
    assert last < first


def test_the_loss_is_that_of_single_labels() -> None:
    nlp = initialized_nlp()
    examples = make_examples(nlp)
    component = srl_of(nlp)
    docs = [eg.predicted for eg in examples]
    indices = [[frame.predicate for frame in frames] for frames in FRAMES]
    potentials = component.model.predict((docs, indices))
    tags = [
        tag
        for doc, frames in zip(docs, FRAMES, strict=True)
        for frame in frames
        for tag in gold_tags(doc, frame, 0, len(doc))
    ]
    scores = potentials.emissions.double().numpy()
    log_probs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    ids = [component.tags.index(tag) for tag in tags]
    wanted = -log_probs[np.arange(len(ids)), ids].mean()
    loss, gradient = component.get_loss(examples, potentials)
    assert loss == pytest.approx(wanted, abs=1e-6)
    assert gradient.emissions.shape == potentials.emissions.shape
