"""`psa train`: resuming a run, and the errors if it cannot be resumed."""

from __future__ import annotations

import errno
import os
import re
import shutil
from pathlib import Path

import pytest
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.vocab import Vocab
from thinc.api import Config

from spacy_psa.cli._util import gpu_errors
from spacy_psa.locks import FolderLock
from spacy_psa.training.checkpoint import read_checkpoint

from ..training.runs import kill, log, weights, write_config, write_corpora
from .commands import contents, failure, plain, run, succeed


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus, a config, and the run `out`, killed after step 6."""
    folder = tmp_path_factory.mktemp("killed")
    write_corpora(folder)
    config = write_config(folder, training={"max_epochs": 2, "eval_frequency": 2})
    with pytest.MonkeyPatch.context() as monkeypatch:
        kill(monkeypatch, config, folder / "out", 7)
    return folder


@pytest.fixture
def folder(tmp_path: Path, killed: Path) -> Path:
    """A copy of the killed run's output folder."""
    shutil.copytree(killed / "out", tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
def config(killed: Path) -> Path:
    """The config of the run."""
    return killed / "config.cfg"


def fail(*arguments: object) -> str:
    return failure("psa", "train", *arguments)


def test_a_killed_run_goes_on_to_its_end(folder: Path, config: Path) -> None:
    output = succeed("psa", "train", config, "--output", folder, "--resume")
    assert "after step 6" in " ".join(output.split())
    # In one line, however long
    command = f"psa evaluate {folder}/model-best {config.parent / 'dev.spacy'}"
    assert re.search(rf"^Next: .* {command}$", output, re.M)
    assert read_checkpoint(folder / "checkpoint").finished
    assert [path.name for path in (folder / "checkpoint").iterdir()] == ["state.json"]
    assert {"model-best", "model-last", "train.jsonl"} <= {path.name for path in folder.iterdir()}


def test_ctrl_c_ends_a_run_with_the_way_to_go_on(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Language, "update", interrupted)
        result = run("psa", "train", config, "--output", tmp_path / "out")
    assert result.exit_code == 130
    assert "Interrupted. With --resume" in " ".join(plain(result.output).split())


def test_a_finished_run_is_left_alone(folder: Path, config: Path) -> None:
    succeed("psa", "train", config, "--output", folder, "--resume")
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    output = succeed("psa", "train", config, "--output", folder, "--resume")
    assert "is already finished, after step 7" in " ".join(output.split())
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_a_finished_run_gives_way_to_a_new_one(folder: Path, config: Path) -> None:
    succeed("psa", "train", config, "--output", folder, "--resume")
    output = succeed("psa", "train", config, "--output", folder, "--training.max_steps", 1)
    assert "Resuming" not in output
    assert [entry["step"] for entry in log(folder)] == [0, 1]


def test_an_unfinished_run_is_not_written_over(folder: Path, config: Path) -> None:
    before = weights(folder)
    message = fail(config, "--output", folder)
    assert "[P283]" in message
    assert "--resume" in message
    assert weights(folder) == before


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
@pytest.mark.parametrize("options", [[], ["--resume"]])
def test_a_folder_that_another_run_writes_to_is_an_error(
    folder: Path, config: Path, options: list[str]
) -> None:
    with FolderLock(folder) as other:
        other.acquire()
        before = contents(folder)
        assert "[P510]" in fail(config, "--output", folder, *options)
        assert contents(folder) == before
    # What a process that was killed leaves is the file alone
    assert (folder / ".lock").is_file()
    succeed("psa", "train", config, "--output", folder, "--resume")


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_two_runs_that_begin_at_once_are_an_error_for_the_second(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FolderLock(tmp_path / "out") as other:

        def setup(use_gpu: int) -> None:
            other.folder.mkdir()
            other.acquire()

        monkeypatch.setattr("spacy_psa.private_names.setup_gpu", setup)
        assert "[P510]" in fail(config, "--output", tmp_path / "out")
    assert [path.name for path in other.folder.iterdir()] == [".lock"]


@pytest.mark.parametrize("place", ["out", "new/out"])
def test_a_run_that_fails_in_initialization_leaves_no_folder(
    tmp_path: Path, config: Path, place: str
) -> None:
    unlabeled = ("--components.labels.target", "ents")
    assert "[P305]" in fail(config, "--output", tmp_path / place, *unlabeled)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_a_disk_without_locks_is_trained_on(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", refuse)
    succeed("psa", "train", config, "--output", tmp_path / "out")


def test_resume_without_a_checkpoint_begins(tmp_path: Path, config: Path) -> None:
    arguments = ("--output", tmp_path / "new", "--training.max_steps", 1)
    output = succeed("psa", "train", config, *arguments, "--resume")
    assert "There is no checkpoint" in output
    assert read_checkpoint(tmp_path / "new" / "checkpoint").finished


@pytest.mark.parametrize(
    ("arguments", "difference"),
    [
        (["--training.dropout", "0.5"], "training.dropout is 0.5, but was 0.2"),
        (["--training.seed", "2"], "training.seed is 2, but was 1"),
        (["--training.optimizer.momentum", "0.5"], "momentum is 0.5, but was not set"),
        (["--corpora.dev.path", "x.spacy"], "corpora.dev.path is"),
    ],
)
def test_a_changed_config_is_an_error_that_names_the_difference(
    folder: Path, config: Path, arguments: list[str], difference: str
) -> None:
    message = fail(config, "--output", folder, "--resume", *arguments)
    assert "[P284]" in message
    assert difference in message


def test_the_first_of_several_differences_is_named(folder: Path, config: Path) -> None:
    changes = ("--training.dropout", "0.3", "--components.labels.model.tok2vec.width", "8")
    message = fail(config, "--output", folder, "--resume", *changes)
    assert "components.labels.model.tok2vec.width is 8, but was 4" in message


def test_a_changed_corpus_is_an_error_that_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_corpora(tmp_path)
    config = write_config(tmp_path)
    kill(monkeypatch, config, tmp_path / "out", 7)
    before = weights(tmp_path / "out")
    write_corpora(tmp_path, n_train=23)
    assert "[P286]" in fail(config, "--output", tmp_path / "out", "--resume")
    write_corpora(tmp_path, n_train=2)
    assert "[P286]" in fail(config, "--output", tmp_path / "out", "--resume")
    assert weights(tmp_path / "out") == before


def test_a_damaged_checkpoint_is_an_error_that_changes_nothing(folder: Path, config: Path) -> None:
    before = weights(folder)
    (path,) = (folder / "checkpoint").glob("*.safetensors")
    path.write_bytes(path.read_bytes()[:-10])
    assert "[P285]" in fail(config, "--output", folder, "--resume")
    (folder / "checkpoint" / "state.json").write_text("{", encoding="utf8")
    assert "[P285]" in fail(config, "--output", folder, "--resume")
    assert weights(folder) == before


def test_checkpoints_every_zero_steps_are_an_error(tmp_path: Path, config: Path) -> None:
    assert "[P288]" in fail(config, "--output", tmp_path / "out", "--checkpoint-every", 0)
    assert not (tmp_path / "out").exists()


def test_any_logger_can_be_used(tmp_path: Path, config: Path) -> None:
    settings = Config().from_disk(config, interpolate=False)
    settings["training"]["logger"] = {"@loggers": "spacy.ConsoleLogger.v1"}
    settings["training"]["max_steps"] = 1
    settings.to_disk(tmp_path / "console.cfg")
    output = succeed("psa", "train", tmp_path / "console.cfg", "--output", tmp_path / "out")
    assert "TAG_ACC" in output


def test_scores_of_a_component_from_another_pipeline_decide(tmp_path: Path) -> None:
    write_corpora(tmp_path)
    for path in tmp_path.glob("*.spacy"):
        docs = list(DocBin().from_disk(path).get_docs(Vocab()))
        for token in (token for doc in docs for token in doc):
            token.pos_ = "NOUN" if token.tag_.startswith("N") else "X"
        DocBin(attrs=["POS"], docs=docs).to_disk(path)
    only = {
        "training": {"max_steps": 1, "eval_frequency": 1},
        "components__labels": {"target": "pos"},
    }
    succeed("psa", "train", write_config(tmp_path, **only), "--output", tmp_path / "one")
    settings = Config().from_disk(tmp_path / "config.cfg")
    settings["components"]["labels"] = {"source": str(tmp_path / "one" / "model-best")}
    settings.to_disk(tmp_path / "more.cfg")
    succeed("psa", "train", tmp_path / "more.cfg", "--output", tmp_path / "more")
    saved = Config().from_disk(tmp_path / "more" / "model-best" / "config.cfg")
    assert saved["training"]["score_weights"] == {"pos_acc": 1.0}


BIG = "1" + 26 * "0"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *((f"{name}", 0) for name in ("eval_frequency", "accumulate_gradient", "batcher.size")),
        *((name, -2) for name in ("max_steps", "max_epochs", "patience", "dropout")),
        *((f"optimizer.{name}", -1) for name in ("learn_rate", "L2", "beta1", "eps", "grad_clip")),
        *((name, BIG) for name in ("seed", "dropout", "max_steps", "optimizer.learn_rate")),
        *((name, "NaN") for name in ("dropout", "batcher.size", "optimizer.learn_rate")),
        *((name, "-Infinity") for name in ("patience", "batcher.size", "optimizer.eps")),
        ("optimizer.learn_rate", '{"@schedules": "constant.v1", "rate": -1}'),
        ("batcher.size", "[8, 0]"),
    ],
)
def test_numbers_that_cannot_train_are_named_at_once(
    tmp_path: Path, config: Path, setting: str, value: object
) -> None:
    message = fail(config, "--output", tmp_path / "out", f"--training.{setting}", value)
    assert f"[P210] Invalid value for 'training.{setting}" in message
    assert not (tmp_path / "out").exists()


def test_no_dropout_may_be_written_as_an_integer(tmp_path: Path, config: Path) -> None:
    limits = ("--training.max_steps", 1, "--training.max_epochs", 0)
    succeed("psa", "train", config, "-o", tmp_path / "out", "--training.dropout", 0, *limits)


@pytest.mark.parametrize("section", ["nlp", "training"])
def test_a_config_without_a_section_is_an_error(tmp_path: Path, config: Path, section: str) -> None:
    settings = Config().from_disk(config, interpolate=False)
    del settings[section]
    settings.to_disk(tmp_path / "less.cfg")
    message = fail(tmp_path / "less.cfg", "--output", tmp_path / "out")
    assert (
        "[P437]" in message and f"less.cfg' is not valid: it has no section [{section}]" in message
    )
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_no_config_is_an_error(tmp_path: Path) -> None:
    DocBin().to_disk(tmp_path / "train.spacy")
    message = fail(tmp_path / "train.spacy", "--output", tmp_path / "out")
    assert "[P437]" in message and "train.spacy' is not valid: the file is not text" in message


def test_a_config_with_a_byte_order_mark_is_an_error(tmp_path: Path, config: Path) -> None:
    marked, other = tmp_path / "marked.cfg", tmp_path / "train.jsonl"
    marked.write_text(config.read_text(encoding="utf8"), encoding="utf-8-sig")
    other.write_text('{"text": "Ann ran"}', encoding="utf8")
    message = fail(marked, "--output", tmp_path / "out")
    assert (
        "[P437]" in message and "marked.cfg' is not valid: the file begins with a byte" in message
    )
    message = fail(other, "--output", tmp_path / "out")
    assert "[P437]" in message and "train.jsonl' is not valid: it has no sections" in message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["train", "vocabulary"])
def test_a_folder_that_is_no_config_is_an_error(tmp_path: Path, command: str) -> None:
    result = run("psa", command, tmp_path, "--output", tmp_path / "out")
    assert result.exit_code == 2 and "is a directory" in result.output


def test_an_output_that_is_a_file_is_an_error(tmp_path: Path, config: Path) -> None:
    path = tmp_path / "out"
    path.write_text("x", encoding="utf8")
    for output in (path, path / "inside"):
        for options in ([], ["--resume"]):
            message = fail(config, "--output", output, *options)
            assert "[P412]" in message and "Not a directory" in message
    assert path.read_text(encoding="utf8") == "x"


def test_other_files_beside_a_checkpoint_are_kept(tmp_path: Path, config: Path) -> None:
    path = tmp_path / "out" / "checkpoint" / "letter.txt"
    path.parent.mkdir(parents=True)
    path.write_text("x", encoding="utf8")
    succeed("psa", "train", config, "--output", tmp_path / "out", "--training.max_steps", 1)
    assert path.is_file() and read_checkpoint(path.parent).finished


def no_gpu(*arguments: object, **settings: object) -> None:
    raise ValueError("Cannot use GPU, CuPy is not installed")


def test_a_gpu_that_cannot_be_used_is_an_error(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spacy.cli._util.setup_gpu", no_gpu)
    message = fail(config, "--output", tmp_path / "out", "--gpu-id", 3)
    assert "[P453] GPU 3 cannot be used (Cannot use GPU, CuPy is not installed)" in message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "model", "dev.spacy"],
        ["compare", "one", "other", "dev.spacy"],
        ["annotate", "model", "texts.txt"],
        ["tag", "model", "A text"],
        ["calibrate", "model", "dev.spacy"],
        ["conlleval", "dev.spacy", "model"],
        ["srl-eval", "dev.spacy", "model"],
    ],
)
def test_so_it_is_for_other_commands(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacy.cli._util.setup_gpu", no_gpu)
    message = " ".join(plain(run("psa", *words, "--gpu-id", 0).output).split())
    assert "[P453] GPU 0 cannot be used" in message and "leave out --gpu-id" in message


@pytest.mark.parametrize("error", [RuntimeError, AssertionError])
def test_errors_of_cupy_and_pytorch_are_told_in_one_line(error: type[Exception]) -> None:
    message = r"P453.*\(invalid device ordinal\)\. Install"
    with pytest.raises(ValueError, match=message), gpu_errors(7):
        raise error("invalid device ordinal.\nCompile with TORCH_USE_CUDA_DSA")


def test_pipelines_of_chosen_epochs_are_kept(
    killed: Path, tmp_path: Path, folder: Path, config: Path
) -> None:
    output = succeed("psa", "train", config, "--output", tmp_path / "new", "--keep-epochs", "1,2,9")
    assert "ended before these epochs to keep: [9]" in output
    kept = {path.name for path in (tmp_path / "new").glob("epoch-*")}
    assert kept == {"epoch-1", "epoch-2"}
    for name, other in (("epoch-2", True), ("epoch-1", False)):
        same = weights(tmp_path / "new", name) == weights(tmp_path / "new")
        assert same == other
    # The killed run has passed its first epoch, of four steps, and an evaluation after it
    message = fail(config, "--output", folder, "--resume", "--keep-epochs", "1")
    assert "P297" in message and "[1]" in message
    assert "P297" in fail(config, "--output", tmp_path / "other", "--keep-epochs", "0")


def test_an_epoch_that_ended_after_the_last_evaluation_is_kept_when_a_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_corpora(tmp_path)
    config = write_config(tmp_path, training={"max_epochs": 3, "eval_frequency": 3})
    options = {"checkpoint_every": 1, "keep_epochs": [1, 2]}
    # Epochs of four steps: evaluations at steps 6 and 9, the second epoch ends in between
    kill(monkeypatch, config, tmp_path / "out", 9, **options)
    assert read_checkpoint(tmp_path / "out" / "checkpoint").epoch == 2
    assert [path.name for path in (tmp_path / "out").glob("epoch-*")] == ["epoch-1"]
    kept = "--keep-epochs", "1,2"
    succeed("psa", "train", config, "--output", tmp_path / "out", "--resume", *kept)
    succeed("psa", "train", config, "--output", tmp_path / "whole", *kept)
    for name in ("epoch-1", "epoch-2"):
        assert weights(tmp_path / "out", name) == weights(tmp_path / "whole", name)
