import inspect

import pytest
import spacy
from spacy.tokens import DocBin
from spacy.training import Corpus

from spacy_psa.corpora.readers import (
    create_conll2000_reader,
    create_conll2002_reader,
    create_conll2003_reader,
    create_conllu_reader,
    create_iob_reader,
    create_offsets_reader,
    create_tagged_reader,
)
from spacy_psa.corpora.treebank_readers import (
    create_ccgbank_reader,
    create_ontonotes_reader,
    create_ptb_reader,
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


CONLLU = """# newdoc
1	Paris	Paris	PROPN	NNP	Number=Sing	0	root	_	SpaceAfter=No
2	!	!	PUNCT	.	_	1	punct	_	_

1	Oh	oh	INTJ	UH	_	0	root	_	_
"""
FILES = {
    "CoNLL2000": CHUNKS,
    "CoNLL2002": "EU B-ORG\n\nParis B-LOC\n",
    "CoNLL2003": ENTS,
    "IOB": "EU\tB-ORG\n\nParis\tB-LOC\n",
    "Tagged": "The\tat\n\ndog\tnn\n",
    "CoNLLU": CONLLU,
    "Offsets": '{"text": "EU", "label": [[0, 2, "ORG"]]}\n{"text": "Oh", "label": []}\n',
}
OURS = [
    create_conll2000_reader,
    create_conll2002_reader,
    create_conll2003_reader,
    create_iob_reader,
    create_tagged_reader,
    create_conllu_reader,
    create_offsets_reader,
]


@pytest.mark.parametrize("name", FILES)
def test_readers_resolve_from_a_config(nlp, tmp_path, name):
    path = tmp_path / "corpus.txt"
    path.write_text(FILES[name], encoding="utf8")
    config = {"@readers": f"spacy_psa.{name}.v1", "path": str(path), "limit": 2}
    reader = spacy.registry.resolve({"corpus": config})["corpus"]
    assert len(list(reader(nlp))) == 2


@pytest.mark.parametrize("create", OURS)
def test_readers_take_the_options_of_their_format(create):
    parameters = inspect.signature(create).parameters
    form = create("a.txt").form
    chunks = {"chunks_key"} if "chunks" in form.layers else set()
    assert set(parameters) == {"path", "n_sents", "limit", "lenient"} | chunks | set(form.options)
    for name, option in form.options.items():
        assert parameters[name].default == option.default


def test_options_reach_the_format(nlp, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("B-X|new york|NN\n", encoding="utf8")
    options = {"word_column": 1, "tag_column": 0, "pos_column": 2, "separator": "|"}
    (example,) = create_iob_reader(path, layer="chunks", chunks_key="np", **options)(nlp)
    assert [token.text for token in example.reference] == ["new york"]
    assert example.reference[0].tag_ == "NN"
    assert [span.label_ for span in example.reference.spans["np"]] == ["X"]


def test_universal_dependencies_become_annotation(nlp, tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(CONLLU, encoding="utf8")
    first, second = create_conllu_reader(path)(nlp)
    token = first.reference[0]
    assert (token.tag_, token.pos_, token.lemma_) == ("NNP", "PROPN", "Paris")
    assert token.morph.to_dict() == {"Number": "Sing"}
    assert first.reference.text == first.predicted.text == "Paris! "
    assert second.get_aligned("POS", as_string=True) == ["INTJ"]
    assert len(list(create_conllu_reader(path, n_sents=0)(nlp))) == 1
    (unknown, _) = create_conllu_reader(path, spaces=False)(nlp)
    assert unknown.reference.has_unknown_spaces


def test_tags_that_do_not_fit_their_scheme_are_one_warning(nlp, tmp_path):
    path = tmp_path / "a.txt"
    lines = ["EU I-NP I-ORG", "", "it I-NP O", "UN I-NP B-ORG", "", "EU I-NP I-ORG", "", "a I-NP O"]
    path.write_text("\n".join(lines).replace(" I-NP", " NN I-NP"), encoding="utf8")
    match = r"W111.*tags in column NER.*IOB1.*line 4: 'B-ORG' after 'O'\): 1"
    for limit in (0, 3):
        with pytest.warns(UserWarning, match=match) as found:
            examples = list(create_conll2003_reader(path, limit=limit)(nlp))
        assert len(found) == 1
        assert [ent.text for ent in examples[1].reference.ents] == ["UN"]


def test_problems_are_errors_or_one_warning(nlp, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("EU B-ORG\nin Q-X\nParis Q-X\n", encoding="utf8")
    with pytest.raises(ValueError, match=r"P116.*line 2"):
        list(create_iob_reader(path)(nlp))
    with pytest.warns(UserWarning, match=r"W110.*2 problems.*line 2") as warned:
        reader = create_iob_reader(path, lenient=True)
        (example,) = [*reader(nlp), *reader(nlp)][1:]
    assert len(warned) == 1
    assert len(example.reference) == 3


@pytest.mark.parametrize(
    "target,name", [("pos", "CoNLLU"), ("ents", "IOB"), ("tag", "Tagged"), ("ents", "Offsets")]
)
def test_readers_serve_for_training(tmp_path, target, name):
    path = tmp_path / "corpus.txt"
    path.write_text(FILES[name], encoding="utf8")
    nlp = spacy.blank("en")
    component = {"pos": "morphologizer", "ents": "ner", "tag": "tagger"}[target]
    nlp.add_pipe(component)
    config = {"@readers": f"spacy_psa.{name}.v1", "path": str(path)}
    reader = spacy.registry.resolve({"corpus": config})["corpus"]
    nlp.initialize(lambda: reader(nlp))
    losses = nlp.update(list(reader(nlp)))
    assert losses[component] > 0


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


def test_readers_can_be_iterated_again(nlp, chunks_path):
    reader = create_conll2000_reader(chunks_path)
    assert [eg.text for eg in reader(nlp)] == [eg.text for eg in reader(nlp)]


def test_spacy_reads_the_same_from_a_docbin(nlp, ents_path, tmp_path):
    direct = list(create_conll2003_reader(ents_path)(nlp))
    DocBin(docs=[eg.reference for eg in direct]).to_disk(tmp_path / "docs.spacy")
    stored = list(Corpus(tmp_path / "docs.spacy")(nlp))
    assert [eg.to_dict() for eg in stored] == [eg.to_dict() for eg in direct]
    assert [len(eg.reference.spans["chunks"]) for eg in stored] == [1, 0, 1]


@pytest.mark.parametrize(
    "create", [*OURS, create_ccgbank_reader, create_ontonotes_reader, create_ptb_reader]
)
def test_a_missing_path_is_an_error_at_once(create):
    with pytest.raises(ValueError, match=r"P108.*--paths\.train"):
        create(None)


@pytest.mark.parametrize(
    "create,n_sents", [(create_conll2000_reader, 0), (create_conll2003_reader, -1)]
)
def test_unsuitable_numbers_of_sentences_are_errors_at_once(create, n_sents, chunks_path):
    with pytest.raises(ValueError, match="P118"):
        create(chunks_path, n_sents=n_sents)
