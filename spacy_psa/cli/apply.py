"""`spacy psa apply`: annotate any number of texts."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated, Any

import typer

from ..scale.bulk import BLOCK_SIZE, MAX_ERRORS, OPTIONS, apply
from ..terminal import msg
from ._config_errors import config_errors
from ._options import CodeOption, GpuOption, ModelArgument
from ._util import PREDICT, psa_cli, resumable, user_errors

N_NAMED = 3


def _options(name: str) -> str:
    return " or ".join(OPTIONS[name])


@psa_cli.command("apply", rich_help_panel=PREDICT)
def apply_cli(
    model: ModelArgument,
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="Files, folders, patterns or URIs of .txt, .jsonl, .parquet and .spacy files",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Output folder")],
    form: Annotated[
        str, typer.Option("--format", "-f", help=f"Format of the shards: {_options('format')}")
    ] = "parquet",
    column: Annotated[
        str, typer.Option("--column", "-c", help="Column or key of the text")
    ] = "text",
    document: Annotated[
        str,
        typer.Option("--document", "-d", help=f"Document of a .txt file: {_options('document')}"),
    ] = "line",
    engine: Annotated[
        str, typer.Option("--engine", "-e", help=f"What runs the processes: {_options('engine')}")
    ] = "local",
    n_process: Annotated[
        int | None,
        typer.Option(
            "--n-process",
            "-n",
            min=1,
            help="Processes, 1 by default; with ray, actors: one for each core or GPU by default",
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option("--address", help="Address of a Ray cluster; this machine by default"),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option("--batch-size", min=1, help="Documents in a batch; the pipeline's by default"),
    ] = None,
    block_size: Annotated[
        int, typer.Option("--block-size", min=1, help="Bytes of input for each shard, about")
    ] = BLOCK_SIZE,
    max_errors: Annotated[
        int,
        typer.Option("--max-errors", min=-1, help="Documents that may fail; -1 for any number"),
    ] = MAX_ERRORS,
    gpu_id: GpuOption = -1,
    code_path: CodeOption = None,
) -> None:
    """
    Annotate any number of texts, here or on a Ray cluster.

    Each block of the input becomes a shard in the output folder, where manifest.jsonl lists the
    finished ones. The same command goes on with an interrupted run. Documents that fail are in
    errors-*.jsonl, with the reason.
    """
    from ..scale.work import keep_few_kernels

    if address is not None and engine != "ray":
        raise typer.BadParameter("it needs --engine ray", param_hint="--address")
    signal.signal(signal.SIGTERM, _interrupt)
    keep_few_kernels()
    with user_errors(), config_errors(model):
        with resumable("The finished shards remain: the same command goes on from there"):
            found = apply(
                model,
                inputs,
                output,
                format=form,
                column=column,
                document=document,
                engine=engine,
                n_process=n_process,
                address=address,
                batch_size=batch_size,
                block_size=block_size,
                max_errors=None if max_errors < 0 else max_errors,
                gpu_id=gpu_id,
                code=code_path,
                progress=True,
            )
        if found.unread:
            names = ", ".join([*found.unread[:N_NAMED], *["…"] * (len(found.unread) > N_NAMED)])
            msg.warn(f"Files of no known kind in the input folders: {len(found.unread)}, {names}")
        if found.failed:
            msg.warn(f"Documents that failed: {found.failed}, see errors-*.jsonl in {output}")
        if found.resumed:
            msg.info(f"Of the shards, {found.resumed:,} were there before")
        msg.good(
            f"Documents: {found.documents:,}, words: {found.words:,}, shards: {found.shards:,}, in "
            f"{output}"
        )


def _interrupt(*_: Any) -> None:
    """End as with Ctrl-C: this is how schedulers of clusters end a job."""
    raise KeyboardInterrupt
