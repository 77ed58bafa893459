"""Frames on documents: what `psa_srl` writes, and how they are read, kept, displayed and scored."""

from __future__ import annotations

import pytest
import spacy
from spacy import displacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_psa.annotation.frame_tags import gold_frames, read_roles
from spacy_psa.annotation.propositions import Frame, clear_frames, get_frames, set_frames
from spacy_psa.pipeline.srl.frames import format_frames
from spacy_psa.pipeline.srl.scorer import score_examples

from ..srl_data import (
    WORDS,
    arguments,
    expected,
    given_doc,
    make_examples,
    srl_of,
    trained_nlp,
)


def test_frames_survive_bytes_and_docbin() -> None:
    nlp = trained_nlp(probabilities=True)
    doc = nlp(given_doc(nlp, 1))
    vocab = Vocab()
    binned = next(DocBin(docs=[doc]).get_docs(vocab))
    for copy in (Doc(vocab).from_bytes(doc.to_bytes()), binned, doc.copy()):
        assert arguments(copy) == expected(1)
        for ours, theirs in zip(copy._.frames, doc._.frames, strict=True):
            assert ours.probability == theirs.probability
            assert [a.probability for a in ours.arguments] == [
                a.probability for a in theirs.arguments
            ]


def test_frames_come_back_from_other_processes() -> None:
    nlp = trained_nlp()
    docs = [given_doc(nlp, i) for i in range(len(WORDS))]
    found = list(nlp.pipe(docs, n_process=2, batch_size=2))
    assert [arguments(doc) for doc in found] == [expected(i) for i in range(len(WORDS))]


def test_given_lemmas_and_senses_are_kept() -> None:
    nlp = trained_nlp()
    doc = Doc(nlp.vocab, words=WORDS[0])
    set_frames(doc, [Frame(1, "borrow", "01", [])])
    frame = nlp(doc)._.frames[0]
    assert (frame.lemma, frame.sense) == ("borrow", "01")


def test_arguments_are_resolved() -> None:
    nlp = trained_nlp()
    frame = nlp(given_doc(nlp, 3))._.frames[0]
    found = [(a.role, a.is_reference, [span.text for span in a.spans]) for a in frame.arguments]
    assert found == [("A1", False, ["Prices", "will rise"]), ("A0", False, ["he"])]
    reference = nlp(given_doc(nlp, 1))._.frames[1].arguments[1]
    assert (reference.role, reference.is_reference, reference.text) == ("A0", True, "who")


def test_displacy_renders_frames() -> None:
    nlp = trained_nlp()
    doc = nlp(given_doc(nlp, 0))
    html = displacy.render(
        doc, style="span", options={"spans_key": doc._.frames[0].key}, jupyter=False
    )
    assert "AM-TMP" in html
    assert "borrowed" in html


def test_frames_are_drawn_as_a_table() -> None:
    nlp = trained_nlp()
    lines = [line.split() for line in format_frames(nlp(given_doc(nlp, 3))).strip().splitlines()]
    assert lines[0] == ["says", "rise"]
    assert lines[2:] == [
        ["Prices", "A1", "A1"],
        [","],
        ["he", "A0"],
        ["says", "V"],
        [","],
        ["will", "C-A1", "AM-MOD"],
        ["rise", "└", "V"],
        ["."],
    ]


def test_a_table_has_the_tokens_of_the_sentence_of_its_predicate() -> None:
    words = ["Rain", "fell", ".", "Ann", "left", ".", "Bob", "stayed", "."]
    starts = [i % 3 == 0 for i in range(len(words))]
    doc = Doc(spacy.blank("xx").vocab, words=words, sent_starts=starts)
    arguments = [(0, 1, "A1"), (3, 4, "A0"), (4, 5, "V"), (6, 8, "A2")]
    set_frames(doc, [Frame(4, None, None, arguments)])
    lines = [line.split() for line in format_frames(doc).strip().splitlines()]
    assert lines[2:] == [["Ann", "A0"], ["left", "V"], ["."]]


def test_probabilities_are_those_of_the_distribution() -> None:
    nlp = trained_nlp(probabilities=True)
    frame = nlp(given_doc(nlp, 0))._.frames[0]
    assert 0.5 < frame.probability <= min(a.probability for a in frame.arguments) <= 1.0
    assert trained_nlp()(given_doc(nlp, 0))._.frames[0].probability is None


def test_bio_violations_have_the_role_of_the_first_tag() -> None:
    tags = ["I-A1", "I-A0", "O", "B-A0", "I-A1", "I-A2", "B-A2", "O", "I-V"]
    assert read_roles(tags) == [(0, 2, "A1"), (3, 6, "A0"), (6, 7, "A2"), (8, 9, "V")]
    assert read_roles([]) == []


def test_frames_are_brought_to_other_tokens() -> None:
    nlp = trained_nlp()
    gold = Doc(nlp.vocab, words=["Mary", "borrowed", "books"])
    set_frames(gold, [Frame(1, None, None, [(0, 1, "A0"), (1, 2, "V"), (2, 3, "A1")])])
    predicted = Doc(nlp.vocab, words=["Ma", "ry", "borrowed", "books"], spaces=[False, *[True] * 3])
    frames = gold_frames(Example(predicted, gold))
    assert frames == [Frame(2, None, None, [(0, 2, "A0"), (2, 3, "V"), (3, 4, "A1")])]


def test_predictions_for_other_documents_are_refused() -> None:
    nlp = trained_nlp()
    component = srl_of(nlp)
    predictions = component.predict([given_doc(nlp, 1)])
    with pytest.raises(ValueError, match="P325"):
        component.set_annotations([given_doc(nlp, 2)], predictions)
    with pytest.raises(ValueError, match="P312"):
        component.set_annotations([given_doc(nlp, 2), given_doc(nlp, 1)], predictions)


def test_scores_are_those_of_the_evaluator() -> None:
    nlp = trained_nlp()
    scores = nlp.evaluate(make_examples(nlp))
    assert (scores["srl_f"], scores["srl_complete"]) == (1.0, 1.0)
    assert scores["srl_per_role"]["R-A0"] == {"p": 1.0, "r": 1.0, "f": 1.0}
    assert "V" not in scores["srl_per_role"]


def test_scores_are_none_without_annotation() -> None:
    nlp = trained_nlp()
    doc = Doc(nlp.vocab, words=WORDS[0])
    assert nlp.evaluate([Example(doc, doc)])["srl_f"] is None


def test_white_space_can_be_a_predicate_and_is_compared_by_tokens() -> None:
    doc = Doc(Vocab(), words=["Ann", "\n", "slept"])
    frames = [Frame(1, None, None, [(0, 1, "A0")]), Frame(2, None, None, [(1, 2, "A1")])]
    set_frames(doc, frames)
    result = score_examples([Example(doc.copy(), doc)])
    assert (result.perfect, result.propositions) == (2, 2)


def test_white_space_that_the_other_has_not_is_not_compared() -> None:
    vocab = Vocab()
    gold, predicted = Doc(vocab, words=["Ann", "\n", "slept"]), Doc(vocab, words=["Ann", "slept"])
    set_frames(
        gold,
        [Frame(1, None, None, [(0, 1, "A0")]), Frame(2, None, None, [(0, 1, "A0"), (1, 2, "A1")])],
    )
    set_frames(predicted, [Frame(1, None, None, [(0, 1, "A0")])])
    result = score_examples([Example(predicted, gold)])
    assert (result.perfect, result.propositions) == (1, 1)


def test_groups_of_others_are_no_frames() -> None:
    nlp = trained_nlp()
    doc = given_doc(nlp, 1)
    doc.spans["frames/mine"] = [doc[0:2]]
    assert arguments(nlp(doc)) == expected(1)
    clear_frames(doc)
    assert list(doc.spans) == ["frames/mine"]


def test_an_argument_that_is_added_by_hand_leaves_probabilities_unknown() -> None:
    nlp = trained_nlp(probabilities=True)
    doc = nlp(given_doc(nlp, 0))
    doc.spans["frames/0000"].append(Span(doc, 8, 9, "AM-DIS"))
    found = {a.role: a.probability for a in doc._.frames[0].arguments}
    assert found == dict.fromkeys(("A0", "A1", "A2", "AM-TMP", "AM-DIS"))


def test_frames_that_lost_their_predicates_are_refused() -> None:
    nlp = trained_nlp()
    joined = Doc.from_docs([nlp(given_doc(nlp, 0)), nlp(given_doc(nlp, 1))])
    for read in (lambda: joined._.frames, lambda: nlp(joined), lambda: get_frames(joined)):
        with pytest.raises(ValueError, match=r"P460.*frames/0000.*Doc\.from_docs"):
            read()
    set_frames(joined, [])
    assert nlp(joined)._.frames == []
    read_again = Doc(nlp.vocab).from_json(nlp(given_doc(nlp, 0)).to_json())
    with pytest.raises(ValueError, match=r"P460.*Doc\.to_json.*DocBin"):
        print(read_again._.frames)
