"""What teachers say, as it is asked for and kept."""

from __future__ import annotations

import warnings

import pytest
import torch
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_psa.distillation.filling import Settings, Text, _item, warn_of_uncertainty
from spacy_psa.distillation.teachers import Lesson
from spacy_psa.inference.edge_marginals import EdgeMarginals
from spacy_psa.pipeline.teaching import Teaching


def test_texts_of_which_a_teacher_is_less_certain_are_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"W530.*certain of a\.txt than of dev\.spacy"):
        warn_of_uncertainty(0.31, 0.1, "a.txt", "dev.spacy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_uncertainty(0.29, 0.1, "a.txt", "dev.spacy")


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan"), float("inf")])
def test_temperatures_are_positive_numbers(temperature: float) -> None:
    with pytest.raises(ValueError, match="P019"):
        Settings(temperature=temperature)


def test_what_teachers_say_of_different_predicates_is_not_averaged() -> None:
    doc = Doc(Vocab(), words=["Ann", "came", "late"])
    places = torch.tensor([0, 1, 2])
    edges = EdgeMarginals(places, torch.tensor([-1, 0, 0]), torch.zeros_like(places), torch.ones(3))
    said = [
        Lesson(doc, Teaching(("O",), (3,), edges, predicates=(predicate,)))
        for predicate in (1, 2, 1)
    ]
    assert _item(Text(doc, doc.text), said[:2]) == (doc, None)
    _, teaching = _item(Text(doc, doc.text), said[::2])
    assert teaching is not None and teaching.predicates == (1,)
