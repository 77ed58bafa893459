from pathlib import Path

import pytest
from spacy.vocab import Vocab

from spacy_psa.corpora.ccgbank import frequent_categories, read_ccgbank, read_derivations
from spacy_psa.corpora.detection import detect
from spacy_psa.corpora.docs import make_doc
from spacy_psa.corpora.sentence import Sentence

SAMPLE = Path(__file__).parent / "samples" / "wsj_0101.auto"
WORDS = [["The", "lamp", "burned", "1\\/2", "gallon", "."], ["Keepers", "-LRB-", "-RRB-"]]
TAGS = {
    "supertag": [
        ["NP[nb]/N", "N", "(S[dcl]\\NP)/NP", "N/N", "N", "."],
        ["N", "LRB", "RRB"],
    ],
    "pos": [["DT", "NN", "VBN", "CD", "NN", "."], ["NNS", "-LRB-", "-RRB-"]],
}
NAME = "ID=wsj_0001.1 PARSER=GOLD NUMPARSE=1\n"
LEAF = "(<L N NN NN dog N>)"


def derivation(*categories):
    leaves = " ".join(f"(<L {category} X X w {category}>)" for category in categories)
    return f"{NAME}(<T S 0 2> {leaves} )\n"


@pytest.fixture
def write(tmp_path):
    def write(text, name="wsj_0001.auto"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf8")
        return path

    return write


@pytest.fixture
def treebank(write, tmp_path):
    """Training sections with three A, two B and one C; a test section with A, B, C and D."""
    write(derivation("A", "B", "A"), "AUTO/02/wsj_0201.auto")
    for section in range(3, 21):
        write(
            derivation("B") if section == 3 else "\n", f"AUTO/{section:02}/wsj_{section:02}01.auto"
        )
    write(derivation("C", "A"), "AUTO/21/wsj_2101.auto")
    write(derivation("D", "D", "D"), "AUTO/00/wsj_0001.auto")
    write(derivation("A", "B", "C", "D"), "AUTO/23/wsj_2301.auto")
    return tmp_path


@pytest.mark.parametrize("tag", TAGS)
def test_words_and_tags(tag):
    sentences = list(read_ccgbank(SAMPLE, tag=tag))
    assert [s.words for s in sentences] == WORDS
    assert [s.tags for s in sentences] == TAGS[tag]


def test_names_documents_and_lines():
    sentences = list(read_ccgbank(SAMPLE))
    assert [s.sent_id for s in sentences] == ["wsj_0101.1", "wsj_0101.3"]
    assert [(s.document, s.starts_document) for s in sentences] == [
        ("wsj_0101", True),
        ("wsj_0101", False),
    ]
    assert [s.line for s in sentences] == [2, 4]


def test_unescaped_words_are_those_of_the_text():
    words = [s.words for s in read_ccgbank(SAMPLE, unescape=True)]
    assert words == [["The", "lamp", "burned", "1/2", "gallon", "."], ["Keepers", "(", ")"]]


def test_a_derivation_may_be_a_single_leaf(write):
    assert [s.words for s in read_ccgbank(write(f"{NAME}{LEAF}\n"))] == [["dog"]]


def test_broken_categories_of_the_corpus_stay_as_they_are(write):
    path = write(derivation("((S[b]\\NP)/NP)/", "N"))
    assert [s.tags for s in read_ccgbank(path)] == [["((S[b]\\NP)/NP)/", "N"]]


def test_sentences_without_a_derivation_are_left_out(write):
    none = "ID=wsj_0001.7 PARSER=GOLD NUMPARSE=0\n\n"
    path = write(f"{none}{NAME}{LEAF}\n{none}")
    assert [d.name for d in read_derivations(path)] == ["wsj_0001.1"]


@pytest.mark.parametrize(
    "text,line,problem",
    [
        (LEAF, 1, "'(<L N NN NN dog N>)' is not an ID line"),
        (NAME + NAME + LEAF, 2, "the derivation of wsj_0001.1 is missing"),
        (f"{NAME}{LEAF}\n{NAME}\n", 3, "the file ends before the derivation of wsj_0001.1"),
        (f"{NAME}(<T NP 0 1> {LEAF}", 2, "the derivation ends with 1 brackets open"),
        (f"{NAME}{LEAF} )", 2, "the derivation closes more brackets than it opens"),
        (f"{NAME}{LEAF} {LEAF} ) (", 2, "the derivation closes more brackets than it opens"),
        (f"{NAME}(<T NP 0 1> (<L N NN dog N>) )", 2, "the derivation contains '<LNNNdogN>'"),
        (f"{NAME}{LEAF} {LEAF}", 2, "the derivation closes more brackets than it opens"),
        (f"{NAME}(<T NP 0 1> {LEAF} ) {LEAF}", 2, "the derivation closes more brackets"),
        (f"{NAME}(<T NP 0 1> )", 2, "the derivation has no words"),
    ],
)
def test_malformed_files_name_file_line_and_problem(write, text, line, problem):
    with pytest.raises(ValueError, match="P152") as err:
        list(read_ccgbank(write(text)))
    assert f"wsj_0001.auto, line {line}: {problem}" in str(err.value)


def test_files_without_sentences_are_errors(write):
    with pytest.raises(ValueError, match="P158"):
        list(read_ccgbank(write("\n")))


def test_unknown_tags_are_errors():
    with pytest.raises(ValueError, match=r"P210.*'tag': 'xpos'.*supertag, pos"):
        next(read_ccgbank(SAMPLE, tag="xpos"))


def test_frequent_categories_are_sorted_by_frequency():
    sentences = [Sentence(["w"] * 6, tags=["B", "C", "A", "C", "D", ""]), Sentence(["w"], ["B"])]
    assert frequent_categories(sentences, 1) == ["B", "C", "A", "D"]
    assert frequent_categories(iter(sentences), 2) == ["B", "C"]
    assert frequent_categories(sentences) == []


@pytest.mark.parametrize(
    "options,tags",
    [
        ({}, ["A", "B", "C", "D"]),
        ({"min_count": 1}, ["A", "B", "C", ""]),
        ({"min_count": 2}, ["A", "B", "", ""]),
        ({"min_count": 3, "rest": "UNK"}, ["A", "UNK", "UNK", "UNK"]),
        ({"min_count": "2", "rest": "UNK"}, ["A", "B", "UNK", "UNK"]),
    ],
)
def test_frequencies_are_those_of_the_training_sections(treebank, options, tags):
    (sentence,) = read_ccgbank(treebank, split="test", **options)
    assert sentence.tags == tags


def test_a_min_count_needs_the_training_sections(treebank):
    with pytest.raises(ValueError, match=r"P156.*'min_count' selects"):
        list(read_ccgbank(SAMPLE, min_count=10))
    with pytest.raises(ValueError, match=r"P154.*02, 03.*of sections 23"):
        list(read_ccgbank(treebank / "AUTO" / "23", min_count=10))


def test_rare_categories_are_not_annotated_on_docs(treebank):
    doc = make_doc(Vocab(), list(read_ccgbank(treebank, split="test", min_count=2)))
    assert [token.tag_ for token in doc] == ["A", "B", "", ""]


def test_the_format_is_known_by_the_ending():
    assert detect(SAMPLE).form.name == "ccgbank"
