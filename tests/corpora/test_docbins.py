"""DocBins built without Docs are byte-identical to spaCy's."""

from itertools import islice

import numpy as np
import pytest
import srsly
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin, Span, SpanGroup
from spacy.vocab import Vocab

from spacy_psa.annotation.propositions import Frame
from spacy_psa.corpora.docbins import make_doc_bin, unpack_docs
from spacy_psa.corpora.docs import group_sentences, make_docs
from spacy_psa.corpora.formats import get_format
from spacy_psa.corpora.sentence import Sentence

from .shared import shared_corpus

FULL = Sentence(
    words=["I", "am", "Zoë", "."],
    tags=["PRP", "", "NNP", "."],
    pos=["PRON", "AUX", "", "PUNCT"],
    morphs=["Number=Sing|Case=Nom", "", "_", "_"],
    lemmas=["I", "be", "", "."],
    chunks=[(0, 1, "NP"), (2, 3, "NP")],
    ents=[(2, 3, "PER")],
    frames=[Frame(1, "be", "01", [(0, 1, "A1"), (1, 2, "V")]), Frame(2, None, None, [])],
    spaces=[True, True, False, True],
    speakers="Ann",
    document="a/b; part 000",
    starts_document=True,
)
NOTHING = Sentence(["Oh"], chunks=[], ents=[], frames=[])
ADJACENT = Sentence(["a", "b", "c"], ents=[(0, 1, "X"), (1, 3, "X")])
BARE = Sentence(["Oh", "IS_ALPHA", "_", "ORTH", "\u00a0"])
# Words and labels, some of which spaCy reads as symbols, as features or as empty.
TEXTS = st.sampled_from(["a", "A", "Zoë", "_", "VERB", "IS_ALPHA", "Case=Nom", "1"])


def with_docs(sentences, n_sents=1):
    return DocBin(docs=make_docs(Vocab(), sentences, n_sents=n_sents))


@st.composite
def sentences(draw):
    n = draw(st.integers(1, 4))

    def layer(values):
        return draw(st.none() | st.lists(values, min_size=n, max_size=n))

    starts = st.integers(0, n - 1)
    spans = st.tuples(starts, st.just(n), TEXTS)
    frames = st.builds(
        Frame, starts, st.none() | TEXTS, st.none() | TEXTS, st.lists(spans, max_size=2)
    )
    return Sentence(
        words=draw(st.lists(TEXTS, min_size=n, max_size=n)),
        tags=layer(st.just("") | TEXTS),
        pos=layer(st.sampled_from(["", "X", "NOUN"])),
        morphs=layer(st.sampled_from(["", "_", "Case=Nom", "B=2|A=1", "a=1|B=2"])),
        lemmas=layer(st.just("") | TEXTS),
        chunks=draw(st.none() | st.lists(spans, max_size=3)),
        ents=draw(st.none() | st.lists(spans, max_size=1)),
        frames=draw(st.none() | st.lists(frames, max_size=3)),
        starts_document=draw(st.booleans()),
        spaces=layer(st.booleans()),
        speakers=draw(st.none() | TEXTS),
        document=draw(st.none() | TEXTS),
    )


@given(corpus=st.lists(sentences(), max_size=4), n_sents=st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_any_sentences_give_the_bytes_of_spacy(corpus, n_sents):
    made = make_doc_bin(group_sentences(corpus, n_sents=n_sents))
    assert made.to_bytes() == with_docs(corpus, n_sents).to_bytes()


@pytest.mark.parametrize("n_sents", [0, 1])
@pytest.mark.parametrize(
    "corpus", [[], [FULL], [NOTHING], [ADJACENT], [BARE], [FULL, NOTHING, ADJACENT, BARE] * 2]
)
def test_each_kind_of_sentence_gives_the_bytes_of_spacy(corpus, n_sents):
    made = make_doc_bin(group_sentences(corpus, n_sents=n_sents))
    assert made.to_bytes() == with_docs(corpus, n_sents).to_bytes()


def test_spacy_reads_all_that_is_annotated():
    data = make_doc_bin([[FULL]], chunks_key="np").to_bytes()
    doc = next(DocBin().from_bytes(data).get_docs(Vocab()))
    assert doc.text == "I am Zoë. "
    assert [token.tag_ for token in doc] == FULL.tags
    assert [token.pos_ for token in doc] == FULL.pos
    assert [token.lemma_ for token in doc] == FULL.lemmas
    assert [str(token.morph) for token in doc] == ["Case=Nom|Number=Sing", "", "", ""]
    assert [token.has_morph() for token in doc] == [True, False, True, True]
    assert [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents] == [(5, 8, "PER")]
    assert [span.text for span in doc.spans["np"]] == ["I", "Zoë"]
    assert doc.spans["frames/0000"].attrs == {"predicate": 1, "lemma": "be", "sense": "01"}
    assert [span.label_ for span in doc.spans["frames/0000"]] == ["A1", "V"]
    assert doc.spans["document"].attrs == {"starts": True}


def test_groups_may_be_streamed():
    seen = []

    def groups():
        for sentence in (FULL, BARE):
            seen.append(sentence)
            yield [sentence]

    assert len(make_doc_bin(groups())) == len(seen) == 2


@pytest.mark.parametrize(
    "folder,name,form",
    [
        ("conll2000", "test.txt", "conll2000"),
        ("wnut17", "emerging.dev.conll", "iob"),
        ("ud_en_ewt_2.2", "en_ewt-ud-dev.conllu", "conllu"),
        ("ud_cs_cltt_2.2", "cs_cltt-ud-dev.conllu", "conllu"),
        ("ud_fr_sequoia_2.2", "fr_sequoia-ud-dev.conllu", "conllu"),
        ("ewt_srl", "dev.words", "conll2005"),
        ("ewt_srl", "dev.gold_conll", "conll2012"),
    ],
)
def test_published_corpora_give_the_bytes_of_spacy(folder, name, form):
    corpus = list(islice(get_format(form).read(shared_corpus(folder) / name), 500))
    expected = with_docs(corpus, n_sents=3).to_bytes()
    assert make_doc_bin(group_sentences(corpus, n_sents=3)).to_bytes() == expected


def docs_with_spans():
    doc = Doc(Vocab(), words=["a", "b"], user_data={"k": (1, 2)})
    doc.cats = {"X": 1.0}
    attrs = {"n": [1, "ü"], "array": np.arange(3)}
    spans = [Span(doc, 0, 2, "L", kb_id="Q1", span_id="s"), Span(doc, 1, 1, "")]
    doc.spans["x"] = SpanGroup(doc, name="y", attrs=attrs, spans=spans)
    doc.spans["copy"] = doc.spans["x"].copy()
    doc.spans["none"] = []
    return [doc, Doc(doc.vocab, words=["c"])]


def everything(doc):
    groups = {
        key: (group.name, {**group.attrs, "array": None}, [(*vars_of(span),) for span in group])
        for key, group in doc.spans.items()
    }
    return doc.to_json(), groups, doc.user_data, doc.cats


def vars_of(span):
    return span.start, span.end, span.start_char, span.label_, span.kb_id_, span.id_


def test_docs_are_unpacked_as_spacy_unpacks_them():
    data = DocBin(docs=docs_with_spans(), store_user_data=True).to_bytes()
    docs = list(unpack_docs(DocBin().from_bytes(data), Vocab()))
    plain = list(DocBin().from_bytes(data).get_docs(Vocab()))
    assert [everything(doc) for doc in docs] == [everything(doc) for doc in plain]
    assert docs[0].spans["x"].attrs["array"].tolist() == [0, 1, 2]
    assert [span.text for span in docs[0].spans["x"]] == ["a b", ""]


@pytest.mark.parametrize("packed", [b"", srsly.msgpack_dumps([])])
def test_docs_without_groups_are_unpacked(packed):
    made = with_docs([ADJACENT])
    made.span_groups = [packed]
    assert [len(doc.spans) for doc in unpack_docs(made, Vocab())] == [0]


def test_groups_of_early_versions_have_their_names_as_keys():
    made = DocBin(docs=docs_with_spans()[:1])
    made.span_groups = [srsly.msgpack_dumps([docs_with_spans()[0].spans["x"].to_bytes()])]
    (doc,) = unpack_docs(made, Vocab())
    assert [*doc.spans] == ["y"]


def test_unpacking_leaves_the_docbin_and_srsly_as_they_are():
    made = with_docs([FULL])
    before, extensions = made.to_bytes(), dict(vars(srsly.msgpack_decoders))
    next(unpack_docs(made, Vocab()))
    assert made.to_bytes() == before and vars(srsly.msgpack_decoders) == extensions


def test_spans_outside_the_text_are_errors():
    made = with_docs([FULL])
    made.span_groups = with_docs([Sentence(["a"] * 9, chunks=[(7, 9, "NP")])]).span_groups
    with pytest.raises(IndexError, match="E035"):
        list(unpack_docs(made, Vocab()))
