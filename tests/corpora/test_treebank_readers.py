from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import spacy

from spacy_psa.corpora.formats import FORMATS
from spacy_psa.corpora.treebank_readers import (
    create_ccgbank_reader,
    create_ontonotes_reader,
    create_ptb_reader,
)

from .shared import ROOT

SAMPLES = Path(__file__).parent / "samples"
READERS = {
    "PTB": (create_ptb_reader, "ptb", "wsj_0101.mrg"),
    "CCGbank": (create_ccgbank_reader, "ccgbank", "wsj_0101.auto"),
    "OntoNotes": (create_ontonotes_reader, "ontonotes", "cctv_0009.v4_gold_conll"),
}


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("en")


@pytest.mark.parametrize("name", READERS)
def test_readers_are_declared_as_entry_points(name):
    lines = (ROOT / "setup.cfg").read_text(encoding="utf8").splitlines()
    declared = [line.split(" = ") for line in lines if line.startswith(f"    spacy_psa.{name}.v1")]
    assert len(declared) == 1
    assert EntryPoint(name, declared[0][1], "spacy_readers").load() is READERS[name][0]


@pytest.mark.parametrize("name", READERS)
def test_readers_take_all_options_of_their_format(name):
    create, form, sample = READERS[name]
    options = {key: value.default for key, value in FORMATS[form].options.items()}
    assert create(SAMPLES / sample, **options).options == options


@pytest.mark.parametrize("name", READERS)
def test_references_are_tagged_and_predicted_docs_are_not(nlp, name):
    create, _, sample = READERS[name]
    example = next(create(SAMPLES / sample)(nlp))
    assert all(token.tag_ for token in example.reference)
    assert not any(token.tag_ for token in example.predicted)


@pytest.mark.parametrize(
    "name,n_sents,n_docs",
    [("PTB", 1, 5), ("PTB", 2, 3), ("PTB", 0, 1), ("CCGbank", 0, 1), ("OntoNotes", 0, 2)],
)
def test_docs_are_made_of_sentences_or_documents(nlp, name, n_sents, n_docs):
    create, _, sample = READERS[name]
    assert len(list(create(SAMPLES / sample, n_sents=n_sents)(nlp))) == n_docs


def test_a_limit_and_options_of_the_format(nlp):
    (example,) = create_ptb_reader(SAMPLES / "wsj_0101.mrg", limit=1)(nlp)
    assert [token.text for token in example.reference][-1] == "Notes"
    docs = [eg.reference for eg in create_ptb_reader(SAMPLES / "wsj_0101.mrg", unescape=True)(nlp)]
    assert "1/2" in docs[1].text
