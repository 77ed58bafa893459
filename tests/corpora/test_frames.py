import pytest
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from spacy_psa.annotation.propositions import (
    Frame,
    clear_frames,
    get_frames,
    set_frames,
)

WORDS = ["He", "said", "that", "she", ",", "the", "doctor", ",", "left"]
FRAMES = [
    Frame(1, "say", "01", [(0, 1, "A0"), (1, 2, "V"), (2, 9, "A1")]),
    Frame(8, "leave", None, [(3, 4, "A0"), (5, 7, "C-A0"), (8, 9, "V")]),
    Frame(8, None, None, []),
]


def from_docbin(doc):
    return next(iter(DocBin().from_bytes(DocBin(docs=[doc]).to_bytes()).get_docs(Vocab())))


def from_bytes(doc):
    return Doc(Vocab()).from_bytes(doc.to_bytes())


STORES = pytest.mark.parametrize("store", [lambda doc: doc, from_docbin, from_bytes])


def make(frames):
    doc = Doc(Vocab(), words=WORDS)
    set_frames(doc, frames)
    return doc


@STORES
def test_frames_come_back_as_they_were_set(store):
    assert get_frames(store(make(FRAMES))) == FRAMES


@STORES
def test_predicates_are_marked_with_lemma_and_sense(store):
    doc = store(make(FRAMES))
    marked = [(span.start, span.end, span.label_) for span in doc.spans["frames"]]
    assert marked == [(1, 2, "say.01"), (8, 9, "leave"), (8, 9, "V")]


def test_groups_are_named_by_number():
    assert list(make(FRAMES).spans) == ["frames/0000", "frames/0001", "frames/0002", "frames"]


def test_setting_frames_replaces_those_before():
    doc = make(FRAMES)
    set_frames(doc, FRAMES[1:2])
    assert get_frames(doc) == FRAMES[1:2]


def test_clearing_leaves_other_spans_alone():
    doc = make(FRAMES)
    doc.spans["chunks"] = [doc[0:1]]
    clear_frames(doc)
    assert list(doc.spans) == ["chunks"]


def test_order_holds_beyond_ten_thousand_frames():
    frames = [Frame(i % len(WORDS), str(i), None, []) for i in range(10_002)]
    assert [frame.lemma for frame in get_frames(make(frames))] == [frame.lemma for frame in frames]
