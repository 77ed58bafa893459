"""Show the scores of components that are trained on, as of new ones.

The scores of most components follow from their factory, and spaCy weights them wherever a component
comes from. Those of a `psa_tagger` depend on its target, so it adds them itself when it is
initialized. But spaCy does not initialize a component that is sourced from another pipeline: it
calls `Language.resume_training`, which does not call the component. So this adds them there.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from spacy.language import Language
from thinc.api import Optimizer

from .tag_learner import TagLearner

_resume_training = Language.resume_training


@wraps(_resume_training)
def resume_training(nlp: Language, **settings: Any) -> Optimizer:
    """See `Language.resume_training`."""
    optimizer = _resume_training(nlp, **settings)
    for _, pipe in nlp.pipeline:
        if isinstance(pipe, TagLearner):
            pipe.add_score_weights(nlp)
    return optimizer


Language.resume_training = resume_training  # type: ignore[assignment, method-assign]
