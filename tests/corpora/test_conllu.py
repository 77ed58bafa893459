import gzip
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.vocab import Vocab

from spacy_psa.corpora.conllu import read_conllu
from spacy_psa.corpora.docs import make_doc
from spacy_psa.corpora.problems import Problems

from .shared import shared_corpus


def line(identifier, form, **fields):
    columns = ["_"] * 10
    columns[0], columns[1] = str(identifier), form
    names = ["ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"]
    for name, value in fields.items():
        columns[names.index(name)] = value
    return "\t".join(columns)


NO_SPACE = "SpaceAfter=No"
FRENCH = [
    "# newdoc id = d1",
    "# sent_id = s1",
    "# text = Il vient du nord.",
    line(1, "Il", LEMMA="il", UPOS="PRON", FEATS="Number=Sing|Person=3"),
    line(2, "vient", LEMMA="venir", UPOS="VERB", FEATS="Number=Sing"),
    line("3-4", "du"),
    line(3, "de", LEMMA="de", UPOS="ADP"),
    line(4, "le", LEMMA="le", UPOS="DET"),
    line(5, "nord", LEMMA="nord", UPOS="NOUN", MISC=NO_SPACE),
    line("5.1", "(vient)", LEMMA="venir", UPOS="VERB"),
    line(6, ".", LEMMA=".", UPOS="PUNCT"),
]


@pytest.fixture
def read(tmp_path):
    def read(lines, lenient=False, problems=None, **options):
        path = tmp_path / "a.conllu"
        path.write_text("\n".join(lines) + "\n\n", encoding="utf8")
        return list(read_conllu(path, problems=problems or Problems(lenient), **options))

    return read


def test_words_are_the_syntactic_words(read):
    (sentence,) = read(FRENCH)
    assert sentence.words == ["Il", "vient", "de", "le", "nord", "."]
    assert sentence.pos == ["PRON", "VERB", "ADP", "DET", "NOUN", "PUNCT"]
    assert sentence.lemmas == ["il", "venir", "de", "le", "nord", "."]


def test_names_of_sentence_and_document(read):
    first, second, third = read([*FRENCH, "", line(1, "a"), "", "# newdoc", line(1, "b")])
    assert (first.sent_id, first.document, first.starts_document) == ("s1", "d1", True)
    assert (second.sent_id, second.document, second.starts_document) == (None, "d1", False)
    assert (third.document, third.starts_document) == (None, True)
    assert [first.line, second.line, third.line] == [4, 13, 16]


def test_underscores_are_not_annotated(read):
    (sentence,) = read(FRENCH)
    assert sentence.tags is None
    (sentence,) = read([line(1, "a", XPOS="NN"), line(2, "b", UPOS="X")])
    assert (sentence.tags, sentence.pos, sentence.lemmas) == (["NN", ""], ["", "X"], None)


def test_underscore_in_feats_is_to_have_no_features(read):
    (sentence,) = read(FRENCH)
    assert sentence.morphs == ["Number=Sing|Person=3", "Number=Sing", "_", "_", "_", "_"]


def test_the_lemma_of_an_underscore_is_an_underscore(read):
    (sentence,) = read([line(1, "_", LEMMA="_"), line(2, "a", LEMMA="_")])
    assert sentence.lemmas == ["_", ""]


def test_white_space_is_that_of_the_text(read):
    lines = [
        line("1-2", "don't", MISC=NO_SPACE),
        line(1, "do"),
        line(2, "n't", MISC="SpaceAfter=Yes"),
        line(3, ",", MISC=f"A=b|{NO_SPACE}"),
        line(4, "go"),
    ]
    (sentence,) = read(lines)
    assert sentence.spaces == [False, False, False, True]
    assert make_doc(Vocab(), [sentence]).text == "don't,go "


def test_white_space_is_unknown_where_words_do_not_add_up_to_their_token(read):
    problems = Problems()
    assert read(FRENCH, problems=problems)[0].spaces is None
    assert {what.partition(",")[0]: n for what, n in problems.notes.items()} == {
        "multiword tokens": 1,
        "empty nodes": 1,
        "sentences of unknown spaces": 1,
    }


def test_white_space_can_be_left_out(read):
    assert read([line(1, "a")])[0].spaces == [True]
    assert read([line(1, "a")], spaces=False)[0].spaces is None


def test_words_may_contain_spaces(read):
    (sentence,) = read([line(1, "20 000", LEMMA="20 000")])
    assert sentence.words == sentence.lemmas == ["20 000"]


def test_variants_of_files_read_the_same(tmp_path):
    text = "\n".join([*FRENCH, "", line(1, "a")])
    expected = None
    blanks = text.replace("\n", "  \n")
    for content in (text, text + "\n\n\n", text.replace("\n", "\r\n"), "\ufeff" + text, blanks):
        path = tmp_path / "a.conllu"
        for data in (content.encode(), gzip.compress(content.encode())):
            path.write_bytes(data)
            sentences = list(read_conllu(path))
            expected = expected or sentences
            assert sentences == expected and len(sentences) == 2


@pytest.mark.parametrize(
    "lines,message",
    [
        (["1\ta\t_"], r"P145.*line 1: found 3 tab-separated columns.*Expected 10 \(ID, FORM"),
        (["1 a _ _ _ _ _ _ _ _"], r"P145.*line 1: found 1 tab-separated columns"),
        ([line(1, "a"), line(3, "b")], r"P145.*line 2: the word has the ID 3.*Expected ID 2"),
        ([line("x", "a")], r"P145.*line 1: 'x' is not an ID"),
        ([line("1-x", "a"), line(1, "a")], r"P145.*line 1: '1-x' is not an ID"),
        ([line("0.x", "a"), line(1, "a")], r"P145.*line 1: '0.x' is not an ID"),
        ([line(1, "")], r"P145.*line 1: ID or FORM is empty"),
        ([line(1, "a", UPOS="NN")], r"P145.*line 1: 'NN' in column UPOS.*universal"),
        ([line(1, "a", FEATS="Sing")], r"P145.*line 1: 'Sing' in column FEATS.*Name=Value"),
        ([line("2-3", "ab"), line(1, "a")], r"P145.*line 1: the multiword token 'ab' has.* 2-3"),
        ([line("1-3", "ab"), line(1, "a")], r"P145.*before the last word.*'ab' \(1-3\)"),
        (["# sent_id = s9", line(1, "a", UPOS="NN")], r"line 2: 'NN'.*\(sentence s9\)"),
        (["# nothing"], r"P111.*ID, FORM"),
    ],
)
def test_errors_name_file_line_and_what_was_expected(read, lines, message):
    with pytest.raises(ValueError, match=message) as err:
        read(lines)
    assert "a.conllu" in str(err.value)


@pytest.mark.parametrize(
    "lines",
    [
        [line(1, "a", UPOS="NN"), line(2, "b")],
        [line(1, "a", FEATS="Sing"), line(2, "b")],
        [line(1, "a"), line(5, "b")],
        [line(1, "a"), "2\tb\tc"],
        [line("2-3", "ab"), line(1, "a"), line(2, "b")],
        [line("1-3", "ab"), line(1, "a"), line(2, "b")],
    ],
)
def test_lenient_reading_drops_no_word(read, lines):
    (sentence,) = read(lines, lenient=True)
    assert sentence.words == ["a", "b"]
    make_doc(Vocab(), [sentence])


@pytest.mark.parametrize(
    "feats", ["A=B=C", "A==B", "A=", "=A", "A=B|", "A=B|A=C", "A=B|_", "A=B|A=B", ""]
)
def test_features_that_no_morphology_can_hold_are_problems(read, feats):
    lines = [line(1, "a"), line(2, "b", FEATS=feats)]
    with pytest.raises(ValueError, match=r"P145.*a\.conllu, line 2: '.*' in column FEATS"):
        read(lines)
    (sentence,) = read(lines, lenient=True)
    assert sentence.morphs == ["_", ""]
    make_doc(Vocab(), [sentence])


@pytest.mark.parametrize("feats", ["A=B,C", "A[psor]=1", "A=B|a=B", "A=_"])
def test_features_with_any_names_and_values_are_kept(read, feats):
    (sentence,) = read([line(1, "a", FEATS=feats)])
    assert sentence.morphs == [feats]
    assert str(make_doc(Vocab(), [sentence])[0].morph) == feats


DIGITS = "1" * 5000


@pytest.mark.parametrize(
    "lines",
    [
        [line(1, "a"), line(DIGITS, "b")],
        [line(1, "a"), line(f"2-{DIGITS}", "b"), line(2, "b")],
        [line(1, "a"), line(f"{DIGITS}-3", "b"), line(2, "b")],
    ],
)
def test_ids_with_more_digits_than_python_reads_are_problems(read, lines):
    with pytest.raises(ValueError, match=r"P145.*a\.conllu, line 2: the .*111…") as err:
        read(lines)
    assert len(str(err.value)) < 500
    assert read(lines, lenient=True)[0].words == ["a", "b"]


@pytest.mark.parametrize("lines", [["a"], [line("x", "a")], [line(1, "")]])
def test_lines_without_a_word_to_keep_are_errors_even_if_lenient(read, lines):
    with pytest.raises(ValueError, match="P145"):
        read(lines, lenient=True)


def test_sentences_that_do_not_end_are_errors(read, monkeypatch):
    monkeypatch.setattr("spacy_psa.corpora.conllu.MAX_SENTENCE_TOKENS", 3)
    lines = [line(i, "a") for i in range(1, 6)]
    assert len(read(lines[:3])[0].words) == 3
    with pytest.raises(ValueError, match=r"P141.*a\.conllu, line 4: more than 3 words"):
        read(lines)


FORMS = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1)


@given(st.lists(st.lists(st.tuples(FORMS, st.booleans(), st.booleans()), min_size=1), min_size=1))
def test_words_are_neither_dropped_nor_reordered(tmp_path_factory, sentences):
    lines = []
    for words in sentences:
        for i, (form, has_range, has_empty_node) in enumerate(words, start=1):
            lines += [line(f"{i}-{i}", "x")] if has_range else []
            lines += [line(i, form)]
            lines += [line(f"{i}.1", "empty")] if has_empty_node else []
        lines.append("")
    path = tmp_path_factory.mktemp("conllu") / "a.conllu"
    path.write_text("\n".join(lines), encoding="utf8", newline="\n")
    assert [s.words for s in read_conllu(path)] == [[w[0] for w in words] for words in sentences]


def read_slowly(path):
    """FORM, UPOS, XPOS and FEATS of each sentence's words, read independently of our parser."""
    for block in path.read_text(encoding="utf8").strip("\n").split("\n\n"):
        columns = [row.split("\t") for row in block.split("\n") if row[0] != "#"]
        words = [row for row in columns if row[0].isdigit()]
        yield [[row[i] for row in words] for i in (1, 3, 4, 5)]


@pytest.mark.parametrize(
    "folder,name,sizes,n_xpos",
    [
        ("ud_en_ewt_2.2", "en_ewt", {"train": 12543, "dev": 2002, "test": 2077}, 50),
        ("ud_fr_sequoia_2.2", "fr_sequoia", {"train": 2231, "dev": 412, "test": 456}, 0),
        ("ud_cs_cltt_2.2", "cs_cltt", {"train": 860, "dev": 129, "test": 136}, 398),
    ],
)
def test_published_treebanks(folder, name, sizes, n_xpos):
    for split, n_sentences in sizes.items():
        path = shared_corpus(folder) / f"{name}-ud-{split}.conllu"
        sentences = list(read_conllu(path))
        assert len(sentences) == n_sentences
        # The largest file takes long, and looks like the others of its treebank
        slowly = [] if n_sentences > 9999 else zip(sentences, read_slowly(path), strict=True)
        for sentence, (words, pos, tags, morphs) in slowly:
            assert sentence.words == words
            assert sentence.pos == [value if value != "_" else "" for value in pos]
            assert sentence.tags == (tags if set(tags) != {"_"} else None)
            assert sentence.morphs == morphs
        if split == "train":
            assert len(Counter(tag for s in sentences for tag in s.tags or ())) == n_xpos


def test_documents_of_a_published_treebank():
    path = shared_corpus("ud_en_ewt_2.2") / "en_ewt-ud-dev.conllu"
    sentences = list(read_conllu(path))
    assert sum(sentence.starts_document for sentence in sentences) == 318
    assert all(sentence.sent_id.startswith(sentence.document) for sentence in sentences)


def test_white_space_of_a_published_treebank_gives_back_its_text():
    path = shared_corpus("ud_en_ewt_2.2") / "en_ewt-ud-dev.conllu"
    lines = path.read_text(encoding="utf8").splitlines()
    texts = [text.removeprefix("# text = ").rstrip() for text in lines if text.startswith("# text")]
    made = [make_doc(Vocab(), [sentence]).text.rstrip() for sentence in read_conllu(path)]
    differences = [pair for pair in zip(texts, made, strict=True) if pair[0] != pair[1]]
    assert differences == []
