import os
from dataclasses import replace

import pytest
from spacy.cli._util import app
from spacy.tokens import DocBin
from spacy.vocab import Vocab
from typer.testing import CliRunner

from spacy_psa.annotation.propositions import Frame
from spacy_psa.cli.export import export
from spacy_psa.corpora.docs import make_docs
from spacy_psa.corpora.sentence import Sentence

from .commands import descriptor
from .commands import run as run_spacy

SENTENCES = [
    Sentence(
        ["He", "sleeps"],
        ["PRP", "VBZ"],
        chunks=[(0, 1, "NP"), (1, 2, "VP")],
        frames=[Frame(1, "sleep", None, [(0, 1, "A0"), (1, 2, "V")])],
    ),
    Sentence(["Yes"], ["UH"], chunks=[], frames=[]),
]


@pytest.fixture
def docs_path(tmp_path):
    path = tmp_path / "in" / "dev.spacy"
    path.parent.mkdir()
    DocBin(docs=make_docs(Vocab(), SENTENCES)).to_disk(path)
    return path


def run(*arguments):
    return run_spacy("psa", "export", *arguments)


def test_command_writes_a_column_file(tmp_path, docs_path):
    output = tmp_path / "new" / "dev.txt"
    result = run(docs_path, "-o", output, "--format", "conll2000")
    assert result.exit_code == 0, result.output
    assert output.read_text() == "He PRP B-NP\nsleeps VBZ B-VP\n\nYes UH O\n\n"
    assert "Wrote 2 sentences" in result.output


def test_scheme_can_be_chosen(tmp_path, docs_path):
    assert (
        run(docs_path, "-o", tmp_path / "a", "-f", "conll2000", "--scheme", "BIOES").exit_code == 0
    )
    assert (tmp_path / "a").read_text() == "He PRP S-NP\nsleeps VBZ S-VP\n\nYes UH O\n\n"


def test_conll2005_has_two_files(tmp_path, docs_path):
    n_sentences, paths = export(docs_path, tmp_path / "dev", form="conll2005")
    assert n_sentences == 2
    assert [path.name for path in paths] == ["dev.words", "dev.props"]
    assert paths[0].read_text() == "He\nsleeps\n\nYes\n\n"
    assert paths[1].read_text() == "-\t(A0*)\nsleep\t(V*)\n\n-\n\n"


@pytest.mark.parametrize("form,name", [("conll2005", "a.props"), ("conll2012", "a.gold_conll")])
def test_what_is_exported_scores_100_against_itself(tmp_path, docs_path, form, name):
    frames = [Frame(1, None, None, [(0, 1, "A0"), (1, 2, "V")])]
    DocBin(docs=make_docs(Vocab(), [replace(SENTENCES[0], frames=frames)])).to_disk(docs_path)
    assert run(docs_path, "-o", tmp_path / name.removesuffix(".props"), "-f", form).exit_code == 0
    arguments = ["psa", "srl-eval", str(tmp_path / name), str(tmp_path / name)]
    result = CliRunner().invoke(app, arguments)
    assert "   Overall        1       0       0   100.00  100.00  100.00" in result.output
    assert "does not read" not in result.output


def test_tokens_of_white_space_are_left_out_counted_and_named(tmp_path, docs_path):
    sentence = Sentence(["Ann", "\n\n", "Lee", "left", " "], ents=[(0, 3, "PER"), (4, 5, "X")])
    DocBin(docs=make_docs(Vocab(), [sentence])).to_disk(docs_path)
    result = run(docs_path, "-o", tmp_path / "a", "-f", "iob")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "a").read_text() == "Ann\tB-PER\nLee\tI-PER\nleft\tO\n\n"
    text = " ".join(result.output.split())
    assert r"tokens of white space, left out (the first in sentence 1: '\n\n'): 2" in text
    assert "spans of white space, left out: 1" in text


def test_tokens_that_may_be_in_an_entity_are_counted(tmp_path, docs_path):
    ents = [(0, 1, "PER"), (1, 2, ""), (2, 3, "")]
    DocBin(docs=make_docs(Vocab(), [Sentence(["Ann", "met", "Bob"], ents=ents)])).to_disk(docs_path)
    result = run(docs_path, "-o", tmp_path / "a", "-f", "iob")
    assert (tmp_path / "a").read_text() == "Ann\tB-PER\nmet\tO\nBob\tO\n\n"
    told = "tokens whose entities are unknown, written as outside of any: 2"
    assert told in " ".join(result.output.split())
    assert "unknown" not in run(docs_path, "-o", tmp_path / "b", "-f", "conll2000").output


def test_docs_without_the_spans_that_were_named_are_counted(tmp_path, docs_path):
    result = run(docs_path, "-o", tmp_path / "a", "-f", "conll2000", "--chunks-key", "chunk")
    assert "Docs without spans under the key 'chunk': 2" in " ".join(result.output.split())
    result = run(docs_path, "-o", tmp_path / "a", "-f", "conll2000")
    assert "without spans" not in " ".join(result.output.split())


@pytest.mark.parametrize(
    "options,code",
    [(("-f", "ptb"), "P100"), (("-f", "iob", "-s", "XYZ"), "P100")],
)
def test_unknown_formats_and_schemes_are_errors(tmp_path, docs_path, options, code):
    result = run(docs_path, "-o", tmp_path / "a", *options)
    assert result.exit_code == 1
    assert code in result.output


def test_a_missing_input_is_an_error(tmp_path):
    result = run(tmp_path / "no.spacy", "-o", tmp_path / "a", "-f", "iob")
    assert result.exit_code == 1
    assert "P109" in result.output


def test_failure_leaves_the_old_outputs_whole(tmp_path, docs_path):
    output = tmp_path / "out" / "dev"
    export(docs_path, output, form="conll2005")
    before = {path.name: path.read_bytes() for path in output.parent.iterdir()}
    docs = make_docs(Vocab(), [Sentence(["fine"]), Sentence(["1 000"])])
    DocBin(docs=docs).to_disk(docs_path)
    result = run(docs_path, "-o", output, "-f", "conll2005")
    assert result.exit_code == 1
    assert "Sentence 2 ('1 000')" in " ".join(result.output.split())
    assert {path.name: path.read_bytes() for path in output.parent.iterdir()} == before


def test_overlapping_spans_are_errors_that_name_the_sentence(tmp_path, docs_path):
    docs = list(make_docs(Vocab(), SENTENCES))
    docs[1].spans["chunks"] = [docs[1][:1], docs[1][:1]]
    DocBin(docs=docs).to_disk(docs_path)
    result = run(docs_path, "-o", tmp_path / "a", "-f", "conll2000")
    assert result.exit_code == 1
    assert "[P165] Sentence 2 ('Yes') cannot be written" in " ".join(result.output.split())


@pytest.mark.parametrize("name", ["/dev/stdout", "-"])
def test_two_files_cannot_be_written_to_standard_output(docs_path, name):
    result = run(docs_path, "-o", name, "-f", "conll2005")
    assert result.exit_code == 2 and "two files" in result.output


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="the system has no /dev/stdout")
@pytest.mark.parametrize("name", ["/dev/stdout", "-"])
def test_standard_output_may_be_a_file_with_something_in_it(tmp_path, docs_path, name):
    whole, redirected = tmp_path / "whole", tmp_path / "redirected"
    assert run(docs_path, "-o", whole, "-f", "conll2000").exit_code == 0
    redirected.write_bytes(b"before\n")
    with descriptor(1, redirected, os.O_WRONLY | os.O_APPEND):
        result = run(docs_path, "-o", name, "-f", "conll2000")
    assert result.exit_code == 0 and "Wrote 2 sentences to /dev/stdout" in result.stderr
    assert redirected.read_bytes() == b"before\n" + whole.read_bytes()
