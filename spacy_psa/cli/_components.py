"""Load pipelines and find their components, for the commands that inspect them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..disk import check_files
from ..errors import Errors

if TYPE_CHECKING:
    from spacy.language import Language

    from ..pipeline.common import LabelSequencePipe
    from ..pipeline.srl import PSASemanticRoles
    from ..pipeline.tagger import PSATagger


def load_pipeline(name: str | Path) -> Language:
    """Load a pipeline."""
    import spacy

    check_files(Path(name))
    return spacy.load(name)


def load_component(path: str, name: str | None = None) -> tuple[Language, LabelSequencePipe]:
    """Load a pipeline, and choose one of its components."""
    from ..pipeline.common import LabelSequencePipe

    nlp = load_pipeline(path)
    ours = {key: pipe for key, pipe in nlp.pipeline if isinstance(pipe, LabelSequencePipe)}
    chosen = name or next(reversed(ours), None)
    if chosen not in ours:
        found, wanted = ", ".join(ours) or "none", f" '{name}'" if name else ""
        raise ValueError(Errors.P381.format(path=path, name=wanted, found=found))
    return nlp, ours[chosen]


def load_tagger(model: str, component: str | None) -> tuple[Language, str]:
    """Load a pipeline with a component to calibrate."""
    from ..pipeline.tagger import PSATagger

    nlp = load_pipeline(model)
    taggers = [name for name, pipe in nlp.pipeline if isinstance(pipe, PSATagger)]
    if not taggers or component not in (None, *taggers):
        named = f" '{component}'" if component else ""
        found = ", ".join(nlp.pipe_names) or "none"
        raise ValueError(Errors.P346.format(path=model, named=named, found=found))
    if component is None and len(taggers) > 1:
        raise ValueError(Errors.P347.format(path=model, found=", ".join(taggers)))
    return nlp, component or taggers[0]


def get_tagger(nlp: Language, name: str) -> PSATagger:
    """Get a component to calibrate."""
    from ..pipeline.tagger import PSATagger

    pipe = dict(nlp.pipeline).get(name)
    if not isinstance(pipe, PSATagger):
        found = ", ".join(nlp.pipe_names) or "none"
        path = nlp.path or nlp.meta["name"]
        raise ValueError(Errors.P346.format(path=path, named=f" '{name}'", found=found))
    return pipe


def role_labelers(nlp: Language, path: object) -> list[PSASemanticRoles]:
    """Find the components that label semantic roles."""
    from ..pipeline.srl import PSASemanticRoles

    found = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, PSASemanticRoles)]
    if not found:
        names = ", ".join(nlp.pipe_names) or "none"
        raise ValueError(Errors.P331.format(path=path, found=names))
    return found


def use_given_predicates(components: Iterable[PSASemanticRoles]) -> None:
    """Make components use given predicates, even if they are configured to find their own."""
    from ..pipeline.predicates import create_given_predicates

    for component in components:
        component.predicates = create_given_predicates()
