"""Roles that a trained `psa_srl` gains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_psa.annotation.propositions import Frame, set_frames
from spacy_psa.models.srl import predict_in_parts
from spacy_psa.pipeline.srl.predicates import set_predicates

from ..conftest import make_adam
from ..srl_data import (
    LABELS,
    WORDS,
    arguments,
    deepatt,
    given_doc,
    initialized_nlp,
    make_examples,
    make_nlp,
    srl_of,
    tiny_model,
    train,
    trained_nlp,
)

BOTH = ["Mary", "left", "Rain"]
NEW = Frame(1, "leave", "01", [(0, 1, "A0"), (1, 2, "V"), (2, 3, "A5")])


def new_examples(nlp: Language) -> list[Example]:
    gold, given = Doc(nlp.vocab, words=BOTH), Doc(nlp.vocab, words=BOTH)
    set_frames(gold, [NEW])
    set_predicates(given, [1])
    return [Example(given, gold)]


def predicted(nlp: Language) -> list[Any]:
    return [arguments(nlp(given_doc(nlp, i))) for i in range(len(WORDS))]


@pytest.mark.parametrize("decoding", ["GreedyDecoding", "ViterbiDecoding", "ConstrainedDecoding"])
def test_a_new_role_changes_nothing(decoding: str) -> None:
    nlp = trained_nlp(decoding={"@misc": f"spacy_psa.{decoding}.v1"}, probabilities=True)
    before = predicted(nlp)
    srl_of(nlp).add_label("A5")
    assert srl_of(nlp).model.get_dim("nO") == 2 * len(LABELS) + 3
    assert predicted(nlp) == before
    assert predicted(make_nlp().from_bytes(nlp.to_bytes())) == before


@pytest.mark.parametrize("decoder", ["Softmax", "CRF"])
def test_a_new_role_is_learned(decoder: str) -> None:
    model = tiny_model(decoder={"@architectures": f"spacy_psa.{decoder}.v1"}, encoder=deepatt())
    nlp = initialized_nlp(model)
    optimizer = make_adam(0.01, use_averages=True)
    for _ in range(5):
        nlp.update(make_examples(nlp), sgd=optimizer)
    with pytest.warns(UserWarning, match="W433.*'psa_srl'.*'A5'"):
        nlp.update(new_examples(nlp), sgd=optimizer)
    assert srl_of(nlp).labels == (*LABELS, "A5")
    train(nlp, [*make_examples(nlp), *new_examples(nlp)], steps=80)
    (example,) = new_examples(nlp)
    assert arguments(nlp(example.predicted)) == [(1, NEW.arguments)]
    loaded = make_nlp(model).from_bytes(nlp.to_bytes())
    (example,) = new_examples(loaded)
    assert arguments(loaded(example.predicted)) == [(1, NEW.arguments)]


def test_parts_of_a_prediction_have_the_new_role() -> None:
    nlp = trained_nlp()
    srl_of(nlp).add_label("A5")
    docs = [given_doc(nlp, 1), given_doc(nlp, 3)]
    parts = list(predict_in_parts(srl_of(nlp).model, docs, [[1, 6, 7], [3, 6]], max_positions=12))
    assert len(parts) > 1
    for part in parts:
        assert np.isneginf(part.emissions[:, -2:].numpy()).all()
