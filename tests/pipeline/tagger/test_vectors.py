"""Pretrained vectors: what is fine-tuned, what is looked up, what is missing."""

import string

import numpy as np
import pytest
import spacy
import torch
from spacy.language import Language
from spacy.strings import StringStore
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed
from spacy.vectors import Vectors

from ..conftest import (
    NAME,
    WORDS,
    make_adam,
    make_examples,
    make_nlp,
    tagger_of,
    tiny_model,
    weights,
)

WIDTH = 12
KNOWN = ["ann", "Berlin", "likes", "rome", "Paris"]


def vector(word: str) -> np.ndarray:
    seed = sum(map(ord, word))
    return np.random.default_rng(seed).normal(size=WIDTH).astype("f")


def nlp_with_vectors(words: list[str] = KNOWN, **settings: object) -> Language:
    nlp = make_nlp(model=tiny_model(**settings))
    for word in words:
        nlp.vocab.set_vector(word, vector(word))
    fix_random_seed(0)
    nlp.initialize(lambda: make_examples(nlp))
    return nlp


def network(nlp: Language) -> torch.nn.Module:
    return tagger_of(nlp).model.get_ref("tok2vec").shims[0].network


def known(nlp: Language) -> list[str]:
    return tagger_of(nlp).model.get_ref("tok2vec").shims[0].cfg["words"]


def embed(nlp: Language, word: str) -> np.ndarray:
    """The word's part of a token's representation."""
    doc = Doc(nlp.vocab, words=[word])
    return tagger_of(nlp).model.get_ref("tok2vec").predict([doc])[0][0, :WIDTH]


def row(nlp: Language, word: str) -> np.ndarray:
    return network(nlp).words.weight[known(nlp).index(word) + 1].detach().numpy()


@pytest.mark.parametrize(("word", "attr"), [("rome", "NORM"), ("rome", "LOWER"), ("Paris", "ORTH")])
def test_words_that_are_not_in_training_have_their_vector(word: str, attr: str) -> None:
    nlp = nlp_with_vectors(tok2vec__attr=attr)
    np.testing.assert_array_equal(embed(nlp, word), vector(word))


@pytest.mark.parametrize("word", ["ROME", "Rome", "rOME"])
def test_a_word_without_a_vector_has_that_of_its_lower_case(word: str) -> None:
    nlp = nlp_with_vectors(tok2vec__attr="ORTH")
    np.testing.assert_array_equal(embed(nlp, word), vector("rome"))


def test_a_word_with_a_vector_does_not_have_that_of_its_lower_case() -> None:
    nlp = nlp_with_vectors(["rome", "Rome"], tok2vec__attr="ORTH")
    np.testing.assert_array_equal(embed(nlp, "Rome"), vector("Rome"))


def test_words_are_looked_up_by_the_norm_of_their_entry_in_the_vocabulary() -> None:
    nlp = nlp_with_vectors(["rome"])
    nlp.vocab["Roma"].norm_ = "rome"
    np.testing.assert_array_equal(embed(nlp, "Roma"), vector("rome"))


def test_a_word_of_two_vocabularies_may_have_two_norms() -> None:
    first, second = nlp_with_vectors(["rome", "paris"]), nlp_with_vectors(["rome", "paris"])
    model = tagger_of(first).model.get_ref("tok2vec")
    for nlp, norm in ((first, "rome"), (second, "paris"), (first, "rome")):
        nlp.vocab["X"].norm_ = norm
        found = model.predict([Doc(nlp.vocab, words=["X"])])[0][0, :WIDTH]
        np.testing.assert_array_equal(found, vector(norm))


# Tokens whose norm the English tokenizer sets: "can", "not", "will"
CONTRACTIONS = "Ann can't eat, and Bob won't see it: they're green."


@pytest.mark.parametrize("attr", ["NORM", "ORTH", "LOWER"])
@pytest.mark.parametrize("from_text", [True, False], ids=["trained on text", "trained on words"])
def test_text_and_lists_of_words_have_the_same_embeddings(from_text: bool, attr: str) -> None:
    nlp = make_nlp(lang="en", model=tiny_model(tok2vec__attr=attr))
    for word in ("not", "n't", "will", "are"):
        nlp.vocab.set_vector(word, vector(word))
    text = nlp.make_doc(CONTRACTIONS)
    words = Doc(nlp.vocab, [t.text for t in text], [bool(t.whitespace_) for t in text])
    assert [t.norm_ for t in text] != [t.norm_ for t in words]
    tags = {"tags": ["NNP"] * len(text)}
    nlp.initialize(lambda: [Example.from_dict(text if from_text else words, tags)])
    assert "n't" in known(nlp)
    assert "not" not in known(nlp)
    first, second = (tagger_of(nlp).distribution([doc]) for doc in (text, words))
    assert torch.equal(first.potentials.emissions, second.potentials.emissions)


def test_changing_the_vector_of_another_word_changes_predictions() -> None:
    nlp = nlp_with_vectors()
    before = embed(nlp, "rome")
    nlp.vocab.set_vector("rome", -vector("rome"))
    np.testing.assert_array_equal(embed(nlp, "rome"), -before)


def test_changing_the_vector_of_a_training_word_changes_nothing() -> None:
    nlp = nlp_with_vectors()
    before = embed(nlp, "ann")
    nlp.vocab.set_vector("ann", -vector("ann"))
    np.testing.assert_array_equal(embed(nlp, "ann"), before)


def test_trainable_rows_start_from_the_vectors() -> None:
    nlp = nlp_with_vectors()
    np.testing.assert_array_equal(row(nlp, "ann"), vector("ann"))
    np.testing.assert_array_equal(embed(nlp, "Ann"), vector("ann"))


def test_trainable_rows_start_from_the_vector_of_the_lower_case() -> None:
    nlp = nlp_with_vectors(tok2vec__attr="ORTH")
    np.testing.assert_array_equal(row(nlp, "Ann"), vector("ann"))


def test_trainable_rows_learn_and_other_vectors_do_not() -> None:
    nlp = nlp_with_vectors()
    nlp.update(make_examples(nlp), sgd=make_adam())
    assert not np.array_equal(embed(nlp, "ann"), vector("ann"))
    np.testing.assert_array_equal(embed(nlp, "rome"), vector("rome"))
    np.testing.assert_array_equal(nlp.vocab.get_vector("ann"), vector("ann"))


def test_unknown_words_share_a_row() -> None:
    nlp = nlp_with_vectors()
    zero = network(nlp).words.weight[0].detach().numpy()
    for word in ("xyzzy", "plugh"):
        np.testing.assert_array_equal(embed(nlp, word), zero)


def test_rare_words_train_the_row_of_unknown_words() -> None:
    nlp = nlp_with_vectors(tok2vec__min_freq=2)
    before = embed(nlp, "xyzzy")
    nlp.update(make_examples(nlp), sgd=make_adam())
    assert not np.array_equal(embed(nlp, "xyzzy"), before)
    np.testing.assert_array_equal(embed(nlp, "ham"), embed(nlp, "xyzzy"))


def test_rare_words_have_a_row_only_if_they_have_a_vector() -> None:
    nlp = nlp_with_vectors(["ham"], tok2vec__min_freq=2)
    assert known(nlp) == [".", "ann", "ham"]


@pytest.mark.parametrize("min_freq", [1, 2, 3, 4])
def test_words_need_a_frequency(min_freq: int) -> None:
    nlp = make_nlp(model=tiny_model(tok2vec__min_freq=min_freq))
    nlp.initialize(lambda: make_examples(nlp))
    words = [word.lower() for sentence in WORDS for word in sentence]
    assert known(nlp) == sorted({word for word in words if words.count(word) >= min_freq})


def test_the_rows_do_not_grow_with_the_table() -> None:
    small = nlp_with_vectors(["ann"])
    large = nlp_with_vectors(["ann", *(a + b for a in string.ascii_letters for b in "abcdefgh")])
    assert {k: v.shape for k, v in weights(small).items()} == {
        k: v.shape for k, v in weights(large).items()
    }


def test_no_vectors_at_all() -> None:
    nlp = make_nlp(model=tiny_model(tok2vec__width=7))
    nlp.initialize(lambda: make_examples(nlp))
    assert network(nlp).words.weight.shape == (len(known(nlp)) + 1, 7)
    assert nlp("Rome")[0].tag_


def test_vectors_that_come_after_training_are_not_used() -> None:
    nlp = make_nlp(model=tiny_model(tok2vec__width=WIDTH))
    nlp.initialize(lambda: make_examples(nlp))
    before = embed(nlp, "rome")
    nlp.vocab.set_vector("rome", vector("rome"))
    np.testing.assert_array_equal(embed(nlp, "rome"), before)


def test_vectors_that_come_after_training_do_not_hide_the_row_of_a_number() -> None:
    nlp = make_nlp(model=tiny_model(tok2vec__width=WIDTH, tok2vec__digits="zero"))
    example = Example.from_dict(Doc(nlp.vocab, words=["1984"]), {"tags": ["CD"]})
    nlp.initialize(lambda: [example])
    before = embed(nlp, "1776")
    assert before.tolist() == network(nlp).words.weight[1].tolist()
    nlp.vocab.set_vector("1776", vector("1776"))
    np.testing.assert_array_equal(embed(nlp, "1776"), before)


def test_a_table_of_another_width_than_configured_is_an_error() -> None:
    with pytest.raises(ValueError, match=rf"P206.*7 wide.*{WIDTH}"):
        nlp_with_vectors(tok2vec__width=7)


def test_vectors_that_are_missing_after_loading_are_an_error() -> None:
    nlp = nlp_with_vectors()
    loaded = make_nlp()
    tagger_of(loaded).from_bytes(tagger_of(nlp).to_bytes(exclude=["vocab"]))
    with pytest.raises(ValueError, match=rf"P207.*width {WIDTH}.*0 wide"):
        loaded("Ann")


def test_vectors_of_another_width_after_loading_are_an_error() -> None:
    nlp = nlp_with_vectors()
    nlp.vocab.vectors = Vectors(shape=(2, 5))
    with pytest.raises(ValueError, match=rf"P207.*width {WIDTH}.*5 wide"):
        nlp("Ann")


def test_a_component_in_another_pipeline_needs_its_vectors() -> None:
    nlp, other = nlp_with_vectors(), spacy.blank("en")
    expected = embed(nlp, "rome")
    with pytest.warns(UserWarning, match="W113"):
        other.add_pipe(NAME, source=nlp)
    with pytest.raises(ValueError, match=r"P207.*nlp\.vocab\.vectors = trained\.vocab\.vectors"):
        other("rome")
    other.vocab.vectors = nlp.vocab.vectors
    np.testing.assert_array_equal(embed(other, "rome"), expected)


def test_replaced_vectors_are_noticed() -> None:
    nlp = nlp_with_vectors()
    doc = ["rome", "Ann", "paris"]
    for step in range(4):
        table = Vectors(strings=nlp.vocab.strings, shape=(2, WIDTH))
        table.add("rome", vector=np.full(WIDTH, step, dtype="f"))
        if step % 2:
            table.add("paris", vector=np.full(WIDTH, -step, dtype="f"))
        nlp.vocab.vectors = table
        assert embed(nlp, doc[0]).tolist() == [step] * WIDTH
        unknown = network(nlp).words.weight[0].tolist()
        assert embed(nlp, doc[2]).tolist() == ([-step] * WIDTH if step % 2 else unknown)


def test_added_vectors_are_noticed() -> None:
    nlp = nlp_with_vectors()
    nlp.vocab.vectors.resize((50, WIDTH))
    unknown = embed(nlp, "oslo")
    nlp.vocab.vectors.add("oslo", vector=vector("oslo"))
    assert not np.array_equal(unknown, vector("oslo"))
    np.testing.assert_array_equal(embed(nlp, "oslo"), vector("oslo"))


def test_one_component_may_serve_two_tables() -> None:
    first, second = nlp_with_vectors(), nlp_with_vectors()
    second.vocab.set_vector("rome", vector("oslo"))
    model = tagger_of(first).model.get_ref("tok2vec")
    for nlp, expected in ((first, "rome"), (second, "oslo"), (first, "rome")):
        found = model.predict([Doc(nlp.vocab, words=["rome"])])[0][0, :WIDTH]
        np.testing.assert_array_equal(found, vector(expected))


def floret(nlp: Language) -> Vectors:
    data = np.random.default_rng(0).normal(size=(20, WIDTH)).astype("f")
    return Vectors(
        strings=nlp.vocab.strings,
        mode="floret",
        data=data,
        minn=2,
        maxn=3,
        hash_count=2,
        hash_seed=1,
        bow="<",
        eow=">",
    )


def test_floret_vectors_know_all_words() -> None:
    nlp = make_nlp(model=tiny_model())
    nlp.vocab.vectors = floret(nlp)
    nlp.initialize(lambda: make_examples(nlp))
    for word in ("rome", "xyzzy"):
        np.testing.assert_allclose(embed(nlp, word), nlp.vocab.get_vector(word), rtol=1e-6)
    np.testing.assert_allclose(row(nlp, "ann"), nlp.vocab.get_vector("ann"), rtol=1e-6)


def test_floret_vectors_travel_with_the_pipeline() -> None:
    nlp = make_nlp(model=tiny_model())
    nlp.vocab.vectors = floret(nlp)
    nlp.initialize(lambda: make_examples(nlp))
    loaded = make_nlp().from_bytes(nlp.to_bytes())
    np.testing.assert_array_equal(embed(loaded, "xyzzy"), embed(nlp, "xyzzy"))


def test_of_a_long_word_beginning_and_end_are_read() -> None:
    nlp = nlp_with_vectors(tok2vec__max_characters=6)
    model = tagger_of(nlp).model.get_ref("tok2vec")

    def characters(word: str) -> list[float]:
        return model.predict([Doc(nlp.vocab, words=[word])])[0][0, WIDTH:].tolist()

    assert characters("Bobeeeeeeeeeeeesaw") == characters("Bobaaaasaw") == characters("Bobsaw")
    assert characters("Bobaaaasaw") != characters("Bobaaaasay")
    assert characters("Bobaaaasaw") != characters("Babaaaasaw")


def test_strings_that_were_forgotten_do_not_matter() -> None:
    nlp = nlp_with_vectors()
    with nlp.memory_zone():
        first = embed(nlp, "a-word-that-is-new")
    np.testing.assert_array_equal(embed(nlp, "a-word-that-is-new"), first)
    assert isinstance(nlp.vocab.strings, StringStore)
