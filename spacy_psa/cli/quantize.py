"""`spacy psa quantize` and `spacy psa srl-ensemble`: make new pipelines from trained ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..atomic_files import atomic_folder
from ..errors import Errors
from ..terminal import msg, show
from ._options import (
    CodeOption,
    ComponentOption,
    FolderOption,
    ForceOption,
    GpuOption,
    ModelArgument,
)
from ._outputs import check_pipeline_folder
from ._predictions import (
    choose_layers,
    choose_role_labeler,
    join_names,
    load_pipeline,
    load_system,
    read_gold,
    use_gpu,
)
from ._training_files import blocks
from ._util import TRAIN, psa_cli, user_errors

if TYPE_CHECKING:
    from spacy.language import Language

    from ..pipeline.srl import PSASemanticRoles

# Listens to a transformer, unless it has one of its own
LAST_LAYERS = "spacy_psa.LastLayers.v1"


class Precision(str, Enum):
    """The precisions that weights can be reduced to."""

    bf16 = "bf16"


@psa_cli.command("quantize", rich_help_panel=TRAIN)
def quantize_cli(
    model: ModelArgument,
    output: FolderOption,
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
    force: ForceOption = False,
    gpu_id: GpuOption = -1,
    code_path: CodeOption = None,
) -> None:
    """
    Reduce the precision of a pipeline's networks. It takes half the size, and some are faster on a
    CPU.

    MODEL is not modified. The copy is a regular pipeline, but cannot be trained. Decoding is still
    in full precision. Only CPUs with bfloat16 instructions (avx512_bf16 or AMX) are faster; use
    --data to measure by how much.
    """
    from ..figures.tables import Table

    with user_errors():
        check_pipeline_folder(output, data or (), force=force)
        use_gpu(gpu_id)
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
    from ..models.network_shim import reduce_pipeline

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
    from ..evaluation.sentences import SCORES, count, pair_sentences
    from ..figures.tables import percent

    system = load_system(model)
    layers = choose_layers(system, (), None, None)
    gold = read_gold(data, layers.values())
    predictions, words, seconds = system.predict_timed(
        gold, join_names(data), list(layers.values())
    )
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


ARCHITECTURE = "spacy_psa.RoleEnsemble.v1"


@psa_cli.command("srl-ensemble", rich_help_panel=TRAIN)
def srl_ensemble_cli(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PIPELINE...", help="Folders of two or more trained pipelines"),
    ],
    output_path: FolderOption,
    name: ComponentOption = None,
    force: ForceOption = False,
    code_path: CodeOption = None,
) -> None:
    """
    Combine several pipelines for roles into one. It labels semantic roles with all of their models.

    It averages the label probabilities of the models. Everything else comes from the first
    pipeline. The models must have the same labels and vectors; train them with different seeds.
    """
    with user_errors():
        check_pipeline_folder(output_path, paths, force=force)
        ensemble = make_ensemble(paths, name=name)
        with atomic_folder(output_path) as temporary:
            ensemble.to_disk(temporary)
        msg.good(f"Saved an ensemble of {len(paths)} models to {output_path}")


def make_ensemble(paths: list[Path], *, name: str | None = None) -> Language:
    """Combine several pipelines into one, whose component for roles has this name in all of them;
    by default the only one of the first."""
    import spacy
    from spacy.util import load_model_from_config

    if len(paths) < 2:
        raise ValueError(Errors.P334.format(n=len(paths)))
    name = choose_role_labeler(load_pipeline(paths[0]), paths[0], name)
    members = [_standalone(path, name) for path in paths]
    first = members[0]
    for path, member in zip(paths[1:], members[1:], strict=True):
        problem = _difference(first, member, name)
        if problem is not None:
            raise ValueError(Errors.P332.format(path=path, first=paths[0], problem=problem))
    models = [member.config["components"][name]["model"] for member in members]
    config = first.config.copy()
    config["components"][name]["model"] = {
        "@architectures": ARCHITECTURE,
        "*": {f"model_{i}": model for i, model in enumerate(models, 1)},
    }
    nlp = load_model_from_config(config, vocab=first.vocab)
    assert isinstance(nlp, spacy.language.Language)
    _copy_state(nlp.tokenizer, first.tokenizer)
    for pipe_name, pipe in nlp.pipeline:
        if pipe_name != name and hasattr(pipe, "from_bytes"):
            _copy_state(pipe, first.get_pipe(pipe_name))
    component, template = _roles(nlp, name), _roles(first, name)
    component.cfg.update(template.cfg)
    component.model.set_dim("nO", template.model.get_dim("nO"))
    for layer, member in zip(component.model.layers, members, strict=True):
        layer.from_bytes(_roles(member, name).model.to_bytes())
    return nlp


def _copy_state(to: Any, source: Any) -> None:
    """Copy the state of a tokenizer or component, which spaCy types only as callables."""
    to.from_bytes(source.to_bytes())


def _roles(nlp: Language, name: str) -> PSASemanticRoles:
    from ..pipeline.srl import PSASemanticRoles

    component = nlp.get_pipe(name)
    assert isinstance(component, PSASemanticRoles)
    return component


def _standalone(path: Path, name: str) -> Language:
    """Load a pipeline; replace listeners in the component by a copy of the tok2vec, which is left
    out if nothing else listens to it."""
    nlp = load_pipeline(path)
    choose_role_labeler(nlp, path, name)
    pipes: list[tuple[str, Any]] = list(nlp.pipeline)
    for upstream, pipe in pipes:
        if name in getattr(pipe, "listening_components", []):
            config = nlp.get_pipe_config(name)["model"]
            nlp.replace_listeners(upstream, name, list(_listeners(config, "model", upstream)))
            if not pipe.listening_components:
                nlp.remove_pipe(upstream)
    return nlp


def _listeners(section: Any, path: str, upstream: str) -> Iterator[str]:
    """Where in the config of a model its listeners to a component are, whose place is taken by a
    copy of it."""
    for place, block in blocks(section, path):
        architecture = str(block.get("@architectures"))
        of_it = block.get("upstream", "*") in ("*", upstream)
        if "Listener" in architecture and of_it:
            yield place
        elif architecture == LAST_LAYERS and of_it and block.get("transformer") is None:
            yield f"{place}.transformer"


def _difference(first: Language, other: Language, name: str) -> str | None:
    """Describe why two pipelines are incompatible."""
    labels, others = _roles(first, name).labels, _roles(other, name).labels
    if labels != others:
        odd = sorted(set(labels) ^ set(others))
        return f"the labels differ ({', '.join(odd[:5]) or 'their order'})"
    shapes = first.vocab.vectors.shape, other.vocab.vectors.shape
    if shapes[0] != shapes[1]:
        return f"the vectors differ (their shapes are {shapes[0]} and {shapes[1]})"
    if first.vocab.vectors.to_bytes() != other.vocab.vectors.to_bytes():
        return "the vectors differ"
    tokenizers: list[Any] = [first.tokenizer, other.tokenizer]
    if tokenizers[0].to_bytes() != tokenizers[1].to_bytes():
        return "the tokenizers differ"
    return None
