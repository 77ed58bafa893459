"""Reduce the precision of a model's networks."""

from __future__ import annotations

from spacy.language import Language
from thinc.api import Model

from .network_shim import networks


def reduce_model(model: Model, precision: str) -> int:
    """Reduce the precision of all networks of this package in a model, in place. See
    `reduce_pipeline`."""
    found = list(networks(model))
    for shim in found:
        shim.reduce(precision)
    return len(found)


def reduce_pipeline(nlp: Language, precision: str) -> int:
    """Reduce the precision of all networks of this package in a pipeline, including those in
    spaCy's `tok2vec` component, which halves their size.

    nlp (Language): The pipeline, modified in place.
    precision (str): A key of `spacy_psa.acceleration.reduced_precision.REDUCTIONS`.
    RETURNS (int): The number of networks reduced.
    RAISES (ValueError): If one has been reduced before.
    """
    models = (getattr(pipe, "model", None) for _, pipe in nlp.components)
    return sum(reduce_model(model, precision) for model in models if isinstance(model, Model))
