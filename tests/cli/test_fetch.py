import gzip
import hashlib
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from spacy_psa.cli.fetch import download, fetch
from tests.corpora.shared import shared_corpus

from .commands import descriptor
from .commands import run as run_spacy

TEXT = b"He PRP B-NP\n" * 10_000
SHA256 = hashlib.sha256(TEXT).hexdigest()
PACKED = gzip.compress(TEXT)
FILES = {
    "/train.txt": TEXT,
    "/train.txt.gz": PACKED,
    "/truncated.txt.gz": PACKED[:-20],
    "/other.txt": b"another text\n",
    "/short.txt": TEXT,
    "/long.txt": TEXT,
}
# How much more is announced than sent
ANNOUNCED = {"/short.txt": 12, "/long.txt": -12}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        content = FILES.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content) + ANNOUNCED.get(self.path, 0)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        """Do not log to the tests' output."""


@pytest.fixture(scope="module")
def server():
    with HTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "assets" / "train.txt"


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "local"
    folder.mkdir()
    return folder


def run(*arguments):
    return run_spacy("psa", "fetch", *arguments)


@pytest.mark.parametrize("name", ["train.txt", "train.txt.gz"])
def test_download_gives_the_uncompressed_text(server, path, name):
    fetch(f"{server}/{name}", path, sha256=SHA256)
    assert path.read_bytes() == TEXT
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("name", ["short.txt", "long.txt"])
def test_another_length_than_announced_leaves_nothing(server, path, name):
    announced = f"{len(TEXT) + ANNOUNCED[f'/{name}']:,}"
    with pytest.raises(ValueError, match=f"P129.*received 120,000 bytes, but {announced} were"):
        download(f"{server}/{name}", path.parent.parent / name)
    result = run(f"{server}/{name}", "-o", path, "--sha256", SHA256)
    assert result.exit_code == 1 and "P129" in result.output
    assert not path.exists()


def test_checksum_may_be_in_capitals(server, path):
    fetch(f"{server}/train.txt", path, sha256=SHA256.upper())
    assert path.read_bytes() == TEXT


def test_wrong_checksum_leaves_the_old_file(server, path):
    path.parent.mkdir()
    path.write_bytes(b"old")
    with pytest.raises(ValueError, match=rf"P130.*other\.txt.*expected {SHA256}"):
        fetch(f"{server}/other.txt", path, sha256=SHA256)
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


def test_truncated_files_are_errors(server, path):
    with pytest.raises(ValueError, match=r"P115.*truncated\.txt\.gz is damaged"):
        fetch(f"{server}/truncated.txt.gz", path, sha256=SHA256)
    assert not path.exists()


def test_addresses_without_a_file_are_errors(server, path):
    with pytest.raises(ValueError, match=r"P129.*nothing\.txt.*Not Found"):
        fetch(f"{server}/nothing.txt", path, sha256=SHA256)


def test_no_network_is_one_clear_sentence(path):
    with HTTPServer(("127.0.0.1", 0), Handler) as httpd:
        closed_port = httpd.server_port
    result = run(f"http://127.0.0.1:{closed_port}/train.txt", "-o", path, "--sha256", SHA256)
    assert result.exit_code == 1
    output = " ".join(result.output.split())
    assert "[P129] Could not download" in output and "--local" in output
    assert "Traceback" not in output


def test_unknown_kinds_of_addresses_are_errors(path):
    with pytest.raises(ValueError, match="P129"):
        fetch("train.txt", path, sha256=SHA256)


@pytest.mark.parametrize("name", ["train.txt", "train.txt.gz"])
@pytest.mark.parametrize(
    "url", ["http://nowhere.invalid/a/train.txt", "http://nowhere.invalid/train.txt.gz?x=1"]
)
def test_local_folder_comes_in_place_of_the_network(folder, path, name, url):
    (folder / name).write_bytes(FILES[f"/{name}"])
    fetch(url, path, sha256=SHA256, local=str(folder))
    assert path.read_bytes() == TEXT


def test_local_files_are_verified_too(folder, path):
    (folder / "train.txt").write_bytes(b"another text\n")
    with pytest.raises(ValueError, match="P130"):
        fetch("http://nowhere.invalid/train.txt", path, sha256=SHA256, local=str(folder))
    assert not path.exists()


def test_local_folder_without_the_file_is_an_error(folder, path):
    with pytest.raises(ValueError, match=r"P131.*train\.txt or train\.txt\.gz"):
        fetch("http://nowhere.invalid/train.txt.gz", path, sha256=SHA256, local=str(folder))


def test_empty_local_folder_means_download(server, path):
    result = run(f"{server}/train.txt.gz", "-o", path, "--sha256", SHA256, "--local", "")
    assert result.exit_code == 0
    assert path.read_bytes() == TEXT


def test_the_right_file_is_not_fetched_again(path):
    path.parent.mkdir()
    path.write_bytes(TEXT)
    result = run("http://nowhere.invalid/train.txt", "-o", path, "--sha256", SHA256)
    assert result.exit_code == 0
    assert "already" in result.output


def test_published_corpus_from_a_local_folder(tmp_path):
    url = "https://www.clips.uantwerpen.be/conll2000/chunking/test.txt.gz"
    sha256 = "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628"
    source = shared_corpus("conll2000")
    fetch(url, tmp_path / "test.txt", sha256=sha256, local=str(source))
    assert (tmp_path / "test.txt").read_bytes() == (source / "test.txt").read_bytes()


@pytest.mark.parametrize("name", ["/dev/stdout", "-"])
def test_standard_output(tmp_path, monkeypatch, name):
    (tmp_path / "train.txt").write_bytes(TEXT)
    (tmp_path / "out").touch()
    monkeypatch.chdir(tmp_path)
    arguments = ["x/train.txt", "--sha256", SHA256, "--local", tmp_path, "-o", name]
    with descriptor(1, tmp_path / "out", os.O_WRONLY):
        result = run_spacy("psa", "fetch", *arguments)
    assert result.exit_code == 0 and "Wrote" in result.stderr
    assert (tmp_path / "out").read_bytes() == TEXT and not os.path.exists("-")
