"""Rehearsal: keep what the model knew when training was resumed."""

from copy import deepcopy

import pytest
from spacy.language import Language
from spacy.training import Example

from ..conftest import (
    NAME,
    annotation,
    assert_same_weights,
    make_adam,
    make_docs,
    make_examples,
    tagger_of,
    trained_nlp,
    weights,
)


def rehearsing() -> Language:
    nlp = trained_nlp()
    nlp.resume_training()
    return nlp


def raw(nlp: Language) -> list[Example]:
    return [Example(doc, doc.copy()) for doc in make_docs(nlp)]


def test_rehearsal_without_resume_training_does_nothing() -> None:
    nlp = trained_nlp()
    before = weights(nlp)
    assert tagger_of(nlp).rehearse(raw(nlp), sgd=make_adam()) == {NAME: 0.0}
    assert_same_weights(weights(nlp), before)


def test_there_is_nothing_to_rehearse_at_first() -> None:
    nlp = rehearsing()
    assert tagger_of(nlp).rehearse(raw(nlp))[NAME] == pytest.approx(0.0, abs=1e-4)


def drift(nlp: Language) -> None:
    """Make the pipeline forget, by training on other tags."""
    examples = [Example.from_dict(doc, {"tags": ["NN"] * len(doc)}) for doc in make_docs(nlp)]
    optimizer = make_adam()
    for _ in range(5):
        nlp.update(examples, sgd=optimizer)


@pytest.mark.parametrize("through_nlp", [True, False])
def test_rehearsal_brings_a_model_back_that_drifted(through_nlp: bool) -> None:
    nlp = rehearsing()
    before = [annotation(doc) for doc in nlp.pipe(make_docs(nlp))]
    drift(nlp)
    assert [annotation(doc) for doc in nlp.pipe(make_docs(nlp))] != before
    optimizer = make_adam()
    rehearse = nlp.rehearse if through_nlp else tagger_of(nlp).rehearse
    losses = [rehearse(raw(nlp), sgd=optimizer)[NAME] for _ in range(25)]
    assert losses[-1] < losses[0] / 10
    assert [annotation(doc) for doc in nlp.pipe(make_docs(nlp))] == before


def test_rehearsal_uses_no_annotation() -> None:
    found = []
    for examples_of in (raw, make_examples):
        nlp = rehearsing()
        drift(nlp)
        tagger_of(nlp).rehearse(examples_of(nlp), sgd=make_adam())
        found.append(weights(nlp))
    assert_same_weights(*found)


def test_rehearsal_with_empty_docs_only_does_nothing() -> None:
    nlp = rehearsing()
    empty = [Example.from_dict(nlp.make_doc(""), {})]
    assert tagger_of(nlp).rehearse(empty, sgd=make_adam()) == {NAME: 0.0}


def test_the_teacher_does_not_learn() -> None:
    nlp = rehearsing()
    teacher = tagger_of(nlp)._rehearsal_model
    before = deepcopy(teacher.to_bytes())
    drift(nlp)
    tagger_of(nlp).rehearse(raw(nlp), sgd=make_adam())
    assert teacher.to_bytes() == before
