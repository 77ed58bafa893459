"""Shared by the commands: the typer app, error messages, standard output."""

import errno
import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import (
    AbstractContextManager,
    contextmanager,
    nullcontext,
    redirect_stdout,
    suppress,
)
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import typer
from typer.core import TyperGroup

from ..atomic_files import atomic_path, check_writable, descriptor
from ..errors import Errors, reason_of
from ..output_errors import PrintedError, output_errors
from ..printable import printable
from ..terminal import msg, plain_warnings

__all__ = ["atomic_path", "check_writable", "paper_command", "psa_cli", "user_errors"]

HELP = "Commands for sequence labeling: corpora, training, CoNLL evaluation, result tables."
# Panels of `psa --help`, in the order of the usual way
DATA, TRAIN, PREDICT, LOOK, PAPERS = (
    "Data",
    "Train",
    "Predict and evaluate",
    "Look into",
    "Papers and help",
)
PANELS = (DATA, TRAIN, PREDICT, LOOK, PAPERS)
# What `spacy project` writes for a variable that is null, and what a user may leave empty
UNSET = ("", "null", "None")
STDOUT = "Standard output"
# The exit status of what Ctrl-C ended: 128 and the number of the signal
INTERRUPTED = 130
Command = TypeVar("Command", bound=Callable[..., Any])
OutputT = TypeVar("OutputT", str, Path)


def _prepare_stdout() -> None:
    """Print question marks for characters that standard output cannot encode, e.g. in cp1252, and
    nothing if it is closed, as by `>&-`."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf8")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")


class SafeGroup(TyperGroup):
    """Commands whose arguments are printed in errors, but cannot control the terminal."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands by panel, in plain text."""
        shown = {name: self.commands[name] for name in self.list_commands(ctx)}
        shown = {name: command for name, command in shown.items() if not command.hidden}
        width = formatter.width - 6 - max(map(len, shown))
        for panel in dict.fromkeys((*PANELS, None)):
            rows = [
                (name, command.get_short_help_str(width))
                for name, command in shown.items()
                if panel == _panel(command)
            ]
            if rows:
                with formatter.section(panel or "Commands"):
                    formatter.write_dl(rows)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except PrintedError as error:
            error.message = printable(str(error.message))  # type: ignore[attr-defined]
            raise


def _panel(command: Any) -> str | None:
    # Where a command has none, typer leaves a placeholder
    panel = getattr(command, "rich_help_panel", None)
    return panel if panel in PANELS else None


psa_cli = typer.Typer(
    name="psa",
    cls=SafeGroup,
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode=None,
    callback=_prepare_stdout,
)

paper_cli = typer.Typer(
    name="paper",
    cls=SafeGroup,
    help="The papers' corpora, reproductions and tables.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
psa_cli.add_typer(paper_cli, rich_help_panel=PAPERS)


def paper_command(name: str) -> Callable[[Command], Command]:
    """Register a command of `psa paper`. Without `paper`, it works as well, but is not listed."""

    def register(function: Command) -> Command:
        psa_cli.command(name, hidden=True)(function)
        return paper_cli.command(name)(function)

    return register


@psa_cli.command("help", rich_help_panel=PAPERS)
def help_cli(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND...", help="e.g. train, or paper fetch")
    ] = None,
) -> None:
    """Show the help of a command, or of all."""
    context: Any = ctx.parent
    for word in words or []:
        # An unknown name is an error that names similar ones, as if the command were run
        _, command, _ = context.command.resolve_command(context, [word])
        context = type(context)(command, info_name=word, parent=context)
        if not isinstance(command, TyperGroup):
            break
    write_stdout(context.get_help() + "\n")


@contextmanager
def user_errors(*, to_stdout: bool = False) -> Iterator[None]:
    """Print errors that the user can fix as a message and exit; let bugs show their traceback."""
    from ..corpora.lines import keep_pipes

    try:
        with keep_pipes(), plain_warnings():
            yield
        sys.stdout.flush()
    except OSError as err:
        _fail(err, to_stdout)
    except ValueError as err:
        if not re.match(r"\[[EP]\d+\]", str(err)):
            raise
        _fail(err, to_stdout)


def one_output(argument: OutputT | None, option: OutputT | None) -> OutputT:
    """The output of a command that takes it like the command of spaCy of the same name, as an
    argument, and like all others."""
    if (argument is None) == (option is None):
        raise typer.BadParameter("give it once", param_hint="OUTPUT or --output")
    return option if argument is None else argument  # type: ignore[return-value]


def is_stdout(path: Path) -> bool:
    """Whether a path is standard output: `-`, or one such as /dev/stdout."""
    return str(path) == "-" or descriptor(path) == 1


def messages(*, to_stdout: bool) -> AbstractContextManager[object]:
    """Keep messages, also those of other packages, out of the data."""
    return redirect_stdout(sys.stderr) if to_stdout else nullcontext()


def write_stdout(text: str) -> None:
    """Write data to standard output, in UTF-8 whatever its encoding for messages is."""
    text = printable(text) if sys.stdout.isatty() else text
    with output_errors(Path(STDOUT)):
        if sys.__stdout__ is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), STDOUT)
        typer.echo(text.encode("utf8"), nl=False)


def _fail(error: Exception, to_stdout: bool) -> NoReturn:
    try:
        if to_stdout and isinstance(error, BrokenPipeError):
            raise error
        with messages(to_stdout=to_stdout):
            msg.fail(str(error))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe, as `| head` does: typer handles this silently
        raise
    except OSError as broken:
        if not to_stdout:
            template = Errors.P410 if broken.errno == errno.ENOSPC else Errors.P412
            print(template.format(path=STDOUT, reason=broken.strerror), file=sys.stderr)
        with suppress(OSError):
            # Flushing the rest when Python exits would fail again
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(1)


@contextmanager
def resumable(hint: str) -> Iterator[None]:
    """End at Ctrl-C as a shell expects, and say how to go on.

    hint (str): A sentence without a full stop.
    """
    try:
        yield
    except KeyboardInterrupt:
        msg.warn(f"Interrupted. {hint}")
        raise SystemExit(INTERRUPTED) from None


@contextmanager
def gpu_errors(gpu_id: int) -> Iterator[None]:
    """Explain why a GPU cannot be used."""
    try:
        yield
    except (ValueError, RuntimeError, AssertionError) as error:
        # PyTorch adds hints for developers on further lines
        raise ValueError(Errors.P453.format(gpu_id=gpu_id, reason=reason_of(error))) from error
