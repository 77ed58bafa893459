"""The log of a training run."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.training import Example
from spacy.util import registry

from spacy_psa.pipeline.tagger import PSATagger
from spacy_psa.training.logger import jsonl_logger

from .runs import kill, log, write_config, write_corpora


def info(step: int, **changes: Any) -> dict[str, Any]:
    """What spaCy passes to loggers after an evaluation."""
    told = {
        "step": step,
        "epoch": step // 4,
        "words": 10 * step,
        "seconds": 2,
        "losses": {"psa_tagger": 1.5},
        "score": 0.25,
        "other_scores": {"tag_acc": 0.25, "ents_per_type": {"PER": {"p": 1.0}}, "ents_f": None},
    }
    return {**told, **changes}


@pytest.fixture
def nlp() -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("psa_tagger")
    nlp.config["training"].update(max_steps=20, score_weights={"tag_acc": 1.0})
    return nlp


def entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf8").splitlines()]


def start(nlp: Language, path: Path, **options: Any):
    return jsonl_logger(str(path), **options)(nlp, io.StringIO(), io.StringIO())


def test_the_logger_is_registered() -> None:
    assert registry.loggers.get("spacy_psa.JsonlLogger.v1") is jsonl_logger


def test_an_evaluation_is_a_line(nlp: Language, tmp_path: Path) -> None:
    log_step, finalize = start(nlp, tmp_path / "logs" / "run.jsonl")
    log_step(info(0))
    log_step(None)
    finalize()
    (entry,) = entries(tmp_path / "logs" / "run.jsonl")
    assert entry == {
        "step": 0,
        "epoch": 0,
        "epochs": None,
        "words": 0,
        "seconds": 2,
        "losses": {"psa_tagger": 1.5},
        "score": 0.25,
        "scores": {"tag_acc": 0.25},
        "learn_rate": 0.001,
        "sentences_per_second": 0.0,
    }


def test_lines_are_there_as_soon_as_they_are_logged(nlp: Language, tmp_path: Path) -> None:
    log_step, finalize = start(nlp, tmp_path / "run.jsonl")
    for n in (1, 2):
        log_step(info(n))
        assert len(entries(tmp_path / "run.jsonl")) == n
    finalize()


def test_the_log_is_in_the_output_folder_by_default(nlp: Language, tmp_path: Path) -> None:
    log_step, finalize = jsonl_logger()(nlp, io.StringIO(), io.StringIO())
    log_step(info(0, output_path=str(tmp_path / "model-last")))
    finalize()
    assert len(entries(tmp_path / "train.jsonl")) == 1


def test_without_an_output_folder_there_is_no_file(
    nlp: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log_step, finalize = jsonl_logger()(nlp, io.StringIO(), io.StringIO())
    log_step(info(0))
    finalize()
    assert list(tmp_path.iterdir()) == []


def test_a_resumed_run_takes_the_place_of_what_it_does_again(nlp: Language, tmp_path: Path) -> None:
    for steps in ((0, 3, 6), (3, 6, 9)):
        log_step, finalize = start(nlp, tmp_path / "run.jsonl")
        for step in steps:
            log_step(info(step))
        finalize()
    assert [entry["step"] for entry in entries(tmp_path / "run.jsonl")] == [0, 3, 6, 9]


def test_a_new_run_takes_the_place_of_the_old_one(nlp: Language, tmp_path: Path) -> None:
    for seconds in (1, 2):
        log_step, finalize = start(nlp, tmp_path / "run.jsonl")
        log_step(info(0, seconds=seconds))
        finalize()
    assert [entry["seconds"] for entry in entries(tmp_path / "run.jsonl")] == [2]


def test_half_a_line_of_a_killed_run_is_removed(nlp: Language, tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text('{"step": 0}\n{"step": 3, "epo', encoding="utf8")
    log_step, finalize = start(nlp, tmp_path / "run.jsonl")
    log_step(info(3))
    finalize()
    assert [entry["step"] for entry in entries(tmp_path / "run.jsonl")] == [0, 3]


@pytest.mark.parametrize(
    "content",
    ["Some text\nof mine\n", '{"text": "mine"}\n', "[1]\n", '{"step": "a"}\n{"step": "b"}\n'],
)
def test_other_files_are_not_written_over(nlp: Language, tmp_path: Path, content: str) -> None:
    (tmp_path / "mine.jsonl").write_text(content, encoding="utf8")
    log_step, finalize = start(nlp, tmp_path / "mine.jsonl")
    with pytest.raises(ValueError, match=r"\[P291\] Line 1 of .*mine\.jsonl"):
        log_step(info(0))
    finalize()
    assert (tmp_path / "mine.jsonl").read_text(encoding="utf8") == content


def test_the_table_is_printed_unless_it_is_switched_off(nlp: Language, tmp_path: Path) -> None:
    printed = {}
    for console_output in (True, False):
        stdout = io.StringIO()
        logger = jsonl_logger(str(tmp_path / "run.jsonl"), console_output=console_output)
        log_step, finalize = logger(nlp, stdout, io.StringIO())
        log_step(info(0))
        finalize()
        printed[console_output] = stdout.getvalue()
    assert "TAG_ACC" in printed[True]
    assert "25.00" in printed[True]
    assert printed[False] == ""


@pytest.mark.parametrize(
    ("step", "limit", "console_output", "expected"),
    [
        (12, 20, True, "Stopped early, after 12 updates: the last 8 brought no better score"),
        (12, 0, True, "Stopped early"),
        (11, 20, True, None),  # interrupted
        (12, 12, True, None),
        (12, 20, False, None),
    ],
)
def test_early_stopping_is_said(
    nlp: Language, step: int, limit: int, console_output: bool, expected: str | None
) -> None:
    nlp.config["training"].update(patience=8, max_steps=limit, max_epochs=100)
    stdout = io.StringIO()
    logger = jsonl_logger(progress_bar=None, console_output=console_output)
    log_step, finalize = logger(nlp, stdout, io.StringIO())
    for n, points in ((4, [(0.5, 4)]), (step, [(0.5, 4), (0.5, 8), (0.4, step)])):
        log_step(info(n, checkpoints=points))
    finalize()
    assert ("Stopped" in stdout.getvalue()) == (expected is not None)
    assert (expected or "") in stdout.getvalue()


def test_training_calibrated_components_is_noted(nlp: Language) -> None:
    tagger = nlp.get_pipe("psa_tagger")
    assert isinstance(tagger, PSATagger)
    tagger.cfg["temperature"] = 2.5
    with pytest.warns(UserWarning, match="W449.*temperature 2.5.*psa calibrate"):
        jsonl_logger()(nlp, io.StringIO(), io.StringIO())[1]()
    nlp.config["training"]["frozen_components"] = ["psa_tagger"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jsonl_logger()(nlp, io.StringIO(), io.StringIO())[1]()


def test_a_training_that_ends_before_its_rate_has_decayed_is_noted(nlp: Language) -> None:
    rate = {"@schedules": "warmup_linear.v1", "initial_rate": 1.0, "warmup_steps": 10}
    for total in (20, 40, 41):
        nlp.config["training"]["optimizer"]["learn_rate"] = {**rate, "total_steps": total}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            jsonl_logger()(nlp, io.StringIO(), io.StringIO())[1]()
        told = [str(warning.message) for warning in caught]
        assert [("W452" in text and "total_steps = 41" in text) for text in told] == [True] * (
            total > 40
        )


def test_the_learning_rate_is_that_of_the_update(nlp: Language, tmp_path: Path) -> None:
    nlp.config["training"]["optimizer"] = {
        "@optimizers": "spacy_psa.SGD.v1",
        "learn_rate": {
            "@schedules": "spacy_psa.inverse_epoch_decay.v1",
            "initial_rate": 1.0,
            "decay": 1.0,
            "steps_per_epoch": 2,
        },
    }
    log_step, finalize = start(nlp, tmp_path / "run.jsonl")
    for step in range(5):
        log_step(info(step))
    finalize()
    rates = [entry["learn_rate"] for entry in entries(tmp_path / "run.jsonl")]
    assert rates == [1.0, 1.0, 1 / 2, 1 / 2, 1 / 3]


def test_the_last_step_may_be_told_of_twice(nlp: Language, tmp_path: Path) -> None:
    name = "spacy_psa.inverse_epoch_decay.v1"
    rate = {"@schedules": name, "initial_rate": 1.0, "decay": 1.0, "steps_per_epoch": 1}
    optimizer = {"@optimizers": "spacy_psa.SGD.v1", "learn_rate": rate}
    nlp.config["training"]["optimizer"] = optimizer
    log_step, finalize = start(nlp, tmp_path / "run.jsonl")
    log_step(info(0))
    log_step(None)
    log_step(info(1))
    finalize()
    assert [entry["learn_rate"] for entry in entries(tmp_path / "run.jsonl")] == [1.0, 1 / 2]


def test_sentences_are_counted(
    nlp: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 10.0, 14.0, 20.0, 25.0])
    monkeypatch.setattr("spacy_psa.training.logger.default_timer", lambda: next(clock))
    doc = nlp.make_doc("Ann saw Bob. Bob saw Ann.")
    two = Example.from_dict(doc, {"words": [t.text for t in doc], "sent_starts": [1, 0, 0, 0] * 2})
    one = Example.from_dict(nlp.make_doc("Ann"), {"words": ["Ann"]})
    monkeypatch.setattr(Language, "update", lambda self, examples, **_: None)
    log_step, finalize = start(nlp, tmp_path / "run.jsonl")
    nlp.update([two, one], sgd=False)
    nlp.update([one], sgd=False)
    log_step(info(0))
    finalize()
    # From the start of the first update at 10 to the end of the second at 20.
    assert entries(tmp_path / "run.jsonl")[0]["sentences_per_second"] == 0.4


def test_the_pipeline_is_left_as_it_was(nlp: Language, tmp_path: Path) -> None:
    _, finalize = start(nlp, tmp_path / "run.jsonl")
    assert "update" in vars(nlp)
    finalize()
    assert "update" not in vars(nlp)


def test_unknown_progress_bars_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"\[P100\].*'steps'.*run, epoch"):
        jsonl_logger(progress_bar="steps")


def test_a_run_that_is_killed_and_resumed_logs_every_evaluation_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spacy_psa.cli.train import train

    write_corpora(tmp_path)
    config = write_config(tmp_path)
    # The checkpoint of step 2 predates the log line of step 3, which is logged a second time.
    kill(monkeypatch, config, tmp_path / "out", 4, checkpoint_every=2)
    assert [entry["step"] for entry in log(tmp_path / "out")] == [0, 3]
    train(config, tmp_path / "out", resume=True, checkpoint_every=5)
    assert [entry["step"] for entry in log(tmp_path / "out")] == [0, 3, 6, 9, 11]
