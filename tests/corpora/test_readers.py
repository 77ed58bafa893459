import pytest
import spacy
from spacy.tokens import DocBin
from spacy.training import Corpus

from spacy_psa.corpora.readers import (
    FORMATS,
    create_conll2000_reader,
    create_conll2003_reader,
    detect_format,
    get_format,
)

CHUNKS = "He PRP B-NP\nruns VBZ B-VP\n\n! . O\n\nStop VB B-VP\n"
ENTS = """-DOCSTART- -X- O O

EU NNP B-NP B-ORG
talks NNS I-NP O

Done VBN O O

-DOCSTART- -X- O O

Paris NNP B-NP B-LOC
"""


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("en")


@pytest.fixture
def chunks_path(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text(CHUNKS, encoding="utf8")
    return path


@pytest.fixture
def ents_path(tmp_path):
    path = tmp_path / "eng.train"
    path.write_text(ENTS, encoding="utf8")
    return path


@pytest.mark.parametrize("name", ["spacy_psa.CoNLL2000.v1", "spacy_psa.CoNLL2003.v1"])
def test_readers_resolve_from_a_config(nlp, name, chunks_path, ents_path):
    path = chunks_path if "2000" in name else ents_path
    config = {"corpus": {"@readers": name, "path": str(path), "limit": 2}}
    reader = spacy.registry.resolve(config)["corpus"]
    assert len(list(reader(nlp))) == 2


def test_predicted_docs_have_the_words_alone(nlp, chunks_path):
    example = next(create_conll2000_reader(chunks_path)(nlp))
    assert [token.text for token in example.predicted] == ["He", "runs"]
    assert not example.predicted.has_annotation("TAG")
    assert not example.predicted.has_annotation("SENT_START")
    assert not example.predicted.spans


def test_references_have_the_annotation(nlp, ents_path):
    example = next(create_conll2003_reader(ents_path)(nlp))
    assert example.get_aligned("TAG", as_string=True) == ["NNP", "NNS"]
    assert example.get_aligned_ner() == ["U-ORG", "O"]
    chunks = example.get_aligned_spans_y2x(example.reference.spans["chunks"])
    assert [(span.text, span.label_) for span in chunks] == [("EU talks", "NP")]


def test_one_sentence_a_doc_by_default(nlp, chunks_path):
    assert [len(eg) for eg in create_conll2000_reader(chunks_path)(nlp)] == [2, 1, 1]


def test_sentences_can_be_grouped(nlp, chunks_path):
    first, second = create_conll2000_reader(chunks_path, n_sents=2)(nlp)
    assert [len(first), len(second)] == [3, 1]
    assert [sent.text for sent in first.reference.sents] == ["He runs", "!"]


def test_documents_can_be_kept_whole(nlp, ents_path):
    first, second = create_conll2003_reader(ents_path, n_sents=0)(nlp)
    assert [sent.text for sent in first.reference.sents] == ["EU talks", "Done"]
    assert [sent.text for sent in second.reference.sents] == ["Paris"]


def test_limit_counts_docs(nlp, chunks_path):
    reader = create_conll2000_reader(chunks_path, limit=2)
    assert [len(eg) for eg in reader(nlp)] == [2, 1]


def test_readers_can_be_iterated_again(nlp, chunks_path):
    reader = create_conll2000_reader(chunks_path)
    assert [eg.text for eg in reader(nlp)] == [eg.text for eg in reader(nlp)]


def test_spacy_reads_the_same_from_a_docbin(nlp, ents_path, tmp_path):
    direct = list(create_conll2003_reader(ents_path)(nlp))
    DocBin(docs=[eg.reference for eg in direct]).to_disk(tmp_path / "docs.spacy")
    stored = list(Corpus(tmp_path / "docs.spacy")(nlp))
    assert [eg.to_dict() for eg in stored] == [eg.to_dict() for eg in direct]
    assert [len(eg.reference.spans["chunks"]) for eg in stored] == [1, 0, 1]


@pytest.mark.parametrize("create", [create_conll2000_reader, create_conll2003_reader])
def test_a_missing_path_is_an_error_at_once(create):
    with pytest.raises(ValueError, match=r"P108.*--paths\.train"):
        create(None)


@pytest.mark.parametrize(
    "create,n_sents", [(create_conll2000_reader, 0), (create_conll2003_reader, -1)]
)
def test_unsuitable_numbers_of_sentences_are_errors_at_once(create, n_sents, chunks_path):
    with pytest.raises(ValueError, match="P118"):
        create(chunks_path, n_sents=n_sents)


def test_the_number_of_columns_tells_the_format(chunks_path, ents_path):
    assert detect_format(chunks_path) == "conll2000"
    assert detect_format(ents_path) == "conll2003"


def test_unknown_numbers_of_columns_are_errors_that_list_the_formats(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("one\n", encoding="utf8")
    with pytest.raises(
        ValueError, match=r"P117.*line 1.*1 columns.*conll2000 \(word, POS, chunk\)"
    ):
        detect_format(path)


def test_unknown_formats_are_errors_that_list_the_known_ones():
    with pytest.raises(ValueError, match=rf"P119.*{', '.join(FORMATS)}"):
        get_format("conllu")
