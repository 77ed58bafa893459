"""How many files of this package one update of a component passes through."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import spacy
from spacy.tokens import Doc
from spacy.training import Example

import spacy_psa

PACKAGE = Path(spacy_psa.__file__).parent
SENTENCES = (
    (["I", "like", "London"], ["PRP", "VBP", "NNP"]),
    (["Paris", "sleeps"], ["NNP", "VBZ"]),
    (["She", "saw", "a", "dog"], ["PRP", "VBD", "DT", "NN"]),
)
MOST = 40


def files_entered(function: Callable[[], Any]) -> set[str]:
    """The files of the package with a function that is called meanwhile."""
    found = set[str]()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            found.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    paths = (Path(name) for name in found)
    return {str(path.relative_to(PACKAGE)) for path in paths if PACKAGE in path.parents}


def test_one_update_of_the_default_component_stays_within_forty_files() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("psa_tagger")
    examples = [
        Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, tags=tags))
        for words, tags in SENTENCES
    ]
    optimizer = nlp.initialize(lambda: examples)
    nlp.update(examples, sgd=optimizer)  # what is computed once, and then kept
    entered = files_entered(lambda: nlp.update(examples, sgd=optimizer))
    assert "pipeline/tagger/learner.py" in entered
    assert len(entered) <= MOST, "\n".join(sorted(entered))
