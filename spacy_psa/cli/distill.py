"""`spacy psa distill`: train a small pipeline on what a large one thinks of texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._options import (
    GO_ON,
    WITH_OVERRIDES,
    CheckpointOption,
    CodeOption,
    GpuOption,
    KeepOption,
    ResumeOption,
    WorkersOption,
)
from ._util import TRAIN, psa_cli, resumable, user_errors

# Options of `psa train`, which are passed on to its workers
TRAINING = ("output_path", "code_path", "resume", "checkpoint_every", "keep_epochs", "use_gpu")


@psa_cli.command(
    "distill",
    rich_help_panel=TRAIN,
    context_settings=WITH_OVERRIDES,
)
def distill_cli(
    ctx: typer.Context,
    teacher: Annotated[str, typer.Argument(metavar="TEACHER", help="Pipeline name or folder")],
    config_path: Annotated[Path, typer.Argument(metavar="CONFIG", help="Config of the student")],
    output_path: Annotated[Path, typer.Option("--output", "-o", help="Output folder")],
    texts: Annotated[
        list[str] | None,
        typer.Option(
            "--texts",
            "-t",
            help=".txt file with one text per line, .jsonl or .json file (key 'text'), plain or "
            ".gz, or .spacy file; repeatable",
        ),
    ] = None,
    gold: Annotated[
        Path | None, typer.Option(help="Annotated .spacy file to learn from as well")
    ] = None,
    ensemble: Annotated[
        list[str] | None,
        typer.Option(help="Another teacher, to be averaged with TEACHER; repeatable"),
    ] = None,
    words: Annotated[
        bool, typer.Option("--words", help="The texts are tokens apart by blanks")
    ] = False,
    code_path: CodeOption = None,
    component: Annotated[
        str | None, typer.Option("--component", "-c", help="The student's component")
    ] = None,
    teacher_component: Annotated[
        str | None,
        typer.Option(help="The teacher's component; any that annotates, such as spaCy's ner"),
    ] = None,
    gold_share: Annotated[
        float, typer.Option(help="Share of the annotation in the loss of annotated sentences")
    ] = 0.5,
    temperature: Annotated[float, typer.Option(help="Temperature of the distributions")] = 1.0,
    limit: Annotated[int | None, typer.Option(help="Number of texts to read", min=1)] = None,
    select: Annotated[
        int | None, typer.Option(help="Number of texts to choose, the most uncertain ones", min=1)
    ] = None,
    select_by: Annotated[
        str | None,
        typer.Option(help="Pipeline whose uncertainty counts, such as a student; or the teacher"),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", "-F", help="Replace probabilities of another teacher or texts"),
    ] = False,
    resume: ResumeOption = False,
    checkpoint_every: CheckpointOption = None,
    keep_epochs: KeepOption = "",
    use_gpu: GpuOption = -1,
    workers: WorkersOption = None,
) -> None:
    """
    Train a pipeline on what a teacher says of texts. It gives probabilities to their labels,
    whether or not they are annotated. The teacher runs once: its probabilities are kept in
    OUTPUT/teacher. Training is that of `psa train` with OUTPUT/distill.cfg. To override settings of
    the config, use options such as --training.accumulate_gradient 2. A shorter run needs a shorter
    schedule, not only --training.max_steps: see docs/training.md.
    """
    from ..distillation.filling import Settings
    from ..private_names import config_overrides
    from ..training.ranks.launch import check_workers, launch
    from ._distillation import prepare
    from .train import command_line, parse_epochs, train

    if select_by is not None and select is None:
        raise typer.BadParameter("it needs --select", param_hint="--select-by")
    overrides = config_overrides(ctx.args)
    with user_errors(), resumable(GO_ON):
        epochs = parse_epochs(keep_epochs)
        if workers is not None:
            check_workers(workers)
        path = prepare(
            [teacher, *(ensemble or ())],
            config_path,
            output_path,
            texts=texts or (),
            gold=gold,
            words=words,
            component=component,
            teacher_component=teacher_component,
            gold_share=gold_share,
            settings=Settings(temperature=temperature),
            limit=limit,
            select=select,
            select_by=select_by,
            force=force,
            overrides=overrides,
            use_gpu=use_gpu,
        )
        if workers is not None and workers > 1:
            launch(workers, command_line(ctx, path, TRAINING))
            return
        train(
            path,
            output_path,
            resume=resume,
            checkpoint_every=checkpoint_every,
            keep_epochs=epochs,
            use_gpu=use_gpu,
            code_path=code_path,
        )
