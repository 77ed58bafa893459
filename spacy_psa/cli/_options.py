"""Arguments and options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

from ._util import user_errors


def _import_code(ctx: typer.Context, path: Path | None) -> Path | None:
    """Run the file that the user names, before the command looks at what may need it."""
    if path is not None and not ctx.resilient_parsing:
        from ..private_names import import_code

        with user_errors():
            import_code(path)
    return path


ComponentOption = Annotated[
    str | None,
    typer.Option("--component", "-c", help="Name of the component, if there are several"),
]
ComponentsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--component",
        "-c",
        help="Component to evaluate, repeatable; by default all spacy-psa components",
    ),
]
TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", help="tag, pos, morph, ents, spans or roles, from any component"
    ),
]
GivenOption = Annotated[
    bool,
    typer.Option("--given", help="Give psa_srl the predicates of DATA, even if it finds its own"),
]
GpuOption = Annotated[int, typer.Option("--gpu-id", "-g", help="GPU, or -1 for the CPU")]
ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="Pipeline name or folder")]
SpansKeyOption = Annotated[
    str | None,
    typer.Option("--spans-key", "-k", help="Key in doc.spans, for --target spans; or chunks"),
]
ScoresOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="JSON file to save scores to")
]
ChunksKeyOption = Annotated[
    str, typer.Option("--chunks-key", "-k", help="Key of the chunks in doc.spans")
]
DrawingOption = Annotated[
    Path, typer.Option("--output", "-o", help=".html, .svg or .png file to write")
]
FolderOption = Annotated[Path, typer.Option("--output", "-o", help="Output folder")]
ForceOption = Annotated[
    bool, typer.Option("--force", "-F", help="Replace an existing pipeline in the output folder")
]
ConfidenceOption = Annotated[
    float,
    typer.Option("--confidence", help="Confidence level of the intervals", min=0.01, max=0.999),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Random seed", min=0)]
LangOption = Annotated[str, typer.Option("--lang", "-l", help="Language code")]
# Of a training
ResumeOption = Annotated[
    bool, typer.Option("--resume", "-r", help="Resume from the checkpoint, if there is one")
]
GO_ON = "With --resume, the same command goes on from the last checkpoint, if there is one"
CheckpointOption = Annotated[
    int | None,
    typer.Option(
        "--checkpoint-every", help="Steps between checkpoints; by default, at each evaluation"
    ),
]

KeepOption = Annotated[
    str,
    typer.Option(
        "--keep-epochs",
        help="Epochs after which the pipeline is also kept in a folder of its own, such as "
        "5,15,38, for epoch-5, epoch-15 and epoch-38",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", help="Processes that share each batch; on GPUs, each has its own"),
]
CODE_HELP = "Python file with additional code (registered functions)"
# Of all commands that load a pipeline or a config
CodeOption = Annotated[Path | None, typer.Option("--code", callback=_import_code, help=CODE_HELP)]
# Where -c is not --component, as in `spacy train`
TrainingCodeOption = Annotated[
    Path | None, typer.Option("--code", "-c", callback=_import_code, help=CODE_HELP)
]
# For commands that take options such as --training.accumulate_gradient 2
WITH_OVERRIDES = {"allow_extra_args": True, "ignore_unknown_options": True}
