"""The ways to save a pipeline of one component, or the component, and to load it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import spacy
from spacy.language import Language
from spacy.util import load_model_from_config

Make = Callable[[], Language]
Way = Callable[[Language, Make], Language]


def component_of(nlp: Language) -> Any:
    """The component."""
    ((_, pipe),) = nlp.pipeline
    return pipe


def component_through_bytes(saved: Language, make: Make) -> Language:
    """Load the component's bytes into a new pipeline."""
    loaded = make()
    component_of(loaded).from_bytes(component_of(saved).to_bytes())
    return loaded


def component_through_disk(saved: Language, make: Make) -> Language:
    """Load the component's folder into a new pipeline."""
    loaded = make()
    with tempfile.TemporaryDirectory() as folder:
        component_of(saved).to_disk(folder)
        component_of(loaded).from_disk(folder)
    return loaded


def pipeline_through_bytes(saved: Language, make: Make) -> Language:
    """Load the pipeline's bytes into one made from its config."""
    return load_model_from_config(saved.config).from_bytes(saved.to_bytes())


def pipeline_through_disk(saved: Language, make: Make) -> Language:
    """Load the pipeline's folder."""
    with tempfile.TemporaryDirectory() as folder:
        saved.to_disk(folder)
        return spacy.load(folder)


WAYS: tuple[Way, ...] = (
    component_through_bytes,
    component_through_disk,
    pipeline_through_bytes,
    pipeline_through_disk,
)
