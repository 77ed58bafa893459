"""Copying predicates between documents, and joining the pieces of arguments."""

from __future__ import annotations

import pytest
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_psa.annotation.propositions import (
    Frame,
    get_frames,
    give_predicates,
    join_continuations,
)

from .test_frame_tags import FRAME, WORDS, example, example_of_frames, make_doc


def test_predicates_are_given_without_arguments() -> None:
    doc = make_doc(WORDS)
    give_predicates(doc, [FRAME])
    assert get_frames(doc) == [Frame(3, "borrow", "01", [])]


@pytest.mark.parametrize(
    ("words", "spaces", "token"),
    [
        (["So.", "Mary", "borrowed", "some", "books."], [True] * 5, 2),
        (
            ["So", ".", "Mary", "borr", "owed", "some", "books", "."],
            [True] * 3 + [False, *[True] * 4],
            3,
        ),
        (["So", ".", "Maryborrowed", "some", "books", "."], [True] * 6, 2),
    ],
)
def test_predicates_are_given_to_the_first_of_their_tokens(
    words: list[str], spaces: list[bool], token: int
) -> None:
    eg = example(words, spaces)
    give_predicates(eg.predicted, [FRAME], eg)
    assert get_frames(eg.predicted) == [Frame(token, "borrow", "01", [])]


def test_a_predicate_without_any_token_is_not_given() -> None:
    reference = make_doc(["Mary", " ", "left"], [False, False, False])
    frames = [Frame(1, None, None, []), Frame(2, "leave", None, [])]
    eg = Example(make_doc(["Mary", "left"]), reference)
    assert not len(eg.alignment.y2x[1])
    give_predicates(eg.predicted, frames, eg)
    assert get_frames(eg.predicted) == [Frame(1, "leave", None, [])]


def test_of_predicates_within_one_token_the_first_is_given() -> None:
    frames = [Frame(0, "go", None, []), Frame(1, "to", None, []), Frame(2, "stop", None, [])]
    reference = Doc(Vocab(), words=["gon", "na", "stop"], spaces=[False, True, False])
    predicted = Doc(reference.vocab, words=["gonna", "stop"], spaces=[True, False])
    give_predicates(predicted, frames, Example(predicted, reference))
    assert [(f.predicate, f.lemma) for f in get_frames(predicted)] == [(0, "go"), (1, "stop")]


def test_the_alignment_is_taken_once_for_all_predicates() -> None:
    for n in (1, 2, 9):
        eg = example_of_frames(n)
        give_predicates(eg.predicted, get_frames(eg.reference), eg)
        assert [frame.predicate for frame in get_frames(eg.predicted)] == list(range(n))
        assert eg.asked == 1


@pytest.mark.parametrize(
    ("labels", "joined"),
    [
        (["A0", "V", "C-A0"], [("A0", [0, 2]), ("V", [1])]),
        (["C-A0", "A0"], [("A0", [0]), ("A0", [1])]),
        (["A0", "A0", "C-A0"], [("A0", [0]), ("A0", [1, 2])]),
        (["R-A0", "C-A0"], [("R-A0", [0]), ("A0", [1])]),
    ],
)
def test_pieces_belong_to_the_last_argument_of_their_role(
    labels: list[str], joined: list[tuple[str, list[int]]]
) -> None:
    assert join_continuations(labels) == joined
