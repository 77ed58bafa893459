import gzip
import zipfile

import pytest
import spacy
from spacy.cli._util import app
from typer.testing import CliRunner

from spacy_psa.cli.vectors import make_vectors

TEXT = "the 0.5 1.0\ncat 2.0 -1.0\n"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text(TEXT, encoding="utf8")
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["psa", "vectors", *map(str, arguments)])


def test_vectors_of_a_text_file_can_be_loaded(source, tmp_path):
    assert make_vectors(source, str(tmp_path / "en"), lang="nb")
    nlp = spacy.load(tmp_path / "en")
    assert nlp.lang == "nb"
    assert nlp.vocab["cat"].vector.tolist() == [2.0, -1.0]


def test_compressed_files_are_read(tmp_path):
    path = tmp_path / "vectors.txt.gz"
    path.write_bytes(gzip.compress(TEXT.encode("utf8")))
    assert make_vectors(path, str(tmp_path / "en"))
    assert spacy.load(tmp_path / "en").vocab["the"].vector.tolist() == [0.5, 1.0]


def test_named_member_of_an_archive_is_read(tmp_path):
    path = tmp_path / "vectors.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("first.txt", "the 9.0\n")
        archive.writestr("second.txt", TEXT)
    assert make_vectors(path, str(tmp_path / "en"), member="second.txt")
    assert spacy.load(tmp_path / "en").vocab.vectors_length == 2


@pytest.mark.parametrize("dest", ["null", ""])
def test_no_vectors_wanted_makes_none(source, tmp_path, dest):
    result = run(source, dest)
    assert result.exit_code == 0
    assert "No vectors are wanted" in result.output
    assert list(tmp_path.iterdir()) == [source]


def test_no_vectors_wanted_needs_no_file(tmp_path):
    assert not make_vectors(tmp_path / "nothing.txt", "null")


def test_vectors_that_are_there_are_kept(source, tmp_path):
    dest = tmp_path / "en"
    make_vectors(source, str(dest))
    before = (dest / "vocab" / "vectors").read_bytes()
    source.write_text("dog 1.0 1.0 1.0\n", encoding="utf8")
    result = run(source, dest)
    assert "there already" in result.output
    assert (dest / "vocab" / "vectors").read_bytes() == before


def test_number_of_vectors_can_be_limited(source, tmp_path):
    assert run(source, tmp_path / "en", "--truncate", 1).exit_code == 0
    assert "cat" not in spacy.load(tmp_path / "en").vocab.vectors


def test_missing_file_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="P109"):
        make_vectors(tmp_path / "nothing.txt", str(tmp_path / "en"))


@pytest.mark.parametrize("text", ["the 0.5 1.0\ncat 2.0\n", ""])
def test_other_text_is_an_error_and_leaves_nothing(source, tmp_path, text):
    source.write_text(text, encoding="utf8")
    with pytest.raises(ValueError, match="P176"):
        make_vectors(source, str(tmp_path / "en"))
    assert list(tmp_path.iterdir()) == [source]


def test_unknown_member_is_an_error(tmp_path):
    path = tmp_path / "vectors.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("first.txt", TEXT)
    with pytest.raises(ValueError, match=r"P176.*second\.txt"):
        make_vectors(path, str(tmp_path / "en"), member="second.txt")


def test_unfinished_folder_is_made_anew(source, tmp_path):
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "tokenizer").touch()
    assert make_vectors(source, str(tmp_path / "en"))
    assert spacy.load(tmp_path / "en").vocab.vectors_length == 2
