"""Mistakes in what `spacy train` is given: one clear error, and no model."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from thinc.api import Config

from .commands import SmallCorpus, plain, run, succeed

BILSTM = "--components.psa_ner.model.encoder.recurrent"


def fail(output: Path, *arguments: object) -> str:
    """Run a training that has to fail before there is any model, and give its error."""
    result = run("train", *arguments, "--output", output)
    assert result.exit_code == 1
    assert list(output.iterdir()) == [], "left behind"
    if isinstance(result.exception, SystemExit):
        return plain(result.output)
    return str(result.exception)


def write_docs(path: Path, *docs: Doc) -> Path:
    """Write a corpus."""
    DocBin(docs=docs).to_disk(path)
    return path


def test_a_corpus_file_that_is_missing(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus
) -> None:
    path = tmp_path / "absent.spacy"
    error = fail(tmp_path / "out", tiny_config, "--paths.train", path, "--paths.dev", corpus.dev)
    assert "No such file" in error and str(path) in error


def test_a_development_corpus_that_is_missing(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus
) -> None:
    path, output = tmp_path / "absent.spacy", tmp_path / "out"
    paths = ["--paths.train", corpus.train, "--paths.dev", path]
    result = run("train", tiny_config, "--output", output, *paths)
    assert result.exit_code == 1
    assert "No such file" in str(result.exception) and str(path) in str(result.exception)
    # spaCy saves what it has when a training ends with an error, but no model was chosen.
    assert not (output / "model-best").exists()


def test_a_corpus_folder_without_files(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus
) -> None:
    folder = tmp_path / "nothing"
    folder.mkdir()
    with pytest.warns(UserWarning, match="W090"):
        error = fail(
            tmp_path / "out", tiny_config, "--paths.train", folder, "--paths.dev", corpus.dev
        )
    assert "[P306]" in error and "'psa_pos'" in error


def test_no_path(tmp_path: Path, tiny_config: Path) -> None:
    assert "[E913]" in fail(tmp_path / "out", tiny_config)


def test_an_empty_corpus(tmp_path: Path, tiny_config: Path, corpus: SmallCorpus) -> None:
    path = write_docs(tmp_path / "empty.spacy")
    error = fail(tmp_path / "out", tiny_config, "--paths.train", path, "--paths.dev", corpus.dev)
    assert "[P306]" in error and "'psa_pos'" in error


def test_a_corpus_without_the_labels(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus
) -> None:
    doc = Doc(Vocab(), words=["Canada", "moved"], tags=["NNP", "VBD"])
    path = write_docs(tmp_path / "tags.spacy", doc)
    error = fail(tmp_path / "out", tiny_config, "--paths.train", path, "--paths.dev", corpus.dev)
    assert "[P305]" in error and "'psa_ner' (target 'ents')" in error


def test_a_spans_key_that_the_corpus_has_not(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus
) -> None:
    component = "--components.psa_ner"
    error = fail(
        *(tmp_path / "out", tiny_config, *corpus.paths),
        *(f"{component}.target", "spans", f"{component}.spans_key", "phrases"),
    )
    assert "[P305]" in error and "key 'phrases'" in error


def test_a_corpus_that_is_no_docbin(tmp_path: Path, tiny_config: Path, corpus: SmallCorpus) -> None:
    path = tmp_path / "text.spacy"
    path.write_text("Canada NNP\n", encoding="utf8")
    error = fail(tmp_path / "out", tiny_config, "--paths.train", path, "--paths.dev", corpus.dev)
    assert "[E1014]" in error


def test_columns_that_are_not_in_the_format(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus
) -> None:
    config = Config().from_disk(tiny_config, interpolate=False)
    reader = {"@readers": "spacy_psa.CoNLL2000.v1", "path": str(corpus.train_columns)}
    config["corpora"]["train"] = reader
    config.to_disk(tmp_path / "columns.cfg")
    error = fail(tmp_path / "out", tmp_path / "columns.cfg", "--paths.dev", corpus.dev)
    assert "[P112]" in error and "train.conll, line 1: found 4 columns, expected 3" in error


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("--components.psa_ner.target", "entity", "[P303] Unknown target 'entity'"),
        ("--components.psa_ner.max_grad_norm", "-1", "[P210] Invalid value for 'max_grad_norm'"),
        ("--components.psa_ner.model.overlap", "600", "[P208]"),
        ("--components.psa_ner.model.tok2vec.attr", "LEMMA", "[P204] Unknown attribute 'LEMMA'"),
        ("--components.psa_ner.model.tok2vec.min_freq", "0", "[P210] Invalid value for 'min_freq'"),
        (f"{BILSTM}.hidden_width", "0", "[P210] Invalid value for 'hidden_width': 0"),
        (f"{BILSTM}.hidden_width", "wide", "'wide' is not <class 'int'>"),
        (f"{BILSTM}.input_dropout", "1.5", "[P210] Invalid value for 'input_dropout': 1.5"),
        (f"{BILSTM}.cells", "3", "unexpected argument: 'cells'"),
        ("--training.optimizer.momentum", "0.9", "unexpected argument: 'momentum'"),
    ],
)
def test_a_wrong_setting(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus, setting: str, value: str, message: str
) -> None:
    error = fail(tmp_path / "out", tiny_config, *corpus.paths, setting, value)
    assert message in error


def test_a_block_that_does_not_exist(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus
) -> None:
    config = Config().from_disk(tiny_config, interpolate=False)
    config["components"]["psa_ner"]["model"]["decoder"] = {"@architectures": "spacy_psa.CFR.v1"}
    config.to_disk(tmp_path / "typo.cfg")
    error = fail(tmp_path / "out", tmp_path / "typo.cfg", *corpus.paths)
    assert "spacy_psa.CFR.v1" in error and "spacy_psa.CRF.v1" in error


def test_vectors_of_another_width(tmp_path: Path, tiny_config: Path, corpus: SmallCorpus) -> None:
    (tmp_path / "vectors.txt").write_text("1 3\nsaid 0.5 0.25 -0.5\n", encoding="utf8")
    succeed("init", "vectors", "en", tmp_path / "vectors.txt", tmp_path / "vectors")
    error = fail(
        tmp_path / "out", tiny_config, *corpus.paths, "--paths.vectors", tmp_path / "vectors"
    )
    assert "[P206]" in error and "8 wide" in error and "set it to 3" in error


def test_labels_of_the_data_that_the_label_file_has_not(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus
) -> None:
    (tmp_path / "labels.json").write_text('["LOC", "ORG"]', encoding="utf8")
    config = Config().from_disk(tiny_config, interpolate=False)
    reader = {"@readers": "spacy.read_labels.v1", "path": str(tmp_path / "labels.json")}
    config["initialize"]["components"] = {"psa_ner": {"labels": reader}}
    config.to_disk(tmp_path / "labels.cfg")
    result = run("train", tmp_path / "labels.cfg", "--output", tmp_path / "out", *corpus.paths)
    assert result.exit_code == 1
    assert "[P301]" in str(result.exception) and "of the target 'ents'" in str(result.exception)
    assert not (tmp_path / "out" / "model-best").exists()


def test_the_error_is_the_last_line_that_users_see(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus
) -> None:
    path = write_docs(tmp_path / "empty.spacy")
    command = [sys.executable, "-m", "spacy", "train", str(tiny_config), "-o", str(tmp_path / "o")]
    done = subprocess.run(
        [*command, "--paths.train", str(path), "--paths.dev", str(corpus.dev)],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].startswith("ValueError: [P306] There are no")
    assert not any((tmp_path / "o").iterdir())
