"""Models built from any blocks, for any labels of any target."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from thinc.api import Adam

from .pipelines import examples, initialized, scores, tagger_of, weights
from .strategies import BLOCKS, Words, documents, few_examples, models, tasks

# Blocks built from drawn models, and blocks that need more than words
# The last one is an earlier name of "Vaswani"
NOT_DRAWN = {"RoleEnsemble", "LastLayers", "ProjectedWordVectors", "Transformer"}


def test_every_block_is_drawn() -> None:
    names = (point.name.split(".") for point in entry_points(group="spacy_architectures"))
    ours = {name for package, name, *_ in names if package == "spacy_psa"}
    assert ours - NOT_DRAWN == BLOCKS | {"SequenceLabeler", "RoleLabeler", "MarkedRoleLabeler"}


@few_examples
@given(model=models(), task=tasks(), words=documents())
def test_any_model_gives_a_distribution(
    model: dict[str, Any], task: tuple[str, list[str]], words: Words
) -> None:
    nlp = initialized(model, *task)
    tagger, doc = tagger_of(nlp), words.doc(nlp.vocab)
    assert tagger.labels == tuple(task[1])
    (table,) = tagger.marginals([doc])
    np.testing.assert_allclose(table.astype(np.float64).sum(axis=1), 1.0, atol=1e-5)
    assert all(0.0 <= p <= 1.0 for p in scores(nlp(doc)))


@few_examples
@given(model=models(), task=tasks(), batch=st.lists(documents(max_size=5), min_size=2, max_size=3))
def test_no_model_mixes_documents(
    model: dict[str, Any], task: tuple[str, list[str]], batch: list[Words]
) -> None:
    nlp = initialized(model, *task)
    tagger, docs = tagger_of(nlp), [words.doc(nlp.vocab) for words in batch]
    together = tagger.marginals([*docs, Doc(nlp.vocab)])
    for doc, table in zip(docs, together, strict=False):
        np.testing.assert_allclose(tagger.marginals([doc])[0], table, atol=1e-5)


@few_examples
@given(model=models(), task=tasks())
def test_any_model_can_be_trained(model: dict[str, Any], task: tuple[str, list[str]]) -> None:
    nlp = initialized(model, *task)
    before, optimizer = weights(nlp), Adam(0.01)
    losses = [nlp.update(examples(nlp, task[1]), sgd=optimizer)["psa_tagger"] for _ in range(2)]
    assert np.isfinite(losses).all() and min(losses) >= 0.0
    after = weights(nlp)
    assert all(np.isfinite(values).all() for values in after.values())
    # With a single token label, there is nothing to learn
    if len(tagger_of(nlp).tags) > 1:
        assert any((after[name] != before[name]).any() for name in before)
