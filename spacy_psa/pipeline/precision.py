"""Pipelines whose networks have less precision, and half the size."""

from __future__ import annotations

from spacy.language import Language
from thinc.api import Model

from ..models.precision import reduce_model


def reduce_pipeline(nlp: Language, precision: str) -> int:
    """Reduce the precision of all networks of ours in a pipeline, also in spaCy's `tok2vec`.

    nlp (Language): The pipeline, which is modified.
    precision (str): A key of `spacy_psa.layers.precision.REDUCTIONS`.
    RETURNS (int): How many networks there are.
    RAISES (ValueError): If they have been reduced before.
    """
    models = (getattr(pipe, "model", None) for _, pipe in nlp.components)
    return sum(reduce_model(model, precision) for model in models if isinstance(model, Model))
