"""Every block can be replaced in the config."""

from typing import Any

import pytest
import torch
from spacy.util import load_model_from_config
from thinc.api import Config

from spacy_psa.layers import BiLSTM, Chain, ContextFusion

from ...models.test_deepatt import deepatt
from ..conftest import (
    HASH,
    NAME,
    annotation,
    assert_same_weights,
    make_adam,
    make_docs,
    make_examples,
    make_nlp,
    tagger_of,
    tiny_model,
    weights,
)
from .test_label_refinement import SYSTEMS

LSTM: dict[str, Any] = tiny_model()["encoder"]["recurrent"]
FUSION: dict[str, Any] = tiny_model()["encoder"]["first_fusion"]
SOFTMAX = {"@architectures": "spacy_psa.Softmax.v1"}
PAIRWISE = {"@architectures": "spacy_psa.PairwiseCRF.v1"}
CHAIN = {
    "@architectures": "spacy_psa.Chain.v1",
    "*": {"first": LSTM, "second": FUSION, "third": {**LSTM, "hidden_width": 10}},
}
OFFSETS = {"@architectures": "spacy_psa.TokenOffsetBias.v1", "max_distance": 3}
GAUSSIAN = {"@architectures": "spacy_psa.GaussianBias.v1", "window": 4}
DISTANCES = {"@architectures": "spacy_psa.TokenPositionBias.v1", "max_distance": 3}
MIXTURE = {
    "@architectures": "spacy_psa.BiasMixture.v1",
    "self_mask": True,
    "*": {"position": OFFSETS, "gaussian": GAUSSIAN},
}
SINUSOIDS = {"@architectures": "spacy_psa.SinusoidalPositions.v1"}
EMBEDDED = {"@architectures": "spacy_psa.PositionEmbedding.v1", "max_length": 5}
TRANSFORMER = {
    "@architectures": "spacy_psa.Vaswani.v1",
    "positions": SINUSOIDS,
    "bias": None,
    "width": 12,
    "n_heads": 3,
    "key_width": None,
    "hidden_width": 16,
    "dropout": 0.0,
}
CNN = {"@architectures": "spacy_psa.CharacterCNN.v1", "embedding_width": 4, "dropout": 0.0}
MODELS = {
    "default": tiny_model(),
    "chain": tiny_model(encoder=CHAIN),
    "BiLSTM only": tiny_model(encoder=LSTM),
    "deep BiLSTM": tiny_model(encoder={**LSTM, "depth": 2}),
    "attention only": tiny_model(encoder=FUSION),
    "Softmax": tiny_model(decoder=SOFTMAX),
    "pairwise CRF": tiny_model(decoder=PAIRWISE),
    "no first fusion": tiny_model(encoder__first_fusion=None),
    "no second fusion": tiny_model(encoder__second_fusion=None),
    "no fusion": tiny_model(encoder__first_fusion=None, encoder__second_fusion=None),
    "no bias": tiny_model(encoder__first_fusion__bias=None),
    "no mask": tiny_model(encoder__first_fusion__bias__self_mask=False),
    "no Gaussian": tiny_model(encoder__first_fusion__bias__gaussian=False),
    "no token position": tiny_model(encoder__first_fusion__bias__token_position=False),
    "no characters": tiny_model(tok2vec__characters=None),
    "HashEmbedCNN": tiny_model(tok2vec=HASH),
    "mixture": tiny_model(encoder__first_fusion__bias=MIXTURE),
    "mixture without mask": tiny_model(encoder__first_fusion__bias={**MIXTURE, "self_mask": False}),
    "mixture without Gaussian": tiny_model(
        encoder__first_fusion__bias={**MIXTURE, "*": {"position": OFFSETS}}
    ),
    "offsets alone": tiny_model(encoder__first_fusion__bias=OFFSETS),
    "Gaussian alone": tiny_model(encoder__first_fusion__bias=GAUSSIAN),
    "distances alone": tiny_model(encoder__first_fusion__bias=DISTANCES),
    "scalar gate": tiny_model(
        encoder__first_fusion__gate={"@architectures": "spacy_psa.ScalarGate.v1"}
    ),
    "Transformer": tiny_model(encoder=TRANSFORMER),
    "Transformer with embedded positions": tiny_model(
        encoder={**TRANSFORMER, "positions": EMBEDDED}
    ),
    "Transformer with bias": tiny_model(
        encoder={**TRANSFORMER, "positions": None, "bias": FUSION["bias"], "depth": 2}
    ),
    "Transformer of the first version": tiny_model(
        encoder={**TRANSFORMER, "positions": None, "bias": MIXTURE, "share_bias": True}
    ),
    "pre-norm Transformer": tiny_model(encoder={**TRANSFORMER, "pre_norm": True, "key_width": 5}),
    "sinusoids before": tiny_model(
        encoder={
            "@architectures": "spacy_psa.Chain.v1",
            "*": {"positions": SINUSOIDS, "words": LSTM},
        }
    ),
    "embedded positions before": tiny_model(
        encoder={
            "@architectures": "spacy_psa.Chain.v1",
            "*": {"positions": EMBEDDED, "words": LSTM},
        }
    ),
    "character CNN": tiny_model(tok2vec__characters=CNN),
    "DeepAtt": tiny_model(encoder=deepatt()),
    "recurrent DeepAtt": tiny_model(encoder=deepatt("recurrent", "embedding")),
    "convolutional DeepAtt": tiny_model(encoder=deepatt("convolution", "none")),
    "attention alone": tiny_model(encoder=deepatt("attention alone")),
}


@pytest.mark.parametrize("name", MODELS)
def test_blocks_are_built_from_the_config_learn_and_are_saved(name: str) -> None:
    nlp = make_nlp("ents", model=MODELS[name])
    text = nlp.config.to_str()
    nlp = load_model_from_config(Config().from_str(text, interpolate=False))
    assert Config().from_str(nlp.config.to_str()) == Config().from_str(text)
    nlp.initialize(lambda: make_examples(nlp))
    examples, optimizer = make_examples(nlp), make_adam()
    first = nlp.update(examples, sgd=optimizer)[NAME]
    for _ in range(4):
        last = nlp.update(examples, sgd=optimizer)[NAME]
    assert last < first
    loaded = load_model_from_config(Config().from_str(nlp.config.to_str()))
    loaded.from_bytes(nlp.to_bytes())
    assert_same_weights(weights(loaded), weights(nlp))
    found, expected = (list(n.pipe(make_docs(n))) for n in (loaded, nlp))
    assert [annotation(doc) for doc in found] == [annotation(doc) for doc in expected]


@pytest.mark.parametrize("name", [*MODELS, *SYSTEMS])
def test_batch_mates_change_no_emissions(name: str) -> None:
    nlp = make_nlp(model=(MODELS | SYSTEMS)[name])
    nlp.initialize(lambda: make_examples(nlp))
    model = tagger_of(nlp).model
    docs = make_docs(nlp, [["Ann", "saw", "Bob", "."], ["Berlin"], [], ["They", "likes", "green"]])
    together = model.predict(docs).emissions
    alone = torch.cat([model.predict([doc]).emissions for doc in docs])
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-5)
    assert torch.isfinite(together).all()


def test_a_chain_is_in_the_order_of_its_sections() -> None:
    nlp = make_nlp(model=tiny_model(encoder=CHAIN))
    nlp.initialize(lambda: make_examples(nlp))
    encoder = tagger_of(nlp).model.get_ref("network").shims[0].network.encoder
    assert isinstance(encoder, Chain)
    found = [(type(module), module.width) for module in encoder.encoders]
    assert found == [(BiLSTM, 16), (ContextFusion, 16), (BiLSTM, 10)]


def test_a_softmax_has_no_transitions() -> None:
    nlp = make_nlp(model=tiny_model(decoder=SOFTMAX))
    nlp.initialize(lambda: make_examples(nlp))
    potentials = tagger_of(nlp).model.predict(make_docs(nlp))
    assert list(potentials.tensors()) == ["emissions"]


def test_a_misspelled_setting_is_refused() -> None:
    model = tiny_model()
    model["encoder"]["recurrent"]["hidden_widht"] = 3
    with pytest.raises(ValueError, match="hidden_widht"):
        make_nlp(model=model)
    nlp = make_nlp()
    with pytest.raises(ValueError, match="treshold"):
        nlp.add_pipe(NAME, "second", config={"treshold": 0.5})
    config = nlp.config.copy()
    config["components"][NAME]["treshold"] = 0.5
    with pytest.raises(ValueError, match="treshold"):
        load_model_from_config(config)


@pytest.mark.parametrize(
    ("setting", "block"), [("encoder", HASH), ("decoder", HASH), ("tok2vec", LSTM)]
)
def test_a_block_of_another_kind_is_one_error(setting: str, block: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=rf"P224.*'{setting}'"):
        make_nlp(model={**tiny_model(), setting: block})


def test_spacys_dropout_reaches_spacys_layers() -> None:
    nlp = make_nlp(model=tiny_model(tok2vec=HASH))
    nlp.initialize(lambda: make_examples(nlp))
    tagger_of(nlp).update(make_examples(nlp), drop=0.3)
    rates = [
        n.attrs["dropout_rate"] for n in tagger_of(nlp).model.walk() if "dropout_rate" in n.attrs
    ]
    assert set(rates) == {0.3}
