"""Train a pipeline like `spacy train`, with checkpoints from which training resumes exactly.

`TrainingRun` mirrors `spacy.training.loop.train`, in its order: `__init__` resolves the settings,
`train` writes the messages, makes the logger and runs the loop, of which `_after_step` is the body
and `_save_pipeline` what is called `save_checkpoint` there. Here, a checkpoint is the state of the
run (checkpoint.py) beside the pipelines.

A new run is live from its first step. One that is resumed replays the steps up to its checkpoint
(replay.py), restores what the checkpoint has, and goes live. The stream of batches has its own
random state. It depends only on the seed, and is regenerated in the replay. All other state is in
the checkpoint.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from timeit import default_timer
from typing import IO, Any

from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.training.loop import (
    create_before_to_disk_callback,
    create_evaluation_callback,
    update_meta,
)
from spacy.util import registry, resolve_dot_names
from thinc.api import fix_random_seed, set_gpu_allocator
from torch import Tensor

from ..errors import Errors
from ..output_errors import OutputError
from ..terminal import SafePrinter, SafeStream
from .checkpoint import Checkpoint, read_tensors, remove_checkpoint, write_checkpoint
from .parameter_groups import note_pipeline
from .random_state import RandomState, capture_device, restore_device
from .replay import Info, ReplayedPipeline, Scores, training_steps
from .saving import SavedPipelines
from .state import read_state, write_state

CHECKPOINT = "checkpoint"


class TrainingRun:
    """A training run that writes checkpoints.

    nlp (Language): The initialized pipeline.
    output (Path): The folder for the saved pipelines and the checkpoint.
    config (Dict[str, Any]): The config of the run, JSON-serializable. Saved in the checkpoint.
    checkpoint_every (Optional[int]): Number of steps between checkpoints; None for a checkpoint at
        each evaluation.
    keep_epochs (Sequence[int]): See `SavedPipelines`.
    resume_from (Optional[Checkpoint]): The checkpoint to resume from; None for a new run.
    use_gpu (int): The GPU ID, or -1 for the CPU.
    stdout (IO): Standard output, also for the logger.
    stderr (IO): Standard error, for the logger.
    """

    def __init__(
        self,
        nlp: Language,
        output: Path,
        *,
        config: dict[str, Any],
        checkpoint_every: int | None = None,
        keep_epochs: Sequence[int] = (),
        resume_from: Checkpoint | None = None,
        use_gpu: int = -1,
        stdout: IO = sys.stdout,
        stderr: IO = sys.stderr,
    ) -> None:
        if not hasattr(nlp.tokenizer, "to_disk"):
            raise ValueError(Errors.P290.format(tokenizer=type(nlp.tokenizer).__name__))
        note_pipeline(nlp)
        self.nlp = self.evaluated = nlp
        self.output, self.config, self.checkpoint_every = output, config, checkpoint_every
        self.saved, self.evaluated_epochs = resume_from, 0.0
        self.pipelines = SavedPipelines(output, keep_epochs, is_new=resume_from is None)
        self.stdout, self.stderr = stdout, stderr
        resolved = nlp.config.interpolate()
        training = resolved["training"]
        if training["seed"] is not None:
            fix_random_seed(training["seed"])
        if use_gpu >= 0 and training["gpu_allocator"]:
            set_gpu_allocator(training["gpu_allocator"])
        self.T = registry.resolve(training, schema=ConfigSchemaTraining)
        names = [self.T["train_corpus"], self.T["dev_corpus"]]
        self.train_corpus, self.dev_corpus = resolve_dot_names(resolved, names)
        self.optimizer = self.T["optimizer"]
        self.frozen: list[str] = self.T["frozen_components"]
        self.before_to_disk = create_before_to_disk_callback(self.T["before_to_disk"])
        self.stream_start = RandomState.capture()
        self.started, self.seconds_before = default_timer(), 0.0

    def train(self) -> Path:
        """Train to the end, and return the folder of the last pipeline."""
        message = SafePrinter(no_print=True)
        self._prepare_output()
        if self.saved is not None:
            self.stream_start = RandomState.from_dict(self.saved.stream)
        self._write(message.info(f"Pipeline: {self.nlp.pipe_names}"))
        if self.frozen:
            self._write(message.info(f"Frozen components: {self.frozen}"))
        if self.T["annotating_components"]:
            annotating = self.T["annotating_components"]
            self._write(message.info(f"Set annotations on update for: {annotating}"))
        self._write(message.info(f"Initial learn rate: {self.optimizer.learn_rate}"))
        pipeline = self._make_pipeline(
            create_evaluation_callback(self.evaluated, self.dev_corpus, self.T["score_weights"])
        )
        pipeline.is_live = self.saved is None
        log_step, finalize_logger = self._make_logger()
        info: Info | None = None
        must_save = True
        try:
            steps = training_steps(self.nlp, pipeline, self.T, self.train_corpus, self.stream_start)
            for info, is_best in steps:
                if pipeline.is_live:
                    self._after_step(info, is_best, log_step)
                else:
                    log_step(None)
                    self._after_replayed_step(info, is_best, pipeline)
            if self.saved is not None and not pipeline.is_live:
                self._refuse_corpus(info, self.saved)
            # The last evaluation has saved the pipeline with its scores in the metadata, which a
            # process that resumed the run after that evaluation does not know.
            must_save = info is None
        except OutputError:
            must_save = False
            raise
        except Exception as error:
            if pipeline.is_live:
                text = "Aborting and saving the final best model. Encountered exception: "
                self._write(message.warn(text + repr(error)))
            raise
        finally:
            finalize_logger()
            # Until it goes live, the pipeline does not have the weights of the run.
            if pipeline.is_live and must_save:
                self._save_pipeline(is_best=False)
        if info is None:
            raise ValueError(Errors.P299)
        self._finish(info)
        left = self.pipelines.to_keep
        if left:
            self._write(message.warn(f"Training ended before these epochs to keep: {left}"))
        self._write(message.good("Saved pipeline to output directory", self.pipelines.last))
        return self.pipelines.last

    def _prepare_output(self) -> None:
        self.pipelines.recover()
        if self.saved is None:
            remove_checkpoint(self.output / CHECKPOINT)

    def _make_pipeline(self, evaluate: Callable[[], Scores]) -> ReplayedPipeline:
        scores = self.saved.scores if self.saved else []
        return ReplayedPipeline(self.nlp, evaluate, self.T["before_update"], scores)

    def _make_logger(self) -> tuple[Callable[[Info | None], None], Callable[[], None]]:
        with self.nlp.select_pipes(disable=self.frozen):
            return self.T["logger"](self.nlp, SafeStream(self.stdout), self.stderr)

    def _after_replayed_step(
        self, info: Info, is_best: bool | None, pipeline: ReplayedPipeline
    ) -> None:
        if is_best is not None:
            self.evaluated_epochs = _epochs(info)
        if self.saved is not None and info["step"] == self.saved.step:
            self.pipelines.skip(self.evaluated_epochs)
            self._restore_checkpoint(info, self.saved)
            pipeline.is_live = True

    def _after_step(
        self, info: Info, is_best: bool | None, log_step: Callable[[Info | None], None]
    ) -> None:
        is_evaluated = is_best is not None
        info["seconds"] = int(self._seconds())
        if is_best is not None:
            with self.nlp.select_pipes(disable=self.frozen):
                update_meta(self.T, self.nlp, info)
            self._save_pipeline(is_best)
            info["output_path"] = str(self.pipelines.last)
            self.pipelines.keep(_epochs(info))
        log_step(info if is_evaluated else None)
        # Last, so that a checkpoint implies that all other outputs of its step exist.
        every = self.checkpoint_every
        if is_evaluated if every is None else info["step"] % every == 0:
            # After an evaluation, the loop begins to add up the losses anew
            self._save_checkpoint(info, losses={} if is_evaluated else info["losses"])

    def _restore_checkpoint(self, info: Info, saved: Checkpoint) -> None:
        """Restore the state of the checkpoint and resume training from it."""
        if info["words"] != saved.words:
            self._refuse_corpus(info, saved)
        tensors = self._read_tensors()
        write_state(self.nlp, self.optimizer, self.frozen, tensors, saved.optimizer)
        info["losses"].update(saved.losses)
        self._restore_random(saved)
        self.started, self.seconds_before = default_timer(), saved.seconds

    def _read_tensors(self) -> dict[str, Tensor]:
        return read_tensors(self.output / CHECKPOINT)

    def _restore_random(self, saved: Checkpoint) -> None:
        RandomState.from_dict(saved.random).restore()
        restore_device(saved.device)

    def _random_states(self) -> list[dict[str, Any]]:
        """The states of this process's random number generators."""
        return [{"device": capture_device(), "random": RandomState.capture().to_dict()}]

    def _refuse_corpus(self, info: Info | None, saved: Checkpoint) -> None:
        found, path = info["words"] if info else 0, self.output
        counts = {"n_found": found, "n_expected": saved.words, "n_steps": saved.step + 1}
        raise ValueError(Errors.P286.format(path=path, **counts))

    def _save_pipeline(self, is_best: bool) -> None:
        with self.nlp.use_params(self.optimizer.averages):
            self.pipelines.save(self.before_to_disk(self.nlp), is_best)

    def _save_checkpoint(self, info: Info, losses: dict[str, float]) -> None:
        states = self._random_states()
        if not states:
            return
        tensors, counts = read_state(self.nlp, self.optimizer, self.frozen)
        checkpoint = Checkpoint(
            **self._progress(info),
            finished=False,
            scores=[float(score) for score, _ in info["checkpoints"]],
            losses={name: float(loss) for name, loss in losses.items()},
            stream=self.stream_start.to_dict(),
            **states[0],
            optimizer=counts,
            others=states[1:],
        )
        self._write_checkpoint(checkpoint, tensors)

    def _finish(self, info: Info) -> None:
        self._write_checkpoint(Checkpoint(**self._progress(info), finished=True), {})

    def _write_checkpoint(self, checkpoint: Checkpoint, tensors: dict[str, Tensor]) -> None:
        write_checkpoint(self.output / CHECKPOINT, checkpoint, tensors)

    def _progress(self, info: Info) -> dict[str, Any]:
        return {
            "config": self.config,
            "step": info["step"],
            "epoch": info["epoch"],
            "words": info["words"],
            "seconds": self._seconds(),
        }

    def _seconds(self) -> float:
        return self.seconds_before + default_timer() - self.started

    def _write(self, line: str) -> None:
        self.stdout.write(f"{line}\n")


def _epochs(info: Info) -> float:
    """How often the corpus has been passed, with a fraction once its size is known."""
    return info.get("epochs") or info["epoch"]
