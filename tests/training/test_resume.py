"""A run that is killed and resumed ends like an uninterrupted one, to the last bit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import spacy
import torch
from spacy.cli.train import train as spacy_train
from thinc.api import Config

from spacy_psa.cli.train import train
from spacy_psa.training.checkpoint import read_checkpoint

from .runs import TAGS, kill, log, weights, write_config, write_corpora

torch.set_num_threads(1)

ADAM = {"@optimizers": "Adam.v1", "learn_rate": 0.01, "grad_clip": 0.0}
WARMUP = {
    "@schedules": "warmup_linear.v1",
    "warmup_steps": 3,
    "total_steps": 20,
    "initial_rate": 0.05,
}
GROUPS = {
    "embeddings": {"parameters": ["*embed/*"], "factor": 0.5},
    "plain": {"parameters": ["*bias*", "*/b", "*transitions*"], "L2": 0.0},
    "tagger": {"components": ["tagger"], "parameters": ["maxout/*"], "learn_rate": WARMUP},
}
SETTINGS: dict[str, dict[str, Any]] = {
    "momentum": {},
    "averages": {"training__optimizer": {"use_averages": True}},
    "accumulation": {"training": {"accumulate_gradient": 2}},
    "adadelta": {"training__optimizer": {"@optimizers": "spacy_psa.Adadelta.v1"}},
    "adamw with groups": {
        "two": True,
        "training__optimizer": {
            "@optimizers": "spacy_psa.AdamW.v1",
            "use_averages": True,
            "groups": GROUPS,
        },
    },
    "adam": {"training__optimizer": {**ADAM, "use_averages": True}},
    "radam": {"training__optimizer": {"@optimizers": "RAdam.v1", "learn_rate": 0.01}},
    "warm-up": {"training__optimizer": {**ADAM, "learn_rate": WARMUP}},
    "two components": {"two": True, "training__optimizer": {**ADAM, "use_averages": True}},
    "no seed": {"training": {"seed": None}},
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    write_corpora(tmp_path)
    return write_config(tmp_path)


def test_a_run_trains_as_spacy_train_does(tmp_path: Path) -> None:
    write_corpora(tmp_path)
    config = write_config(tmp_path, **SETTINGS["adamw with groups"])
    spacy_train(config, tmp_path / "spacy")
    train(config, tmp_path / "ours")
    assert weights(tmp_path / "ours") == weights(tmp_path / "spacy")
    ours, spacys = log(tmp_path / "ours"), log(tmp_path / "spacy")
    # Under `spacy train`, loggers do not know the size of the corpus.
    epochs = [6 / 22, 22 / 22, 40 / 22, 56 / 22, 66 / 22]
    assert [e.pop("epochs") for e in ours] == pytest.approx(epochs)
    assert [e.pop("epochs") for e in spacys] == [None] * 4
    # `spacy train` does not evaluate what it learns after step 9.
    last = ours.pop()
    assert ours == spacys
    assert last["step"] == 11
    if last["score"] < max(entry["score"] for entry in spacys):
        assert weights(tmp_path / "ours", "model-best") == weights(tmp_path / "spacy", "model-best")
    else:
        assert weights(tmp_path / "ours", "model-best") == weights(tmp_path / "ours")


# Others have what these have: momentum and one component in the tests of any step, averages and
# Adam with two components
DOUBLES = ("momentum", "averages", "adam")
CASES = [
    pytest.param(name, marks=[pytest.mark.nightly] * (name in DOUBLES))
    for name in SETTINGS
    if name != "no seed"
]


@pytest.mark.parametrize("setting", CASES)
def test_a_killed_run_ends_as_if_nothing_had_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    write_corpora(tmp_path)
    config = write_config(tmp_path, **SETTINGS[setting])
    train(config, tmp_path / "whole", checkpoint_every=1)
    # Checkpoints after steps 0, 3, 6, 9; an update is half a step if gradients accumulate.
    kill(monkeypatch, config, tmp_path / "killed", 5)
    kill(monkeypatch, config, tmp_path / "killed", 6, resume=True)
    train(config, tmp_path / "killed", resume=True)
    for name in ("model-best", "model-last"):
        assert weights(tmp_path / "killed", name) == weights(tmp_path / "whole", name)
    assert log(tmp_path / "killed") == log(tmp_path / "whole")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing interrupts."""
    folder = tmp_path_factory.mktemp("whole")
    write_corpora(folder)
    train(write_config(folder), folder / "whole")
    return folder / "whole"


@pytest.mark.parametrize("step", [1, 4, 5, 11])
def test_any_step_is_one_to_go_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: Path, whole: Path, step: int
) -> None:
    # Before the second step of the first epoch, around its end, and in the very last step.
    kill(monkeypatch, config, tmp_path / "killed", step, checkpoint_every=1)
    assert read_checkpoint(tmp_path / "killed" / "checkpoint").step == step - 1
    train(config, tmp_path / "killed", resume=True, checkpoint_every=1)
    assert weights(tmp_path / "killed") == weights(whole)
    assert log(tmp_path / "killed") == log(whole)


def test_a_run_without_seed_goes_on_through_the_batches_that_it_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_corpora(tmp_path)
    config = write_config(tmp_path, **SETTINGS["no seed"])
    kill(monkeypatch, config, tmp_path / "killed", 7, checkpoint_every=1)
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", str(tmp_path / "killed"), str(copy)], check=True)
    train(config, tmp_path / "killed", resume=True)
    train(config, copy, resume=True)
    assert weights(tmp_path / "killed") == weights(copy)


def test_patience_counts_from_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_corpora(tmp_path)
    settings = {"max_epochs": 0, "patience": 6, "eval_frequency": 1}
    config = write_config(
        tmp_path, training=settings, training__optimizer={"learn_rate": 0.0, "momentum": 0.0}
    )
    train(config, tmp_path / "whole")
    kill(monkeypatch, config, tmp_path / "killed", 4)
    train(config, tmp_path / "killed", resume=True)
    # The last update has already been evaluated, and is not evaluated again.
    assert [entry["step"] for entry in log(tmp_path / "whole")] == list(range(7))
    assert log(tmp_path / "killed") == log(tmp_path / "whole")


def test_streamed_corpora_are_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_corpora(tmp_path)
    # The augmenter draws random numbers whenever the corpus is read.
    augmenter = {"@augmenters": "spacy.lower_case.v1", "level": 0.5}
    config = write_config(
        tmp_path,
        training={"max_epochs": -1, "max_steps": 10},
        corpora__train={
            "@readers": "spacy.Corpus.v1",
            "path": str(tmp_path / "train.spacy"),
            "augmenter": augmenter,
        },
    )
    train(config, tmp_path / "whole")
    kill(monkeypatch, config, tmp_path / "killed", 8)
    train(config, tmp_path / "killed", resume=True)
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")


def test_labels_that_a_sourced_component_gained_are_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_corpora(tmp_path)
    train(write_config(tmp_path), tmp_path / "source")
    write_corpora(tmp_path, tags=[*TAGS[:4], "JJR", *TAGS[5:8], "IN", "."])
    config = Config().from_disk(write_config(tmp_path), interpolate=False)
    config["components"]["labels"] = {"source": str(tmp_path / "source" / "model-last")}
    config.to_disk(tmp_path / "more.cfg")
    with pytest.warns(UserWarning, match="W433.*'(IN|JJR)'"):
        train(tmp_path / "more.cfg", tmp_path / "whole")
        kill(monkeypatch, tmp_path / "more.cfg", tmp_path / "killed", 5)
    train(tmp_path / "more.cfg", tmp_path / "killed", resume=True)
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")


def test_frozen_components_stay_as_they_were_sourced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_corpora(tmp_path)
    train(write_config(tmp_path, two=True), tmp_path / "source")
    config = Config().from_disk(write_config(tmp_path, two=True), interpolate=False)
    config["components"]["tagger"] = {"source": str(tmp_path / "source" / "model-last")}
    config["training"]["frozen_components"] = ["tagger"]
    config.to_disk(tmp_path / "frozen.cfg")
    train(tmp_path / "frozen.cfg", tmp_path / "whole")
    kill(monkeypatch, tmp_path / "frozen.cfg", tmp_path / "killed", 5)
    train(tmp_path / "frozen.cfg", tmp_path / "killed", resume=True)
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")
    source = weights(tmp_path / "source")["tagger"]
    assert weights(tmp_path / "killed")["tagger"] == source


@pytest.mark.nightly
def test_a_process_that_is_killed_leaves_a_run_to_go_on_with(tmp_path: Path, config: Path) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    # A run that never ends on its own, so that the signal arrives while it is training.
    command = [sys.executable, "-m", "spacy", "psa", "train", str(config), "--output", str(killed)]
    process = subprocess.Popen(
        [*command, "--checkpoint-every", "1", "--training.max_epochs", "0"],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    while process.poll() is None:
        checkpoint = read_checkpoint(killed / "checkpoint")
        if checkpoint is not None and checkpoint.step >= 4:
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.01)
    assert process.wait() == -signal.SIGKILL
    steps = read_checkpoint(killed / "checkpoint").step + 1
    endless = {"training.max_epochs": 0}
    with pytest.MonkeyPatch.context() as monkeypatch:
        kill(monkeypatch, config, killed, 6, overrides=endless, resume=True)
        kill(monkeypatch, config, whole, steps + 6, overrides=endless)
    assert weights(killed) == weights(whole)


def test_the_pipeline_that_is_left_can_be_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: Path
) -> None:
    kill(monkeypatch, config, tmp_path / "killed", 5)
    train(config, tmp_path / "killed", resume=True)
    nlp = spacy.load(tmp_path / "killed" / "model-best")
    assert nlp("Ann saw Berlin .")[0].tag_


def test_a_batcher_that_leaves_nothing_over_is_an_error(tmp_path: Path) -> None:
    write_corpora(tmp_path)
    batcher = {"@batchers": "spacy.batch_by_padded.v1", "size": 1, "buffer": 5}
    config = write_config(
        tmp_path,
        training={"max_epochs": 1},
        training__batcher={**batcher, "discard_oversize": True},
    )
    with pytest.raises(ValueError, match=r"\[P299\].*\[training\.batcher\]"):
        train(config, tmp_path / "run")
