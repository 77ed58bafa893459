import re
from pathlib import Path

import pytest
import spacy

from spacy_psa.corpora.ontonotes import find_documents, read_file_list, read_ontonotes
from spacy_psa.corpora.problems import Problems
from spacy_psa.corpora.treebank_readers import create_ontonotes_reader

SAMPLES = Path(__file__).parent / "samples"
ENGLISH = SAMPLES / "cctv_0009.v4_gold_conll"
CHINESE = SAMPLES / "chtb_0009.v4_gold_conll"
WORDS = [
    ["Mara", "Quill", "left", "Harbin", "/."],
    ["-LRB-", "Yes", "/?", "-RRB-"],
    ["Good", "morning"],
]
DATA = "v4/data/{}/data/{}/annotations/{}.v4_gold_conll"


def text(name):
    word = name.rpartition("/")[2]
    return (
        f"#begin document ({name}); part 000\n"
        f"{name}   0    0   {word}   NN   (TOP(NP*))   -   -   -   -   *   -\n"
        "\n#end document\n"
    )


@pytest.fixture
def make(tmp_path):
    """A function that creates small files and returns their folder."""

    def make(*paths):
        for path in paths:
            path = tmp_path / path
            name = re.sub(r"[._](v\d_)?gold_.*", "", str(path).rpartition("annotations/")[2])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text(name), encoding="utf8")
        return tmp_path

    return make


@pytest.fixture
def task(make):
    """The folders of the shared task, with some documents."""
    return make(
        DATA.format("train", "english", "nw/wsj/00/wsj_0002"),
        DATA.format("train", "english", "nw/wsj/00/wsj_0001"),
        DATA.format("train", "english", "bn/cnn/01/cnn_0101"),
        DATA.format("train", "english", "pt/nt/40/nt_4001"),
        DATA.format("development", "english", "wb/dev_09_c2e/00/dev_09_c2e_0000"),
        DATA.format("test", "english", "tc/ch/00/ch_0009"),
        DATA.format("train", "chinese", "nw/xinhua/00/chtb_0001"),
    )


def names(root, **options):
    return [sentence.words[0] for sentence in read_ontonotes(root, **options)]


def test_words_tags_entities_and_speakers():
    sentences = list(read_ontonotes(ENGLISH))
    assert [s.words for s in sentences] == WORDS
    assert sentences[0].tags == ["NNP", "NNP", "VBD", "NNP", "."]
    assert [s.ents for s in sentences] == [
        [(0, 2, "PERSON"), (3, 4, "GPE")],
        [],
        [(0, 2, "TIME")],
    ]
    assert [s.speakers for s in sentences] == ["guest_one", "guest_two", "guest_one"]
    assert [s.starts_document for s in sentences] == [True, False, True]


def test_frames_are_those_of_the_columns():
    frames = [s.frames for s in read_ontonotes(ENGLISH)]
    assert [(f.predicate, f.lemma, f.sense, f.arguments) for f in frames[0]] == [
        (2, "leave", "01", [(0, 2, "ARG0"), (2, 3, "V"), (3, 4, "ARG1")])
    ]
    assert frames[1:] == [[], []]


def test_chinese():
    (sentence,) = read_ontonotes(CHINESE)
    assert sentence.words == ["灯塔", "亮", "。"]
    assert sentence.tags == ["NN", "VA", "PU"]
    assert sentence.ents == [(0, 1, "FAC")]


def test_unescaped_words_are_those_of_the_transcript():
    assert [s.words for s in read_ontonotes(ENGLISH, unescape=True)] == [
        ["Mara", "Quill", "left", "Harbin", "."],
        ["(", "Yes", "?", ")"],
        ["Good", "morning"],
    ]


@pytest.mark.parametrize(
    "split,expected",
    [
        ("train", ["cnn_0101", "wsj_0001", "wsj_0002"]),
        ("dev", ["dev_09_c2e_0000"]),
        ("test", ["ch_0009"]),
        (None, ["cnn_0101", "wsj_0001", "wsj_0002", "ch_0009", "dev_09_c2e_0000"]),
    ],
)
def test_splits_are_folders_in_the_order_of_documents(task, split, expected):
    assert names(task, split=split, language="english") == expected


def test_sources_with_the_name_of_a_split_are_no_splits(make):
    root = make(
        DATA.format("train", "english", "wb/dev/00/dev_0001"),
        DATA.format("development", "english", "wb/train/00/train_0001"),
    )
    assert names(root, split="train") == ["dev_0001"]


def test_the_root_may_be_anywhere_above_the_files(task):
    annotations = task / "v4/data/train/data/english/annotations"
    assert names(annotations) == ["cnn_0101", "wsj_0001", "wsj_0002"]
    assert names(annotations / "nw" / "wsj") == ["wsj_0001", "wsj_0002"]
    assert names(annotations / "pt", exclude_genres=()) == ["nt_4001"]
    assert names(task / "v4/data", split="dev") == ["dev_09_c2e_0000"]


@pytest.mark.parametrize(
    "options,expected",
    [
        ({"exclude_genres": ()}, ["cnn_0101", "wsj_0001", "wsj_0002", "nt_4001"]),
        ({"exclude_genres": ""}, ["cnn_0101", "wsj_0001", "wsj_0002", "nt_4001"]),
        ({"exclude_genres": "pt, nw"}, ["cnn_0101"]),
        ({"exclude_genres": ["nw", "bn"]}, ["nt_4001"]),
        ({"genres": "bn"}, ["cnn_0101"]),
        ({"genres": ["bn", "nw"], "exclude_genres": ["nw"]}, ["cnn_0101"]),
    ],
)
def test_genres(task, options, expected):
    assert names(task, split="train", language="english", **options) == expected


def test_genres_within_a_single_file(tmp_path):
    path = tmp_path / "train.english.v4_gold_conll"
    path.write_text(text("pt/nt/40/nt_4001") + text("nw/wsj/00/wsj_0001"), encoding="utf8")
    assert names(path) == ["wsj_0001"]
    assert names(path, exclude_genres=()) == ["nt_4001", "wsj_0001"]


def test_genres_within_several_files_of_a_folder(tmp_path):
    path = tmp_path / "train.english.v4_gold_conll"
    path.write_text(text("pt/nt/40/nt_4001") + text("nw/wsj/00/wsj_0001"), encoding="utf8")
    (tmp_path / "dev.english.v4_gold_conll").write_text(text("nw/wsj/00/wsj_0002"), "utf8")
    problems = Problems()
    assert names(tmp_path, problems=problems) == ["wsj_0002", "wsj_0001"]
    assert problems.notes == {
        "documents of other genres, or not listed, left out (the first pt/nt/40/nt_4001)": 1
    }


def test_names_of_documents_come_from_the_files_if_the_folders_do_not_tell(tmp_path):
    for name in ("pt/nt/40/nt_4001", "nw/wsj/00/wsj_0001", "bn/cnn/00/cnn_0001"):
        path = tmp_path / f"{name.rpartition('/')[2]}.gold_conll"
        path.write_text(text(name), encoding="utf8")
    found = [document.name for document in find_documents(tmp_path)]
    assert found == ["bn/cnn/00/cnn_0001", "nw/wsj/00/wsj_0001", "pt/nt/40/nt_4001"]
    assert names(tmp_path) == ["cnn_0001", "wsj_0001"]
    assert names(tmp_path, genres="nw") == ["wsj_0001"]


def test_the_language_must_be_known(task):
    assert names(task, language="chinese") == ["chtb_0001"]
    with pytest.raises(ValueError, match=r"P210.*'language': None.*one of: chinese, english"):
        names(task, split="train")
    with pytest.raises(ValueError, match=r"P210.*'language': 'latin'.*english, chinese, arabic"):
        names(task, language="latin")


def test_the_smaller_of_two_test_sets_is_the_official_one(make):
    root = make(
        "test/data/english/annotations/nw/wsj/23/wsj_2301.gold_conll",
        "test/data/english/annotations/nw/wsj/23/wsj_2302.gold_conll",
        "conll-2012-test/data/english/annotations/nw/wsj/23/wsj_2302.gold_conll",
    )
    assert names(root, split="test") == ["wsj_2302"]


def test_of_several_versions_the_first_is_read(make):
    root = make(
        DATA.format("test", "english", "nw/wsj/23/wsj_2301").replace("v4", "v9"),
        DATA.format("test", "english", "nw/wsj/23/wsj_2301"),
    )
    (document,) = find_documents(root)
    assert document.path.name == "wsj_2301.v4_gold_conll"


@pytest.mark.parametrize(
    "name", ["gold_conll", "v4_gold_conll", "v9_gold_conll", "v4_gold_conll.gz"]
)
def test_endings_of_files(make, name):
    (document,) = find_documents(make(f"english/annotations/nw/wsj/00/wsj_0001.{name}"))
    assert (document.name, document.language) == ("nw/wsj/00/wsj_0001", "english")


def test_underscores_before_the_ending(make):
    (document,) = find_documents(make("english/annotations/nw/wsj/00/wsj_0001_v9_gold_conll"))
    assert document.name == "nw/wsj/00/wsj_0001"


def test_files_of_other_kinds_are_left_out(make):
    root = make(
        "english/annotations/nw/wsj/00/wsj_0001.v4_auto_conll",
        "english/annotations/nw/wsj/00/wsj_0001.parse",
        "english/annotations/nw/wsj/00/wsj_0002.v4_gold_conll",
    )
    assert [document.name for document in find_documents(root)] == ["nw/wsj/00/wsj_0002"]


def test_a_list_chooses_documents(task, tmp_path):
    path = tmp_path / "train.id"
    path.write_text(
        "nw/wsj/00/wsj_0002\n\ndata/english/annotations/bn/cnn/01/cnn_0101.v4_gold_conll\n",
        encoding="utf8",
    )
    assert read_file_list(path) == {"nw/wsj/00/wsj_0002", "bn/cnn/01/cnn_0101"}
    assert names(task, language="english", file_list=path) == ["cnn_0101", "wsj_0002"]


DOTTED = "nw/p2.5_a2e/00/p2.5_a2e_0001"


@pytest.mark.parametrize(
    "ending", [".gold_conll", ".v4_gold_conll", "_gold_conll", ".gold_conll.gz"]
)
def test_names_of_documents_can_have_dots(make, ending):
    root = make(f"train/data/english/annotations/{DOTTED}{ending}")
    (document,) = find_documents(root, split="train")
    assert document.name == DOTTED
    assert names(root, genres="nw") == ["p2.5_a2e_0001"]


@pytest.mark.parametrize("ending", ["", ".onf", ".v4_gold_conll", ".v4_auto_conll.gz"])
def test_lists_and_genres_know_documents_with_dots(make, tmp_path, ending):
    path = tmp_path / "train.id"
    path.write_text(f"data/english/annotations/{DOTTED}{ending}\n", encoding="utf8")
    root = make(DATA.format("train", "english", DOTTED))
    assert names(root, file_list=path) == ["p2.5_a2e_0001"]
    with pytest.raises(ValueError, match="P158"):
        names(root, exclude_genres="nw")


def test_genres_and_lists_choose_documents_with_dots_in_a_file(tmp_path):
    path, listed = tmp_path / "all.gold_conll", tmp_path / "train.id"
    path.write_text(text(DOTTED) + text("bn/cnn/00/cnn_0001"), encoding="utf8")
    listed.write_text("bn/cnn/00/cnn_0001\n", encoding="utf8")
    assert names(path, exclude_genres="nw") == names(path, file_list=listed) == ["cnn_0001"]


def test_files_that_are_not_read_are_counted_and_named(make):
    root = make(
        DATA.format("train", "english", DOTTED),
        DATA.format("train", "english", DOTTED).replace("v4_", "v9_"),
        DATA.format("train", "english", "pt/nt/40/nt_4001"),
        "v4/data/train/README",
        "v4/data/train/a.parse",
        "v4/data/train/b.parse",
        "v4/data/train/.hidden",
    )
    problems = Problems()
    assert names(root, problems=problems) == ["p2.5_a2e_0001"]
    documents, others = problems.notes
    assert problems.notes[documents] == 2 and problems.notes[others] == 3
    assert "p2.5_a2e_0001.v9_gold_conll" in documents and "nt_4001" in documents
    assert "README" in others and "a.parse" in others


def test_listed_documents_that_are_missing_are_named(task, tmp_path):
    path = tmp_path / "train.id"
    path.write_text("nw/wsj/00/wsj_0002\nnw/wsj/00/wsj_0007\nmz/x/00/x_1\n", encoding="utf8")
    with pytest.raises(ValueError) as err:
        names(task, language="english", file_list=path)
    assert "[P159] 2 of the 3 documents listed in" in str(err.value)
    assert "e.g. mz/x/00/x_1, nw/wsj/00/wsj_0007. Give" in str(err.value)


def test_lists_of_something_else_are_errors(tmp_path):
    path = tmp_path / "train.id"
    path.write_text("nw/wsj/00/wsj_0002\nwsj_0003\n", encoding="utf8")
    with pytest.raises(ValueError, match=r"P145.*train\.id, line 2: 'wsj_0003' is not the name"):
        read_file_list(path)


def test_an_unknown_split_is_an_error(task):
    with pytest.raises(ValueError, match=r"P210.*'split': 'eval'.*train, dev, test"):
        names(task, split="eval")


def test_a_split_of_a_single_file_is_an_error():
    with pytest.raises(ValueError, match=r"P156.*'split' selects"):
        names(ENGLISH, split="train")


def test_missing_folders_tell_what_to_do_in_a_sentence(tmp_path):
    root = tmp_path / "nowhere"
    with pytest.raises(ValueError) as err:
        names(root, split="dev", language="chinese")
    assert str(err.value) == (
        f"[P153] There are no _gold_conll files in {root} (the folder does not exist). Unpack the "
        "CoNLL-2012 files of OntoNotes 5.0 (LDC2013T19) and give the folder, which has files such "
        "as development/data/chinese/annotations/nw/wsj/00/wsj_0001.v4_gold_conll."
    )


def test_files_without_words_tell_how_to_get_them(make):
    root = make("train/data/english/annotations/nw/wsj/00/wsj_0001.v4_gold_skel")
    with pytest.raises(ValueError, match=r"P153.*\*_gold_skel files.*skeleton2conll\.sh"):
        names(root)


def test_nothing_but_excluded_genres_is_an_error(make):
    root = make(DATA.format("train", "english", "pt/nt/40/nt_4001"))
    with pytest.raises(ValueError, match=r"P158.*has no sentences.*not excluded"):
        names(root)


def test_problems_in_a_file_name_it(tmp_path):
    path = tmp_path / "wsj_0001.v4_gold_conll"
    path.write_text(ENGLISH.read_text("utf8").replace("(GPE)", "GPE)"), encoding="utf8")
    with pytest.raises(ValueError, match=r"wsj_0001\.v4_gold_conll, line 5"):
        names(path)


def test_docs_of_the_corpus_reader():
    nlp = spacy.blank("en")
    docs = [eg.reference for eg in create_ontonotes_reader(ENGLISH, n_sents=0)(nlp)]
    assert [[sent.text for sent in doc.sents] for doc in docs] == [
        ["Mara Quill left Harbin /.", "-LRB- Yes /? -RRB-"],
        ["Good morning"],
    ]
    assert [[(ent.text, ent.label_) for ent in doc.ents] for doc in docs] == [
        [("Mara Quill", "PERSON"), ("Harbin", "GPE")],
        [("Good morning", "TIME")],
    ]
