"""`psa train` evaluates after the last update, unlike spaCy's loop."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.training import Corpus

from spacy_psa.cli.train import train
from spacy_psa.training import run as training_run
from spacy_psa.training.checkpoint import read_checkpoint

from .runs import Killed, kill, log, weights, write_config, write_corpora

MODELS = ("model-last", "model-best")
# With batches of 6, an epoch of 22 sentences has 4 updates: 12 in all.
LAST = 11


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a corpus."""
    write_corpora(tmp_path)
    return tmp_path


def steps(output: Path) -> list[int]:
    """The evaluated steps, from the log."""
    return [entry["step"] for entry in log(output)]


def meta(output: Path, name: str) -> dict[str, Any]:
    """The metadata of a saved pipeline, without its speed."""
    found = json.loads((output / name / "meta.json").read_text(encoding="utf8"))
    found["performance"].pop("speed", None)
    return found


def progress(output: Path) -> dict[str, Any]:
    """The progress of a run, without the time."""
    checkpoint = read_checkpoint(output / "checkpoint")
    assert checkpoint is not None
    return {**vars(checkpoint), "seconds": 0.0}


def assert_same(output: Path, whole: Path) -> None:
    """Two runs must have ended with the same files."""
    for name in MODELS:
        assert weights(output, name) == weights(whole, name)
        assert meta(output, name) == meta(whole, name)
    assert log(output) == log(whole)
    assert progress(output) == progress(whole)


def kill_evaluation(config: Path, output: Path, number: int, **options: Any) -> None:
    """Interrupt a run in one of its evaluations, counted from 0."""
    original, done = Language.evaluate, 0

    def mortal_evaluate(self: Language, *args: Any, **kwargs: Any) -> Any:
        nonlocal done
        done += 1
        if done > number:
            raise Killed
        return original(self, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Language, "evaluate", mortal_evaluate)
        train(config, output, **options)


def kill_at_the_end(config: Path, output: Path, **options: Any) -> None:
    """Interrupt a run when only the final message is left."""

    def die(*arguments: Any) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        patch.setattr(training_run.TrainingRun, "_finish", die)
        train(config, output, **options)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_n_epochs_have_n_evaluations_beside_that_of_the_first_update(folder: Path, n: int) -> None:
    config = write_config(folder, training={"max_epochs": n, "eval_frequency": 4})
    train(config, folder / "out")
    assert steps(folder / "out") == [*range(0, 4 * n, 4), 4 * n - 1]
    assert log(folder / "out")[-1]["epochs"] == n
    assert read_checkpoint(folder / "out" / "checkpoint").finished


def test_epochs_are_whole_if_the_batcher_leaves_sentences_out(folder: Path) -> None:
    batcher = {"@batchers": "spacy.batch_by_padded.v1", "size": 6, "buffer": 1}
    config = write_config(
        folder,
        training={"max_epochs": 2, "eval_frequency": 100},
        training__batcher={**batcher, "discard_oversize": True},
    )
    train(config, folder / "out")
    assert log(folder / "out")[-1]["epochs"] == 2.0


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"max_epochs": 0, "max_steps": 7}, [0, 3, 6, 7]),
        ({"max_epochs": 0, "max_steps": 6}, [0, 3, 6]),
        ({"max_epochs": -1, "max_steps": 5}, [0, 3, 5]),
        ({"max_epochs": 3, "max_steps": 4}, [0, 3, 4]),
        ({"max_epochs": 3, "eval_frequency": 11}, [0, 11]),
        ({"max_epochs": 1, "eval_frequency": 100}, [0, 3]),
    ],
)
def test_the_last_update_is_evaluated_once_however_training_ends(
    folder: Path, settings: dict[str, int], expected: list[int]
) -> None:
    train(write_config(folder, training=settings), folder / "out")
    assert steps(folder / "out") == expected


@pytest.mark.parametrize("patience", [4, 6])
def test_training_that_ends_early_is_evaluated_at_its_end(folder: Path, patience: int) -> None:
    settings = {"max_epochs": 0, "patience": patience, "eval_frequency": 3}
    still = {"learn_rate": 0.0, "momentum": 0.0}
    config = write_config(folder, training=settings, training__optimizer=still)
    train(config, folder / "out")
    assert steps(folder / "out") == {4: [0, 3, 4], 6: [0, 3, 6]}[patience]


@pytest.mark.parametrize(
    ("scores", "best"), [((0.1, 0.2), LAST), ((0.2, 0.1), 0), ((0.2, 0.2), 11)]
)
def test_the_best_pipeline_may_be_the_last_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, scores: tuple[float, float], best: int
) -> None:
    given: Iterator[float] = iter(scores)

    def evaluation(*arguments: Any) -> Any:
        def evaluate() -> tuple[float, dict[str, float]]:
            score = next(given)
            return score, {"tag_acc": score, "speed": 1.0}

        return evaluate

    monkeypatch.setattr(training_run, "create_evaluation_callback", evaluation)
    train(write_config(folder, training={"eval_frequency": 100}), folder / "out")
    assert [entry["score"] for entry in log(folder / "out")] == list(scores)
    assert (weights(folder / "out", "model-best") == weights(folder / "out")) is (best == LAST)
    found = [meta(folder / "out", name)["performance"]["tag_acc"] for name in MODELS]
    assert found == [scores[1], max(scores)]


def test_averaged_weights_are_evaluated(folder: Path) -> None:
    config = write_config(folder, training__optimizer={"use_averages": True})
    train(config, folder / "out")
    # The averaged weights are those that are saved
    nlp = spacy.load(folder / "out" / "model-last")
    found = nlp.evaluate(list(Corpus(folder / "dev.spacy")(nlp)))
    assert found["tag_acc"] == log(folder / "out")[-1]["score"]


def test_a_run_is_resumed_between_the_last_update_and_its_evaluation(folder: Path) -> None:
    config = write_config(folder, training__optimizer={"use_averages": True})
    train(config, folder / "whole", checkpoint_every=1)
    # Steps 0, 3, 6, 9, and then 11
    kill_evaluation(config, folder / "out", 4, checkpoint_every=1)
    saved = read_checkpoint(folder / "out" / "checkpoint")
    assert (saved.step, len(saved.scores), saved.finished) == (LAST, 4, False)
    assert saved.losses["labels"] > 0.0
    train(config, folder / "out", resume=True, checkpoint_every=1)
    assert_same(folder / "out", folder / "whole")


@pytest.mark.parametrize("every", [None, 1, pytest.param(5, marks=pytest.mark.nightly)])
def test_a_run_is_resumed_in_the_last_evaluation_whatever_the_checkpoints(
    folder: Path, every: int | None
) -> None:
    config = write_config(folder)
    train(config, folder / "whole", checkpoint_every=every)
    kill_evaluation(config, folder / "out", 4, checkpoint_every=every)
    train(config, folder / "out", resume=True, checkpoint_every=every)
    assert_same(folder / "out", folder / "whole")


@pytest.mark.parametrize("frequency", [3, 11])
def test_a_run_that_is_resumed_after_its_last_evaluation_does_not_repeat_it(
    folder: Path, frequency: int
) -> None:
    config = write_config(folder, training={"eval_frequency": frequency})
    train(config, folder / "whole")
    kill_at_the_end(config, folder / "out")
    saved = read_checkpoint(folder / "out" / "checkpoint")
    assert (saved.step, len(saved.scores)) == (LAST, len(log(folder / "whole")))
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(Language, "evaluate")
        train(config, folder / "out", resume=True)
    assert_same(folder / "out", folder / "whole")


def test_a_run_that_is_killed_again_and_again_ends_with_the_same_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write_config(folder, training={"eval_frequency": 4})
    train(config, folder / "whole")
    kill(monkeypatch, config, folder / "out", 10)
    kill_evaluation(config, folder / "out", 0, resume=True)
    kill_at_the_end(config, folder / "out", resume=True)
    train(config, folder / "out", resume=True)
    assert_same(folder / "out", folder / "whole")
