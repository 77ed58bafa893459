"""Mistakes in the input of `spacy train`: one clear error, and no model."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import pytest
from click.testing import Result
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from thinc.api import Config, ConfigValidationError

from spacy_psa.cli._config_errors import config_errors, explain, warn_of_unknown_settings
from spacy_psa.cli._reproduction_runs import change, filled

from .commands import SmallCorpus, plain, run, succeed

BILSTM = "--components.psa_ner.model.encoder.recurrent"


def message_of(result: Result) -> str:
    """The error message of a command, on one line and without typer's box."""
    if isinstance(result.exception, SystemExit):
        return " ".join(re.sub("[─│╭╮╰╯]", " ", plain(result.output)).split())
    return str(result.exception)


def fail(output: Path, *arguments: object) -> str:
    """Run a training that must fail before it saves a model, and return its error."""
    result = run("train", *arguments, "--output", output)
    assert result.exit_code == 1
    assert list(output.iterdir()) == [], "left behind"
    return message_of(result)


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
    # If training fails, spaCy saves the current model, but no best model was chosen yet.
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
        ("--components.psa_ner.max_grad_norm", "-1", "[P210] Invalid value for 'max_grad_norm'"),
        ("--components.psa_ner.model.overlap", "600", "[P208]"),
        (f"{BILSTM}.input_dropout", "1.5", "[P210] Invalid value for 'input_dropout': 1.5"),
    ],
)
def test_a_wrong_setting(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus, setting: str, value: str, message: str
) -> None:
    error = fail(tmp_path / "out", tiny_config, *corpus.paths, setting, value)
    assert message in error


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        (f"{BILSTM}.hidden_width", "wide", r"'wide' is not <class 'int'>|not a valid integer"),
        (f"{BILSTM}.cells", "3", r"unexpected argument: 'cells'|cells\s+extra fields not"),
        ("--training.optimizer.momentum", "0.9", r"argument: 'momentum'|momentum\s+extra fields"),
    ],
)
def test_a_setting_that_spacy_refuses(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus, setting: str, value: str, message: str
) -> None:
    # The wording depends on spaCy's release: before 3.8.12, it is pydantic 1's
    assert re.search(message, fail(tmp_path / "out", tiny_config, *corpus.paths, setting, value))


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
    with pytest.warns(UserWarning, match=r"W433.*'psa_ner'.*'(MISC|PER)'"):
        succeed(
            *("train", tmp_path / "labels.cfg", "--output", tmp_path / "out", *corpus.paths),
            *("--training.max_steps", 2),
        )
    saved = json.loads((tmp_path / "out" / "model-last" / "psa_ner" / "cfg").read_text())
    assert saved["labels"][:2] == ["LOC", "ORG"]
    assert len(saved["labels"]) > 2


def test_users_see_the_error_and_no_traceback(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus
) -> None:
    paths = ["--paths.train", write_docs(tmp_path / "empty.spacy"), "--paths.dev", corpus.dev]
    result = run("train", tiny_config, "-o", tmp_path / "o", *paths)
    # Of any other exception, Python would print the traceback
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit)
    assert "[P306] There are no" in result.output
    assert not any((tmp_path / "o").iterdir())


# The `psa` commands suggest what was meant


def fail_psa_train(output: Path, *arguments: object) -> str:
    """Run `psa train`, which must end with a message, not a traceback."""
    result = run("psa", "train", *arguments, "--output", output)
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit), result.exception
    assert not (output / "model-last").exists()
    return " ".join(plain(result.output).split())


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        (
            "--components.psa_ner.targt",
            "tag",
            "unexpected argument: 'targt'. Did you mean 'target'?",
        ),
        (
            "--components.psa_ner.target",
            "tags",
            "[P100] Unknown target 'tags'. Did you mean 'tag'?",
        ),
        (
            "--components.psa_ner.factory",
            "psa_tager",
            "factory 'psa_tager'. Did you mean 'psa_tagger'?",
        ),
        ("--components.psa_ner.inference_backend", "scalled", "[P100]|Did you mean 'scaled'?"),
        ("--components.psa_ner.model.tok2vec.attr", "lowr", "[P100]|Did you mean 'LOWER'?"),
        (f"{BILSTM}.hiden_width", "3", "BiLSTM.v1|hiden_width'. Did you mean 'hidden_width'?"),
        (
            f"{BILSTM}.@architectures",
            "spacy_psa.DeepAtt.v1",
            "recurrent.positions: missing required argument|Add it|docs/configuration/",
        ),
        (f"{BILSTM}.cells", "3", "unexpected argument: 'cells'. Remove it"),
        (f"{BILSTM}.hidden_width", "wide", "[P437]|BiLSTM.v1|recurrent.hidden_width: |is not"),
        (f"{BILSTM}.@architectures", "spacy_psa.BiLSTMM.v1", "Did you mean 'spacy_psa.BiLSTM.v1'?"),
        ("--corpora.train.@readers", "spacy.Corpuss.v1", "Did you mean 'spacy.Corpus.v1'?"),
        ("--training.optimizer.learn_rat", "0.1", "[P437]|Did you mean 'learn_rate'?"),
        (
            "--training.optimizer.groups",
            '{"slow": {"components": ["psa_por"]}}',
            "[P437]|component 'psa_por' for [training.optimizer.groups.slow]|mean 'psa_pos'?",
        ),
        ("--nlp.pipeline", '["psa_por"]', "component 'psa_por'. Did you mean 'psa_pos'?"),
    ],
)
def test_psa_train_names_the_nearest_option(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus, setting: str, value: str, message: str
) -> None:
    error = fail_psa_train(tmp_path / "out", tiny_config, *corpus.paths, setting, value)
    for part in message.split("|"):
        assert part in error


TOKENIZER = """
import spacy
from spacy.tokens import Doc

@spacy.registry.tokenizers("tests.no_to_disk.v1")
def make():
    return Blanks

class Blanks:
    def __init__(self, nlp):
        self.vocab = nlp.vocab

    def __call__(self, text):
        return Doc(self.vocab, words=text.split())
"""


def test_a_tokenizer_that_cannot_be_saved(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus
) -> None:
    code = tmp_path / "code.py"
    code.write_text(TOKENIZER, encoding="utf8")
    options = ("--code", code, "--nlp.tokenizer.@tokenizers", "tests.no_to_disk.v1")
    error = fail_psa_train(tmp_path / "out", tiny_config, *corpus.paths, *options)
    assert "[P290] The tokenizer Blanks has no method 'to_disk'" in error


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("--training.max_epoch", r"W432.*'max_epoch' in \[training\].*Did you mean 'max_epochs'"),
        ("--nlp.pipelin", r"W432.*'pipelin' in \[nlp\].*Did you mean 'pipeline'"),
        ("--trainin.max_steps", r"W432.*\[trainin\].*Did you mean 'training'"),
    ],
)
def test_psa_train_warns_of_settings_that_spacy_ignores(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus, setting: str, message: str
) -> None:
    config = Config().from_disk(tiny_config, interpolate=False)
    *_, section, key = setting.removeprefix("--").split(".")
    config.setdefault(section, {})[key] = 3
    config["components"]["psa_ner"]["target"] = "none"
    config.to_disk(tmp_path / "typo.cfg")
    with pytest.warns(UserWarning, match=message):
        fail_psa_train(tmp_path / "out", tmp_path / "typo.cfg", *corpus.paths)


def test_sections_of_ones_own_are_not_warned_of(tiny_config: Path) -> None:
    config = Config().from_disk(tiny_config, interpolate=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_unknown_settings({**config, "variables": {"width": 3}})


def test_psa_reproduce_names_the_nearest_setting(tiny_config: Path) -> None:
    config = Config().from_disk(tiny_config, interpolate=False)
    with pytest.raises(ValueError, match=r"P394.*Did you mean 'target'\?"):
        change(config, {"components.psa_ner.targt": "tag"}, "mine")
    config["components"]["psa_ner"]["target"] = "tags"
    with pytest.raises(ValueError, match=r"P100.*Did you mean 'tag'\?"):
        filled(config, "mine")
    config["components"]["psa_ner"]["model"]["decoder"] = {"@architectures": "spacy_psa.CFR.v1"}
    with pytest.raises(ValueError, match=r"P395.*mine.*Did you mean 'spacy_psa\.CRF\.v1'\?"):
        filled(config, "mine")


@pytest.mark.parametrize(
    ("title", "parent", "place", "message"),
    [
        ("Config validation error", "model.encoder", ["hiden_width"], "extra fields not permitted"),
        (
            "Config error for 'spacy_psa.BiLSTM.v1'",
            "",
            ["model", "encoder", "hiden_width"],
            "unexpected argument: 'hiden_width'",
        ),
    ],
)
def test_errors_of_all_releases_are_put_in_the_same_words(
    title: str, parent: str, place: list[str], message: str
) -> None:
    error = ConfigValidationError(
        config={"@architectures": "spacy_psa.BiLSTM.v1", "hiden_width": 3},
        errors=[{"loc": place, "msg": message}],
        title=title,
        parent=parent,
    )
    found = explain(error)
    assert found is not None and "'spacy_psa.BiLSTM.v1'" in found.splitlines()[0]
    assert found.splitlines()[1] == (
        "model.encoder.hiden_width: unexpected argument: 'hiden_width'. "
        "Did you mean 'hidden_width'?"
    )


def test_other_errors_are_left_alone() -> None:
    assert explain(ValueError("[E913] Corpus path can't be None.")) is None
    with pytest.raises(ValueError, match="other"), config_errors("a.cfg"):
        raise ValueError("other")
