"""Each layer of a sentence on a Doc, before and after storage."""

import pytest
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from spacy_psa.annotation.propositions import Frame, get_frames, has_frames
from spacy_psa.corpora.docs import make_doc, make_docs
from spacy_psa.corpora.sentence import LAYERS, Sentence

FULL = Sentence(
    words=["I", "am", "here", "."],
    tags=["PRP", "", "RB", "."],
    pos=["PRON", "AUX", "", "PUNCT"],
    morphs=["Case=Nom|Number=Sing", "", "_", "_"],
    lemmas=["I", "be", "", "."],
    chunks=[(0, 1, "NP")],
    ents=[(0, 1, "PER")],
    frames=[Frame(1, "be", "01", [(0, 1, "A1"), (1, 2, "V")])],
    spaces=[True, True, False, False],
    speakers="Ann",
)
EMPTY = Sentence(["Oh"], chunks=[], ents=[], frames=[])
BARE = Sentence(["Oh"])
STORES = {
    "made": lambda doc: doc,
    "DocBin": lambda doc: next(
        iter(DocBin().from_bytes(DocBin(docs=[doc]).to_bytes()).get_docs(Vocab()))
    ),
    "to_bytes": lambda doc: Doc(Vocab()).from_bytes(doc.to_bytes()),
}


@pytest.fixture(params=STORES)
def doc_of(request):
    return lambda *sentences: STORES[request.param](make_doc(Vocab(), sentences))


def test_tokens_have_what_is_annotated_and_no_more(doc_of):
    doc = doc_of(FULL)
    assert [token.tag_ for token in doc] == FULL.tags
    assert [token.pos_ for token in doc] == FULL.pos
    assert [token.lemma_ for token in doc] == FULL.lemmas


def test_no_features_is_another_thing_than_unknown_features(doc_of):
    doc = doc_of(FULL)
    assert [str(token.morph) for token in doc] == ["Case=Nom|Number=Sing", "", "", ""]
    assert [token.has_morph() for token in doc] == [True, False, True, True]


def test_features_of_a_sentence_without_the_layer_are_unknown(doc_of):
    assert [token.has_morph() for token in doc_of(BARE, FULL)][:2] == [False, True]


@pytest.mark.parametrize("attribute", ["TAG", "POS", "MORPH", "LEMMA", "ENT_IOB"])
def test_token_layers_that_are_not_annotated(doc_of, attribute):
    assert doc_of(FULL).has_annotation(attribute)
    assert not doc_of(BARE).has_annotation(attribute)


def test_span_layers_without_a_span_are_annotated(doc_of):
    doc = doc_of(EMPTY)
    assert doc.has_annotation("ENT_IOB") and not doc.ents
    assert len(doc.spans["chunks"]) == 0
    assert has_frames(doc) and not get_frames(doc)


def test_span_layers_that_are_not_annotated(doc_of):
    assert not doc_of(BARE).spans
    assert not doc_of(FULL, BARE).has_annotation("ENT_IOB")
    assert set(doc_of(FULL, BARE).spans) == {"speakers"}


def test_white_space_is_kept(doc_of):
    doc = doc_of(FULL)
    assert doc.text == "I am here."
    assert not doc.has_unknown_spaces
    assert doc_of(FULL, BARE).has_unknown_spaces


def test_frames_of_later_sentences_are_moved(doc_of):
    (frame,) = get_frames(doc_of(EMPTY, FULL))
    assert frame == Frame(2, "be", "01", [(1, 2, "A1"), (2, 3, "V")])


def test_speakers_are_spans_of_the_sentences_that_have_one(doc_of):
    doc = doc_of(EMPTY, FULL)
    (span,) = doc.spans["speakers"]
    assert (span.start, span.end, span.label_) == (1, 5, "Ann")


@pytest.mark.parametrize("layer", LAYERS)
def test_only_keeps_one_layer_and_the_words(layer):
    sentence = FULL.only([layer])
    assert getattr(sentence, layer) == getattr(FULL, layer)
    assert [name for name in LAYERS if getattr(sentence, name) is not None] == [layer]
    assert (sentence.words, sentence.spaces) == (FULL.words, FULL.spaces)


def test_documents_with_too_many_tokens_are_errors(monkeypatch):
    monkeypatch.setattr("spacy_psa.corpora.docs.MAX_DOC_TOKENS", 6)
    assert [len(doc) for doc in make_docs(Vocab(), [FULL, FULL])] == [4, 4]
    with pytest.raises(ValueError, match=r"P147.*a\.txt.*line 0.*more than 6 tokens.*--n-sents"):
        list(make_docs(Vocab(), [FULL, FULL], n_sents=0, path="a.txt"))
