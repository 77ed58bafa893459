"""Archives whose size, location or content is not what it seems."""

from __future__ import annotations

import ast
import bz2
import gzip
import io
import lzma
import pickle
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import srsly
from spacy.cli._util import app
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from typer.testing import CliRunner

from spacy_psa.cli import fetch as fetching
from spacy_psa.cli._docbins import read_docbin, read_docs
from spacy_psa.cli.vocabulary import make_vectors
from spacy_psa.corpora import unpacking
from spacy_psa.corpora.formats import FORMATS
from spacy_psa.corpora.lines import read_blocks, read_lines
from spacy_psa.corpora.unpacking import BoundedGzipFile, unpacked_limit

from .mutate_model import limited

SOURCE = Path(unpacking.__file__).parents[1]
ROW = b"He PRP B-NP\n\n"


@pytest.fixture
def low_limit(monkeypatch: pytest.MonkeyPatch) -> int:
    """Lower the size that is always allowed to 100 kB, so that tests are fast."""
    monkeypatch.setattr(unpacking, "ALWAYS_ALLOWED", 100_000)
    return 100_000


def write_bomb(path: Path, line: bytes = ROW, size: int = 3_000_000) -> Path:
    """Write a small gzip file that expands to a large one."""
    with gzip.open(path, "wb") as file_:
        for _ in range(size // (len(line) * 1000)):
            file_.write(line * 1000)
    return path


# Unpacking


def test_nothing_is_unpacked_into_a_folder() -> None:
    # With `..` or links in the names, unpacking could write anywhere
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
            names = {getattr(node, "attr", None), getattr(node, "id", None)}
            assert not names & {"extract", "extractall", "unpack_archive"}, path
            if isinstance(node, ast.Import | ast.ImportFrom):
                imported = {alias.name for alias in node.names}
                imported.add(getattr(node, "module", None))
                assert "tarfile" not in imported, path


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress, zlib.compress])
def test_other_packed_corpora_are_refused(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_bytes(pack(np.random.default_rng(0).bytes(1000) + b"\x00" * 1000))
    with pytest.raises(ValueError, match=r"P11[34].*train\.txt"):
        list(read_lines(path))


# gzip


def test_what_may_come_out_of_a_file() -> None:
    assert unpacked_limit(0) == unpacked_limit(1 << 20) == 1 << 28
    assert unpacked_limit(1 << 30) == 100 << 30


def test_a_corpus_that_is_a_bomb_is_refused(tmp_path: Path, low_limit: int) -> None:
    path = write_bomb(tmp_path / "train.txt.gz")
    n = 0
    with limited(), pytest.raises(ValueError, match=r"P421.*train\.txt\.gz.*gzip -d"):
        for _, lines in read_blocks(path):
            n += sum(len(line) + 1 for line in lines)
    # Some of the data is read first, but not much
    assert n <= max(low_limit, 100 * path.stat().st_size)


@pytest.mark.parametrize("name", [form.name for form in FORMATS.values() if not form.takes_folder])
def test_bombs_are_refused_in_all_formats(name: str, tmp_path: Path, low_limit: int) -> None:
    path = write_bomb(tmp_path / "train.txt.gz", b"\n", 3_000_000)
    with limited(), pytest.raises(ValueError, match=r"\[P421\].*train\.txt\.gz"):
        list(FORMATS[name].read(path))


def test_vectors_that_begin_with_mebibytes_of_blank_lines_are_refused(tmp_path: Path) -> None:
    path = write_bomb(tmp_path / "vectors.txt.gz", b"\n", 3_000_000)
    with pytest.raises(ValueError, match=r"P176.*begins with blank lines"):
        make_vectors(path, str(tmp_path / "vectors"))


def test_bombs_of_one_line_are_refused(tmp_path: Path) -> None:
    path = write_bomb(tmp_path / "train.txt.gz", b"a", 3_000_000)
    with limited(megabytes=50), pytest.raises(ValueError, match=r"P141.*line 1"):
        list(read_lines(path))


def test_a_bomb_is_refused_on_the_command_line(tmp_path: Path, low_limit: int) -> None:
    path = write_bomb(tmp_path / "train.txt.gz")
    output = tmp_path / "train.spacy"
    arguments = ["psa", "convert", str(path), str(output), "--format", "conll2000"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert "P421" in result.output and "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == [path]


def test_the_same_text_may_be_as_large_as_it_likes_unpacked(tmp_path: Path, low_limit: int) -> None:
    path = tmp_path / "train.txt"
    path.write_bytes(ROW * 100_000)
    assert sum(1 for _ in read_lines(path)) == 200_000


def test_text_is_never_packed_that_well(tmp_path: Path, low_limit: int) -> None:
    words = np.random.default_rng(0).integers(0, 3000, size=60_000)
    text = "".join(f"word{word} NN B-NP\n" for word in words).encode()
    path = tmp_path / "train.txt.gz"
    path.write_bytes(gzip.compress(text))
    assert len(text) > 5 * low_limit
    assert sum(1 for _ in read_lines(path)) == 60_000


@pytest.mark.parametrize("read", [lambda f: f.read(), lambda f: f.read(-1), lambda f: f.read(None)])
def test_reading_all_at_once_is_limited(read: Callable, tmp_path: Path, low_limit: int) -> None:
    path = write_bomb(tmp_path / "train.txt.gz")
    with (
        path.open("rb") as raw,
        BoundedGzipFile(raw, path, path.stat().st_size) as file_,
        pytest.raises(ValueError, match="P421"),
    ):
        read(file_)
    small = tmp_path / "small.gz"
    small.write_bytes(gzip.compress(ROW))
    with small.open("rb") as raw, BoundedGzipFile(raw, small, 10) as file_:
        assert read(file_) == ROW


# Fetching


def test_fetching_a_bomb_writes_nothing(tmp_path: Path, low_limit: int) -> None:
    folder, target = tmp_path / "there", tmp_path / "here" / "train.txt"
    folder.mkdir()
    path = write_bomb(folder / "train.txt.gz")
    for url, local in ((path.as_uri(), ""), ("https://x.org/train.txt.gz", str(folder))):
        with pytest.raises(ValueError, match=r"P421.*train\.txt\.gz"):
            fetching.fetch(url, target, sha256="0" * 64, local=local)
        assert not target.parent.exists() or list(target.parent.iterdir()) == []


def test_a_download_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "MAX_DOWNLOAD", 100_000)
    path = tmp_path / "large.txt"
    path.write_bytes(b"x" * 1_000_000)
    with pytest.raises(ValueError, match=r"P422.*100,000.*--local"):
        fetching.fetch(path.as_uri(), tmp_path / "train.txt", sha256="0" * 64)
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_looked_for_in_the_folder_alone(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "secret").write_text("x", encoding="utf8")
    for url in ("https://x.org/..%2Fsecret", "https://x.org/%2e%2e/secret", "https://x.org/.."):
        with pytest.raises(ValueError, match="P131"):
            fetching.find_local(url, tmp_path / "there")


# DocBins


def docbin() -> DocBin:
    vocab = Vocab()
    return DocBin(docs=[Doc(vocab, words=["He", "reckons"]) for _ in range(3)])


def test_a_docbin_that_is_a_bomb_is_refused(tmp_path: Path, low_limit: int) -> None:
    path = tmp_path / "train.spacy"
    packer = zlib.compressobj()
    path.write_bytes(packer.compress(b"\x00" * 20_000_000) + packer.flush())
    with limited(megabytes=50), pytest.raises(ValueError, match=r"P421.*train\.spacy"):
        read_docbin(path)


def test_a_docbin_of_many_docs_is_read(tmp_path: Path, low_limit: int) -> None:
    path = tmp_path / "train.spacy"
    docbin().to_disk(path)
    assert [doc.text for doc in read_docs(path, Vocab())] == ["He reckons "] * 3


@pytest.mark.parametrize(
    "changes",
    [
        {"lengths": np.array([2, 2, 999], dtype="int32").tobytes()},
        {"lengths": np.array([2, -2, 2], dtype="int32").tobytes()},
        {"strings": []},
        {"tokens": np.zeros(6 * 9, dtype="uint64").tobytes()},
        {"span_groups": [b"\xc1"] * 3},
        {"span_groups": 3},
        {"flags": []},
        {"cats": []},
        {"attrs": []},
        {"attrs": ["x"]},
        {"spaces": b""},
    ],
    ids=lambda changes: f"{next(iter(changes))}",
)
def test_damage_inside_of_a_docbin_is_told(changes: dict[str, Any], tmp_path: Path) -> None:
    message = srsly.msgpack_loads(zlib.decompress(docbin().to_bytes()))
    path = tmp_path / "train.spacy"
    path.write_bytes(zlib.compress(srsly.msgpack_dumps({**message, **changes})))
    try:
        docs = read_docs(path, Vocab())
    except ValueError as error:
        assert "[P121]" in str(error) and "train.spacy" in str(error)
    else:
        # Damage that spaCy tolerates
        assert len(docs) <= 3


# Vectors

TEXT = "the 0.5 1.0\ncat 2.0 -1.0\n"


class Payload:
    """Writes a file when unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("member", ["../outside.txt", "/outside.txt", "a/../../outside.txt"])
def test_a_member_of_an_archive_stays_inside(member: str, tmp_path: Path) -> None:
    folder = tmp_path / "inside"
    folder.mkdir()
    with zipfile.ZipFile(folder / "vectors.zip", "w") as archive:
        archive.writestr(member, TEXT)
    assert make_vectors(folder / "vectors.zip", str(folder / "en"), member=member)
    assert spacy.load(folder / "en").vocab["cat"].vector.tolist() == [2.0, -1.0]
    assert sorted(path.name for path in tmp_path.rglob("*outside*")) == []


def test_a_link_in_an_archive_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text(TEXT, encoding="utf8")
    link = zipfile.ZipInfo("vectors.txt")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "vectors.zip", "w") as archive:
        archive.writestr(link, str(secret))
    with pytest.raises(ValueError, match="P176"):
        make_vectors(tmp_path / "vectors.zip", str(tmp_path / "en"), member="vectors.txt")
    assert not (tmp_path / "en").exists()


@pytest.mark.parametrize("member", ["", "vectors.txt"])
def test_vectors_that_are_a_zip_bomb_are_refused(
    member: str, tmp_path: Path, low_limit: int
) -> None:
    path = tmp_path / "vectors.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("vectors.txt", "the 0.5 1.0\n" * 1_000_000)
    with limited(), pytest.raises(ValueError, match=r"P421.*vectors\.zip"):
        make_vectors(path, str(tmp_path / "en"), member=member)
    assert list(tmp_path.iterdir()) == [path]


def test_vectors_that_are_a_gzip_bomb_are_refused(tmp_path: Path, low_limit: int) -> None:
    path = write_bomb(tmp_path / "vectors.txt.gz", b"the 0.5 1.0\n")
    with limited(), pytest.raises(ValueError, match=r"P421.*vectors\.txt\.gz"):
        make_vectors(path, str(tmp_path / "en"))


@pytest.mark.parametrize("header", ["1000000000 300", "2 1000000000", "9" * 18 + " 1", "9" * 5000])
@pytest.mark.parametrize("packed", [False, True])
def test_a_table_that_cannot_be_there_is_not_allocated(
    header: str, packed: bool, tmp_path: Path
) -> None:
    text = f"{header}\n{TEXT}".encode()
    path = tmp_path / ("vectors.txt.gz" if packed else "vectors.txt")
    path.write_bytes(gzip.compress(text) if packed else text)
    with limited(megabytes=50), pytest.raises(ValueError, match=r"\[P(424|176)\].*vectors"):
        make_vectors(path, str(tmp_path / "en"))


def test_a_table_with_the_right_header_is_read(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("2 2\nthe 0 1\ncat 2 3\n", encoding="utf8")
    assert make_vectors(path, str(tmp_path / "en"))
    assert spacy.load(tmp_path / "en").vocab["cat"].vector.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("name", ["vectors.npz", "vectors.npy", "vectors.txt", "vectors.txt.gz"])
def test_arrays_of_objects_are_not_vectors(name: str, tmp_path: Path) -> None:
    trace, path, file_ = tmp_path / "trace", tmp_path / name, io.BytesIO()
    np.savez(file_, vectors=np.array([Payload(trace)], dtype=object))
    data = pickle.dumps(Payload(trace)) if name.endswith(".txt") else file_.getvalue()
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    with pytest.raises(ValueError, match=r"P176.*vectors"):
        make_vectors(path, str(tmp_path / "en"))
    assert list(tmp_path.iterdir()) == [path]


def test_a_tar_archive_is_not_vectors(tmp_path: Path) -> None:
    path = tmp_path / "vectors.tar.gz"
    (tmp_path / "vectors.txt").write_text(TEXT, encoding="utf8")
    with tarfile.open(path, "w:gz") as archive:
        archive.add(tmp_path / "vectors.txt", "../vectors.txt")
    with pytest.raises(ValueError, match=r"P176.*vectors\.tar\.gz.*binary"):
        make_vectors(path, str(tmp_path / "en"))


@pytest.mark.parametrize("cut", [10, 50, 100])
@pytest.mark.parametrize("name", ["vectors.zip", "vectors.txt.gz"])
def test_damaged_archives_are_told(name: str, cut: int, tmp_path: Path) -> None:
    path, file_ = tmp_path / name, io.BytesIO()
    with zipfile.ZipFile(file_, "w") as archive:
        archive.writestr("vectors.txt", TEXT * 10)
    data = file_.getvalue() if name.endswith("zip") else gzip.compress(np.random.bytes(200))
    path.write_bytes(data[:-cut])
    for member in ("", "vectors.txt")[: 2 if name.endswith("zip") else 1]:
        with pytest.raises(ValueError, match=r"P176.*vectors"):
            make_vectors(path, str(tmp_path / "en"), member=member)
