import pytest

from spacy_psa.corpora.iob import read_conll2003

TEXT = """-DOCSTART- -X- -X- O

EU NNP I-NP I-ORG
rejects VBZ I-VP O
German JJ I-NP I-MISC
call NN I-NP O

Peter NNP I-NP I-PER
Blackburn NNP I-NP I-PER

-DOCSTART- -X- O O

Paris NNP I-NP I-LOC
Lyon NNP B-NP B-LOC
"""
EXPECTED_ENTS = [
    [(0, 1, "ORG"), (2, 3, "MISC")],
    [(0, 2, "PER")],
    [(0, 1, "LOC"), (1, 2, "LOC")],
]
EXPECTED_CHUNKS = [
    [(0, 1, "NP"), (1, 2, "VP"), (2, 4, "NP")],
    [(0, 2, "NP")],
    [(0, 1, "NP"), (1, 2, "NP")],
]


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "eng.train"
        path.write_text(text, encoding="utf8")
        return list(read_conll2003(path))

    return read


def test_original_distribution_has_iob1(read):
    sentences = read(TEXT)
    assert [s.ents for s in sentences] == EXPECTED_ENTS
    assert [s.chunks for s in sentences] == EXPECTED_CHUNKS
    assert sentences[1].tags == ["NNP", "NNP"]


@pytest.mark.parametrize(
    "tags",
    ["B-ORG O B-MISC O B-PER I-PER B-LOC B-LOC", "S-ORG O S-MISC O B-PER E-PER S-LOC S-LOC"],
    ids=["BIO", "BIOES"],
)
def test_copies_in_other_schemes_give_the_same_entities(read, tags):
    tags = iter(tags.split())
    lines = [
        " ".join([*line.split()[:3], next(tags)]) if line and "DOCSTART" not in line else line
        for line in TEXT.splitlines()
    ]
    assert [s.ents for s in read("\n".join(lines))] == EXPECTED_ENTS


def test_docstart_is_a_document_boundary_and_no_sentence(read):
    sentences = read(TEXT)
    assert [s.starts_document for s in sentences] == [True, False, True]
    assert [s.words[0] for s in sentences] == ["EU", "Peter", "Paris"]
    assert [s.line for s in sentences] == [3, 8, 13]


def test_docstart_without_blank_lines_around(read):
    sentences = read("A NN O O\n-DOCSTART- -X- O O\nB NN O O\n")
    assert [(s.words, s.starts_document) for s in sentences] == [(["A"], False), (["B"], True)]


def test_files_without_docstart_have_no_document_boundaries(read):
    assert [s.starts_document for s in read("A NN O O\n\nB NN O O\n")] == [False, False]


def test_other_numbers_of_columns_are_errors(read):
    with pytest.raises(ValueError, match=r"P112.*line 3: found 3 columns, expected 4 \(word, POS"):
        read("A NN O O\n\nB NN O\n")


def test_error_of_a_tag_names_the_column(read):
    with pytest.raises(ValueError, match=r"P116.*line 1: 'PER' in column NER"):
        read("A NN O PER\n")


def test_docstart_may_have_any_number_of_columns(read):
    assert [s.words for s in read("-DOCSTART-\n\nA NN O O\n")] == [["A"]]
