import gzip
import os
import shutil
from pathlib import Path

import pytest
from spacy.vocab import Vocab

from spacy_psa.corpora.detection import detect
from spacy_psa.corpora.docs import make_docs
from spacy_psa.corpora.formats import FORMATS
from spacy_psa.corpora.ptb import read_ptb

SAMPLES = Path(__file__).parent / "samples"
POS = [
    "A/DT Lighthouse/NNP Keeper/NNP 's/POS Notes/NNS",
    "The/DT old/JJ lamp/NN burned/VBD 1\\/2/CD gallon/NN of/IN oil/NN ,/, which/WDT nobody/NN "
    "had/VBD paid/VBN for/IN ./.",
    "``/`` Leave/VB it/PRP burning/VBG !/. ''/''",
    "The/DT keeper/NN (/( then/RB aged/VBN 30/CD days/NNS ./. 9/CD and/CC counting/VBG )/) "
    "shut/VBD the/DT AC\\/DC/NNP door/NN ./.",
    "(/( Few/JJ did/VBD ./. )/)",
    "What/WP followed/VBD ?/.",
]
MRG = [
    *POS[:3],
    "The/DT keeper/NN -LRB-/-LRB- 30/CD -RRB-/-RRB- said/VBD the/DT door/NN up/RP cost/VBD $/$ "
    "0/CD star/NN \\*/SYM ./.",
    "No/RB ./.",
]
PRD = ["The old lamp burned 1\\/2 gallon nobody saw .", "Say it cost $ 0 \\* stars . ''"]


@pytest.fixture
def write(tmp_path):
    def write(text, name="wsj_0001.pos"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write


def show(sentences):
    return [" ".join(map("/".join, zip(s.words, s.tags, strict=True))) for s in sentences]


def pos(write, text):
    return show(read_ptb(write(text)))


def test_tagged_files():
    assert show(read_ptb(SAMPLES / "wsj_0101.pos")) == POS


def test_trees():
    assert show(read_ptb(SAMPLES / "wsj_0101.mrg")) == MRG


def test_trees_without_tags():
    sentences = list(read_ptb(SAMPLES / "wsj_0101.prd"))
    assert [" ".join(sentence.words) for sentence in sentences] == PRD
    assert [sentence.tags for sentence in sentences] == [None, None]


@pytest.mark.parametrize("kind", ["pos", "mrg", "prd"])
def test_a_file_is_a_document(kind):
    sentences = list(read_ptb(SAMPLES / f"wsj_0101.{kind}"))
    assert [s.starts_document for s in sentences] == [True] + [False] * (len(sentences) - 1)
    assert {s.document for s in sentences} == {"wsj_0101"}
    assert all(s.ents is None and s.chunks is None and s.frames is None for s in sentences)


def test_lines_are_those_of_the_first_words():
    assert [s.line for s in read_ptb(SAMPLES / "wsj_0101.mrg")] == [3, 6, 23, 31, 43]
    assert [s.line for s in read_ptb(SAMPLES / "wsj_0101.pos")][:3] == [8, 12, 21]


def test_unescaped_words_are_those_of_the_text():
    words = [word for s in read_ptb(SAMPLES / "wsj_0101.mrg", unescape=True) for word in s.words]
    assert {"1/2", "(", ")", "*"} < set(words)
    assert not {"1\\/2", "-LRB-", "-RRB-", "\\*"} & set(words)


def test_unescaping_leaves_tags_and_other_words_alone():
    plain = list(read_ptb(SAMPLES / "wsj_0101.mrg"))
    unescaped = list(read_ptb(SAMPLES / "wsj_0101.mrg", unescape=True))
    assert [s.tags for s in plain] == [s.tags for s in unescaped]
    assert plain[0].words == unescaped[0].words


@pytest.mark.parametrize(
    "text,expected",
    [
        ("a/DT b/NN\n./. \n\nc/NN\n", ["a/DT b/NN ./.", "c/NN"]),
        ("a/DT \n\nb/NN ./.\n", ["a/DT b/NN ./."]),
        ("a/DT ./. b/NN ./.\n", ["a/DT ./. b/NN ./."]),
        ("a/DT ./. \nb/NN ./.\n", ["a/DT ./. b/NN ./."]),
        ("a/DT :/: \n\nb/NN ./.\n", ["a/DT :/: b/NN ./."]),
        ("a/DT :/: \n\n\nb/NN ./.\n", ["a/DT :/:", "b/NN ./."]),
        ("a/DT\n=====\nb/NN ./.\n", ["a/DT", "b/NN ./."]),
        ("a/DT ./. \n\n''/'' b/NN ./.\n", ["a/DT ./. ''/''", "b/NN ./."]),
        ("a/DT ./. \n\n''/'' \n[ b/NN ]\n./.\n", ["a/DT ./. ''/''", "b/NN ./."]),
        ("a/DT ./. \n\n''/'' )/) \n\n``/`` b/NN\n", ["a/DT ./. ''/'' )/)", "``/`` b/NN"]),
        ("a/DT ./. \n\n\n''/'' b/NN ./.\n", ["a/DT ./.", "''/'' b/NN ./."]),
        ("a/DT !/. \n\n[ b/NN ]\n?/. \n\nc/NN\n", ["a/DT !/.", "b/NN ?/.", "c/NN"]),
        ("\n\n\n\na/DT\r\n./. \r\n\r\nb/NN", ["a/DT ./.", "b/NN"]),
    ],
)
def test_ends_of_sentences_in_tagged_files(write, text, expected):
    assert pos(write, text) == expected


@pytest.mark.parametrize(
    "token,word,tag",
    [
        ("1\\/2/CD", "1\\/2", "CD"),
        ("and/or/CC", "and/or", "CC"),
        ("//:", "/", ":"),
        ("\\//SYM", "\\/", "SYM"),
        ("a\\|b/NN|JJ", "a\\|b", "NN"),
        ("5050/NNP/CD", "5050", "CD"),
        ("=/SYM", "=", "SYM"),
        ("(/(", "(", "("),
    ],
)
def test_tagged_words(write, token, word, tag):
    (sentence,) = read_ptb(write(f"[ {token} ]\n"))
    assert (sentence.words, sentence.tags) == ([word], [tag])


@pytest.mark.parametrize("token", ["dog", "dog/", "/NN", "1\\/2"])
def test_words_without_a_tag_are_errors(write, token):
    with pytest.raises(ValueError) as err:
        list(read_ptb(write(f"a/DT\n\n[ {token} ]\n")))
    assert "P151" in str(err.value)
    assert f"wsj_0001.pos, line 3: '{token}' is not a word with a tag" in str(err.value)


def test_broken_trees_are_errors_after_the_trees_before(write):
    sentences = read_ptb(write("( (NN a) )\n( (NN b)\n", "wsj_0001.mrg"))
    assert next(sentences).words == ["a"]
    with pytest.raises(ValueError, match=r"P150.*wsj_0001\.mrg, line 2: .* not closed"):
        next(sentences)


@pytest.mark.parametrize("name", ["wsj_0001.mrg", "wsj_0001.pos", "wsj_0001.mrg.gz"])
def test_files_without_sentences_are_errors(write, name):
    with pytest.raises(ValueError, match=r"P158.*has no sentences"):
        list(read_ptb(write("\n\n", name)))


def test_gzip_reads_the_same(write):
    text = (SAMPLES / "wsj_0101.mrg").read_text()
    assert show(read_ptb(write(text, "wsj_0101.mrg.gz"))) == MRG


def test_a_name_that_is_not_utf8_names_a_document(tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9.mrg")
    try:
        shutil.copy(SAMPLES / "wsj_0101.mrg", path)
    except OSError:
        pytest.skip("the system requires names in UTF-8")
    doc = next(make_docs(Vocab(), read_ptb(path)))
    assert doc.spans["document"][0].label_ == "caf\ufffd"


def test_kind_tells_what_the_name_does_not(write):
    path = write("( (NN a) )", "trees.txt")
    assert [s.words for s in read_ptb(path, kind="mrg")] == [["a"]]
    with pytest.raises(ValueError, match=r"P210.*mrg, pos or prd, since the name of .*trees\.txt"):
        list(read_ptb(path))


def test_an_unknown_kind_is_an_error(write):
    with pytest.raises(ValueError, match=r"P210.*'kind': 'raw'"):
        list(read_ptb(write("a/DT"), kind="raw"))


def test_a_folder_is_read_by_sections_in_order(write, tmp_path):
    for section in (1, 0, 22, 19):
        for number in (1, 0):
            name = f"wsj_{section:02}{number:02}"
            write(f"( (NN {name}) )", f"mrg/wsj/{section:02}/{name}.mrg")
    assert [s.words[0] for s in read_ptb(tmp_path, sections="0-1")] == [
        "wsj_0000",
        "wsj_0001",
        "wsj_0100",
        "wsj_0101",
    ]
    assert [s.document for s in read_ptb(tmp_path)][-2:] == ["wsj_2200", "wsj_2201"]


def test_trees_are_preferred_over_tagged_files_and_those_over_bare_trees(tmp_path):
    for kind in ("prd", "pos", "mrg"):
        (tmp_path / kind / "01").mkdir(parents=True)
        shutil.copy(SAMPLES / f"wsj_0101.{kind}", tmp_path / kind / "01")
    assert show(read_ptb(tmp_path)) == MRG
    assert show(read_ptb(tmp_path, kind="pos", sections=1)) == POS


def test_the_format_is_known_by_the_endings():
    for kind in ("pos", "mrg", "prd"):
        assert detect(SAMPLES / f"wsj_0101.{kind}").form.name == "ptb"
    assert show(FORMATS["ptb"].read(SAMPLES / "wsj_0101.pos")) == POS
