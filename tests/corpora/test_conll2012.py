import gzip

import pytest
import spacy
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from spacy_psa.annotation.propositions import Frame, get_frames
from spacy_psa.corpora.conll2012 import read_conll2012
from spacy_psa.corpora.docs import make_docs
from spacy_psa.corpora.problems import Problems
from spacy_psa.corpora.treebank_readers import create_conll2012_reader

DOC = "bc/cctv/00/cctv_0000"
TEXT = f"""\
#begin document ({DOC}); part 000
{DOC}   0   0    In      IN   (TOP(S(PP*   -      -   -  Speaker#1  *        (ARGM-TMP*  -
{DOC}   0   1    May     NNP        (NP*))  -      -   -  Speaker#1  (DATE)           *)  (12)
{DOC}   0   2    Hong    NNP         (NP*   -      -   -  Speaker#1  (GPE*        (ARG1*  (3
{DOC}   0   3    Kong    NNP            *)  -      -   -  Speaker#1  *)               *)  3)
{DOC}   0   4    grew    VBD         (VP*)  grow   01  1  Speaker#1  *              (V*)  -
{DOC}   0   5    /.      .             *))  -      -   -  Speaker#1  *                *  -

{DOC}   0   0   Time    NN   (TOP(NP*))  time  -  2   -   *   -

#end document
#begin document ({DOC}); part 001
{DOC}   1   0   -LRB-   -LRB-   *   -  -  -   -   *   -

#end document
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "cctv_0000.v4_gold_conll"
    path.write_text(TEXT, encoding="utf8")
    return path


def test_all_layers_are_read(path):
    first, second, third = read_conll2012(path)
    assert first.words == ["In", "May", "Hong", "Kong", "grew", "/."]
    assert first.tags == ["IN", "NNP", "NNP", "NNP", "VBD", "."]
    assert first.ents == [(1, 2, "DATE"), (2, 4, "GPE")]
    assert first.lemmas == ["", "", "", "", "grow", ""]
    assert first.speakers == "Speaker#1"
    arguments = [(0, 2, "ARGM-TMP"), (2, 4, "ARG1"), (4, 5, "V")]
    assert first.frames == [Frame(4, "grow", "01", arguments)]
    assert (second.words, second.lemmas, second.frames) == (["Time"], ["time"], [])
    assert (second.ents, second.speakers, third.lemmas) == ([], None, None)


def test_each_part_is_a_document(path):
    sentences = list(read_conll2012(path))
    assert [sentence.starts_document for sentence in sentences] == [True, False, True]
    assert [sentence.document for sentence in sentences] == [
        f"{DOC}; part 000",
        f"{DOC}; part 000",
        f"{DOC}; part 001",
    ]
    assert [sentence.line for sentence in sentences] == [2, 9, 13]


def test_without_marks_the_columns_name_the_document(tmp_path):
    path = tmp_path / "a.gold_conll"
    rows = [f"{name} 0 x XX * - - - - * -\n\n" for name in ("a/b 3", "a/b 3", "a/b 4", "- 0")]
    path.write_text("".join(rows), encoding="utf8")
    sentences = list(read_conll2012(path))
    names = ["a/b; part 003", "a/b; part 003", "a/b; part 004", None]
    assert [sentence.document for sentence in sentences] == names
    assert [sentence.starts_document for sentence in sentences] == [True, False, True, False]


def test_words_can_be_unescaped(path):
    sentences = list(read_conll2012(path, unescape=True))
    assert (sentences[0].words[-1], sentences[2].words) == (".", ["("])


def test_compressed_files_give_the_same(tmp_path, path):
    packed = tmp_path / "a.gold_conll.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert list(read_conll2012(packed)) == list(read_conll2012(path))


def test_a_skeleton_is_an_error_that_says_how_to_fill_it(path):
    path.write_text(TEXT.replace("Kong", "[WORD]"), encoding="utf8")
    with pytest.raises(ValueError, match=r"P161.*line 5.*skeleton2conll"):
        list(read_conll2012(path))


@pytest.mark.parametrize(
    "row,message",
    [
        ("d 0 0 x XX * - - - - * * -", "found 13 columns. Expected 12"),
        ("d 0 0 x XX * be 01 - - * -", "found 12 columns. Expected 13"),
        ("d 0 0 x XX * - - - - *", "found 11 columns. Expected 12"),
        ("d 0 0 x XX * - - - - (A*) -\nd 0 1 y XX * - - - - (A*) * -", "found 13.*Expected 12"),
        ("d 0 0 x XX * be 01 - - * (ARG0* -", r"\(ARG0\* in column proposition 1 is not closed"),
        ("d 0 0 x XX * - - - - (PERSON* -", r"\(PERSON\* in column NER is not closed"),
        ("d 0 0 x XX * - - - - PERSON -", "'PERSON' in column NER"),
        ("#begin document d", "does not name a document"),
    ],
)
def test_wrong_rows_are_errors_that_name_the_line(tmp_path, row, message):
    path = tmp_path / "a.gold_conll"
    path.write_text(f"\n{row}\n", encoding="utf8")
    with pytest.raises(ValueError, match=rf"P145.*a\.gold_conll, line [23]: .*{message}"):
        list(read_conll2012(path))


def test_lenient_reading_keeps_the_longer_of_nested_entities(tmp_path):
    path = tmp_path / "a.gold_conll"
    rows = ["d 0 0 x XX * - - - - (ORG* -", "d 0 1 y XX * - - - - (GPE)) -"]
    path.write_text("\n".join(rows) + "\n", encoding="utf8")
    problems = Problems(lenient=True)
    (sentence,) = read_conll2012(path, problems=problems)
    assert sentence.ents == [(0, 2, "ORG")]
    assert problems.counts == {"P145": 1, "P146": 1}


def test_the_reader_makes_a_doc_of_each_part(path):
    reader = create_conll2012_reader(path, n_sents=0)
    docs = [example.reference for example in reader(spacy.blank("en"))]
    assert [len(doc) for doc in docs] == [7, 1]
    assert [frame.sense for frame in get_frames(docs[0])] == ["01"]


def test_documents_and_speakers_survive_the_docbin(path):
    stored = DocBin(docs=make_docs(Vocab(), read_conll2012(path), n_sents=0)).to_bytes()
    first, second = DocBin().from_bytes(stored).get_docs(Vocab())
    assert [doc.spans["document"][0].label_ for doc in (first, second)] == [
        f"{DOC}; part 000",
        f"{DOC}; part 001",
    ]
    assert first.spans["document"].attrs["starts"] is True
    assert [span.label_ for span in first.spans["speakers"]] == ["Speaker#1"]
