import gzip
import json
import subprocess
import sys

import pytest
from spacy.cli._util import app
from spacy.tokens import DocBin
from spacy.vocab import Vocab
from typer.testing import CliRunner

from spacy_psa.annotation.schemes import SCHEMES
from spacy_psa.cli.convert import convert
from spacy_psa.corpora.columns import read_columns
from spacy_psa.errors import Errors
from tests.corpora.shared import shared_corpus

CHUNKS = "He PRP B-NP\nruns VBZ B-VP\n\n! . O\n\nStop VB B-VP\n"
ENTS = "-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\ntalks NNS I-NP O\n\nDone VBN O O\n"


@pytest.fixture
def chunks_path(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text(CHUNKS, encoding="utf8")
    return path


@pytest.fixture
def ents_path(tmp_path):
    path = tmp_path / "eng.train"
    path.write_text(ENTS, encoding="utf8")
    return path


def load(path):
    return list(DocBin().from_disk(path).get_docs(Vocab()))


def run(*arguments):
    return CliRunner().invoke(app, ["psa", "convert", *map(str, arguments)])


def test_command_is_part_of_spacy(tmp_path, chunks_path):
    command = [sys.executable, "-m", "spacy", "psa", "convert"]
    output = tmp_path / "train.spacy"
    done = subprocess.run([*command, str(chunks_path), str(output)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(load(output)) == 3
    assert "Wrote 3 Docs" in done.stdout
    assert "sentences" not in done.stderr, "the progress bar is for terminals"


def test_format_is_told_by_the_columns(tmp_path, chunks_path, ents_path):
    convert(chunks_path, tmp_path / "chunks.spacy")
    convert(ents_path, tmp_path / "ents.spacy")
    assert not load(tmp_path / "chunks.spacy")[0].has_annotation("ENT_IOB")
    assert [ent.label_ for ent in load(tmp_path / "ents.spacy")[0].ents] == ["ORG"]


def test_format_that_is_named_must_fit(tmp_path, chunks_path):
    with pytest.raises(ValueError, match="P112"):
        convert(chunks_path, tmp_path / "a.spacy", form="conll2003")


def test_compressed_files_give_the_same(tmp_path, chunks_path):
    packed = tmp_path / "train.txt.gz"
    packed.write_bytes(gzip.compress(CHUNKS.encode()))
    convert(chunks_path, tmp_path / "a.spacy")
    convert(packed, tmp_path / "b.spacy")
    assert (tmp_path / "a.spacy").read_bytes() == (tmp_path / "b.spacy").read_bytes()


def test_sentences_are_grouped(tmp_path, chunks_path, ents_path):
    assert convert(chunks_path, tmp_path / "a.spacy", n_sents=2).docs == 2
    assert convert(ents_path, tmp_path / "b.spacy", n_sents=0).docs == 1
    assert [len(doc) for doc in load(tmp_path / "a.spacy")] == [3, 1]


def test_whole_documents_need_a_format_that_has_them(tmp_path, chunks_path):
    with pytest.raises(ValueError, match=r"P118.*1 or more"):
        convert(chunks_path, tmp_path / "a.spacy", n_sents=0)


def test_chunks_can_have_another_key(tmp_path, chunks_path):
    convert(chunks_path, tmp_path / "a.spacy", chunks_key="np")
    assert list(load(tmp_path / "a.spacy")[0].spans) == ["np"]


def test_stats_count_everything(tmp_path, ents_path):
    convert(ents_path, tmp_path / "a.spacy", stats_path=tmp_path / "stats.json")
    assert json.loads((tmp_path / "stats.json").read_text()) == {
        "docs": 2,
        "documents": 1,
        "sentences": 2,
        "tokens": 3,
        "longest_sentence": 2,
        "labels": {
            "tags": {"NNP": 1, "NNS": 1, "VBN": 1},
            "chunks": {"NP": 1},
            "ents": {"ORG": 1},
        },
    }


def test_summary_is_printed(tmp_path, chunks_path):
    result = run(chunks_path, tmp_path / "a.spacy")
    assert result.exit_code == 0
    rows = [line.split() for line in result.output.splitlines()]
    assert ["sentences", "3"] in rows and ["tokens", "4"] in rows
    assert ["longest", "sentence", "2"] in rows
    assert ["chunks", "3", "2:", "VP,", "NP"] in rows


def test_failure_leaves_the_old_output_whole(tmp_path, chunks_path):
    output = tmp_path / "train.spacy"
    convert(chunks_path, output)
    before = output.read_bytes()
    chunks_path.write_text(CHUNKS + "\nbroken line\n", encoding="utf8")
    result = run(chunks_path, output)
    assert result.exit_code == 1
    assert "train.txt, line 8: found 2 columns" in " ".join(result.output.split())
    assert output.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.spacy", "train.txt"]


def test_failure_while_writing_leaves_the_old_output_whole(tmp_path, chunks_path, monkeypatch):
    output = tmp_path / "train.spacy"
    convert(chunks_path, output)
    before = output.read_bytes()

    def write_half(self, path):
        path.write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(DocBin, "to_disk", write_half)
    result = run(chunks_path, output)
    assert result.exit_code == 1
    assert "No space left on device" in result.output
    assert output.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.spacy", "train.txt"]


def test_bugs_are_not_disguised_as_user_errors(tmp_path, chunks_path, monkeypatch):
    def fail(self, path):
        raise ValueError("a bug")

    monkeypatch.setattr(DocBin, "to_disk", fail)
    result = run(chunks_path, tmp_path / "a.spacy")
    assert isinstance(result.exception, ValueError)


def test_output_needs_the_ending_that_spacy_looks_for(tmp_path, chunks_path):
    with pytest.raises(ValueError, match="P120"):
        convert(chunks_path, tmp_path / "train.bin")


def test_unknown_formats_are_errors(tmp_path, chunks_path):
    result = run(chunks_path, tmp_path / "a.spacy", "--format", "conllu")
    assert result.exit_code == 1
    assert Errors.P119[:6] in result.output


def test_folders_of_outputs_are_made(tmp_path, chunks_path):
    convert(chunks_path, tmp_path / "new" / "folder" / "a.spacy")
    assert len(load(tmp_path / "new" / "folder" / "a.spacy")) == 3


def test_published_corpus_gives_back_its_file(tmp_path):
    path = shared_corpus("conll2000") / "test.txt"
    stats = convert(path, tmp_path / "test.spacy")
    assert (stats.sentences, stats.tokens, stats.docs) == (2012, 47377, 2012)
    for rows, doc in zip(read_columns(path), load(tmp_path / "test.spacy"), strict=True):
        spans = [(span.start, span.end, span.label_) for span in doc.spans["chunks"]]
        chunk_tags = SCHEMES["BIO"].encode(spans, len(doc))
        columns = zip((t.text for t in doc), (t.tag_ for t in doc), chunk_tags, strict=True)
        assert list(columns) == [row.columns for row in rows]
