"""Reduce the precision of a pipeline's networks, which halves their size."""

from __future__ import annotations

from spacy.language import Language
from thinc.api import Model

from ..models.quantization import reduce_model


def reduce_pipeline(nlp: Language, precision: str) -> int:
    """Reduce the precision of all networks of this package in a pipeline, including those in
    spaCy's `tok2vec` component.

    nlp (Language): The pipeline, modified in place.
    precision (str): A key of `spacy_psa.acceleration.reduced_precision.REDUCTIONS`.
    RETURNS (int): The number of networks reduced.
    RAISES (ValueError): If one has been reduced before.
    """
    models = (getattr(pipe, "model", None) for _, pipe in nlp.components)
    return sum(reduce_model(model, precision) for model in models if isinstance(model, Model))
