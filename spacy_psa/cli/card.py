"""`spacy psa card`: write the model card of a trained pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..disk import sha256_of, walk
from ..errors import Errors
from ..terminal import msg
from ._options import CodeOption, ComponentsOption, GpuOption
from ._outputs import check_not_input, check_outputs, json_text, save_output
from ._predictions import choose_layers, join_names, load_system, read_gold, use_gpu
from ._util import TRAIN, atomic_path, check_writable, psa_cli, user_errors
from .calibrate import predict
from .evaluate import reports_of

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

    from ..evaluation.card import Card, Trust

META = "meta.json"
# What spaCy's meta.json says of a pipeline that its files do not
FIELDS = ("name", "version", "description", "author", "email", "url", "license", "sources")


@psa_cli.command("card", rich_help_panel=TRAIN)
def card_cli(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of the pipeline")],
    data: Annotated[
        list[Path],
        typer.Argument(metavar="TEST...", help=".spacy files to evaluate it on, or folders"),
    ],
    meta: Annotated[
        Path | None,
        typer.Option("--meta", "-m", help=f"JSON file with {', '.join(FIELDS)}: any of them"),
    ] = None,
    components: ComponentsOption = None,
    title: Annotated[
        str, typer.Option("--data-name", help="Name of the data in the card; by default its files")
    ] = "",
    outputs: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", help="Further output file, .json or .md; repeatable"),
    ] = None,
    gpu_id: GpuOption = -1,
    code_path: CodeOption = None,
) -> None:
    """
    Write the model card of a pipeline. It comes from an evaluation on test data: scores with
    intervals, the quality of the probabilities, weaknesses, the speed on this machine, and
    checksums.

    The card becomes the notes in the pipeline's meta.json. spacy package adds them to the README of
    the package, below the description, sources, licence and labels.
    """
    with user_errors():
        check_outputs(outputs or [], (".json", ".md"), charts=())
        check_not_input(outputs or [], [model / META, *([] if meta is None else [meta])])
        check_writable(model / META)
        fields = {} if meta is None else read_fields(meta)
        use_gpu(gpu_id)
        name = title or join_names(data)
        card = describe(model, data, name, machine(gpu_id), components or [])
        write_meta(model, fields, card.to_markdown())
        msg.good(f"Wrote the card into {model / META}")
        writers = {".json": _to_json, ".md": _to_markdown}
        for path in outputs or []:
            save_output(path, writers[path.suffix](model, card), "card")


def describe(
    model: Path, data: Sequence[Path], title: str, machine: str, components: Sequence[str] = ()
) -> Card:
    """Evaluate a pipeline for its card."""
    from ..evaluation.breakdowns import Settings
    from ..evaluation.card import Card, Speed

    system = load_system(str(model))
    layers = choose_layers(system, components, None, None)
    nlp = system.nlp
    assert nlp is not None  # a file of predictions would have no layers to choose
    gold = read_gold(data, layers.values(), nlp.vocab)
    predictions, words, seconds = system.predict_timed(
        gold, join_names(data), list(layers.values())
    )
    # meta.json has the card itself
    files = [path for path in walk(model) if path.name != META]
    return Card(
        title,
        reports_of(system, layers, gold, predictions, Settings(n_errors=0)),
        trust(nlp, gold, list(layers)),
        Speed(words, seconds, machine),
        {path.relative_to(model).as_posix(): sha256_of(path) for path in files},
        sum(path.stat().st_size for path in files),
    )


def trust(nlp: Language, gold: Sequence[Doc], components: Sequence[str]) -> list[Trust]:
    """Compare the probabilities of each psa_tagger among components with the gold standard, where
    there is one."""
    from ..calibration.held_out import confidences
    from ..calibration.reliability import expected_calibration_error
    from ..evaluation.card import Trust
    from ..evaluation.layers import make_layer
    from ..pipeline.tagger import PSATagger

    found = []
    for name in components:
        pipe = nlp.get_pipe(name)
        if not isinstance(pipe, PSATagger):
            continue
        layer = make_layer(pipe.cfg["target"], pipe.cfg["spans_key"])
        if not any(len(doc) and layer.is_annotated(doc) for doc in gold):
            continue
        units = confidences(pipe, predict(nlp, name, gold), pipe.cfg["temperature"])
        for unit, of in units.items():
            n, nan = len(of.correct), float("nan")
            correct, confidence = (of.correct.mean(), of.confidence.mean()) if n else (nan, nan)
            error = expected_calibration_error(of.confidence, of.correct)
            found.append(Trust(name, unit, n, float(correct), float(confidence), error))
    return found


def machine(gpu_id: int) -> str:
    """What a pipeline runs on."""
    import torch

    from ..evaluation.card import describe_processor

    n = torch.get_num_threads()
    found = f"{describe_processor()}, {n} thread{'s' * (n != 1)}"
    return found if gpu_id < 0 else f"{torch.cuda.get_device_name(gpu_id)}; {found}"


def read_fields(path: Path) -> dict[str, Any]:
    """Read what a user says of a pipeline."""
    import srsly

    try:
        fields = srsly.read_json(path)
    except ValueError as error:
        raise ValueError(Errors.P519.format(path=path, problem=error)) from None
    if not isinstance(fields, dict):
        raise ValueError(Errors.P519.format(path=path, problem="it is no JSON object"))
    unknown = sorted(set(fields) - set(FIELDS))
    if unknown:
        problem = f"it has {', '.join(unknown)}; it may have {', '.join(FIELDS)}"
        raise ValueError(Errors.P519.format(path=path, problem=problem))
    for key, value in fields.items():
        # spaCy would not load a pipeline without a name, nor package one without a version
        kind, what = (list, "a list") if key == "sources" else (str, "text")
        if not isinstance(value, kind) or (key in ("name", "version") and not value):
            problem = f"{key} is {srsly.json_dumps(value)}; give {what}, or leave it out"
            raise ValueError(Errors.P519.format(path=path, problem=problem))
    return fields


def write_meta(model: Path, fields: dict[str, Any], notes: str) -> None:
    """Add fields and the card to the description of a pipeline."""
    import srsly

    written = {**srsly.read_json(model / META), **fields, "notes": notes}
    with atomic_path(model / META) as temporary:
        srsly.write_json(temporary, written)


def _to_json(model: Path, card: Card) -> str:
    return json_text(card.to_dict())


def _to_markdown(model: Path, card: Card) -> str:
    # As spacy package writes it
    import srsly
    from spacy.cli.package import generate_readme

    return generate_readme(srsly.read_json(model / META)) + "\n"


__all__ = ["card_cli", "describe", "read_fields", "write_meta"]
