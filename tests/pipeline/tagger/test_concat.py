"""Concatenated embeddings in the component: words with a shared embedding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.util import fix_random_seed

from ..conftest import (
    HASH,
    NAME,
    WORDS,
    assert_same_weights,
    make_examples,
    tagger_of,
    tiny_model,
    weights,
)
from .test_listeners import LISTENER, emissions, learn, upstream

PATH = "model.tok2vec.*.shared"


def concatenated(*shared: dict[str, Any], dropout: float = 0.0) -> dict[str, Any]:
    """Words and characters, concatenated with shared embeddings."""
    parts = {"words": tiny_model()["tok2vec"]}
    parts |= {f"shared{i or ''}": part for i, part in enumerate(shared)}
    return {"@architectures": "spacy_psa.ConcatTok2Vec.v1", "dropout": dropout, "*": parts}


@pytest.fixture
def nlp() -> Language:
    nlp = spacy.blank("xx")
    nlp.add_pipe("tok2vec", config={"model": HASH})
    nlp.add_pipe(NAME, config={"model": tiny_model(tok2vec=concatenated(LISTENER))})
    fix_random_seed(0)
    nlp.initialize(lambda: make_examples(nlp))
    return nlp


def test_learns(nlp: Language) -> None:
    learn(nlp, 40)
    assert nlp.evaluate(make_examples(nlp))["tag_acc"] == 1.0


def test_words_are_taken_from_all_of_the_training_data(nlp: Language) -> None:
    concat = tagger_of(nlp).model.layers[0]
    words = concat.layers[0].shims[0].cfg["words"]
    assert set(words) == {word.lower() for sentence in WORDS for word in sentence}
    assert concat.get_dim("nO") == concat.layers[0].get_dim("nO") + LISTENER["width"]


def test_the_gradient_reaches_all_embeddings(nlp: Language) -> None:
    before = upstream(nlp), weights(nlp)
    learn(nlp, 2)
    assert upstream(nlp) != before[0]
    after = weights(nlp)
    name = next(name for name in after if name.endswith("words.weight"))
    assert not np.array_equal(after[name], before[1][name])


def test_through_disk(nlp: Language, tmp_path: Path) -> None:
    learn(nlp, 3)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert_same_weights(weights(loaded), weights(nlp))
    np.testing.assert_array_equal(emissions(loaded), emissions(nlp))


def test_replaced_listeners(nlp: Language, tmp_path: Path) -> None:
    learn(nlp, 3)
    before = emissions(nlp)
    nlp.replace_listeners("tok2vec", NAME, [PATH])
    nlp.remove_pipe("tok2vec")
    np.testing.assert_allclose(emissions(nlp), before, atol=1e-6)
    nlp.to_disk(tmp_path)
    np.testing.assert_allclose(emissions(spacy.load(tmp_path)), before, atol=1e-6)
    losses = learn(nlp, 5)
    assert losses[-1] < losses[0]


def test_two_listeners_side_by_side() -> None:
    nlp = spacy.blank("xx")
    listeners = []
    for name in ("first", "second"):
        nlp.add_pipe("tok2vec", name, config={"model": HASH})
        listeners.append({**LISTENER, "upstream": name})
    nlp.add_pipe(NAME, config={"model": tiny_model(tok2vec=concatenated(*listeners))})
    nlp.initialize(lambda: make_examples(nlp))
    losses = learn(nlp, 5)
    assert losses[-1] < losses[0]
