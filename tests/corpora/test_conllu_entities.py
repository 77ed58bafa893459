"""Entities in CoNLL-U's MISC, and CoNLL-U Plus."""

import pytest
from spacy.training.converters import conllu_to_docs

from spacy_psa.corpora.conllu import read_conllu
from spacy_psa.corpora.detection import detect
from spacy_psa.corpora.export import write_conllu
from spacy_psa.corpora.problems import Problems

PLUS = "# global.columns = ID FORM UPOS NE:CLASS\n"


def conllu(*miscs):
    """A file with the words w1, w2, …"""
    lines = (f"{i}\tw{i}\t_\tX\tXX\t_\t_\t_\t_\t{misc}\n" for i, misc in enumerate(miscs, 1))
    return "".join(lines) + "\n"


@pytest.fixture
def read(tmp_path):
    def read(text, problems=None, **options):
        path = tmp_path / "a.conllu"
        path.write_text(text, encoding="utf8")
        return list(read_conllu(path, problems=problems, **options))

    return read


@pytest.mark.parametrize(
    "miscs",
    [
        ("name=B-PER", "name=I-PER", "name=O"),
        ("NE=B-PER", "NE=I-PER", "NE=O"),
        ("B-PER", "I-PER", "O"),
        ("name=B-PER", "name=L-PER", "_"),
        ("SpaceAfter=No|name=B-PER", "name=I-PER|Gloss=x", "SpaceAfter=No"),
        ("name=U-ORG", "name=B-PER", "name=L-PER"),
        ("O", "O", "B-MISC_X"),
    ],
)
def test_entities_in_misc_are_those_of_spacy(read, miscs):
    text = conllu(*miscs)
    (expected,) = conllu_to_docs(text, no_print=True)
    ((first, last),) = [(e.start, e.end) for e in expected.ents[:1]]
    (sentence,) = read(text)
    assert sentence.ents == [(e.start, e.end, e.label_) for e in expected.ents]
    assert sentence.ents and (first, last) == sentence.ents[0][:2]


def test_labels_that_spacy_cuts_off_are_whole(read):
    (sentence,) = read(conllu("name=B-Person2", "name=I-Person2"))
    assert sentence.ents == [(0, 2, "Person2")]


def test_without_entities_in_the_file_there_is_no_annotation(read):
    (sentence,) = read(conllu("SpaceAfter=No", "_"))
    assert sentence.ents is None


def test_one_entity_far_into_the_file_annotates_all_sentences(read):
    first, second = read(conllu("_", "_") + conllu("_", "name=B-PER"))
    assert (first.ents, second.ents) == ([], [(1, 2, "PER")])


def test_values_that_are_no_tags_are_counted(read):
    problems = Problems()
    (sentence,) = read(conllu("name=Ann", "NE=B-PER"), problems)
    assert sentence.ents == [(1, 2, "PER")]
    assert problems.notes == {"values of name or NE in MISC that are no tags, not read": 1}


def test_odd_tags_name_their_line(read):
    problems = Problems(lenient=True)
    (sentence,) = read(conllu("name=B-PER", "name=O", "name=I-PER"), problems)
    assert sentence.ents == [(0, 1, "PER"), (2, 3, "PER")]
    assert problems.total or problems.notes
    assert "line 3" in "".join([*problems.examples, *problems.notes])


def test_tags_of_multiword_tokens_and_empty_nodes_are_counted(read):
    text = "1-2\tab\t_\t_\t_\t_\t_\t_\t_\tname=B-PER\n" + conllu("_", "name=B-LOC")
    problems = Problems()
    (sentence,) = read(text, problems)
    assert sentence.ents == [(1, 2, "LOC")]
    assert problems.notes["entity tags of multiword tokens and empty nodes, not read"] == 1


@pytest.mark.parametrize("scheme", ["BIO", "BIOES", "IOB1"])
def test_exported_entities_are_read_again(read, scheme):
    sentences = read(conllu("name=B-PER", "name=I-PER|SpaceAfter=No", "name=O", "name=B-LOC"))
    text = "".join(text for (text,) in write_conllu(sentences, scheme))
    (back,) = read(text)
    assert (back.ents, back.spaces) == (sentences[0].ents, sentences[0].spaces)
    assert back.ents == [(0, 2, "PER"), (3, 4, "LOC")]


def test_columns_have_names_in_conllu_plus(read):
    (sentence,) = read(PLUS + "1\tAnn\tPROPN\tB-PER\n2\truns\tVERB\tO\n\n")
    assert (sentence.words, sentence.pos) == (["Ann", "runs"], ["PROPN", "VERB"])
    assert sentence.ents == [(0, 1, "PER")]
    assert (sentence.tags, sentence.morphs, sentence.lemmas) == (None, None, None)


def test_columns_can_be_in_any_order_without_ids(read):
    text = (
        "# global.columns = UNER:TAG MISC XPOS FORM\n_\tSpaceAfter=No\tNNP\tAnn\nB-LOC\t_\tNN\tx\n"
    )
    (sentence,) = read(text)
    assert (sentence.words, sentence.tags) == (["Ann", "x"], ["NNP", "NN"])
    assert (sentence.ents, sentence.spaces) == ([(1, 2, "LOC")], [False, True])


def test_words_that_begin_with_the_mark_of_comments_are_words(read):
    text = "# global.columns = FORM NE:CLASS\n# text = #Ann # 1\n#Ann\tB-PER\n#\tO\n1\tO\n"
    (sentence,) = read(text)
    assert (sentence.words, sentence.ents) == (["#Ann", "#", "1"], [(0, 1, "PER")])


def test_columns_that_are_not_read_are_named(read):
    text = "# global.columns = ID FORM HEAD PARSEME:MWE X:Y\n1\ta\t0\t1:VID\t*\n"
    problems = Problems()
    (sentence,) = read(text, problems)
    assert sentence.ents is None
    assert problems.notes == {"columns not read (PARSEME:MWE, X:Y)": 2}


def test_the_column_of_entities_can_be_named(read):
    text = "# global.columns = ID FORM A:NE B:TAGS\n1\ta\tB-X\tB-Y\n"
    assert read(text)[0].ents == [(0, 1, "X")]
    assert read(text, ents_column="B:TAGS")[0].ents == [(0, 1, "Y")]
    with pytest.raises(ValueError, match=r"P145.*line 1: there is no column C.* ID FORM A:NE B:TA"):
        read(text, ents_column="C")


def test_misc_has_the_entities_if_no_column_does(read):
    text = "# global.columns = ID FORM MISC LEMMA\n1\ta\tname=B-PER\ta\n"
    (sentence,) = read(text)
    assert (sentence.ents, sentence.lemmas) == ([(0, 1, "PER")], ["a"])


@pytest.mark.parametrize(
    "text,message",
    [
        ("# global.columns = ID LEMMA\n1\ta\n", "line 1: there is no column FORM"),
        (PLUS + "1\ta\tX\n", r"line 2: found 3 tab-separated columns.*4 \(ID, FORM, UPOS, NE:CL"),
        (PLUS + "1\ta\tX\tO\n\n# global.columns = FORM\n", "line 4: another header"),
    ],
)
def test_malformed_files_are_errors_with_a_line(read, text, message):
    with pytest.raises(ValueError, match=rf"P145.*{message}"):
        read(text)


def test_lines_with_too_few_columns_keep_their_word(read):
    problems = Problems(lenient=True)
    (sentence,) = read(PLUS + "1\ta\tX\n2\tb\tX\tB-PER\n", problems)
    assert (sentence.words, sentence.ents, problems.total) == (["a", "b"], [(1, 2, "PER")], 1)


@pytest.mark.parametrize("name", ["a.conllup", "a.cupt", "corpus"])
def test_conllu_plus_is_detected(tmp_path, name):
    path = tmp_path / name
    path.write_text(PLUS + "1\ta\tX\tO\n", encoding="utf8")
    assert detect(path).form.name == "conllu"


def test_tags_that_do_not_fit_the_scheme_of_the_others_are_counted(read):
    problems = Problems()
    (sentence,) = read(conllu("name=B-PER", "_", "name=B-LOC", "_", "name=I-PER"), problems)
    assert sentence.ents == [(0, 1, "PER"), (2, 3, "LOC"), (4, 5, "PER")]
    ((what, n),) = problems.notes.items()
    assert "MISC" in what and what.endswith("(the first in line 5: 'I-PER' after 'O')") and n == 1
