"""Our embedding as a separate layer."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from spacy.language import Language
from spacy.ml.models.multi_task import create_pretrain_characters
from spacy.tokens import Doc
from spacy.training.pretrain import create_pretraining_model
from spacy.vocab import Vocab
from thinc.api import Model

from spacy_psa.models.tok2vec import build_character_bilstm, build_word_char_embed, observe

from ..pipeline.conftest import (
    NAME,
    assert_same_weights,
    initialized_nlp,
    make_nlp,
    tagger_of,
    tiny_model,
    weights,
)

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


def test_vectors_of_other_words_are_noticed() -> None:
    vocab = Vocab()
    vocab.set_vector("elsewhere", np.ones(7, dtype="f"))
    with pytest.warns(UserWarning, match=r"\[W442\] Only 0% of the tokens .* up by ORTH"):
        observed(make_docs(vocab), characters=False, width=None)
    for word in {token.text for doc in make_docs() for token in doc}:
        vocab.set_vector(word, np.ones(7, dtype="f"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        observed(make_docs(vocab), characters=False, width=None)


def test_what_is_known_does_not_depend_on_the_order_of_the_docs() -> None:
    docs = make_docs()
    found = [observed(order).shims[0].cfg for order in (docs, docs[::-1])]
    assert found[0] == found[1]
    assert found[0]["words"] == ["Ann", "Bob", "saw", "us"]


def test_characters_need_the_frequency_too() -> None:
    cfg = observed(make_docs(), min_freq=2).shims[0].cfg
    assert cfg["words"] == ["Bob", "saw"]
    assert cfg["characters"] == ["B", "a", "b", "n", "o", "s", "w"]


def test_counted_words_have_the_characters_of_the_documents() -> None:
    docs = [Doc(Vocab(), words=["aab", "aab", "b"])]
    model = make_model(min_freq=3)
    observe(model, [Doc(Vocab(), words=["aab", "b"])], {"aab": 2, "b": 1})
    assert model.shims[0].cfg == observed(docs, min_freq=3).shims[0].cfg
    assert model.shims[0].cfg["characters"] == ["a", "b"]


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


def test_zero_is_the_name_of_the_rule_for_true() -> None:
    docs = [Doc(Vocab(), words=["1990", "A7"])]
    named, before = (observed(docs, digits=rule).shims[0].cfg for rule in ("zero", True))
    assert named == before
    assert named["words"] == ["0000", "A0"]


def test_numbers_are_one_token() -> None:
    vocab = Vocab()
    vocab.set_vector("1990", np.arange(5, dtype="f"))
    docs = [Doc(vocab, words=["1990", "7", "A7"])]
    model = observed(docs, digits="token", min_freq=2)
    # Numbers are counted together; that a number has a vector does not matter
    assert model.shims[0].cfg["words"] == ["<number>"]
    assert observed(docs, digits="token").shims[0].cfg["characters"] == sorted({*"<number>A7"})
    one, other, mixed = model.predict([Doc(vocab, words=["1990", "-3,000.5", "3rd"])])[0]
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one[:5], model.shims[0].network.words.weight[1].detach())
    assert (one != mixed).any()


def test_mixed_words_keep_their_row_and_characters() -> None:
    vocab = Vocab()
    model = observed([Doc(vocab, words=["3rd", "4th", "3"])], digits="token")
    assert model.shims[0].cfg["words"] == ["3rd", "4th", "<number>"]
    features = model.shims[0].lookup.features([Doc(vocab, words=["3rd", "5rd"])], vocab)
    known, unknown = features.tokens.tolist()
    assert features.rows[[known, unknown]].tolist() == [1, 0]
    # The digit is read: that of 5rd is not known
    same = features.characters[known] == features.characters[unknown]
    assert same.tolist() == [False, True, True]


@pytest.mark.parametrize("rule", ["none", "tokens"])
def test_unknown_rules_for_digits_are_an_error(rule: str) -> None:
    with pytest.raises(ValueError, match=r"P210.*'digits'.*'zero' or 'token'"):
        make_model(digits=rule)


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


def test_initialized_again_from_a_sample_it_starts_anew() -> None:
    model = make_model()
    with pytest.warns(UserWarning, match=r"W201.*2 documents"):
        model.initialize(X=make_docs())
    loaded = make_model().from_bytes(model.to_bytes())
    for again in (model, loaded):
        with pytest.warns(UserWarning, match=r"W201.*1 documents"):
            again.initialize(X=make_docs()[:1])
        assert again.shims[0].cfg["words"] == ["Ann", "Bob", "saw"]


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
    # Row 0 is for unknown words; then come Ann, Bob, saw, us.
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


@pytest.mark.parametrize("has_weights", [True, False])
def test_weights_of_another_width_than_the_configured_one_are_refused(has_weights: bool) -> None:
    data = tagger_of(initialized_nlp(model=tiny_model(tok2vec__width=6))).to_bytes()
    make = initialized_nlp if has_weights else make_nlp
    nlp = make(model=tiny_model(tok2vec__width=5))
    with pytest.raises(ValueError, match=r"P203.*word_char_embed.*(14, not 13|6.*not 5)"):
        tagger_of(nlp).from_bytes(data)
    assert tagger_of(make_nlp()).from_bytes(data).model.attrs["max_length"] == 512


def pretrained(nlp: Language) -> bytes:
    """The weights with which `spacy pretrain` starts."""
    settings = {"component": NAME, "layer": "tok2vec", "dropout": 0.0}
    objective = partial(create_pretrain_characters(2, 8, 4), nlp.vocab)
    with pytest.warns(UserWarning, match=r"W201.*spacy pretrain"):
        model = create_pretraining_model(
            nlp, {**settings, "objective": lambda vocab, tok2vec: objective(tok2vec)}
        )
    return model.get_ref("tok2vec").to_bytes()


@pytest.mark.parametrize("is_part", [True, False])
def test_pretraining_does_not_take_the_words_away(is_part: bool) -> None:
    words = tiny_model()["tok2vec"]
    several = {"@architectures": "spacy_psa.ConcatTok2Vec.v1", "*": {"words": words}}
    model = tiny_model(tok2vec=several if is_part else words)
    data = pretrained(make_nlp(model=model))
    nlp = initialized_nlp(model=model)
    before = weights(nlp)
    with pytest.raises(ValueError, match=r"P246.*spacy pretrain"):
        tagger_of(nlp).model.get_ref("tok2vec").from_bytes(data)
    assert_same_weights(weights(nlp), before)


def test_words_of_a_sample_can_be_loaded_elsewhere() -> None:
    model = make_model()
    with pytest.warns(UserWarning, match="W201"):
        model.initialize(X=make_docs()[:1])
    data = model.to_bytes()
    for other in (make_model(), make_model().from_bytes(data)):
        assert other.from_bytes(data).to_bytes() == data
    copied = model.copy()
    observe(copied, make_docs())
    assert observed(make_docs()).from_bytes(copied.to_bytes()).shims[0].cfg == copied.shims[0].cfg


def test_a_component_with_words_of_a_sample_is_loaded_over_another() -> None:
    nlp, loaded = make_nlp(), initialized_nlp()
    for label in tagger_of(loaded).labels:
        tagger_of(nlp).add_label(label)
    tagger_of(nlp).model.set_dim("nO", tagger_of(loaded).model.get_dim("nO"))
    with pytest.warns(UserWarning, match="W201"):
        tagger_of(nlp).model.initialize(X=make_docs())
    tagger_of(loaded).from_bytes(tagger_of(nlp).to_bytes())
    assert_same_weights(weights(loaded), weights(nlp))
