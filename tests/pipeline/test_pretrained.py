"""What pretrained transformers read at once."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_psa.pipeline.pretrained import n_positions

from ..tiny_transformer import write_transformer
from .conftest import tiny_model

WORDS = ["Ann", "saw", "New", "York"]
LISTENER = {
    "@architectures": "spacy-transformers.TransformerListener.v1",
    "grad_factor": 1.0,
    "pooling": {"@layers": "reduce_mean.v1"},
}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A transformer that reads 64 subwords at once."""
    folder = tmp_path_factory.mktemp("bert")
    return write_transformer(folder, WORDS, max_position_embeddings=64)


def make_nlp(bert: Path, *, maximum: int = 64, window: int = 16, own: bool = False) -> Language:
    """A CRF on a transformer, initialized."""
    transformer: dict[str, Any] = {
        "@architectures": "spacy-transformers.TransformerModel.v3",
        "name": str(bert),
        "tokenizer_config": {"use_fast": True, "model_max_length": maximum},
        "transformer_config": {"output_hidden_states": True},
        "get_spans": {
            "@span_getters": "spacy-transformers.strided_spans.v1",
            "window": window,
            "stride": window,
        },
    }
    last_layers = {
        "@architectures": "spacy_psa.LastLayers.v1",
        "n_layers": 1,
        "transformer": transformer,
    }
    nlp = spacy.blank("xx")
    if not own:
        nlp.add_pipe("transformer", config={"model": transformer})
    model = tiny_model(tok2vec=last_layers if own else LISTENER, encoder=None)
    nlp.add_pipe("psa_tagger", config={"model": model})
    doc = Doc(nlp.vocab, words=WORDS, tags=["NNP", "VBD", "NNP", "NNP"])
    nlp.initialize(lambda: [Example(Doc(nlp.vocab, words=WORDS), doc)])
    return nlp


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"model_type": "bert", "max_position_embeddings": 512}, 512),
        ({"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "t5"}, None),
        ({"model_type": "xlnet", "max_position_embeddings": -1}, None),
    ],
)
def test_positions(settings: dict[str, Any], expected: int | None) -> None:
    assert n_positions(SimpleNamespace(**settings)) == expected


@pytest.mark.parametrize("own", [False, True])
def test_a_transformer_that_reads_what_it_is_given(bert: Path, own: bool) -> None:
    nlp = make_nlp(bert, own=own)
    assert [token.tag_ != "" for token in nlp(" ".join(WORDS))] == [True] * 4


@pytest.mark.parametrize("own", [False, True])
def test_more_subwords_than_positions(bert: Path, own: bool) -> None:
    name = "psa_tagger" if own else "transformer"
    with pytest.raises(ValueError, match=rf"P247.*'{name}'.*128 .* 64 pos.*model_max_length = 64"):
        make_nlp(bert, maximum=128, own=own)


def test_a_tokenizer_without_a_limit(bert: Path) -> None:
    with pytest.warns(UserWarning, match=r"W247.*'transformer'.*model_max_length = 64"):
        make_nlp(bert, maximum=10**30)


def test_windows_that_are_cut_off(bert: Path) -> None:
    with pytest.raises(ValueError, match=r"P248.*'transformer' have 80 tokens.*64 subwords"):
        make_nlp(bert, window=80)


def test_documents_longer_than_the_transformer_reads(bert: Path) -> None:
    """Each token has a vector, and that of a window's middle."""
    nlp = make_nlp(bert)
    doc = nlp.get_pipe("transformer")(Doc(nlp.vocab, words=["Ann"] * 90))
    (vectors,) = nlp.get_pipe("psa_tagger").model.layers[0].predict([doc])
    assert vectors.shape[0] == 90 and (vectors != 0.0).any(axis=1).all()


def test_a_token_that_is_longer_than_the_transformer_reads(bert: Path) -> None:
    """What is cut off has no subwords, and so zeros; it is labeled all the same."""
    nlp = make_nlp(bert)
    doc = nlp(Doc(nlp.vocab, words=["Ann", "saw" * 20, "York"]))
    (vectors,) = nlp.get_pipe("psa_tagger").model.layers[0].predict([doc])
    assert (vectors != 0.0).any(axis=1).tolist() == [True, True, False]
    assert all(token.tag_ for token in doc)
