"""Documents of all shapes: empty, tiny, huge, with white space, with and without sentences."""

import numpy as np
import pytest
import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_psa.models.batches import make_layout

from ..conftest import (
    WORDS,
    annotation,
    initialized_nlp,
    make_adam,
    make_docs,
    make_examples,
    tagger_of,
    tiny_model,
    trained_nlp,
)


def emissions(nlp: Language, docs: list[Doc]) -> list[torch.Tensor]:
    potentials = tagger_of(nlp).model.predict(docs)
    return list(potentials.emissions.split([len(doc) for doc in docs]))


def random_doc(nlp: Language, length: int) -> Doc:
    words = sorted({word for sentence in WORDS for word in sentence})
    return make_docs(nlp, [np.random.default_rng(length).choice(words, size=length).tolist()])[0]


def test_a_batch_of_empty_docs(target: str) -> None:
    nlp = trained_nlp(target)
    assert [annotation(doc)[:4] for doc in nlp.pipe(["", "", ""])] == [([], [], [], [])] * 3


def test_no_docs_at_all() -> None:
    nlp = trained_nlp()
    assert list(nlp.pipe([])) == []
    assert tagger_of(nlp).predict([]) == []


def test_empty_docs_between_others_change_nothing(target: str) -> None:
    nlp = trained_nlp(target)
    texts = ["", "Ann saw Berlin .", "", "", "They eat ham .", ""]
    together = [annotation(doc) for doc in nlp.pipe(texts)]
    assert together == [annotation(nlp(text)) for text in texts]


def test_an_update_with_empty_docs_only_changes_nothing(target: str) -> None:
    nlp = initialized_nlp(target)
    losses = nlp.update([Example.from_dict(nlp.make_doc(""), {})] * 2, sgd=make_adam())
    assert losses == {"psa_tagger": 0.0}


def test_an_update_with_no_examples_changes_nothing() -> None:
    nlp = initialized_nlp()
    assert tagger_of(nlp).update([], sgd=make_adam()) == {"psa_tagger": 0.0}


def test_empty_docs_among_others_do_not_change_the_update(target: str) -> None:
    nlp = initialized_nlp(target)
    empty = Example.from_dict(nlp.make_doc(""), {})
    examples = make_examples(nlp)
    tagger = tagger_of(nlp)
    mixed = [empty, examples[0], empty, *examples[1:]]
    plain_loss = tagger.update(examples)["psa_tagger"]
    assert tagger.update(mixed)["psa_tagger"] == pytest.approx(plain_loss, rel=1e-6)


def test_docs_of_one_token(target: str) -> None:
    nlp = trained_nlp(target)
    docs = make_docs(nlp, [["Ann"], ["."], ["zzz"]])
    found = tagger_of(nlp).predict(docs)
    assert [len(prediction.ids) for prediction in found] == [1, 1, 1]
    assert all(torch.isfinite(e).all() for e in emissions(nlp, docs))


def test_learns_from_docs_of_one_token() -> None:
    nlp = initialized_nlp()
    example = Example.from_dict(Doc(nlp.vocab, words=["Ann"]), {"tags": ["NNP"]})
    first = nlp.update([example], sgd=make_adam())["psa_tagger"]
    assert nlp.update([example], sgd=make_adam())["psa_tagger"] < first


def test_white_space_tokens(target: str) -> None:
    nlp = trained_nlp(target)
    texts = [" ", "\n\n", "  Ann\n\nsaw \t Berlin .  ", "\u00a0", "\u200b"]
    docs = list(nlp.pipe(texts))
    assert [doc.text for doc in docs] == texts
    assert [annotation(doc) for doc in docs] == [annotation(nlp(text)) for text in texts]


def test_sentences_are_labeled_each_on_its_own() -> None:
    nlp = trained_nlp()
    joined = make_docs(nlp, [WORDS[0] + WORDS[1]])[0]
    for token in joined:
        token.is_sent_start = token.i in (0, len(WORDS[0]))
    apart = torch.cat(emissions(nlp, make_docs(nlp, WORDS[:2])))
    torch.testing.assert_close(emissions(nlp, [joined])[0], apart, atol=1e-5, rtol=0)


def test_a_doc_without_sentences_is_one_sequence() -> None:
    nlp = trained_nlp()
    potentials = tagger_of(nlp).model.predict(make_docs(nlp, [WORDS[0] + WORDS[1]]))
    assert potentials.lengths == (14,)


def test_docs_with_and_without_sentences_in_a_batch() -> None:
    nlp = trained_nlp()
    docs = make_docs(nlp)
    for token in docs[1]:
        token.is_sent_start = token.i in (0, 3)
    assert tagger_of(nlp).model.predict(docs).lengths == (6, 3, 5, 5)


def test_sentence_boundaries_of_an_earlier_component_are_used() -> None:
    nlp = trained_nlp()
    nlp.add_pipe("sentencizer", first=True)
    doc = nlp("Ann saw Berlin . They eat ham .")
    assert tagger_of(nlp).model.predict([doc]).lengths == (4, 4)


def test_learns_from_docs_with_sentences(target: str) -> None:
    nlp = initialized_nlp(target)
    examples = make_examples(nlp)
    for eg in examples:
        for token in eg.predicted:
            token.is_sent_start = token.i == 0 or token.i == len(eg.predicted) - 1
    first = nlp.update(examples, sgd=make_adam())["psa_tagger"]
    assert nlp.update(examples, sgd=make_adam())["psa_tagger"] < first


@pytest.mark.parametrize("length", [1, 19, 20, 21, 34, 35, 48, 100, 333])
def test_windows_cover_each_token_once(length: int) -> None:
    layout = make_layout([length], max_length=20, overlap=6)
    positions = np.concatenate([bucket.index.reshape(-1) for bucket in layout.buckets])
    assert positions[layout.rows].tolist() == list(range(length))
    assert max(int(bucket.lengths.max()) for bucket in layout.buckets) <= 20


def test_windows_give_each_token_context_on_both_sides() -> None:
    layout = make_layout([100], max_length=20, overlap=6)
    (bucket,) = layout.buckets
    places = layout.rows % 20
    starts = bucket.index[layout.rows // 20, 0]
    assert all(place >= 3 for place, start in zip(places, starts, strict=True) if start > 0)
    assert all(place < 17 for place, start in zip(places, starts, strict=True) if start < 80)


def test_windows_do_not_matter_to_docs_that_fit() -> None:
    narrow = initialized_nlp(model=tiny_model(max_length=20, overlap=6))
    wide = initialized_nlp()
    docs = [random_doc(narrow, n) for n in (20, 5)]
    for actual, expected in zip(emissions(narrow, docs), emissions(wide, docs), strict=True):
        torch.testing.assert_close(actual, expected, atol=1e-5, rtol=0)
