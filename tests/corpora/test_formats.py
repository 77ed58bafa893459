import inspect
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_psa.corpora.detection import detect
from spacy_psa.corpora.formats import FORMATS
from spacy_psa.corpora.problems import Problems
from spacy_psa.corpora.sentence import LAYERS

from .shared import shared_corpus

CONLLU = "1\tOh\toh\tINTJ\tUH\t_\t0\troot\t_\t_\n"


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_formats_name_their_reader_and_layers(form):
    assert inspect.isgeneratorfunction(form.read_function)
    assert set(form.layers) <= set(LAYERS)
    assert "path" not in form.options and "problems" not in form.options
    assert all(o.default is not inspect.Parameter.empty for o in form.options.values())


def test_formats_are_loaded_on_first_use():
    code = (
        "import sys; from spacy_psa.corpora.formats import FORMATS; "
        "assert not any(m.startswith('spacy_psa.corpora.conll2') for m in sys.modules); "
        "FORMATS['conll2005'].read_function; "
        "assert 'spacy_psa.corpora.conll2005' in sys.modules; "
        "assert 'spacy_psa.corpora.conll2012' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_unknown_options_are_errors_that_list_the_known_ones(tmp_path):
    with pytest.raises(ValueError, match=r"P142.*iob.*the option 'color'.*word_column, tag_col"):
        FORMATS["iob"].read(tmp_path / "a.txt", color="red")


def test_problems_are_passed_on(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a B-X\nb\n", encoding="utf8")
    problems = Problems(lenient=True)
    (sentence,) = FORMATS["iob"].read(path, problems=problems)
    assert (sentence.words, problems.total) == (["a", "b"], 1)


@pytest.mark.parametrize(
    "name,form",
    [
        ("a.conllu", "conllu"),
        ("a.conllu.gz", "conllu"),
        ("wsj_0001.mrg", "ptb"),
        ("wsj_0001.pos", "ptb"),
        ("wsj_0001.prd", "ptb"),
        ("wsj_0001.auto", "ccgbank"),
        ("a.v4_gold_conll", "conll2012"),
        ("dev.gold_conll", "conll2012"),
        ("train.props", "conll2005"),
        ("train.props.gz", "conll2005"),
        ("train.words", "conll2005"),
    ],
)
def test_the_end_of_a_name_tells_the_format(tmp_path, name, form):
    assert detect(tmp_path / name).form.name == form


@pytest.mark.parametrize(
    "text,form",
    [
        ("He PRP B-NP\n", "conll2000"),
        ("-DOCSTART- -DOCSTART- O\nEU N B-ORG\n", "conll2002"),
        ("-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\n", "conll2003"),
        ("-DOCSTART-\n\nEU NNP B-NP B-ORG\n", "conll2003"),
        ("EU\tB-group\nis\tO\n", "iob"),
        ("The\tat\nO\tO\n", "tagged"),
        (CONLLU, "conllu"),
        ("# sent_id = 1\n" + CONLLU, "conllu"),
        ("# newdoc\n" + CONLLU, "conllu"),
        ("#begin document (a/b); part 000\na/b 0 0 Oh UH\n", "conll2012"),
    ],
)
def test_the_first_lines_tell_the_format(tmp_path, text, form):
    path = tmp_path / "corpus"
    path.write_text(text, encoding="utf8")
    assert detect(path).form.name == form


def test_most_lines_tell_the_format(tmp_path):
    path = tmp_path / "corpus"
    path.write_text("He PRP\n\nHe PRP B-NP\nran VBD B-VP\n", encoding="utf8")
    assert detect(path).form.name == "conll2000"


def test_texts_are_no_corpora(tmp_path):
    path = tmp_path / "README"
    path.write_text("A corpus of chunks.\n\nRead this first.\nSee\nthe page below.\n", "utf8")
    with pytest.raises(ValueError, match=r"P179.*README: .* lines have 1, 3, 4 columns"):
        detect(path)


def test_a_column_of_roles_for_each_predicate_has_a_format(tmp_path):
    path = tmp_path / "corpus"
    path.write_text(
        "He - (A0*) *\nran run (V*) *\nto - * *\n\nYes -\n\nGo go (V*)\n\nNo -\n", "utf8"
    )
    with pytest.raises(ValueError, match=r"P179.* for each predicate, --format conll2005"):
        detect(path)


def test_unknown_numbers_of_columns_are_errors_that_name_a_line_and_the_formats(tmp_path):
    path = tmp_path / "corpus"
    path.write_text("a b\na b c d e\na b c d e\n", encoding="utf8")
    with pytest.raises(
        ValueError, match=r"P117.*line 2: .* 5 columns.*conll2000 \(word, POS, chunk\)"
    ):
        detect(path)


@pytest.mark.parametrize(
    "folder,name,form",
    [
        ("conll2000", "train.txt", "conll2000"),
        ("wnut17", "wnut17train.conll", "iob"),
        ("ncbi_disease", "train.tsv", "iob"),
        ("brown_pos", "dev.tsv.gz", "tagged"),
        ("ud_cs_cltt_2.2", "cs_cltt-ud-dev.conllu", "conllu"),
        ("ewt_srl", "dev.gold_conll", "conll2012"),
        ("ewt_srl", "dev.props", "conll2005"),
    ],
)
def test_published_files_tell_their_format(folder, name, form):
    assert detect(shared_corpus(folder) / name).form.name == form


def test_layers_of_published_files_are_those_of_the_format():
    path = shared_corpus("ewt_srl") / "dev.gold_conll"
    form = FORMATS["conll2012"]
    first = next(iter(form.read(path)))
    annotated = {layer for layer in LAYERS if getattr(first, layer) is not None}
    assert annotated <= set(form.layers) and "frames" in annotated


def test_files_without_sentences_are_errors_in_each_format(tmp_path):
    path = tmp_path / "a.gold_conll"
    path.write_text("#begin document (x); part 000\n#end document\n", encoding="utf8")
    with pytest.raises(ValueError, match=r"P111.*a\.gold_conll has no sentences"):
        list(FORMATS["conll2012"].read(path))


COLUMN_FORMATS = ["conll2000", "conll2003", "conll2002", "iob", "tagged"]
WORDS = st.text(st.characters(exclude_categories=("Cc", "Cs", "Nd", "Zs", "Zl", "Zp")), min_size=1)


@given(
    st.lists(st.lists(WORDS, min_size=1), min_size=1),
    st.sampled_from(COLUMN_FORMATS),
    st.sampled_from(["\n", "\r\n"]),
)
def test_no_format_drops_or_reorders_words(tmp_path_factory, sentences, name, end):
    form = FORMATS[name]
    width = len(form.columns) or 2
    rest = " ".join(["NN", "O", "O"][4 - width :])
    text = end.join(end.join(f"{word} {rest}" for word in words) + end for words in sentences)
    path = tmp_path_factory.mktemp("formats") / "a.txt"
    path.write_text(text, encoding="utf8", newline="")
    assert [sentence.words for sentence in form.read(path)] == sentences


def test_sentences_with_the_same_id_are_noted(tmp_path):
    problems, path = Problems(), tmp_path / "a.conllu"
    cells = "\t".join(["1", "a", *"_" * 8])
    ids = ["# sent_id = x\n", "", "# sent_id = y\n", "# sent_id = x\n", "# sent_id = x\n", ""]
    path.write_text("".join(f"{name}{cells}\n\n" for name in ids), encoding="utf8")
    found = FORMATS["conllu"].read(path, problems=problems)
    assert [sentence.sent_id for sentence in found] == ["x", None, "y", "x", "x", None]
    note = "sentences with the ID of an earlier one (the first 'x' in line 10 of a.conllu)"
    assert problems.notes == {note: 2}
