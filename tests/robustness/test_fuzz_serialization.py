"""What is saved is loaded bit by bit: any model, any labels, any annotation."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from ..pipeline.conftest import annotation
from .pipelines import (
    CASES,
    SYSTEMS,
    initialized,
    labeler,
    make_nlp,
    pipeline,
    scores,
    tagger_of,
    weights,
)
from .saving import WAYS, Way, component_through_disk
from .strategies import PLAIN_WORDS, Words, documents, few_examples, labels, models, tasks

settings_of_component = st.fixed_dictionaries(
    {
        "overwrite": st.booleans(),
        "threshold": st.one_of(st.none(), st.floats(0.0, 1.0)),
        "temperature": st.floats(0.05, 20.0),
        "allow_space": st.booleans(),
        "constrain_training": st.booleans(),
        "max_grad_norm": st.one_of(st.none(), st.floats(1e-30, 1e30)),
    }
)

MODEL = labeler(*SYSTEMS["bilstm-crf"])
# Numbers with more than ten digits, and one that rounding to ten places makes zero
MANY_DIGITS = {"threshold": 0.9446262710800826, "temperature": 1.2345678901234567}
VERY_SMALL = {"max_grad_norm": 1e-30, "temperature": 0.05}
PLAIN = Words(PLAIN_WORDS, (True,) * len(PLAIN_WORDS), None)


def assert_same(loaded: Language, saved: Language, words: Words) -> None:
    """Compare weights, settings, labels and predictions exactly."""
    one, other = tagger_of(loaded), tagger_of(saved)
    expected = weights(saved)
    found = weights(loaded)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)
    assert one.cfg == other.cfg
    assert (one.labels, one.tags) == (other.labels, other.tags)
    docs = [nlp(words.doc(nlp.vocab)) for nlp in (loaded, saved)]
    assert annotation(docs[0]) == annotation(docs[1])
    assert scores(docs[0]) == scores(docs[1])


@few_examples
@example(model=MODEL, task=("ents", ["A"]), words=PLAIN, cfg=MANY_DIGITS, way=WAYS[0])
@example(model=MODEL, task=("ents", ["A"]), words=PLAIN, cfg=MANY_DIGITS, way=WAYS[1])
@example(model=MODEL, task=("tag", ["A"]), words=PLAIN, cfg=VERY_SMALL, way=WAYS[2])
@example(model=MODEL, task=("tag", ["A"]), words=PLAIN, cfg=VERY_SMALL, way=WAYS[3])
@given(
    model=models(),
    task=tasks(),
    words=documents(),
    cfg=settings_of_component,
    way=st.sampled_from(WAYS),
)
def test_any_configuration(
    model: dict[str, Any],
    task: tuple[str, list[str]],
    words: Words,
    cfg: dict[str, Any],
    way: Way,
) -> None:
    saved = initialized(model, *task)
    # Words seen since initialization are saved as well
    saved(words.doc(saved.vocab))
    tagger_of(saved).cfg.update(cfg)
    loaded = way(saved, lambda: make_nlp(model, task[0]))
    assert_same(loaded, saved, words)
    assert tagger_of(loaded).to_bytes() == tagger_of(saved).to_bytes()


@few_examples
@given(names=labels(max_size=8), words=documents())
def test_labels_of_any_characters(names: list[str], words: Words) -> None:
    saved = initialized(MODEL, "tag", names)
    loaded = component_through_disk(saved, lambda: make_nlp(MODEL, "tag"))
    assert tagger_of(loaded).labels == tuple(names)
    assert_same(loaded, saved, words)


@given(case=st.sampled_from(CASES), words=documents())
def test_predictions_on_saved_documents(case: tuple[str, str], words: Words) -> None:
    nlp = pipeline(*case)
    doc = nlp(words.doc(nlp.vocab))
    binary = DocBin(store_user_data=True, docs=[doc]).to_bytes()
    (unpacked,) = DocBin().from_bytes(binary).get_docs(nlp.vocab)
    for copy in (Doc(nlp.vocab).from_bytes(doc.to_bytes()), unpacked, doc.copy()):
        assert annotation(copy) == annotation(doc)
        assert scores(copy) == scores(doc)
