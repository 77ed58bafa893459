"""`spacy psa quantize`: copy a pipeline with weights of reduced precision, for inference."""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ..atomic_files import atomic_folder
from ..errors import Errors
from ..terminal import msg, show
from ._components import load_pipeline
from ._outputs import check_pipeline_folder
from ._predictions import choose_layers, join_names, load_system, read_data
from ._util import psa_cli, user_errors

WARM_UP = 256


class Precision(str, Enum):
    """The precisions that weights can be reduced to."""

    bf16 = "bf16"


@psa_cli.command("quantize")
def quantize_cli(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Pipeline name or folder")],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="Output folder")],
    precision: Annotated[
        Precision,
        typer.Option("--precision", "-p", help="Precision of weights and of their inputs"),
    ] = Precision.bf16,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--data", "-d", help=".spacy file or folder to score before and after; repeatable"
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", "-F", help="Replace an existing pipeline in OUTPUT")
    ] = False,
) -> None:
    """
    Reduce the precision of a pipeline's networks: half the size, and faster for some on a CPU.

    MODEL is not modified. OUTPUT is a regular pipeline, but cannot be trained. Decoding remains in
    full precision. Only CPUs with bfloat16 instructions (avx512_bf16 or AMX) are faster; use --data
    to measure by how much.
    """
    from ..figures.tables import Table

    with user_errors():
        check_pipeline_folder(output, data or (), force=force)
        before = evaluate(model, data) if data else {}
        source, networks = quantize(model, output, precision=precision.value, force=force)
        msg.good(f"Saved the pipeline with {networks} networks in {precision.value} to {output}")
        after = evaluate(str(output), data) if data else {}
        rows = [["size (MB)", *(f"{folder_size(path) / 1e6:.1f}" for path in (source, output))]]
        rows += [[name, before[name], after[name]] for name in before]
        show(Table("", ["", "before", "after"], rows).to_text())


def quantize(
    model: str, output: Path, *, precision: str = "bf16", force: bool = False
) -> tuple[Path, int]:
    """Write a copy of a pipeline with weights of reduced precision, atomically."""
    from ..pipeline.quantization import reduce_pipeline

    nlp = load_pipeline(model)
    source = Path(nlp.path)
    check_pipeline_folder(output, [source], force=force)
    networks = reduce_pipeline(nlp, precision)
    if not networks:
        found = ", ".join(nlp.component_names) or "none"
        raise ValueError(Errors.P442.format(path=model, found=found))
    with atomic_folder(output) as temporary:
        nlp.to_disk(temporary)
    return source, networks


def evaluate(model: str, data: Sequence[Path]) -> dict[str, str]:
    """Score a pipeline."""
    from ..evaluation.counts import SCORES, count
    from ..evaluation.sentences import check_annotated, pair_sentences
    from ..figures.tables import percent

    system = load_system(model)
    layers = choose_layers(system, (), None, "")
    gold = read_data(data)
    for layer in layers.values():
        check_annotated(gold, layer, join_names(data))
    # Warm up, so that one-time costs are not measured
    system.predict(gold[:WARM_UP], join_names(data), list(layers.values()))
    start = time.perf_counter()
    predictions = system.predict(gold, join_names(data), list(layers.values()))
    seconds = time.perf_counter() - start
    # Layers share predictions, except those whose task gives annotation
    words = sum(map(len, gold)) * len({id(docs) for docs in predictions})
    found = {"words per second": f"{words / seconds:,.0f}"}
    for (name, layer), predicted in zip(layers.items(), predictions, strict=True):
        total = count(pair_sentences(gold, predicted, layer)).sum(0)
        score = float(SCORES[layer.main_score](total))
        component = f"{name} " if len(layers) > 1 else ""
        found[f"{component}{layer.name}: {layer.main_score} (%)"] = percent(score)
    return found


def folder_size(folder: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
