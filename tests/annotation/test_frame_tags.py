"""Frames as tags of a sentence, and their alignment with other tokens."""

from __future__ import annotations

import warnings

import pytest
from spacy.tokens import Doc
from spacy.training import Alignment, Example
from spacy.vocab import Vocab

from spacy_psa.annotation.frame_tags import check_arguments, gold_frames, gold_tags
from spacy_psa.annotation.propositions import Frame, set_frames

WORDS = ["So", ".", "Mary", "borrowed", "some", "books", "."]
FRAME = Frame(3, "borrow", "01", [(2, 3, "A0"), (3, 4, "V"), (4, 6, "A1")])


VOCAB = Vocab()


def make_doc(words: list[str], spaces: list[bool] | None = None) -> Doc:
    return Doc(VOCAB, words=words, spaces=spaces)


def tags_of(arguments: list[tuple[int, int, str]], start: int, end: int) -> list[str | None]:
    return gold_tags(make_doc(WORDS), Frame(3, None, None, arguments), start, end)


def example(words: list[str], spaces: list[bool], frame: Frame = FRAME) -> Example:
    """An example whose reference has a frame, and whose predicted document has other tokens."""
    reference = make_doc(WORDS)
    set_frames(reference, [frame])
    return Example(make_doc(words, spaces), reference)


# Tags


def test_tags_begin_with_the_sentence_and_nothing_is_skipped() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tags_of(FRAME.arguments, 2, 7) == ["B-A0", "B-V", "B-A1", "I-A1", "O"]


@pytest.mark.parametrize("role", ["A0", "W"])
def test_a_predicate_that_is_no_argument_is_written_nevertheless(role: str) -> None:
    assert tags_of([(2, 3, role)], 2, 7) == [f"B-{role}", "B-V", "O", "O", "O"]


def test_predicates_of_several_tokens_are_written_as_they_are() -> None:
    assert tags_of([(3, 5, "V")], 2, 7) == ["O", "B-V", "I-V", "O", "O"]


@pytest.mark.parametrize(
    ("argument", "tags"),
    [
        ((1, 3, "A0"), [None, "B-V", "O", "O", "O"]),
        ((0, 2, "A0"), ["O", "B-V", "O", "O", "O"]),
        ((5, 8, "A1"), ["O", "B-V", "O", None, None]),
    ],
)
def test_arguments_across_either_end_of_the_sentence_are_unknown(
    argument: tuple[int, int, str], tags: list[str | None]
) -> None:
    frame = Frame(3, None, None, [argument])
    with pytest.warns(UserWarning, match=r"W321.*crosses a sentence boundary"):
        assert gold_tags(make_doc([*WORDS, "!"]), frame, 2, 7) == tags


def test_only_tokens_that_no_other_argument_has_are_unknown() -> None:
    with pytest.warns(UserWarning, match=r"W321.*overlaps with another argument"):
        tags = tags_of([(2, 3, "A0"), (3, 5, "V"), (4, 6, "A1")], 2, 7)
    assert tags == ["B-A0", "B-V", "I-V", None, "O"]


# Other tokens


@pytest.mark.parametrize(
    ("words", "spaces"),
    [
        (["So", ".", "Mary", "borrowedsome", "books", "."], [True] * 6),
        (["So", ".", "Maryborrowed", "some", "books", "."], [True] * 6),
        (
            ["So", ".", "Mary", "borr", "owed", "some", "books", "."],
            [True] * 3 + [False, *[True] * 4],
        ),
    ],
)
def test_a_predicate_that_is_no_token_of_its_own_is_left_out(
    words: list[str], spaces: list[bool]
) -> None:
    with pytest.warns(UserWarning, match=r"W320.*borrowed"):
        assert gold_frames(example(words, spaces)) == []


def test_an_argument_that_the_tokens_cannot_express_is_left_out() -> None:
    eg = example(["So", ".", "Mary", "borrowed", "some", "books."], [True] * 6)
    with pytest.warns(UserWarning, match=r"W321.*A1.*does not align"):
        frames = gold_frames(eg)
    assert frames == [Frame(3, "borrow", "01", [(2, 3, "A0"), (3, 4, "V")])]


@pytest.mark.parametrize(
    ("argument", "problem"), [((2, 3, ""), "has no label"), ((3, 3, "A0"), "has no tokens")]
)
def test_arguments_without_role_or_tokens_are_errors(
    argument: tuple[int, int, str], problem: str
) -> None:
    doc = make_doc(WORDS)
    doc.spans["chunks"] = [doc[0:0]]
    check_arguments(doc)
    set_frames(doc, [FRAME, Frame(3, None, None, [argument])])
    with pytest.raises(ValueError, match=rf"P433.*frames/0001.*{problem}"):
        check_arguments(doc)


class CountingExample(Example):
    """An example that counts accesses to its alignment, which is slow to compute."""

    asked = 0

    @property
    def alignment(self) -> Alignment:
        self.asked += 1
        return super().alignment


def example_of_frames(n: int) -> CountingExample:
    """An example whose reference has frames, and whose predicted document has one more token."""
    reference = make_doc(["So"] * n + ["left"])
    arguments = [(n, n + 1, "A1")] * n
    set_frames(reference, [Frame(i, "so", None, [(i, i + 1, "V"), *arguments]) for i in range(n)])
    predicted = make_doc(["So"] * n + ["le", "ft"], [True] * n + [False, False])
    return CountingExample(predicted, reference)


def test_the_alignment_is_taken_once_for_all_frames_and_arguments() -> None:
    for n in (1, 2, 9):
        eg = example_of_frames(n)
        frames = gold_frames(eg)
        assert [frame.predicate for frame in frames] == list(range(n))
        assert frames[0].arguments == [(0, 1, "V"), *[(n, n + 2, "A1")] * n]
        assert eg.asked == 1


@pytest.mark.parametrize("length", [59, 60, 61])
def test_messages_have_the_beginning_of_the_document(length: int) -> None:
    words = ["left", "x" * (length - len("left  .")), ".", "Yes"]
    reference = make_doc(words)
    set_frames(reference, [Frame(0, None, None, [])])
    eg = Example(make_doc(["le", "ft", *words[1:]], [False, True, True, True, True]), reference)
    with pytest.warns(UserWarning, match="W320") as found:
        gold_frames(eg)
    start, rest = reference.text[:60], reference.text[:61]
    assert start in str(found[0].message) and rest not in str(found[0].message)
