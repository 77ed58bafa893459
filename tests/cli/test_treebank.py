import functools
import gzip
import hashlib
import http.server
import threading
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

from spacy_psa.cli.fetch import SPLITS, fetch_treebank, treebanks
from tests.corpora.shared import shared_corpus

from .commands import contents
from .commands import run as run_spacy

CODES = ["cs", "da", "en", "fr", "nl", "no", "pt", "sv"]


def write_release(folder, code):
    """Write a treebank's files as in its repository, each containing its own name."""
    folder.mkdir(parents=True)
    for split in SPLITS:
        for name in treebanks()[code].files(split):
            (folder / name).write_text(f"{name}\n", encoding="utf8")
    (folder / "stats.xml").write_text("<treebank/>", encoding="utf8")
    return folder


def run(*arguments):
    return run_spacy("psa", "treebank", *arguments)


def test_treebanks_are_those_of_the_papers_and_spacy_knows_their_languages():
    assert list(treebanks()) == CODES
    for treebank in treebanks().values():
        assert find_spec(f"spacy.lang.{treebank.lang}")


@contextmanager
def serve(folder, extra=0):
    """A server of files, which announces them to be longer than they are."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def send_header(self, keyword, value):
            is_length = keyword == "Content-Length"
            super().send_header(keyword, str(int(value) + extra) if is_length else value)

    handler = functools.partial(Handler, directory=str(folder))
    with http.server.HTTPServer(("127.0.0.1", 0), handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()
        thread.join()


def test_files_are_downloaded_from_the_release(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    write_release(tmp_path / "server" / "UD_Danish-DDT" / "r2.2", "da")
    with serve(tmp_path / "server") as url:
        result = run("da", "-o", tmp_path / "da", "--url", url)
    assert result.exit_code == 0
    names = ["dev.conllu", "stats.xml", "test.conllu", "train.conllu"]
    assert sorted(path.name for path in (tmp_path / "da").iterdir()) == names
    assert (tmp_path / "da" / "dev.conllu").read_text() == "da_ddt-ud-dev.conllu\n"
    sha256 = hashlib.sha256(b"da_ddt-ud-dev.conllu\n").hexdigest()
    assert "not verified, no known checksum" in " ".join(result.output.split())
    assert sha256 in "".join(result.output.split())


@pytest.mark.parametrize("extra", [1, -1])
def test_files_that_are_not_as_long_as_announced_are_refused(tmp_path, monkeypatch, extra):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    write_release(tmp_path / "server" / "UD_Danish-DDT" / "r2.2", "da")
    with serve(tmp_path / "server", extra) as url:
        result = run("da", "-o", tmp_path / "da", "--url", url)
    assert result.exit_code == 1 and "P129" in result.output
    assert not list((tmp_path / "da").iterdir())


def test_parts_of_training_data_are_joined(tmp_path):
    local = write_release(tmp_path / "local", "cs")
    fetch_treebank("cs", tmp_path / "cs", local=str(local))
    names = [f"cs_pdt-ud-train-{part}.conllu" for part in "clmv"]
    assert (tmp_path / "cs" / "train.conllu").read_text().split() == names


def test_training_data_may_be_joined_already(tmp_path):
    local = write_release(tmp_path / "local", "cs")
    (local / "cs_pdt-ud-train.conllu").write_text("whole\n", encoding="utf8")
    fetch_treebank("cs", tmp_path / "cs", local=str(local))
    assert (tmp_path / "cs" / "train.conllu").read_text() == "whole\n"


@pytest.mark.parametrize("whole", [False, True])
def test_local_files_may_be_compressed(tmp_path, whole):
    local = write_release(tmp_path / "local", "cs")
    if whole:
        (local / "cs_pdt-ud-train.conllu").write_text("whole\n", encoding="utf8")
    expected = fetch_treebank("cs", tmp_path / "plain", local=str(local))
    for path in list(local.iterdir()):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    results = fetch_treebank("cs", tmp_path / "cs", local=str(local))
    assert [sha256 for _, sha256, _ in results] == [sha256 for _, sha256, _ in expected]
    assert contents(tmp_path / "cs") == contents(tmp_path / "plain")


def test_files_with_another_checksum_are_refused(tmp_path):
    local = write_release(tmp_path / "local", "en")
    with pytest.raises(ValueError, match=r"P130.*en_ewt-ud-train\.conllu"):
        fetch_treebank("en", tmp_path / "en", local=str(local))
    assert list((tmp_path / "en").iterdir()) == []


def test_files_that_are_there_are_verified_too(tmp_path):
    local = shared_corpus("ud_en_ewt_2.2")
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "dev.conllu").write_text("another\n", encoding="utf8")
    with pytest.raises(ValueError, match=r"P130.*dev\.conllu"):
        fetch_treebank("en", tmp_path / "en", local=str(local))


def test_files_that_are_there_are_not_fetched_again(tmp_path):
    local = write_release(tmp_path / "local", "sv")
    fetch_treebank("sv", tmp_path / "sv", local=str(local))
    results = fetch_treebank("sv", tmp_path / "sv", local=str(tmp_path / "nowhere"))
    assert [path.name for path, _, _ in results] == [f"{split}.conllu" for split in SPLITS]


def test_english_files_are_verified(tmp_path):
    local = str(shared_corpus("ud_en_ewt_2.2"))
    results = fetch_treebank("en", tmp_path / "en", local=local)
    assert [is_known for _, _, is_known in results] == [True] * 3


def test_missing_files_are_errors(tmp_path):
    (tmp_path / "local").mkdir()
    result = run("fr", "-o", tmp_path / "fr", "--local", tmp_path / "local")
    assert result.exit_code == 1
    assert "[P131]" in result.output


def test_unknown_code_is_an_error(tmp_path):
    with pytest.raises(ValueError, match=r"P100.*'xx'.*cs, da"):
        fetch_treebank("xx", tmp_path)
