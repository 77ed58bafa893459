"""`psa train` reports a missing file before it trains or writes anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from spacy.language import Language
from spacy.training import Corpus, Example
from spacy.util import registry
from thinc.api import Config

from spacy_psa.cli._training_files import check_training_files
from spacy_psa.training.checkpoint import read_checkpoint

from ..training.runs import kill, weights, write_config, write_corpora
from .commands import SmallCorpus, plain, run, succeed

READER = {"@readers": "spacy.Corpus.v1"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a corpus."""
    write_corpora(tmp_path)
    return tmp_path


def fail(config: Path, output: Path, *arguments: object) -> str:
    """Run `psa train`, which must fail before training. RETURNS (str): The message, on one line."""
    result = run("psa", "train", config, "--output", output, *arguments)
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit), result.exception
    assert not output.exists(), "left behind"
    message = " ".join(plain(result.output).split())
    assert "Aborting" not in message and "Initializing" not in message
    return message


@pytest.mark.parametrize("part", ["train", "dev"])
@pytest.mark.parametrize("name", ["nofile.spacy", "nofolder"])
def test_a_corpus_that_is_missing(folder: Path, part: str, name: str) -> None:
    config = write_config(folder)
    message = fail(config, folder / "out", f"--corpora.{part}.path", name)
    assert f"[P109] There is no file {name}" in message


@pytest.mark.parametrize("part", ["train", "dev"])
@pytest.mark.parametrize("n_bytes", [100, 1, 0])
def test_a_corpus_that_is_cut_short(folder: Path, part: str, n_bytes: int) -> None:
    path = folder / f"{part}.spacy"
    path.write_bytes(path.read_bytes()[:n_bytes])
    message = fail(write_config(folder), folder / "out")
    assert "[P121]" in message and path.name in message and "cut short" in message


@pytest.mark.parametrize("part", ["train", "dev"])
def test_a_corpus_that_a_variable_names(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus, part: str
) -> None:
    path = tmp_path / "nofile.spacy"
    message = fail(tiny_config, tmp_path / "out", *corpus.paths, f"--paths.{part}", path)
    assert "[P109]" in message and path.name in message


@pytest.mark.parametrize("part", ["train", "dev"])
def test_a_corpus_without_a_path(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus, part: str
) -> None:
    i = corpus.paths.index(f"--paths.{part}")
    message = fail(tiny_config, tmp_path / "out", *corpus.paths[:i], *corpus.paths[i + 2 :])
    assert f"[P472] No corpus path is set in [corpora.{part}]" in message
    assert f"--paths.{part} FILE" in message


def test_a_path_that_is_no_variable_is_set_where_it_is(folder: Path) -> None:
    inner = {"@readers": "spacy_psa.CoNLL2005.v1", "path": None}
    outer = {"@readers": "spacy_psa.FrameCorpus.v1", "corpus": inner}
    message = fail(write_config(folder, corpora__dev=outer), folder / "out")
    assert "[P472]" in message and "--corpora.dev.corpus.path FILE" in message


def test_corpora_of_other_names(folder: Path) -> None:
    config = Config().from_disk(write_config(folder), interpolate=False)
    config["corpora"] = {"mine": {"a": config["corpora"]["train"], "b": {**READER}}}
    config["corpora"]["mine"]["b"]["path"] = "nofile.spacy"
    config["training"].update(train_corpus="corpora.mine.a", dev_corpus="corpora.mine.b")
    config.to_disk(folder / "names.cfg")
    assert "There is no file nofile.spacy" in fail(folder / "names.cfg", folder / "out")


def test_a_corpus_within_another_reader(folder: Path) -> None:
    inner = {**READER, "path": "nofile.spacy", "gold_preproc": False}
    outer = {"@readers": "spacy_psa.FrameCorpus.v1", "corpus": inner}
    config = write_config(folder, corpora__dev=outer)
    assert "There is no file nofile.spacy" in fail(config, folder / "out")


@pytest.mark.parametrize(
    ("reader", "code"),
    [("CoNLL2000", "P109"), ("CoNLL2005", "P109"), ("CoNLLU", "P109"), ("PTB", "P153")],
)
def test_columns_and_treebanks_that_are_missing(folder: Path, reader: str, code: str) -> None:
    block = {"@readers": f"spacy_psa.{reader}.v1", "path": "nofile"}
    message = fail(write_config(folder, corpora__dev=block), folder / "out")
    assert f"[{code}]" in message and "nofile" in message


def test_a_folder_where_there_should_be_a_file(folder: Path) -> None:
    block = {"@readers": "spacy_psa.CoNLL2000.v1", "path": str(folder)}
    assert "[P110]" in fail(write_config(folder, corpora__dev=block), folder / "out")


def test_what_names_of_files_begin_with_is_no_missing_file(folder: Path) -> None:
    (folder / "test.words").write_text("Ann\nsaw\n\n", encoding="utf8")
    (folder / "test.props").write_text("- (A0*)\nsee (V*)\n\n", encoding="utf8")
    block = {"@readers": "spacy_psa.CoNLL2005.v1", "path": str(folder / "test")}
    check_training_files(Config().from_disk(write_config(folder, corpora__dev=block)))


def test_a_folder_without_a_corpus(folder: Path) -> None:
    (folder / "empty").mkdir()
    config = write_config(folder)
    message = fail(config, folder / "out", "--corpora.dev.path", folder / "empty")
    assert "[P471] There is no .spacy file at" in message
    # spaCy only warns: all scores are 0, and the untrained pipeline is the best
    (folder / "dev.jsonl").write_text('{"text": "Ann ran"}', encoding="utf8")
    message = fail(config, folder / "out", "--corpora.dev.path", folder / "dev.jsonl")
    assert "[P471] There is no .spacy file at" in message and "dev.jsonl" in message
    message = fail(config, folder / "out", "--corpora.dev.path", '""')
    assert "[P109]" in message


def test_vectors_that_are_a_file(tmp_path: Path, tiny_config: Path, corpus: SmallCorpus) -> None:
    table = tmp_path / "vectors.txt"
    table.write_text("a 1 2\n", encoding="utf8")
    message = fail(tiny_config, tmp_path / "out", *corpus.paths, "--paths.vectors", table)
    assert "[P470] There are no vectors" in message
    assert f"spacy psa vectors {table} FOLDER`" in message


def test_vectors_in_another_folder(tmp_path: Path, tiny_config: Path, corpus: SmallCorpus) -> None:
    (tmp_path / "vectors").mkdir()
    (tmp_path / "vectors" / "vectors.txt").write_text("a 1 2\n", encoding="utf8")
    arguments = (*corpus.paths, "--paths.vectors", tmp_path / "vectors")
    message = fail(tiny_config, tmp_path / "out", *arguments)
    assert "[P470] There are no vectors" in message
    assert not (tmp_path / "out").exists()


def test_vectors_that_are_missing(tmp_path: Path, tiny_config: Path, corpus: SmallCorpus) -> None:
    arguments = (*corpus.paths, "--paths.vectors", "vectors/none")
    message = fail(tiny_config, tmp_path / "out", *arguments)
    assert "[P470] There are no vectors 'vectors/none'" in message


def test_paths_of_corpora_that_are_not_used_may_be_anything(folder: Path) -> None:
    config = Config().from_disk(write_config(folder), interpolate=False)
    config["corpora"]["other"] = {**READER, "path": "nofile.spacy", "gold_preproc": False}
    check_training_files(config)


def test_what_the_path_of_another_reader_means_is_not_known(folder: Path) -> None:
    def create(path: str) -> Callable[[Language], Iterator[Example]]:
        return lambda nlp: iter(())

    registry.readers.register("test.Remote.v1", func=create)
    block = {"@readers": "test.Remote.v1", "path": "server:corpus"}
    check_training_files(Config().from_disk(write_config(folder, corpora__dev=block)))


def test_another_reader_may_need_no_path(folder: Path) -> None:
    def create(path: str | None) -> Callable[[Language], Iterator[Example]]:
        return lambda nlp: iter(())

    registry.readers.register("test.Anywhere.v1", func=create)
    block = {"@readers": "test.Anywhere.v1", "path": None}
    check_training_files(Config().from_disk(write_config(folder, corpora__dev=block)))


def test_corpora_are_not_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = Config().from_disk(write_config(folder))

    def refuse(*arguments: Any) -> Any:
        raise AssertionError("loaded")

    monkeypatch.setattr(Corpus, "__call__", refuse)
    monkeypatch.setattr(Corpus, "read_docbin", refuse)
    check_training_files(config)


def test_an_earlier_run_stays(folder: Path) -> None:
    config = write_config(folder, training={"max_epochs": 1})
    succeed("psa", "train", config, "--output", folder / "out")
    before = weights(folder / "out", "model-best")
    result = run("psa", "train", config, "-o", folder / "out", "--corpora.dev.path", "nofile.spacy")
    assert result.exit_code == 1 and "[P109]" in plain(result.output)
    assert weights(folder / "out", "model-best") == before
    assert read_checkpoint(folder / "out" / "checkpoint").finished


def test_a_run_that_is_resumed_without_its_corpus_can_be_resumed_with_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write_config(folder, training={"max_epochs": 1})
    kill(monkeypatch, config, folder / "out", 2)
    (folder / "dev.spacy").rename(folder / "elsewhere.spacy")
    command = ("psa", "train", config, "--output", folder / "out", "--resume")
    result = run(*command)
    assert result.exit_code == 1 and "[P109]" in plain(result.output)
    (folder / "elsewhere.spacy").rename(folder / "dev.spacy")
    succeed(*command)
    assert read_checkpoint(folder / "out" / "checkpoint").finished
