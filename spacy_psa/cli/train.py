"""`spacy psa train`: `spacy train` with checkpoints, from which runs resume exactly."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Collection, Sequence
from contextlib import ExitStack, redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..atomic_files import check_writable
from ..errors import Errors
from ..locks import FolderLock
from ..output_errors import output_errors
from ..terminal import msg
from ._config_errors import (
    check_groups,
    check_numbers,
    check_sections,
    config_errors,
    warn_of_unknown_settings,
)
from ._options import (
    GO_ON,
    WITH_OVERRIDES,
    CheckpointOption,
    GpuOption,
    KeepOption,
    ResumeOption,
    TrainingCodeOption,
    WorkersOption,
)
from ._outputs import show_command
from ._resuming import read_saved
from ._training_files import check_precision, check_training_files
from ._util import TRAIN, gpu_errors, psa_cli, resumable, user_errors

if TYPE_CHECKING:
    from ..training.checkpoint import Checkpoint
    from ..training.ranks import Group

# Seconds in which rank 0 can score and save, while the others wait for it
TIMEOUT = 600.0


@psa_cli.command(
    "train",
    rich_help_panel=TRAIN,
    context_settings=WITH_OVERRIDES,
)
def train_cli(
    ctx: typer.Context,
    config_path: Annotated[
        Path,
        typer.Argument(metavar="CONFIG", help="Path to config file", exists=True, dir_okay=False),
    ],
    output_path: Annotated[
        Path,
        typer.Option(
            "--output", "--output-path", "-o", help="Output folder for pipelines and checkpoint"
        ),
    ],
    resume: ResumeOption = False,
    checkpoint_every: CheckpointOption = None,
    keep_epochs: KeepOption = "",
    code_path: TrainingCodeOption = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-V", "-VV", help="Display more information")
    ] = False,
    use_gpu: GpuOption = -1,
    workers: WorkersOption = None,
    timeout: Annotated[
        float,
        typer.Option(min=1.0, help="With several processes, seconds to wait for one of them"),
    ] = TIMEOUT,
) -> None:
    """
    Train a pipeline like `spacy train`, with checkpoints. Resume an interrupted run with --resume:
    it ends with the same weights as without the interruption. To override settings of the config,
    use options such as --training.accumulate_gradient 2. A shorter run needs a shorter schedule,
    not only --training.max_steps: see docs/training.md. With --workers, or under torchrun, several
    processes take the steps of one.
    """
    from spacy.util import logger

    from ..private_names import config_overrides

    if verbose:
        logger.setLevel(logging.DEBUG)
    # Which takes them out of the list
    overrides = config_overrides(list(ctx.args))
    if workers is not None:
        from ..training.ranks.launch import check_workers, launch

        with user_errors():
            check_workers(workers)
            if workers > 1:
                launch(
                    workers,
                    command_line(ctx, config_path, set(ctx.params) - {"config_path", "workers"}),
                )
                return
    with user_errors(), resumable(GO_ON):
        train(
            config_path,
            output_path,
            overrides=overrides,
            resume=resume,
            checkpoint_every=checkpoint_every,
            keep_epochs=parse_epochs(keep_epochs),
            use_gpu=use_gpu,
            timeout=timeout,
            code_path=code_path,
        )


def parse_epochs(text: str) -> list[int]:
    """Read numbers of epochs, separated by commas."""
    words = text.replace(",", " ").split()
    if not all(word.isdecimal() and int(word) for word in words):
        problem = "--keep-epochs takes numbers from 1 on, separated by commas, such as 5,15,38"
        raise ValueError(Errors.P297.format(epochs=repr(text), problem=problem))
    return sorted({int(word) for word in words})


def command_line(ctx: typer.Context, config_path: Path, names: Collection[str]) -> list[str]:
    """Python's arguments for this command, with those options of another one that are named, or of
    this one, and settings that are left to override."""
    options = {parameter.name: parameter.opts[0] for parameter in ctx.command.params}
    arguments = ["-m", "spacy", "psa", "train", str(config_path), *ctx.args]
    for name in (name for name in ctx.params if name in names):
        value = ctx.params[name]
        if value is True:
            arguments.append(options[name])
        elif value is not None and value is not False and value != "":  # 0 is the first GPU
            arguments += [options[name], str(value)]
    return arguments


def train(
    config_path: Path,
    output_path: Path,
    *,
    overrides: dict[str, Any] | None = None,
    resume: bool = False,
    checkpoint_every: int | None = None,
    keep_epochs: Sequence[int] = (),
    use_gpu: int = -1,
    timeout: float = TIMEOUT,
    code_path: Path | None = None,
) -> None:
    """Train a pipeline.

    output_path (Path): The folder for the pipelines and the checkpoint. It is created if needed.
    resume (bool): Whether to resume from the checkpoint in the folder, if there is one.
    checkpoint_every (Optional[int]): Steps between checkpoints; None for one at each evaluation.
    keep_epochs (Sequence[int]): The epochs whose pipelines are kept, in folders such as `epoch-5`.
    use_gpu (int): The number of the GPU, or -1 for the CPU.
    timeout (float): The seconds to wait for another process, if several train together.
    code_path (Optional[Path]): The imported file with the user's code, which later commands need.
    RAISES (ValueError): If the folder has an unfinished run, or the run to resume is damaged or has
        another config or corpus; or if a corpus or the vectors are missing, the config is not
        valid, or the GPU cannot be used.
    RAISES (OutputError): If something cannot be written. Files saved earlier are unchanged.
    """
    from ..training.ranks import find_place, join

    lock = FolderLock(output_path)
    run = partial(
        train_as_rank,
        config_path,
        output_path,
        lock=lock,
        overrides=overrides or {},
        resume=resume,
        checkpoint_every=checkpoint_every,
        keep_epochs=keep_epochs,
        code_path=code_path,
    )
    place = find_place(os.environ)
    if place is None:
        with lock:
            run(use_gpu=use_gpu, group=None)
        return
    device = use_gpu + place.local_rank if use_gpu >= 0 else -1
    with lock, join(place, device, timeout) as group, ExitStack() as muted:
        if not group.is_first:
            devnull = muted.enter_context(open(os.devnull, "w", encoding="utf8"))
            muted.enter_context(redirect_stdout(devnull))
        run(use_gpu=device, group=group)


def train_as_rank(
    config_path: Path,
    output_path: Path,
    *,
    lock: FolderLock,
    overrides: dict[str, Any],
    resume: bool,
    checkpoint_every: int | None,
    keep_epochs: Sequence[int] = (),
    code_path: Path | None = None,
    use_gpu: int,
    group: Group | None,
) -> None:
    """Train a pipeline in one of several processes, or in this one alone (`group` is None). See
    `train`. The one that writes locks the output folder with `lock`."""
    from spacy.training.initialize import init_nlp
    from spacy.util import load_config

    from ..private_names import setup_gpu, show_validation_error
    from ..training.ranks import RankedRun
    from ..training.run import CHECKPOINT, TrainingRun

    def check() -> Checkpoint | None:
        """Read the checkpoint, after checking what can be checked at once."""
        if checkpoint_every is not None and checkpoint_every < 1:
            raise ValueError(Errors.P288.format(n=checkpoint_every))
        with show_validation_error(config_path), config_errors(config_path):
            config = load_config(config_path, overrides=overrides, interpolate=False)
            settings = json.loads(json.dumps(config.interpolate()))
        check_sections(config, config_path)
        check_numbers(settings["training"])
        check_groups(settings, config_path)
        check_precision(settings, use_gpu)
        warn_of_unknown_settings(config)
        if output_path.is_dir():
            lock.acquire()
        saved = read_saved(settings, output_path, resume)
        if saved is not None and saved.finished:
            msg.good(f"The run in {output_path} is already finished, after step {saved.step}")
            return saved
        with config_errors(config_path):
            check_training_files(config)
        check_writable(output_path / CHECKPOINT)
        return saved

    def make_output() -> None:
        if not output_path.exists():
            with output_errors(output_path):
                output_path.mkdir(parents=True, exist_ok=True)
            msg.good(f"Created output directory: {output_path}")
        lock.acquire()

    saved = check() if group is None else group.first(check)
    if saved is not None and saved.finished:
        return
    # Rank 0 has read it, but each rank reads its own: they compare what they train with
    with show_validation_error(config_path):
        config = load_config(config_path, overrides=overrides, interpolate=False)
    with gpu_errors(use_gpu):
        setup_gpu(use_gpu)
    msg.divider("Initializing pipeline")
    with config_errors(config_path):
        nlp = init_nlp(config, use_gpu=use_gpu)
    msg.good("Initialized pipeline")
    make = TrainingRun if group is None else partial(RankedRun, group=group)
    settings = json.loads(json.dumps(config.interpolate()))
    training_run = make(
        nlp,
        output_path,
        config=settings,
        checkpoint_every=checkpoint_every,
        keep_epochs=keep_epochs,
        resume_from=saved,
        use_gpu=use_gpu,
        stdout=sys.stdout,
        stderr=sys.stderr,
    )
    # Only now, so that a run that fails before leaves no folder
    if group is None:
        make_output()
    else:
        group.first(make_output)
    msg.info(f"Saving to output directory: {output_path}")
    msg.divider("Training pipeline")
    training_run.train()
    best = output_path / "model-best"
    if (group is None or group.is_first) and best.is_dir():
        corpus = settings.get("corpora", {}).get("dev", {})
        dev = settings.get("paths", {}).get("dev") or corpus.get("path") or "dev.spacy"
        show_command("psa", "evaluate", best, dev, *_scored(settings), code_path=code_path)


def _scored(settings: dict[str, Any]) -> list[str]:
    """What to evaluate, if not all: predicates that a reader adds as spans are in no file."""
    corpora, components = settings.get("corpora", {}), settings["components"]
    if not corpora.get("dev", {}).get("spans_key"):
        return []
    names = [name for name, block in components.items() if block.get("factory") == "psa_srl"]
    return [word for name in names for word in ("--component", name)]
