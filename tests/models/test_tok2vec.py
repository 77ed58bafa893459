"""Our embedding as a layer of its own."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Model

from spacy_psa.models.tok2vec import build_character_bilstm, build_word_char_embed, observe

WORDS = [["Ann", "saw", "Bob"], ["Bob", "saw", "us"]]


def make_docs(vocab: Vocab | None = None) -> list[Doc]:
    vocab = Vocab() if vocab is None else vocab
    return [Doc(vocab, words=words) for words in WORDS]


def make_model(characters: bool = True, **settings) -> Model:
    part = build_character_bilstm(3, 4) if characters else None
    return build_word_char_embed(part, **{"width": 5, "min_freq": 1, "attr": "ORTH", **settings})


def observed(docs: list[Doc], **settings) -> Model:
    model = make_model(**settings)
    observe(model, docs)
    return model


@pytest.mark.parametrize(("characters", "width"), [(True, 9), (False, 5)])
def test_the_width_is_that_of_both_parts(characters: bool, width: int) -> None:
    docs = make_docs()
    model = observed(docs, characters=characters)
    assert model.get_dim("nO") == width
    assert [array.shape for array in model.predict(docs)] == [(3, width), (3, width)]


def test_without_a_width_or_vectors_words_are_100_wide() -> None:
    assert observed(make_docs(), characters=False, width=None).get_dim("nO") == 100


def test_without_a_width_words_are_as_wide_as_the_vectors() -> None:
    vocab = Vocab()
    vocab.set_vector("Ann", np.ones(7, dtype="f"))
    assert observed(make_docs(vocab), characters=False, width=None).get_dim("nO") == 7


def test_what_is_known_does_not_depend_on_the_order_of_the_docs() -> None:
    docs = make_docs()
    found = [observed(order).shims[0].cfg for order in (docs, docs[::-1])]
    assert found[0] == found[1]
    assert found[0]["words"] == ["Ann", "Bob", "saw", "us"]


def test_characters_need_the_frequency_too() -> None:
    cfg = observed(make_docs(), min_freq=2).shims[0].cfg
    assert cfg["words"] == ["Bob", "saw"]
    assert cfg["characters"] == ["B", "a", "b", "n", "o", "s", "w"]


def test_digits_are_alike_if_so_configured() -> None:
    vocab = Vocab()
    docs = [Doc(vocab, words=["1990", "2001", "7"])]
    cfg = observed(docs, digits=True).shims[0].cfg
    assert (cfg["words"], cfg["characters"]) == (["0", "0000"], ["0"])
    cfg = observed(docs).shims[0].cfg
    assert cfg["words"] == ["1990", "2001", "7"]


def test_numbers_of_one_shape_are_counted_together() -> None:
    docs = [Doc(Vocab(), words=["1990", "2001", "7"])]
    assert observed(docs, digits=True, min_freq=2).shims[0].cfg["words"] == ["0000"]


def test_numbers_that_have_vectors_keep_them() -> None:
    vocab = Vocab()
    vocab.set_vector("1990", np.arange(5, dtype="f"))
    model = observed([Doc(vocab, words=["1990", "2001"])], digits=True, characters=False)
    assert model.shims[0].cfg["words"] == ["0000", "1990"]
    found = model.predict([Doc(vocab, words=["1990", "1992"])])[0]
    assert found[0].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    np.testing.assert_array_equal(found[1], model.shims[0].network.words.weight[1].detach())


def test_no_documents_are_an_error() -> None:
    with pytest.raises(ValueError, match="P205"):
        observe(make_model(), [])


def test_empty_documents_only() -> None:
    vocab = Vocab()
    model = observed([Doc(vocab)])
    assert [array.shape for array in model.predict([Doc(vocab), Doc(vocab)])] == [(0, 9)] * 2
    assert model.predict([Doc(vocab, words=["x"])])[0].shape == (1, 9)


def test_initialized_from_a_sample_it_warns() -> None:
    model = make_model()
    with pytest.warns(UserWarning, match=r"W201.*2 documents"):
        model.initialize(X=make_docs())
    assert model.predict(make_docs())[0].shape == (3, 9)


def test_initialized_after_observing_it_keeps_what_it_knows() -> None:
    model = observed(make_docs())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.initialize(X=make_docs()[:1])
    assert len(model.shims[0].cfg["words"]) == 4


def test_the_same_word_is_the_same_everywhere() -> None:
    docs = make_docs()
    one, other = observed(docs).predict(docs)
    np.testing.assert_array_equal(one[1:3], other[[1, 0]])


def test_the_gradient_of_a_word_adds_up_over_its_tokens() -> None:
    docs = make_docs()
    model = observed(docs)
    outputs, backprop = model.begin_update(docs)
    backprop([np.ones_like(output) for output in outputs])
    gradient = model.shims[0].network.words.weight.grad
    # Row 0 is unknown words; then Ann, Bob, saw, us.
    assert gradient[:, 0].tolist() == [0.0, 1.0, 2.0, 2.0, 1.0]


def test_observing_again_starts_anew() -> None:
    docs = make_docs()
    model = observed(docs)
    model.predict(docs)
    observe(model, docs[:1])
    assert model.shims[0].cfg["words"] == ["Ann", "Bob", "saw"]
    assert model.predict(docs)[1].shape == (3, 9)


def test_loading_replaces_the_words() -> None:
    docs = make_docs()
    first, second = observed(docs), observed(docs[:1])
    second.predict(docs)
    second.shims[0].from_bytes(first.shims[0].to_bytes())
    for found, expected in zip(second.predict(docs), first.predict(docs), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_words_are_dropped_in_training_alone() -> None:
    docs = make_docs()
    model = observed(docs, characters=False, word_dropout=0.9)
    before = model.predict(docs)
    trained = np.vstack(model.begin_update(docs)[0])
    assert all(row.all() or not row.any() for row in trained)
    assert not trained.all()
    assert np.array_equal(np.vstack(model.predict(docs)), np.vstack(before))


@pytest.mark.parametrize("rate", [-0.1, 1.0])
def test_a_share_of_words_is_less_than_all_of_them(rate: float) -> None:
    with pytest.raises(ValueError, match=r"P210.*word_dropout"):
        make_model(word_dropout=rate)
