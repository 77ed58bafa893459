from __future__ import annotations

import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_psa.evaluation.layers import SpansLayer, Unit, layers_of, make_layer
from spacy_psa.evaluation.sentences import check_annotated, check_same_words, pair_sentences

from .helpers import doc_with

WORDS = ["Ann", "Lee", "saw", "Berlin", "today"]
TAGS = ["NNP", "NNP", "VBD", "NNP", "NN"]
ENTS = {"ents": ["B-PER", "O", "O", "B-PER", "O"]}
SPANS = {"chunks": [(0, 1, "PER"), (3, 4, "PER")]}


def test_tags_are_paired_token_by_token():
    gold, found = doc_with(WORDS, tags=TAGS), doc_with(WORDS, tags=["NNP", "NN", *TAGS[2:]])
    [sentence] = pair_sentences([gold], [found], make_layer("tag", ""))
    assert sentence.wrong == [Unit(1, 2, "NN"), Unit(1, 2, "NNP")]
    assert sentence.right.tolist() == [True, False, True, True, True]


def test_tokens_without_a_gold_tag_are_neither_right_nor_wrong():
    gold = doc_with(WORDS, tags=["NNP", "", "VBD", "", "NN"])
    [sentence] = pair_sentences([gold], [doc_with(WORDS, tags=TAGS)], make_layer("tag", ""))
    assert sentence.known.tolist() == [True, False, True, False, True]
    assert [unit.start for unit in sentence.predicted] == [0, 2, 4]
    assert sentence.wrong == []


@pytest.mark.parametrize(
    ("target", "score", "gold", "found"),
    [
        ("tag", "tag_acc", {"tags": ["NN|NNP", "NN|JJ", *TAGS[2:]]}, {"tags": TAGS}),
        ("ents", "ents_f", {"ents": ["B-PER|ORG", "O", "O", "B-GPE|LOC", "O"]}, ENTS),
        ("spans", "spans_chunks_f", {"chunks": [(0, 1, "A|PER"), (3, 4, "A|B")]}, SPANS),
    ],
)
def test_any_label_of_a_set_is_correct(target: str, score: str, gold: dict, found: dict):
    config = {"target": target, "spans_key": "chunks", "set_separator": "|"}
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe("psa_tagger", config=config)
    (layer,) = layers_of(nlp).values()
    example = Example(doc_with(WORDS, **found), doc_with(WORDS, **gold))
    [sentence] = pair_sentences([example.reference], [example.predicted], layer)
    right = len(set(sentence.gold) & set(sentence.predicted))
    assert right > 0 < len(sentence.wrong)
    expected = 2 * right / len([*sentence.gold, *sentence.predicted])
    assert pipe.score([example])[score] == pytest.approx(expected)


def test_entities_that_touch_unknown_tokens_do_not_count():
    gold = Doc(Vocab(), words=WORDS)
    gold.set_ents([Span(gold, 0, 1, "PER")], missing=[gold[1:2]], default="outside")
    found = doc_with(WORDS, ents=["B-PER", "I-PER", "O", "B-LOC", "O"])
    [sentence] = pair_sentences([gold], [found], make_layer("ents", ""))
    assert sentence.gold == [Unit(0, 1, "PER")]
    assert sentence.predicted == [Unit(3, 4, "LOC")]


def test_units_belong_to_the_sentence_in_which_they_begin():
    starts = [True, False, True, False, False]
    gold = doc_with(WORDS, chunks=[(0, 2, "NP"), (3, 5, "NP")], starts=starts)
    found = doc_with(WORDS, chunks=[(1, 3, "NP"), (3, 5, "NP")])
    first, second = pair_sentences([gold], [found], SpansLayer("chunks"))
    assert (first.words, second.words) == (("Ann", "Lee"), ("saw", "Berlin", "today"))
    assert (first.gold, first.predicted) == ([Unit(0, 2, "NP")], [Unit(1, 3, "NP")])
    assert second.gold == second.predicted == [Unit(1, 3, "NP")]
    assert (first.start, second.start) == (0, 2)
    # The span reaches into the second sentence, whose first token is therefore wrong.
    assert second.right.tolist() == [False, True, True]


def test_spans_may_overlap_and_come_twice():
    gold = doc_with(WORDS, chunks=[(0, 3, "A"), (1, 2, "B"), (1, 2, "B")])
    [sentence] = pair_sentences([gold], [gold], SpansLayer("chunks"))
    assert sentence.gold == [Unit(0, 3, "A"), Unit(1, 2, "B")]
    assert sentence.right.all()


def test_anchors_are_counted_from_the_sentence():
    class Arguments(SpansLayer):
        def units(self, doc: Doc) -> list[Unit]:
            return [Unit(3, 4, "A1", anchor=2)]

    doc = doc_with(WORDS, chunks=[], starts=[True, False, True, False, False])
    _, second = pair_sentences([doc], [doc], Arguments("chunks"))
    assert second.gold == [Unit(1, 2, "A1", anchor=0)]


def test_documents_without_annotation_and_empty_ones_are_left_out():
    docs = [doc_with(WORDS), doc_with([], chunks=[]), doc_with(WORDS, chunks=[])]
    sentences = pair_sentences(docs, docs, SpansLayer("chunks"))
    assert [sentence.doc for sentence in sentences] == [2]


def test_no_annotation_at_all_is_an_error_that_names_what_there_is():
    docs = [doc_with(WORDS, chunks=[(0, 1, "NP")]), doc_with(["Ann"], ents=["B-PER"])]
    found = r"Annotated: ents, spans \(spans_key 'chunks'\)\."
    with pytest.raises(ValueError, match=rf"\[P261\].*dev\.spacy.*spans\['sc'\].*{found}"):
        check_annotated(docs, SpansLayer("sc"), "dev.spacy")


def test_predictions_of_other_words_are_errors():
    with pytest.raises(ValueError, match=r"\[P125\].*Doc 1"):
        check_same_words([doc_with(WORDS)], [doc_with(WORDS[:4])], "gold", "predicted")


def test_more_predictions_than_documents_are_errors():
    with pytest.raises(ValueError, match=r"\[P124\]"):
        check_same_words([doc_with(WORDS)], [doc_with(WORDS)] * 2, "gold", "predicted")


@pytest.mark.parametrize("target", ["tag", "pos", "morph", "ents", "spans"])
def test_every_target_has_a_layer(target: str):
    assert make_layer(target, "sc").main_score in ("accuracy", "f1")


def test_unknown_targets_are_errors():
    with pytest.raises(ValueError, match=r"\[P100\].*tag, pos, morph, ents, spans"):
        make_layer("dep", "sc")


def test_morphology_without_features_is_annotation():
    doc = Doc(Vocab(), words=["a", "b"], morphs=["", "Number=Sing"])
    doc[0].set_morph("_")
    units = make_layer("morph", "").units(doc)
    assert [unit.label for unit in units] == ["_", "Number=Sing"]
