"""Where predicates come from, and pipelines in which nothing is given."""

from __future__ import annotations

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Corpus, Example
from spacy.util import fix_random_seed
from spacy.vocab import Vocab

from spacy_psa.annotation.propositions import Frame, get_frames
from spacy_psa.corpora.treebank_readers import create_frame_corpus
from spacy_psa.pipeline.srl.predicates import (
    Predicate,
    create_given_predicates,
    create_span_predicates,
    create_verb_predicates,
    set_predicates,
)
from spacy_psa.training.batching import batch_by_propositions

from ..conftest import make_adam, tiny_model
from ..srl_data import (
    FRAMES,
    NAME,
    WORDS,
    arguments,
    expected,
    gold_doc,
    make_examples,
    trained_nlp,
)


def doc_of(**annotation: list[str]) -> Doc:
    return Doc(Vocab(), **annotation)


def test_given_predicates_are_those_of_the_frames() -> None:
    doc = doc_of(words=["He", "left", "early"])
    finder = create_given_predicates()
    assert finder(doc) == []
    set_predicates(doc, [Predicate(1, "leave", "01")])
    assert finder(doc) == [Predicate(1, "leave", "01")]


def test_integers_of_any_library_are_predicates() -> None:
    doc = Doc(Vocab(), words=WORDS[0])
    set_predicates(doc, np.flatnonzero([0, 1, 0, 1]))
    assert [frame.predicate for frame in get_frames(doc)] == [1, 3]
    assert all(type(frame.predicate) is int for frame in get_frames(doc))
    with pytest.raises(ValueError, match=r"P320.*'1'"):
        set_predicates(doc, ["1"])


def test_verbs_are_found_by_parts_of_speech() -> None:
    doc = doc_of(
        words=["He", "has", "left"], pos=["PRON", "AUX", "VERB"], lemmas=["he", "have", "leave"]
    )
    assert create_verb_predicates()(doc) == [Predicate(2, "leave")]
    assert create_verb_predicates(pos=["AUX", "VERB"])(doc)[0] == Predicate(1, "have")


def test_white_space_is_no_verb_and_does_not_part_verbs() -> None:
    words, vocab = ["He", "has", "\n", "left", " "], spacy.blank("en").vocab
    doc = Doc(vocab, words=words, tags=["PRP", "VBZ", "_SP", "VBN", "VBN"])
    assert create_verb_predicates()(doc) == [Predicate(3)]
    doc = Doc(vocab, words=words, pos=["PRON", "AUX", "SPACE", "VERB", "VERB"])
    assert create_verb_predicates()(doc) == [Predicate(3)]


@pytest.mark.parametrize(
    ("text", "tags", "found"),
    [
        ("He has not left", "PRP VBZ RB VBN", ["left"]),
        ("He has money", "PRP VBZ NN", ["has"]),
        ("Did he go", "VBD PRP VB", ["go"]),
        ("He did it", "PRP VBD PRP", ["did"]),
        ("It is sold", "PRP VBZ VBN", ["sold"]),
        ("It is green", "PRP VBZ JJ", ["is"]),
        ("He may be going", "PRP MD VB VBG", ["going"]),
        ("It has been sold", "PRP VBZ VBN VBN", ["sold"]),
        ("We are", "PRP VBP", ["are"]),
    ],
)
def test_verbs_are_found_by_tags(text: str, tags: str, found: list[str]) -> None:
    doc = doc_of(words=text.split(), tags=tags.split())
    assert [doc[p.token].text for p in create_verb_predicates()(doc)] == found


def test_spans_can_be_predicates() -> None:
    doc = doc_of(words=["He", "took", "off", "and", "left"], lemmas=["he", "take", "", "", "leave"])
    doc.spans["predicates"] = [Span(doc, 1, 3, "02"), Span(doc, 4, 5, "V")]
    assert create_span_predicates()(doc) == [
        Predicate(1, "take", "02"),
        Predicate(4, "leave", None),
    ]


@pytest.mark.parametrize("finder", [create_verb_predicates(), create_span_predicates()])
def test_missing_annotation_is_refused(finder) -> None:
    assert finder(doc_of(words=[])) == []
    with pytest.raises(ValueError, match="P322"):
        finder(doc_of(words=["Hi"]))


def tagging_nlp() -> spacy.language.Language:
    """Raw text → predicates by a `psa_tagger` → roles."""
    nlp = spacy.blank("xx")
    nlp.add_pipe(
        "psa_tagger",
        config={"model": tiny_model(), "target": "spans", "spans_key": "predicates"},
    )
    examples = list(
        create_frame_corpus(lambda nlp: iter(make_examples(nlp)), True, "predicates")(nlp)
    )
    fix_random_seed(0)
    nlp.initialize(lambda: examples)
    optimizer = make_adam()
    for _ in range(40):
        nlp.update(examples, sgd=optimizer)
    srl = trained_nlp(predicates={"@misc": "spacy_psa.SpanPredicates.v1"})
    nlp.add_pipe(NAME, source=srl)
    return nlp


def test_a_tagger_finds_the_predicates_of_raw_text() -> None:
    nlp = tagging_nlp()
    for i, words in enumerate(WORDS):
        assert arguments(nlp(" ".join(words))) == expected(i)


def test_a_rule_finds_the_predicates_of_raw_text() -> None:
    nlp = trained_nlp(predicates={"@misc": "spacy_psa.VerbPredicates.v1"})
    ruler = nlp.add_pipe("attribute_ruler", before=NAME)
    ruler.add([[{}]], {"POS": "X"})
    ruler.add([[{"LOWER": {"IN": ["borrowed", "said", "left", "sold"]}}]], {"POS": "VERB"})
    assert arguments(nlp(" ".join(WORDS[1]))) == expected(1)


def corpus_of(nlp, tmp_path, **settings):
    docs = [gold_doc(nlp, i) for i in range(len(WORDS))]
    spacy.tokens.DocBin(docs=docs).to_disk(tmp_path / "train.spacy")
    return list(create_frame_corpus(Corpus(tmp_path / "train.spacy"), **settings)(nlp))


def test_a_corpus_gives_predicates_without_arguments(tmp_path) -> None:
    nlp = spacy.blank("xx")
    examples = corpus_of(nlp, tmp_path)
    for example, frames in zip(examples, FRAMES, strict=True):
        given = [Frame(f.predicate, f.lemma, f.sense, []) for f in frames]
        assert get_frames(example.predicted) == given
        assert get_frames(example.reference) == frames


def test_a_corpus_marks_predicates_for_a_tagger(tmp_path) -> None:
    nlp = spacy.blank("xx")
    examples = corpus_of(nlp, tmp_path, give_predicates=False, spans_key="predicates", senses=True)
    group = examples[1].reference.spans["predicates"]
    assert [(span.text, span.label_) for span in group] == [
        ("said", "01"),
        ("left", "01"),
        ("sold", "01"),
    ]
    assert get_frames(examples[1].predicted) == []
    assert list(examples[2].reference.spans["predicates"]) == []


def test_batches_are_filled_with_propositions() -> None:
    nlp = spacy.blank("xx")
    examples = make_examples(nlp) * 5
    batches = list(batch_by_propositions(size=40)(examples))
    assert sorted(id(eg) for batch in batches for eg in batch) == sorted(map(id, examples))
    for batch in batches:
        copies = sum(max(1, len(get_frames(eg.reference))) for eg in batch)
        width = max(len(eg.reference) for eg in batch)
        assert copies * width <= 40


def test_a_sentence_larger_than_a_batch_is_one() -> None:
    nlp = spacy.blank("xx")
    example = Example(gold_doc(nlp, 1), gold_doc(nlp, 1))
    assert list(batch_by_propositions(size=5)([example, example])) == [[example], [example]]


def batches_of(*lengths: int, seed: int = 0, **settings: int) -> list[list[int]]:
    """The sentence lengths in each batch of documents without predicates."""
    docs = [doc_of(words=["a"] * length) for length in lengths]
    fix_random_seed(seed)
    batches = batch_by_propositions(**settings)([Example(doc, doc) for doc in docs])
    return [[len(eg.reference) for eg in batch] for batch in batches]


@pytest.mark.parametrize(
    ("buffer", "expected"),
    [
        (1, [[1], [1], [1], [1], [9], [9], [9], [9]]),
        (2, [[9, 1], [9, 1], [9, 1], [9, 1]]),
        (4, [[1, 1], [1, 1], [9, 9], [9, 9]]),
        (8, [[1, 1, 1, 1], [9, 9], [9, 9]]),
        (4096, [[1, 1, 1, 1], [9, 9], [9, 9]]),
    ],
)
def test_sentences_of_similar_length_are_put_together(
    buffer: int, expected: list[list[int]]
) -> None:
    assert sorted(batches_of(1, 9, 1, 9, 1, 9, 1, 9, size=18, buffer=buffer)) == expected


def test_sentences_are_put_together_with_those_of_their_buffer() -> None:
    found = batches_of(1, 7, 2, 8, 3, 9, size=9, buffer=2)
    assert [sorted(found[i : i + 2]) for i in (0, 2, 4)] == [[[1], [7]], [[2], [8]], [[3], [9]]]


def test_batches_come_in_an_order_that_depends_on_the_seed() -> None:
    one, same, other = (batches_of(*range(1, 9), size=1, seed=seed) for seed in (0, 0, 1))
    assert one == same != other
    assert sorted(one) == sorted(other) == [[length] for length in range(1, 9)]


def test_the_number_of_sentences_is_bounded() -> None:
    assert sorted(batches_of(*[1] * 5, 4, size=8, max_sentences=2)) == [[1, 1], [1, 1], [4, 1]]
    assert sorted(batches_of(*[1] * 5, 4, size=8)) == [[1, 1, 1, 1], [4, 1]]
