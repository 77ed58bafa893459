"""Concatenated embeddings."""

from __future__ import annotations

import numpy as np
import pytest
from spacy.ml.models import build_hash_embed_cnn_tok2vec
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Model, set_dropout_rate

from spacy_psa.models.concat import build_concat_tok2vec, output_width
from spacy_psa.models.tok2vec import build_word_char_embed, observe

WORDS = [["Ann", "saw", "Bob"], [], ["us"]]


def make_docs() -> list[Doc]:
    vocab = Vocab()
    return [Doc(vocab, words=words) for words in WORDS]


def constant(value: float, width: int, *, gradients: list | None = None) -> Model:
    """An embedding that is the same for all tokens, and records its gradients."""

    def forward(model, docs, is_train):
        def backprop(d_outputs):
            if gradients is not None:
                gradients.append([d.copy() for d in d_outputs])
            return []

        return [np.full((len(doc), width), value, dtype="f") for doc in docs], backprop

    return Model("constant", forward, dims={"nO": width})


def test_the_outputs_stand_side_by_side() -> None:
    docs = make_docs()
    model = build_concat_tok2vec(constant(1.0, 2), constant(2.0, 3))
    model.initialize(X=docs)
    assert model.get_dim("nO") == 5
    outputs = model.predict(docs)
    assert [output.shape for output in outputs] == [(3, 5), (0, 5), (1, 5)]
    assert outputs[0][1].tolist() == [1.0, 1.0, 2.0, 2.0, 2.0]


def test_each_embedding_gets_its_part_of_the_gradient() -> None:
    docs, seen = make_docs(), ([], [])
    model = build_concat_tok2vec(
        constant(0.0, 2, gradients=seen[0]), constant(0.0, 1, gradients=seen[1])
    )
    model.initialize(X=docs)
    _, backprop = model.begin_update(docs)
    gradient = np.arange(12, dtype="f").reshape(4, 3)
    backprop([gradient[:3], gradient[3:3], gradient[3:]])
    for part, columns in zip(seen, (gradient[:, :2], gradient[:, 2:]), strict=True):
        assert [d.shape[0] for d in part[0]] == [3, 0, 1]
        np.testing.assert_array_equal(np.concatenate(part[0]), columns)


def test_dropout_is_on_the_whole_and_only_in_training() -> None:
    docs, seen = [Doc(Vocab(), words=["a"] * 500)], []
    model = build_concat_tok2vec(constant(1.0, 4, gradients=seen), constant(1.0, 4), dropout=0.25)
    model.initialize(X=docs)
    assert (model.predict(docs)[0] == 1.0).all()
    outputs, backprop = model.begin_update(docs)
    dropped = outputs[0] == 0.0
    assert 0.2 < dropped.mean() < 0.3
    np.testing.assert_allclose(outputs[0][~dropped], 1 / 0.75, rtol=1e-6)
    backprop([np.ones_like(outputs[0])])
    np.testing.assert_array_equal(seen[0][0], outputs[0][:, :4])


def test_the_dropout_of_the_training_changes_nothing() -> None:
    docs = make_docs()
    model = build_concat_tok2vec(constant(1.0, 4), dropout=0.0)
    model.initialize(X=docs)
    set_dropout_rate(model, 0.9)
    assert (model(docs, is_train=True)[0][0] == 1.0).all()


def test_documents_without_tokens_only() -> None:
    vocab = Vocab()
    model = build_concat_tok2vec(constant(1.0, 2), constant(1.0, 3))
    model.initialize(X=make_docs())
    outputs, backprop = model.begin_update([Doc(vocab), Doc(vocab)])
    assert [output.shape for output in outputs] == [(0, 5), (0, 5)]
    assert backprop(outputs) == []


def test_words_beside_an_embedding_of_spacys() -> None:
    docs = make_docs()
    words = build_word_char_embed(width=5, min_freq=1)
    hashes = build_hash_embed_cnn_tok2vec(
        width=8,
        depth=1,
        embed_size=50,
        window_size=1,
        maxout_pieces=2,
        subword_features=True,
        pretrained_vectors=False,
    )
    model = build_concat_tok2vec(words, hashes)
    for node in model.walk():
        if "observe" in node.attrs:
            node.attrs["observe"](node, docs)
    model.initialize(X=docs)
    assert model.get_dim("nO") == 13
    again = build_concat_tok2vec(
        build_word_char_embed(width=5, min_freq=1),
        build_hash_embed_cnn_tok2vec(
            width=8,
            depth=1,
            embed_size=50,
            window_size=1,
            maxout_pieces=2,
            subword_features=True,
            pretrained_vectors=False,
        ),
    ).from_bytes(model.to_bytes())
    assert again.get_dim("nO") == 13
    for found, expected in zip(again.predict(docs), model.predict(docs), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_without_an_embedding() -> None:
    with pytest.raises(ValueError, match="P240"):
        build_concat_tok2vec()


def test_the_width_of_a_layer_that_knows_it() -> None:
    model = build_word_char_embed(width=5, min_freq=1)
    observe(model, make_docs())
    assert output_width(model, None) == 5


def test_the_width_of_a_layer_that_does_not_know_it() -> None:
    layer = constant(1.0, 3)
    unknown = Model("unknown", layer._func, dims={"nO": None})
    assert output_width(unknown, make_docs()) == 3
    with pytest.raises(ValueError, match="P209"):
        output_width(unknown, None)
