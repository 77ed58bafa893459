"""`spacy psa srl-ensemble`: combine trained pipelines into one that averages their models."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..atomic_files import atomic_folder
from ..errors import Errors
from ..terminal import msg
from ._components import load_pipeline
from ._outputs import check_pipeline_folder
from ._util import psa_cli, user_errors

if TYPE_CHECKING:
    from spacy.language import Language

    from ..pipeline.srl import PSASemanticRoles

ARCHITECTURE = "spacy_psa.RoleEnsemble.v1"


@psa_cli.command("srl-ensemble")
def srl_ensemble_cli(
    output_path: Annotated[Path, typer.Argument(metavar="OUTPUT", help="Output folder")],
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PIPELINE...", help="Folders of two or more trained pipelines"),
    ],
    name: Annotated[
        str, typer.Option("--component", "-c", help="Name of the component for semantic roles")
    ] = "psa_srl",
    force: Annotated[
        bool, typer.Option("--force", "-F", help="Replace an existing pipeline in OUTPUT")
    ] = False,
) -> None:
    """
    Combine several pipelines into one that labels semantic roles with all of their models.

    It averages the label probabilities of the models. Everything else comes from the first
    pipeline. The models must have the same labels and vectors; train them with different seeds.
    """
    with user_errors():
        check_pipeline_folder(output_path, paths, force=force)
        ensemble = make_ensemble(paths, name=name)
        with atomic_folder(output_path) as temporary:
            ensemble.to_disk(temporary)
        msg.good(f"Saved an ensemble of {len(paths)} models to {output_path}")


def make_ensemble(paths: list[Path], *, name: str = "psa_srl") -> "Language":
    """Combine several pipelines into one."""
    import spacy
    from spacy.util import load_model_from_config

    if len(paths) < 2:
        raise ValueError(Errors.P334.format(n=len(paths)))
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


def _roles(nlp: "Language", name: str) -> "PSASemanticRoles":
    from ..pipeline.srl import PSASemanticRoles

    component = nlp.get_pipe(name)
    assert isinstance(component, PSASemanticRoles)
    return component


def _standalone(path: Path, name: str) -> "Language":
    """Load a pipeline; replace listeners in the component by a copy of the tok2vec."""
    from ..pipeline.srl import PSASemanticRoles

    nlp = load_pipeline(path)
    if name not in nlp.pipe_names or not isinstance(nlp.get_pipe(name), PSASemanticRoles):
        raise ValueError(Errors.P331.format(path=path, found=", ".join(nlp.pipe_names) or "none"))
    for upstream, pipe in nlp.pipeline:
        if name in getattr(pipe, "listening_components", []):
            nlp.replace_listeners(upstream, name, ["model.tok2vec"])
    return nlp


def _difference(first: "Language", other: "Language", name: str) -> str | None:
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
