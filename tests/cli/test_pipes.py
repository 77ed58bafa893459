"""Commands whose input is a pipe."""

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest

from spacy_psa.cli._docbins import read_docbin
from spacy_psa.cli.conlleval import score_docbins
from spacy_psa.cli.convert import convert
from spacy_psa.cli.srl_eval import score_paths
from spacy_psa.corpora.corpus import ColumnCorpus
from spacy_psa.corpora.formats import FORMATS, get_format
from spacy_psa.corpora.iob import read_iob
from spacy_psa.corpora.lines import keep_pipes, open_pipe

from .commands import descriptor, run

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs pipes in /dev/fd")
SAMPLES = Path(__file__).parents[1] / "corpora" / "samples"
# As many characters are more than Python's buffers hold, as many sentences more than a pipe
N = 10_000
CONLLU = "1\tOh\toh\tINTJ\tUH\t_\t0\troot\t_\t_\n\n"
ONTONOTES = "nw/a/00/a_0001 0 0 Ann NNP * - - - - (PERSON) -\n\n"
# Format: a sentence, and the options that a pipe needs because it has no name
TEXTS = {
    "conll2000": ("He PRP B-NP\nruns VBZ B-VP\n\n", ()),
    "conll2002": ("Ann NNP B-PER\nruns VBZ O\n\n", ()),
    "conll2003": ("Ann NNP B-NP B-PER\nruns VBZ B-VP O\n\n", ()),
    "iob": ("Ann B-PER\nruns O\n\n", ()),
    "tagged": ("Ann NNP\nruns VBZ\n\n", ()),
    "conllu": (CONLLU, ()),
    "conll2012": (ONTONOTES, ()),
    "ontonotes": (ONTONOTES, ()),
    "conll2005": ("Ann - (A0*)\nruns run (V*)\n\n", ()),
    "ptb": ("(S (NP (NNP Ann)) (VP (VBZ runs)))\n", ("kind=mrg",)),
    "offsets": (
        '{"text": "Ann ran.", "spans": [{"start": 0, "end": 3, "label": "PER"}]}\n',
        (),
    ),
    "ccgbank": ((SAMPLES / "wsj_0101.auto").read_text(encoding="utf8"), ()),
}


@contextmanager
def piped(data: bytes) -> Iterator[Path]:
    """A pipe into which another thread writes."""
    source, sink = os.pipe()

    def write() -> None:
        with suppress(BrokenPipeError), os.fdopen(sink, "wb") as file_:
            file_.write(data)

    writer = Thread(target=write)
    writer.start()
    try:
        yield Path(f"/dev/fd/{source}")
    finally:
        os.close(source)
        writer.join()


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("name", FORMATS)
def test_a_pipe_gives_the_same_as_a_file(name: str, compressed: bool, tmp_path: Path) -> None:
    text, options = TEXTS[name]
    data = (text * (N // len(text))).encode()
    data = gzip.compress(data) if compressed else data
    with piped(data) as pipe:
        # In some formats, the name of a file is that of a document
        file_ = tmp_path / pipe.name
        file_.write_bytes(data)
        convert(file_, tmp_path / "file.spacy", form=name, options=options)
        convert(pipe, tmp_path / "pipe.spacy", form=name, options=options)
    assert (tmp_path / "file.spacy").read_bytes() == (tmp_path / "pipe.spacy").read_bytes()


@pytest.mark.parametrize("name", ["conll2000", "conll2003", "iob", "tagged", "conllu"])
def test_detection_takes_nothing_from_a_pipe(name: str, tmp_path: Path) -> None:
    text, _ = TEXTS[name]
    with piped(text.encode() * N) as pipe:
        assert convert(pipe, tmp_path / "pipe.spacy").sentences == N


def test_a_named_pipe(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    data = TEXTS["iob"][0] * N
    writer = Thread(target=fifo.write_text, args=(data,))
    writer.start()
    assert convert(fifo, tmp_path / "a.spacy").sentences == N
    writer.join()


def test_standard_input_of_the_command(tmp_path: Path) -> None:
    output = tmp_path / "a.spacy"
    with piped(TEXTS["conll2000"][0].encode() * N) as pipe, descriptor(0, pipe, os.O_RDONLY):
        result = run("psa", "convert", "/dev/stdin", output)
    assert result.exit_code == 0, result.output
    assert f"Wrote {N:,} Docs" in result.stdout and len(read_docbin(output)) == N
    assert "sentences" not in result.stderr, "the progress bar is for terminals"


def test_a_reader_called_without_a_command() -> None:
    with piped(TEXTS["iob"][0].encode() * N) as pipe:
        assert sum(1 for _ in read_iob(pipe)) == N


def test_errors_name_the_pipe(tmp_path: Path) -> None:
    with piped(b"Ann B-PER\nruns\n") as pipe, pytest.raises(ValueError, match=f"P112.*{pipe}"):
        convert(pipe, tmp_path / "a.spacy", form="iob")


@pytest.mark.parametrize("form", ["props", "spacy"])
def test_roles_from_pipes(form: str, tmp_path: Path) -> None:
    n = N // 5
    path = tmp_path / "gold.txt"
    path.write_text(TEXTS["conll2005"][0] * n, encoding="utf8")
    convert(path, tmp_path / "gold.spacy", form="conll2005")
    data = (tmp_path / "gold.spacy").read_bytes()
    if form == "props":
        data = b"- (A0*)\nrun (V*)\n\n" * n
    with piped(data) as gold, piped(data) as predicted:
        result = score_paths(gold, predicted)
    assert result.to_dict()["propositions"] == n


def test_chunks_from_pipes(tmp_path: Path) -> None:
    path = tmp_path / "gold.txt"
    path.write_text(TEXTS["conll2000"][0] * 10, encoding="utf8")
    convert(path, tmp_path / "gold.spacy")
    data = (tmp_path / "gold.spacy").read_bytes()
    with piped(data) as gold, piped(data) as predicted:
        assert score_docbins(gold, predicted).chunks.correct == 20


def test_training_refuses_pipes() -> None:
    with piped(b"a O\n") as pipe, pytest.raises(ValueError, match=r"P166.*psa convert"):
        ColumnCorpus(pipe, get_format("iob"))


def test_what_is_kept_of_a_pipe_is_removed() -> None:
    with piped(b"a O\n") as pipe:
        with keep_pipes():
            for _ in range(2):
                with open_pipe(pipe) as file_:
                    assert file_.read() == b"a O\n"
        with open_pipe(pipe) as file_:
            assert file_.read() == b""
