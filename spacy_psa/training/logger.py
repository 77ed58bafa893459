"""A logger for training runs: a JSONL file (one line per evaluation), a table, a progress bar."""

import json
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from timeit import default_timer
from typing import IO, Any

from spacy.language import Language
from spacy.training import Example
from spacy.training.loggers import console_logger_v3
from spacy.util import registry
from thinc.api import Optimizer

from ..atomic_files import atomic_path
from ..errors import Errors, Warnings, check_choice, warn
from ..output_errors import output_errors
from ..terminal import SafeStream, plain_warnings
from .corpora import check_corpora
from .parameter_groups import note_pipeline
from .progress import SCOPES, Progress

FILE_NAME = "train.jsonl"

Info = dict[str, Any]
LogStep = Callable[[Info | None], None]
Logger = Callable[[Language, IO, IO], tuple[LogStep, Callable[[], None]]]


def jsonl_logger(
    path: str | None = None, progress_bar: str | None = "run", console_output: bool = True
) -> Logger:
    """Log training as JSONL, one line per evaluation, in addition to the usual table.

    A resumed run appends to the existing lines: its first line replaces those of the same and later
    steps. A new run thus replaces the log of an earlier one.

    path (Optional[str]): The file; None for train.jsonl in the output folder.
    progress_bar (Optional[str]): What the progress bar shows: "run", "epoch", or None for no bar.
    console_output (bool): Whether to print the table.
    RETURNS (Logger): The setup function, which spaCy calls when training starts.
    RAISES (ValueError): If the progress bar is unknown.
    """
    if progress_bar is not None:
        check_choice("progress bar", progress_bar, SCOPES)

    def start(
        nlp: Language, stdout: IO = sys.stdout, stderr: IO = sys.stderr
    ) -> tuple[LogStep, Callable[[], None]]:
        clean = ExitStack()
        clean.enter_context(plain_warnings())
        config = nlp.config.interpolate()
        check_corpora(config)
        check_schedule(config["training"])
        check_calibration(nlp)
        out = SafeStream(stdout)
        table = console_logger_v3(console_output=console_output)(nlp, out, stderr)
        log = TrainingLog(nlp, Path(path) if path else None, progress_bar, table, stderr)

        def end() -> None:
            log.finalize()
            if console_output and (stopped := log.early_stop()):
                out.write(f"{stopped}\n")

        clean.callback(end)
        return log.log_step, clean.close

    return start


def check_schedule(training: dict[str, Any]) -> None:
    """Warn if training ends long before its learning rate has decayed."""
    schedule = training["optimizer"].get("learn_rate")
    total = schedule.get("total_steps", 0) if isinstance(schedule, dict) else 0
    if 0 < training["max_steps"] < total / 2:
        warn(Warnings.W452.format(steps=training["max_steps"], total=total))


def check_calibration(nlp: Language) -> None:
    """Warn of components whose probabilities were calibrated before this training."""
    frozen = nlp.config["training"]["frozen_components"]
    for name, pipe in nlp.pipeline:
        if nlp.get_pipe_meta(name).factory != "psa_tagger" or name in frozen:
            continue
        cfg: dict[str, Any] = getattr(pipe, "cfg")  # noqa: B009
        if cfg["temperature"] != 1.0:
            warn(Warnings.W449.format(name=name, temperature=cfg["temperature"]))


class TrainingLog:
    """The log of one run.

    nlp (Language): The pipeline.
    path (Optional[Path]): The file; None for a file in the output folder, if there is one.
    progress_bar (Optional[str]): What the progress bar shows.
    table (Tuple[Callable, Callable]): The `log_step` and `finalize` functions of spaCy's logger.
    stderr (IO): Where to draw the progress bar.
    """

    def __init__(
        self,
        nlp: Language,
        path: Path | None,
        progress_bar: str | None,
        table: tuple[LogStep, Callable[[], None]],
        stderr: IO,
    ) -> None:
        note_pipeline(nlp)
        training = nlp.config.interpolate()["training"]
        self._path = path
        self._begun = False
        self._patience, self._max_steps = training["patience"], training["max_steps"]
        self._last: Info | None = None
        self._n_steps, self._learn_rate = 0, 0.0
        self._log_row, self._end_table = table
        self._meter = Meter(nlp)
        # The loop does not expose its optimizer, so step the schedules of a second one in parallel.
        block = {"optimizer": training["optimizer"]}
        self._optimizer: Optimizer = registry.resolve(block)["optimizer"]
        self._progress = Progress(
            progress_bar,
            stderr,
            max_steps=training["max_steps"],
            max_epochs=training["max_epochs"],
        )

    def log_step(self, info: Info | None) -> None:
        """Log a step, with spaCy's information if it was evaluated. `psa train` may log the last
        step a second time, after evaluating it."""
        if info is None or info["step"] >= self._n_steps:
            self._n_steps += 1
            self._learn_rate = float(self._optimizer.learn_rate)
            self._optimizer.step_schedules()
            self._progress.step(trained=self._meter.has_moved())
        if info is not None:
            self._last = info
            with self._progress.hidden():
                self._log_row(info)
            self._write(info)
            self._progress.evaluated(info)
            self._meter.reset()
        self._progress.show(self._meter.speed)

    def early_stop(self) -> str | None:
        """RETURNS (Optional[str]): Why spaCy's loop has ended the run before its last step; None if
        it has not."""
        last = self._last or {}
        found, step = last.get("checkpoints"), last.get("step", 0)
        if not self._patience or not found or 0 < self._max_steps <= step:
            return None
        best = max(found, key=lambda point: (point[0], -point[1]))[1]
        if step - best < self._patience:
            return None
        return (
            f"Stopped early, after {step:,} updates: the last {step - best:,} brought no better "
            f"score (patience = {self._patience})."
        )

    def finalize(self) -> None:
        """End the log."""
        self._meter.remove()
        self._progress.close()
        self._end_table()

    def _write(self, info: Info) -> None:
        path = self._path
        if path is None and info.get("output_path"):
            path = Path(info["output_path"]).parent / FILE_NAME
        if path is None:
            return
        scores = info["other_scores"] or {}
        line = {
            "step": info["step"],
            "epoch": info["epoch"],
            "epochs": info.get("epochs"),
            "words": info["words"],
            "seconds": info["seconds"],
            "losses": {name: float(loss) for name, loss in info["losses"].items()},
            "score": float(info["score"]),
            "scores": {k: float(v) for k, v in scores.items() if isinstance(v, (int, float))},
            "learn_rate": self._learn_rate,
            "sentences_per_second": round(self._meter.speed, 1),
        }
        if not self._begun:
            with output_errors(path):
                path.parent.mkdir(parents=True, exist_ok=True)
            _keep_lines_before(path, info["step"])
            self._begun = True
        _append(path, json.dumps(line) + "\n")


class Meter:
    """Count the sentences that a pipeline is trained on. spaCy informs loggers only of evaluations,
    so this wraps `nlp.update`.
    """

    def __init__(self, nlp: Language) -> None:
        self._nlp = nlp
        self._moved = False
        self._update = nlp.update
        # It accepts the arguments of `update`, and passes on those that it does not use
        nlp.update = self._counting_update  # type: ignore[method-assign, assignment]
        self.reset()

    @property
    def speed(self) -> float:
        """RETURNS (float): Sentences per second since the last reset, excluding evaluation."""
        return self._sentences / self._seconds if self._seconds > 0.0 else 0.0

    def reset(self) -> None:
        """Restart the count."""
        self._sentences, self._seconds = 0, 0.0
        self._start = default_timer()

    def has_moved(self) -> bool:
        """RETURNS (bool): Whether there was an update since the last call."""
        moved, self._moved = self._moved, False
        return moved

    def remove(self) -> None:
        """Restore the pipeline's own `update`."""
        del self._nlp.update

    def _counting_update(self, examples: list[Example], *args: Any, **kwargs: Any) -> Any:
        examples = list(examples)
        if not self._sentences:
            # Do not time reading the corpus or replaying the steps before a checkpoint.
            self._start = default_timer()
        result = self._update(examples, *args, **kwargs)
        self._moved = True
        self._sentences += sum(_sentences(example) for example in examples)
        self._seconds = default_timer() - self._start
        return result


def _sentences(example: Example) -> int:
    doc = example.reference
    return len(list(doc.sents)) if doc.has_annotation("SENT_START") else 1


def _keep_lines_before(path: Path, step: int) -> None:
    """Remove the lines of a step and later ones, which will be written again."""
    if not path.exists():
        return
    lines = path.read_text(encoding="utf8").splitlines()
    kept = []
    for i, line in enumerate(lines, 1):
        try:
            if json.loads(line)["step"] < step:
                kept.append(line + "\n")
        except (ValueError, TypeError, KeyError):
            if i == len(lines) and (i > 1 or line.startswith('{"step": ')):
                # A killed run may have left a partial line.
                break
            raise ValueError(Errors.P291.format(path=path, line=i)) from None
    with atomic_path(path, shared=False) as temporary:
        temporary.write_text("".join(kept), encoding="utf8")


def _append(path: Path, text: str) -> None:
    """Append a text to a file, all of it or nothing."""
    with output_errors(path):
        size = path.stat().st_size if path.is_file() else None
        try:
            with path.open("a", encoding="utf8") as file_:
                file_.write(text)
        except OSError:
            if size is not None:
                os.truncate(path, size)
            raise
