import gzip
import re

import pytest
import spacy

from spacy_psa.annotation.propositions import Frame, get_frames
from spacy_psa.corpora.conll2005 import find_pairs, read_conll2005
from spacy_psa.corpora.conll2012 import read_conll2012
from spacy_psa.corpora.problems import Problems
from spacy_psa.corpora.treebank_readers import create_conll2005_reader

from ..documentation import ROOT
from .shared import shared_corpus

WORDS = "He\nkept\nit\nup\n,\nwhich\nhurts\n\nStop\n!\n"
PROPS = """\
-     (A0*)   *
keep  (V*)    *
-     (A1*)   *
-     (C-V*)  *
-     *       *
-     *       (R-A0*)
hurt  (AM-ADV*)  (V*)

-
-
"""
FRAMES = [
    Frame(
        1,
        "keep",
        None,
        [(0, 1, "A0"), (1, 2, "V"), (2, 3, "A1"), (3, 4, "C-V"), (6, 7, "AM-ADV")],
    ),
    Frame(6, "hurt", None, [(5, 6, "R-A0"), (6, 7, "V")]),
]
# Word, named entity, part of speech, chunk, clause, parse, sense, target, propositions.
ALL_LAYERS = """\
Ann    (PER*  NNP  (NP*)  (S*  (S(NP*  -   -     (A0*)
Lee    *)     NNP  *      *    *)      -   -     *
sleeps *      VBZ  (VP*)  *S)  (VP*))  01  sleep (V*)

Yes    *      UH   *      *    *       -   -
"""


def write_pair(folder, words=WORDS, props=PROPS, name="train"):
    (folder / f"{name}.words").write_text(words, encoding="utf8")
    (folder / f"{name}.props").write_text(props, encoding="utf8")
    return folder / f"{name}.words"


def to_propbank(label):
    """Convert a CoNLL-2005 label to OntoNotes: A0 to ARG0, AM-TMP to ARGM-TMP, AA to ARGA."""
    return re.sub(r"^((?:[CR]-)?)A(?=[0-9AM])", r"\1ARG", label)


def test_words_and_frames_are_read(tmp_path):
    first, second = read_conll2005(write_pair(tmp_path))
    assert first.words == ["He", "kept", "it", "up", ",", "which", "hurts"]
    assert first.frames == FRAMES
    assert (second.words, second.frames, second.line) == (["Stop", "!"], [], 9)
    assert (first.tags, first.ents, first.lemmas) == (None, None, None)


def test_columns_after_the_words_are_counted(tmp_path):
    words = "\n".join(f"{line} X" if line else "" for line in WORDS.split("\n"))
    problems = Problems()
    list(read_conll2005(write_pair(tmp_path, words), problems=problems))
    assert list(problems.notes.values()) == [2] and "after the words" in next(iter(problems.notes))


def test_columns_of_other_verbs_are_counted(tmp_path):
    swapped = "".join(
        "\t".join([cells[0], *cells[:0:-1]]) + "\n" if cells else "\n"
        for cells in map(str.split, PROPS.splitlines())
    )
    problems = Problems()
    list(read_conll2005(write_pair(tmp_path, props=swapped), problems=problems))
    (note,) = problems.notes
    assert problems.notes[note] == 2 and "elsewhere than their target" in note and "line 2" in note
    problems = Problems()
    list(read_conll2005(write_pair(tmp_path), problems=problems))
    assert not problems.notes


@pytest.mark.parametrize("name", ["train", "train.words", "train.props", "."])
def test_a_pair_is_found_by_any_of_its_names(tmp_path, name):
    write_pair(tmp_path)
    assert [sentence.frames for sentence in read_conll2005(tmp_path / name)] == [FRAMES, []]


@pytest.mark.parametrize("name", ["words/test.wsj.words.gz", "props/test.wsj.props.gz", "test.wsj"])
def test_the_layout_of_the_release_is_read(tmp_path, name):
    for layer, text in (("words", WORDS), ("props", PROPS)):
        (tmp_path / layer).mkdir()
        packed = gzip.compress(text.encode())
        (tmp_path / layer / f"test.wsj.{layer}.gz").write_bytes(packed)
    assert [sentence.frames for sentence in read_conll2005(tmp_path / name)] == [FRAMES, []]


def test_a_folder_is_read_in_the_order_of_names(tmp_path):
    (tmp_path / "words").mkdir()
    (tmp_path / "props").mkdir()
    for name in ("train.03", "train.02"):
        (tmp_path / "words" / f"{name}.words").write_text(f"{name}\n", encoding="utf8")
        (tmp_path / "props" / f"{name}.props").write_text("-\n", encoding="utf8")
    assert [s.words for s in read_conll2005(tmp_path)] == [["train.02"], ["train.03"]]
    assert len(find_pairs(tmp_path)) == 2


def test_hidden_files_are_left_out(tmp_path):
    write_pair(tmp_path)
    for name in ("._train.words", "._train.props"):  # of macOS
        (tmp_path / name).write_bytes(b"\0\5\x16\7")
    assert find_pairs(tmp_path) == [(tmp_path / "train.words", tmp_path / "train.props")]


def test_a_folder_without_pairs_is_an_error(tmp_path):
    (tmp_path / "notes.txt").write_text("x\n", encoding="utf8")
    with pytest.raises(ValueError, match=r"P110.*notes\.txt"):
        list(read_conll2005(tmp_path))


@pytest.mark.parametrize("missing,left", [("props", "words"), ("words", "props")])
def test_a_missing_partner_is_an_error(tmp_path, missing, left):
    write_pair(tmp_path)
    (tmp_path / f"train.{missing}").unlink()
    with pytest.raises(ValueError, match=rf"P160.*no {missing} file.*train\.{missing}"):
        list(read_conll2005(tmp_path / f"train.{left}"))


def test_words_that_do_not_exist_are_missed_before_their_propositions(tmp_path):
    with pytest.raises(ValueError, match=r"P109.*train\.words"):
        list(read_conll2005(tmp_path / "train.words"))


def test_names_without_a_counterpart_are_an_error(tmp_path):
    (tmp_path / "train.words.txt").write_text("Ann\n", encoding="utf8")
    with pytest.raises(ValueError, match=r"P160.*no props file.*train\.words and train\.props"):
        list(read_conll2005(tmp_path / "train.words.txt"))


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="P109"):
        list(read_conll2005(tmp_path / "nothing"))


@pytest.mark.parametrize(
    "props,message",
    [
        ("-  (A0*\nkeep  (V*)\n", r"line 2: '\(V\*\)' .* opens a span inside \(A0\*"),
        ("-  (A0*\nkeep  *\n", r"line 1: \(A0\* .* is not closed by the end"),
        ("-  *)\nkeep  (V*)\n", r"line 1: '\*\)' .* closes a span, but none is open"),
        ("-  A0*\nkeep  (V*)\n", r"line 1: 'A0\*' in column proposition 1"),
        ("-  (A0*)\nkeep  (V*)  *\n", r"line 2: found 3 columns. Expected 2"),
        ("-  (A0*)  *\nkeep  (V*)  *\n", r"line 1: found 3 columns. Expected 2"),
        ("-\nkeep\n", r"line 1: found 1 columns. Expected 2"),
    ],
)
def test_wrong_propositions_are_errors_that_name_the_line(tmp_path, props, message):
    write_pair(tmp_path, "He\nkept\n", props)
    with pytest.raises(ValueError, match=rf"P145.*train\.props, {message}"):
        list(read_conll2005(tmp_path / "train"))


def test_sentences_of_other_lengths_are_errors(tmp_path):
    write_pair(tmp_path, "\nHe\nsleeps\n", "-\n-\n-\n")
    message = r"train\.props, line 1: .* has 3 tokens. Expected 2, as .*train\.words .* line 2"
    with pytest.raises(ValueError, match=message):
        list(read_conll2005(tmp_path / "train"))


@pytest.mark.parametrize(
    "words,props,message",
    [
        ("a\n\nb\n", "-\n", r"train\.words, line 3: .* not in .*train\.props"),
        ("a\n", "-\n\n-\n", r"train\.props, line 3: .* not in .*train\.words"),
    ],
)
def test_missing_sentences_are_errors(tmp_path, words, props, message):
    write_pair(tmp_path, words, props)
    with pytest.raises(ValueError, match=message):
        list(read_conll2005(tmp_path / "train"))


def test_lenient_reading_counts_wrong_brackets_and_keeps_all_spans(tmp_path):
    write_pair(tmp_path, "a\nb\nc\n", "-  (A0*\nkeep  (V*)\n-  (A1*\n")
    problems = Problems(lenient=True)
    (sentence,) = read_conll2005(tmp_path / "train", problems=problems)
    assert sentence.frames[0].arguments == [(0, 3, "A0"), (1, 2, "V"), (2, 3, "A1")]
    assert problems.counts == {"P145": 4}


def test_an_argument_V_tells_predicates_without_lemma(tmp_path):
    write_pair(tmp_path, "x\n-\nrays\nhelp\n", "-  (V*  *\n-  *  *\n-  *)  *\nhelp  *  (V*)\n")
    (sentence,) = read_conll2005(tmp_path / "train")
    assert sentence.frames == [
        Frame(0, None, None, [(0, 3, "V")]),
        Frame(3, "help", None, [(3, 4, "V")]),
    ]


def test_files_with_all_layers_have_tags_and_entities_too(tmp_path):
    path = tmp_path / "train-set.gz"
    path.write_bytes(gzip.compress(ALL_LAYERS.encode()))
    first, second = read_conll2005(path)
    assert first.words == ["Ann", "Lee", "sleeps"]
    assert first.tags == ["NNP", "NNP", "VBZ"]
    assert first.ents == [(0, 2, "PER")]
    assert first.frames == [Frame(2, "sleep", None, [(0, 1, "A0"), (2, 3, "V")])]
    assert (second.words, second.frames) == (["Yes"], [])


@pytest.mark.parametrize("target_column", [None, 1])
def test_words_may_be_the_first_column_of_propositions(tmp_path, target_column):
    path = tmp_path / "train.txt"
    path.write_text("He - (A0*)\nsleeps sleep (V*)\n", encoding="utf8")
    (sentence,) = read_conll2005(path, target_column=target_column)
    assert sentence.words == ["He", "sleeps"]
    assert sentence.frames == [Frame(1, "sleep", None, [(0, 1, "A0"), (1, 2, "V")])]
    assert sentence.tags is None


def test_the_columns_in_the_documentation_are_read(tmp_path):
    page = (ROOT / "docs" / "srl.md").read_text(encoding="utf8")
    (columns,) = re.findall(r"^```\n(Mary .*?)^```$", page, flags=re.DOTALL | re.MULTILINE)
    path = tmp_path / "mine.conll"
    path.write_text(columns, encoding="utf8")
    (sentence,) = read_conll2005(path)
    assert sentence.words == ["Mary", "wanted", "to", "borrow", "a", "book", "."]
    assert sentence.frames == [
        Frame(1, "want", None, [(0, 1, "A0"), (1, 2, "V"), (2, 6, "A1")]),
        Frame(3, "borrow", None, [(0, 1, "A0"), (3, 4, "V"), (4, 6, "A1")]),
    ]


def test_arguments_may_be_in_bio(tmp_path):
    path = tmp_path / "mine.conll"
    lines = ["Yes -", "", "Ann - B-A0 B-A0", "wants want B-V O", "to - B-A1 O", "go go I-A1 I-V"]
    path.write_text("\n".join(lines), encoding="utf8")
    problems = Problems()
    _, sentence = read_conll2005(path, problems=problems)
    assert sentence.frames == [
        Frame(1, "want", None, [(0, 1, "A0"), (1, 2, "V"), (2, 4, "A1")]),
        Frame(3, "go", None, [(0, 1, "A0"), (3, 4, "V")]),
    ]
    ((note, n),) = problems.notes.items()
    assert "begin with I, not B" in note and "(the first I-V in line 6)" in note
    assert n == 1


def test_a_file_of_other_columns_is_an_error(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("He PRP B-NP\nsleeps VBZ B-VP\n", encoding="utf8")
    with pytest.raises(ValueError, match=r"P163.*line 1.*target_column"):
        list(read_conll2005(path))


def test_the_reader_puts_frames_on_docs(tmp_path):
    reader = create_conll2005_reader(write_pair(tmp_path), n_sents=2)
    (example,) = reader(spacy.blank("en"))
    assert get_frames(example.reference) == FRAMES


@pytest.mark.parametrize(
    "name,n_sentences,n_propositions",
    [
        pytest.param("train", 12542, 40479, marks=pytest.mark.nightly),
        ("dev", 1974, 4977),
        ("test", 2062, 4799),
    ],
)
def test_both_shapes_of_a_published_corpus_have_the_same_frames(name, n_sentences, n_propositions):
    folder = shared_corpus("ewt_srl")
    counts = {"sentences": 0, "propositions": 0}
    pairs = zip(
        read_conll2005(folder / f"{name}.props"),
        read_conll2012(folder / f"{name}.gold_conll"),
        strict=True,
    )
    for left, right in pairs:
        assert left.words == right.words
        mapped = [
            (f.predicate, f.lemma, [(s, e, to_propbank(label)) for s, e, label in f.arguments])
            for f in left.frames
        ]
        assert mapped == [(f.predicate, f.lemma, f.arguments) for f in right.frames]
        counts["sentences"] += 1
        counts["propositions"] += len(left.frames)
    assert counts == {"sentences": n_sentences, "propositions": n_propositions}
