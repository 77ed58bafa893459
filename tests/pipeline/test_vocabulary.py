from __future__ import annotations

import numpy as np
import spacy
from spacy.vocab import Vocab

from spacy_psa.pipeline.vocabulary import embedded_words, known_words, trained_words

from .conftest import initialized_nlp, make_nlp, tagger_of, tiny_model


def test_words_of_the_model_are_known_in_any_case():
    knows = trained_words(tagger_of(initialized_nlp(lang="en")))
    assert knows is not None
    assert [knows(word) for word in ("Ann", "ANN", "ann", "Anne")] == [True, True, True, False]


def test_words_too_rare_for_an_embedding_are_not_known():
    knows = trained_words(tagger_of(initialized_nlp(model=tiny_model(tok2vec__min_freq=2))))
    assert knows is not None
    assert (knows("Ann"), knows("Berlin")) == (True, False)


def test_digits_are_alike_if_they_are_to_the_model():
    nlp = make_nlp(model=tiny_model(tok2vec__digits=True))
    doc = nlp.make_doc("in 1984")
    for token in doc:
        token.tag_ = "X"
    nlp.initialize(lambda: [spacy.training.Example(nlp.make_doc("in 1984"), doc)])
    knows = trained_words(tagger_of(nlp))
    assert knows is not None
    assert (knows("2001"), knows("201")) == (True, False)


def test_models_without_a_word_table_know_no_words():
    assert trained_words(tagger_of(make_nlp())) is None
    tok2vec = {"@architectures": "spacy.HashEmbedCNN.v2", "pretrained_vectors": None}
    tok2vec |= {"width": 8, "depth": 1, "embed_size": 10, "window_size": 1}
    tok2vec |= {"maxout_pieces": 1, "subword_features": False}
    nlp = initialized_nlp(model=tiny_model() | {"tok2vec": tok2vec})
    assert trained_words(tagger_of(nlp)) is None


def test_words_of_training_data_are_known_by_their_norm():
    knows = known_words(spacy.blank("en").vocab, ["The", "cat"])
    assert [knows(word) for word in ("the", "Cat", "dog")] == [True, True, False]


def test_vectors_are_found_by_form_or_lower_case():
    vocab = Vocab()
    vocab.set_vector("cat", np.ones(3, dtype="float32"))
    has_vector = embedded_words(vocab)
    assert [has_vector(word) for word in ("cat", "Cat", "dog")] == [True, True, False]


def test_without_vectors_no_word_has_one():
    assert not embedded_words(Vocab())("cat")
