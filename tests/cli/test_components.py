"""Finding the component that a command needs."""

from __future__ import annotations

import pytest
import spacy

from spacy_psa.cli._predictions import get_tagger

from ..pipeline.conftest import NAME, tagger_of, trained_nlp


def test_the_component_of_that_name_is_found() -> None:
    nlp = trained_nlp("ents")
    assert get_tagger(nlp, NAME) is tagger_of(nlp)


@pytest.mark.parametrize("name", ["sentencizer", "missing"])
def test_components_of_other_kinds_are_an_error(name: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    with pytest.raises(ValueError, match=rf"\[P346\].*'{name}'.*sentencizer"):
        get_tagger(nlp, name)
