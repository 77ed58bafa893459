"""Contextual embeddings: the mean over a transformer's last layers and a token's sub-words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed, load_model_from_config
from thinc.api import Adam

from ..documentation import BLOCKS, code_blocks
from ..test_readme import complete
from ..tiny_transformer import WIDTH, write_transformer

pytest.importorskip("spacy_transformers", reason="spacy-transformers is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

WORDS = [["Ann", "saw", "New", "York"], ["Bob", "eats", "ham"]]
TAGS = [["NNP", "VBD", "NNP", "NNP"], ["NNP", "VBZ", "NN"]]
DEPTH = 5
NAME = "psa_tagger"
STRIDES = {"@span_getters": "spacy-transformers.strided_spans.v1", "window": 32, "stride": 24}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A transformer of five layers."""
    words = [word for sentence in WORDS for word in sentence]
    settings = {"num_hidden_layers": DEPTH, "max_position_embeddings": 512}
    return write_transformer(tmp_path_factory.mktemp("bert"), words, **settings)


def transformer_model(bert: Path, *, hidden_states: bool = True) -> dict[str, Any]:
    return {
        "@architectures": "spacy-transformers.TransformerModel.v3",
        "name": str(bert),
        "tokenizer_config": {"use_fast": True},
        "transformer_config": {"output_hidden_states": True} if hidden_states else {},
        "get_spans": STRIDES,
    }


def last_layers(n_layers: int = 4, transformer: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "@architectures": "spacy_psa.LastLayers.v1",
        "n_layers": n_layers,
        "transformer": transformer,
    }


def beside_words(context: dict[str, Any], dropout: float = 0.0) -> dict[str, Any]:
    """[w; c; e]"""
    words = {
        "@architectures": "spacy_psa.WordCharEmbed.v1",
        "width": 6,
        "min_freq": 1,
        "characters": {
            "@architectures": "spacy_psa.CharacterBiLSTM.v1",
            "embedding_width": 4,
            "width": 4,
        },
    }
    return {
        "@architectures": "spacy_psa.ConcatTok2Vec.v1",
        "dropout": dropout,
        "*": {"words": words, "context": context},
    }


def make_nlp(
    tok2vec: dict[str, Any], upstream: dict[str, Any] | None = None, *, initialize: bool = True
) -> Language:
    nlp = spacy.blank("xx")
    if upstream is not None:
        nlp.add_pipe("transformer", config={"model": upstream})
    encoder = {"@architectures": "spacy_psa.BiLSTM.v1", "hidden_width": 16}
    encoder.update(depth=1, input_dropout=0.0, output_dropout=0.0)
    model = {
        "@architectures": "spacy_psa.SequenceLabeler.v1",
        "tok2vec": tok2vec,
        "encoder": encoder,
        "decoder": {"@architectures": "spacy_psa.CRF.v1"},
    }
    nlp.add_pipe(NAME, config={"model": model})
    fix_random_seed(0)
    if initialize:
        nlp.initialize(lambda: make_examples(nlp))
    return nlp


def make_examples(nlp: Language) -> list[Example]:
    return [
        Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, tags=tags))
        for words, tags in zip(WORDS, TAGS, strict=True)
    ]


def listening(bert: Path, n_layers: int = 4) -> Language:
    return make_nlp(last_layers(n_layers), transformer_model(bert))


def with_its_own(bert: Path, n_layers: int = 4) -> Language:
    return make_nlp(last_layers(n_layers, transformer_model(bert)))


def both(bert: Path) -> Language:
    return make_nlp(beside_words(last_layers()), transformer_model(bert))


def embed(nlp: Language, words: list[str]) -> np.ndarray:
    """The component's token embeddings of a document."""
    doc = Doc(nlp.vocab, words=words)
    for name, pipe in nlp.pipeline:
        doc = doc if name == NAME else pipe(doc)
    return nlp.get_pipe(NAME).model.layers[0].predict([doc])[0]


def expected_vectors(bert: Path, words: list[str], n_layers: int) -> np.ndarray:
    """The mean, computed in loops from the transformer itself."""
    tokenizer = transformers.BertTokenizerFast.from_pretrained(bert)
    model = transformers.BertModel.from_pretrained(bert).eval()
    encoding = tokenizer(words, is_split_into_words=True, return_tensors="pt")
    with torch.no_grad():
        states = model(**encoding, output_hidden_states=True).hidden_states
    vectors = np.zeros((len(words), WIDTH))
    for token in range(len(words)):
        pieces = [i for i, word in enumerate(encoding.word_ids()) if word == token]
        for piece in pieces:
            for layer in states[-n_layers:]:
                vectors[token] += layer[0, piece].numpy() / (n_layers * len(pieces))
    return vectors


def learn(nlp: Language, steps: int, *, rate: float = 0.03, **settings: Any) -> list[float]:
    optimizer, examples = Adam(rate, L2=0.0), make_examples(nlp)
    return [nlp.update(examples, sgd=optimizer, **settings)[NAME] for _ in range(steps)]


@pytest.mark.parametrize("n_layers", [1, 4, DEPTH])
@pytest.mark.parametrize("make", [listening, with_its_own])
def test_the_mean_over_layers_and_sub_words(
    bert: Path, make: Callable[..., Language], n_layers: int
) -> None:
    words = WORDS[0]
    found = embed(make(bert, n_layers), words)
    np.testing.assert_allclose(found, expected_vectors(bert, words, n_layers), atol=1e-5)


@pytest.mark.parametrize("make", [listening, with_its_own, both])
def test_learns(bert: Path, make: Callable[[Path], Language]) -> None:
    nlp = make(bert)
    losses = learn(nlp, 40)
    assert losses[-1] < losses[0] / 4
    assert nlp.evaluate(make_examples(nlp))["tag_acc"] == 1.0


@pytest.mark.parametrize("make", [listening, with_its_own])
def test_the_transformer_is_left_as_it_is(bert: Path, make: Callable[[Path], Language]) -> None:
    nlp = make(bert)
    learn(nlp, 3)
    found = embed(nlp, WORDS[1])
    np.testing.assert_allclose(found, expected_vectors(bert, WORDS[1], 4), atol=1e-5)


def test_another_component_can_train_the_transformer(bert: Path) -> None:
    nlp = make_nlp(last_layers(), transformer_model(bert), initialize=False)
    listener = {
        "@architectures": "spacy-transformers.TransformerListener.v1",
        "grad_factor": 1.0,
        "pooling": {"@layers": "reduce_mean.v1"},
    }
    model = {**nlp.get_pipe_config(NAME)["model"], "tok2vec": listener}
    # Before ours: the last listener is the one that updates the transformer.
    nlp.add_pipe(NAME, "other", config={"model": model}, before=NAME)
    fix_random_seed(0)
    nlp.initialize(lambda: make_examples(nlp))
    before = nlp.get_pipe("transformer").model.to_bytes()
    learn(nlp, 2)
    assert nlp.get_pipe("transformer").model.to_bytes() != before


def test_behind_a_frozen_transformer(bert: Path) -> None:
    nlp = both(bert)
    losses = learn(nlp, 5, exclude=["transformer"], annotates=["transformer"])
    assert losses[-1] < losses[0]


def test_empty_documents(bert: Path) -> None:
    nlp = both(bert)
    assert [len(doc) for doc in nlp.pipe(["", "Ann saw York", ""])] == [0, 3, 0]
    assert [len(doc) for doc in nlp.pipe(["", ""])] == [0, 0]


def test_tokens_without_sub_words_have_zeros(bert: Path) -> None:
    found = embed(listening(bert), ["Ann", " ", "saw"])
    assert (found[1] == 0.0).all() and (found[0] != 0.0).any()


@pytest.mark.parametrize("make", [listening, with_its_own])
def test_documents_of_white_space_alone_have_zeros(
    bert: Path, make: Callable[..., Language]
) -> None:
    nlp = make(bert)
    assert [len(doc) for doc in nlp.pipe([" ", "Ann saw York", "", "\n"])] == [1, 3, 0, 1]
    assert (embed(nlp, [" ", "\n"]) == np.zeros((2, WIDTH))).all()
    gold = Doc(nlp.vocab, words=["\n"], tags=["NN"])
    examples = [*make_examples(nlp), Example(Doc(nlp.vocab, words=["\n"]), gold)]
    assert nlp.update(examples, sgd=Adam(0.01))[NAME] > 0.0


@pytest.mark.parametrize("make", [both, with_its_own])
def test_through_disk(bert: Path, make: Callable[[Path], Language], tmp_path: Path) -> None:
    nlp = make(bert)
    learn(nlp, 3)
    nlp.to_disk(tmp_path)
    found = embed(spacy.load(tmp_path), WORDS[0])
    np.testing.assert_allclose(found, embed(nlp, WORDS[0]), atol=1e-5)


@pytest.mark.parametrize(
    ("tok2vec", "path"),
    [
        (last_layers(), "model.tok2vec.transformer"),
        (beside_words(last_layers()), "model.tok2vec.*.context.transformer"),
    ],
)
def test_replaced_listeners(bert: Path, tok2vec: dict, path: str, tmp_path: Path) -> None:
    nlp = make_nlp(tok2vec, transformer_model(bert))
    learn(nlp, 2)
    before = embed(nlp, WORDS[0])
    nlp.replace_listeners("transformer", NAME, [path])
    nlp.remove_pipe("transformer")
    np.testing.assert_allclose(embed(nlp, WORDS[0]), before, atol=1e-5)
    losses = learn(nlp, 3)
    assert losses[-1] < losses[0]
    nlp.to_disk(tmp_path)
    np.testing.assert_allclose(
        embed(spacy.load(tmp_path), WORDS[0])[:, -WIDTH:], before[:, -WIDTH:], atol=1e-5
    )


@pytest.mark.parametrize("tok2vec", [last_layers(), beside_words(last_layers())])
def test_listeners_replaced_in_another_section(bert: Path, tok2vec: dict, tmp_path: Path) -> None:
    nlp = make_nlp(tok2vec, transformer_model(bert))
    nlp.replace_listeners("transformer", NAME, ["model.tok2vec"])
    nlp.to_disk(tmp_path)
    problem = r"P204.* [79] layers, but config.cfg describes 4\..*replace_listeners.*again"
    with pytest.raises(ValueError, match=problem):
        spacy.load(tmp_path)


def test_the_example_of_the_reference(bert: Path) -> None:
    (block,) = [
        block for block in code_blocks(BLOCKS / "last-layers.md", "cfg") if "LastLayers" in block
    ]
    config = complete(block)
    config["components"]["transformer"]["model"]["name"] = str(bert)
    nlp = load_model_from_config(config, auto_fill=True)
    nlp.initialize(lambda: make_examples(nlp))
    training = nlp.config["training"]
    frozen, annotating = training["frozen_components"], training["annotating_components"]
    losses = learn(nlp, 20, rate=0.003, exclude=frozen, annotates=annotating)
    assert losses[-1] < losses[0]
    assert nlp.get_pipe(NAME).model.layers[0].layers[1].get_dim("nO") == WIDTH


def test_rehearsal_names_the_section_of_the_listener(bert: Path) -> None:
    nlp = listening(bert)
    nlp.resume_training()
    with pytest.raises(ValueError, match=r"P336.*LastLayers \['model.tok2vec.transformer'\]"):
        nlp.rehearse(make_examples(nlp))


def test_without_hidden_states(bert: Path) -> None:
    nlp = make_nlp(last_layers(), transformer_model(bert, hidden_states=False))
    with pytest.raises(ValueError, match=r"P242.*Ann saw.*output_hidden_states"):
        learn(nlp, 1)


def test_with_a_transformer_that_is_disabled(bert: Path) -> None:
    nlp = listening(bert)
    with nlp.select_pipes(disable=["transformer"]), pytest.raises(ValueError, match="P242"):
        nlp("Ann saw York")


def test_more_layers_than_there_are(bert: Path) -> None:
    nlp = listening(bert, DEPTH + 1)
    with pytest.raises(ValueError, match=rf"P243.*{DEPTH + 1} layers.*has {DEPTH}"):
        nlp("Ann saw York")


def test_without_a_transformer() -> None:
    nlp = make_nlp(last_layers(), initialize=False)
    with pytest.raises(ValueError, match="P223"):
        nlp.initialize(lambda: make_examples(nlp))
    with pytest.raises(ValueError, match="P241"):
        nlp.get_pipe(NAME).initialize(lambda: make_examples(nlp))
