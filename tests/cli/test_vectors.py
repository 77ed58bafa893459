import gzip
import zipfile
from pathlib import Path
from string import ascii_letters

import pytest
import spacy

from spacy_psa.cli.vocabulary import make_vectors

from .commands import run as run_spacy

TEXT = "the 0.5 1.0\ncat 2.0 -1.0\n"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text(TEXT, encoding="utf8")
    return path


def run(*arguments):
    return run_spacy("psa", "vectors", *arguments)


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
    with pytest.raises(ValueError, match=r"P176.*several files: first\.txt, second\.txt.*--member"):
        make_vectors(path, str(tmp_path / "en"))
    assert make_vectors(path, str(tmp_path / "en"), member="second.txt")
    assert spacy.load(tmp_path / "en").vocab.vectors_length == 2


@pytest.mark.parametrize("dest", ["null", ""])
def test_no_vectors_wanted_makes_none(source, tmp_path, dest):
    result = run(source, dest)
    assert result.exit_code == 0
    assert "No vectors wanted" in result.output
    assert list(tmp_path.iterdir()) == [source]


def test_no_vectors_wanted_needs_no_file(tmp_path):
    assert not make_vectors(tmp_path / "nothing.txt", "null")


def test_vectors_that_are_there_are_kept(source, tmp_path):
    dest = tmp_path / "en"
    make_vectors(source, str(dest))
    before = (dest / "vocab" / "vectors").read_bytes()
    source.write_text("dog 1.0 1.0 1.0\n", encoding="utf8")
    result = run(source, dest)
    assert "already exists" in result.output
    assert (dest / "vocab" / "vectors").read_bytes() == before
    # A treebank of another language, with the same folder of vectors
    result = run(source, dest, "--lang", "da")
    assert result.exit_code == 1 and "[P473]" in result.output and "'en'" in result.output


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


def table(n_announced: int) -> bytes:
    """50 words with 100 numbers each, in as few bytes as possible."""
    rows = [" ".join(f"{word}{i:0100}") for i, word in enumerate(ascii_letters[:50])]
    return "\n".join([f"{n_announced} 100", *rows, ""]).encode("utf8")


def write_table(folder: Path, ending: str, n_announced: int) -> Path:
    path, data = folder / f"vectors.{ending}", table(n_announced)
    if ending == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("vectors.txt", data)
    else:
        path.write_bytes(gzip.compress(data) if ending == "txt.gz" else data)
    return path


@pytest.mark.parametrize("ending", ["txt", "txt.gz", "zip"])
def test_a_file_that_is_as_small_as_its_header_allows_is_read(tmp_path: Path, ending: str) -> None:
    assert make_vectors(write_table(tmp_path, ending, 50), str(tmp_path / "en"))
    vectors = spacy.load(tmp_path / "en").vocab.vectors
    assert vectors.shape == (50, 100) and vectors["X"].tolist() == [0.0] * 98 + [4.0, 9.0]


@pytest.mark.parametrize("ending", ["txt", "txt.gz", "zip"])
def test_a_file_that_is_smaller_is_an_error(tmp_path: Path, ending: str) -> None:
    path = write_table(tmp_path, ending, 51)
    with pytest.raises(ValueError, match=r"P424.*vectors.*51"):
        make_vectors(path, str(tmp_path / "en"))
    assert list(tmp_path.iterdir()) == [path]


def test_unknown_member_is_an_error(tmp_path):
    path = tmp_path / "vectors.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("first.txt", TEXT)
    with pytest.raises(ValueError, match=r"P176.*second\.txt"):
        make_vectors(path, str(tmp_path / "en"), member="second.txt")


@pytest.mark.parametrize("dest", ["notes", "", "vectors.txt"])
def test_what_is_no_pipeline_is_kept(source, tmp_path, dest):
    letter = tmp_path / "notes" / "letter.txt"
    letter.parent.mkdir()
    letter.write_text("x", encoding="utf8")
    result = run(source, tmp_path / dest)
    assert result.exit_code == 1 and "[P443]" in result.output
    assert source.read_text(encoding="utf8") == TEXT and letter.is_file()


def test_empty_folder_is_filled(source, tmp_path):
    (tmp_path / "en").mkdir()
    assert make_vectors(source, str(tmp_path / "en"))
    assert spacy.load(tmp_path / "en").vocab.vectors_length == 2


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz", "vectors.zip"])
def test_empty_file_is_said_to_be_empty(tmp_path, name):
    path = tmp_path / name
    if name.endswith("zip"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("vectors.txt", "")
    else:
        path.write_bytes(gzip.compress(b"") if name.endswith("gz") else b"")
    with pytest.raises(ValueError, match=r"P176.*it is empty"):
        make_vectors(path, str(tmp_path / "en"))


@pytest.mark.parametrize("header", ["2 3\n", ""])
def test_a_byte_order_mark_is_an_error(tmp_path, header):
    path = tmp_path / "vectors.txt"
    path.write_text(f"{header}the 1 2 3\ncat 4 5 6\n", encoding="utf-8-sig")
    with pytest.raises(ValueError, match=r"P176.*vectors\.txt.*byte order mark.*UTF-8 without one"):
        make_vectors(path, str(tmp_path / "vectors"))


def test_unknown_language_is_an_error(source, tmp_path):
    result = run(source, tmp_path / "xyz", "--lang", "xyz")
    assert result.exit_code == 1 and "[P193]" in result.output and "'xyz'" in result.output
    assert list(tmp_path.iterdir()) == [source]


def test_number_of_vectors_is_not_negative(source, tmp_path):
    result = run(source, tmp_path / "en", "--truncate", "-5")
    assert result.exit_code == 2
    assert list(tmp_path.iterdir()) == [source]
