import pytest
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from spacy_psa.corpora.docs import make_doc, make_docs, make_sentences
from spacy_psa.corpora.sentence import Sentence

FIRST = Sentence(
    ["He", "saw", "Mr", "X"],
    ["PRP", "VBD", "NNP", "NNP"],
    chunks=[(0, 1, "NP"), (1, 2, "VP"), (2, 4, "NP")],
    ents=[(2, 4, "PER")],
    starts_document=True,
)
SECOND = Sentence(["Oh", "!"], ["UH", "."], chunks=[], ents=[])
THIRD = Sentence(["EU"], ["NNP"], chunks=[(0, 1, "NP")], ents=[(0, 1, "ORG")], starts_document=True)


def spans(group):
    return [(span.start, span.end, span.label_) for span in group]


def reload(*docs):
    data = DocBin(docs=docs).to_bytes()
    return list(DocBin().from_bytes(data).get_docs(Vocab()))


@pytest.fixture(params=["new", "from DocBin"])
def doc(request):
    doc = make_doc(Vocab(), [FIRST, SECOND])
    return doc if request.param == "new" else reload(doc)[0]


def test_doc_has_words_and_tags(doc):
    assert [token.text for token in doc] == ["He", "saw", "Mr", "X", "Oh", "!"]
    assert [token.tag_ for token in doc] == ["PRP", "VBD", "NNP", "NNP", "UH", "."]


def test_doc_has_sentence_starts(doc):
    assert [token.is_sent_start for token in doc] == [True, False, False, False, True, False]


def test_doc_has_chunks_and_entities(doc):
    assert spans(doc.spans["chunks"]) == [(0, 1, "NP"), (1, 2, "VP"), (2, 4, "NP")]
    assert spans(doc.ents) == [(2, 4, "PER")]


def test_tokens_outside_of_entities_are_annotated_as_such(doc):
    assert [token.ent_iob_ for token in doc] == ["O", "O", "B", "I", "O", "O"]


def test_spaces_are_unknown_so_that_spacy_keeps_the_words(doc):
    assert doc.has_unknown_spaces


def test_spans_of_later_sentences_are_moved():
    doc = make_doc(Vocab(), [FIRST, SECOND, THIRD])
    assert spans(doc.spans["chunks"])[-1] == (6, 7, "NP")
    assert spans(doc.ents)[-1] == (6, 7, "ORG")


def test_tags_that_one_sentence_is_without_are_annotated_on_the_others():
    doc = make_doc(Vocab(), [FIRST, Sentence(["Oh"])])
    assert [token.tag_ for token in doc] == ["PRP", "VBD", "NNP", "NNP", ""]
    assert not doc.has_annotation("TAG", require_complete=True)


def test_chunks_can_have_another_key():
    assert list(make_doc(Vocab(), [SECOND], chunks_key="np").spans) == ["np"]


@pytest.mark.parametrize("n_sents,lengths", [(1, [4, 2, 1]), (2, [6, 1]), (3, [6, 1]), (0, [6, 1])])
def test_docs_do_not_reach_over_document_boundaries(n_sents, lengths):
    docs = make_docs(Vocab(), [FIRST, SECOND, THIRD], n_sents=n_sents)
    assert [len(doc) for doc in docs] == lengths


def test_groups_without_boundaries_have_the_wanted_size():
    docs = make_docs(Vocab(), [SECOND] * 5, n_sents=2)
    assert [len(list(doc.sents)) for doc in docs] == [2, 2, 1]


def test_negative_numbers_of_sentences_are_errors():
    with pytest.raises(ValueError, match="P118"):
        list(make_docs(Vocab(), [FIRST], n_sents=-1))


def test_no_sentences_make_no_docs():
    assert list(make_docs(Vocab(), [])) == []


def test_make_doc_gives_a_doc_of_the_vocab():
    vocab = Vocab()
    doc = make_doc(vocab, [FIRST])
    assert isinstance(doc, Doc) and doc.vocab is vocab


def test_merged_docs_keep_their_documents():
    names = ["a", "a", "b"]
    sentences = [
        Sentence([name], document=name, starts_document=i != 1) for i, name in enumerate(names)
    ]
    vocab = Vocab()
    docs = list(make_docs(vocab, sentences))
    for merged in ([Doc.from_docs(docs)], [Doc.from_docs(docs[:1]), Doc.from_docs(docs[1:])]):
        found = [(s.document, s.starts_document) for s in make_sentences(merged)]
        assert found == [("a", True), ("a", False), ("b", True)]
    plain = [Doc(vocab, words=["c"]), docs[0]]
    assert [s.document for s in make_sentences([docs[0], *plain])] == ["a", None, "a"]
