"""The scores of `psa_tagger`, which are spaCy's, and their weights in a pipeline's config."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.training import Example
from thinc.api import Optimizer

from ...annotation.base import Target
from ...annotation.targets import make_target
from ...errors import Warnings, warn
from ...training.parameter_groups import note_pipeline

logger = logging.getLogger("spacy")


def tagger_score(
    examples: Iterable[Example],
    *,
    target: str = "tag",
    spans_key: str = "sc",
    set_separator: str | None = None,
    **cfg: Any,
) -> dict[str, Any]:
    """Score the annotation of a `psa_tagger`.

    examples (Iterable[Example]): The examples.
    target (str): The component's target.
    spans_key (str): The key in `doc.spans`, for the target "spans".
    set_separator (Optional[str]): The separator in label sets in the reference, any label of which
        is correct, e.g. "|" in "NN|JJ"; None if there are no label sets.
    **cfg: Settings of spaCy's scorer.
    RETURNS (Dict[str, Any]): `tag_acc`, `pos_acc`, `morph_acc` and `morph_per_feat`,
        `ents_p/r/f/per_type` or `spans_{key}_p/r/f/per_type`.
    """
    of = make_target(target, spans_key=spans_key, set_separator=set_separator)
    return of.score(examples, **cfg)


def make_tagger_scorer() -> Callable[..., dict[str, Any]]:
    """Configure the scorer.

    RETURNS (Callable): `tagger_score`.
    """
    return tagger_score


def add_score_weights(nlp: Language, pipe: TrainablePipe) -> None:
    """Add the default weights of the scores of a `psa_tagger` to `[training.score_weights]`, unless
    the config weights any of them, even with zero or null, or the component has a custom scorer.

    All components get equal shares, as when spaCy combines the default weights of factories. The
    factory cannot have default weights, because they depend on the target.
    """
    if pipe.scorer is not tagger_score:
        return
    _warn_of_same_layer(nlp, pipe)
    weights, own = nlp.config["training"]["score_weights"], pipe.target.score_weights
    if any(score in weights for score, weight in own.items() if weight is not None):
        return
    others = [name for name in nlp.component_names if any(map(weights.get, _scores_of(nlp, name)))]
    share = sum(filter(None, weights.values())) / len(others) if others else 1.0
    weights.update({score: weight and weight * share for score, weight in own.items()})
    logger.info("Added to [training.score_weights] for %r: %s", pipe.name, own)


def _warn_of_same_layer(nlp: Language, pipe: TrainablePipe) -> None:
    """Warn if a component before this one predicts the same: the scores of both are one."""
    # Also if only some are trained at a time, as spaCy does with those from other pipelines
    for name, other in nlp.components:
        if name == pipe.name:
            return
        target = _target_of(other)
        if target is not None and target.layer == pipe.target.layer:
            warn(Warnings.W450.format(first=name, name=pipe.name, layer=pipe.target.assigns))


def _target_of(pipe: object) -> Target | None:
    """What a component reads and writes, if it is a `psa_tagger`."""
    target = getattr(pipe, "target", None)
    return target if isinstance(target, Target) else None


def _scores_of(nlp: Language, name: str) -> Iterable[str]:
    """List the scores that are weighted by default for a component."""
    target = _target_of(nlp.get_pipe(name))
    if target is not None:
        return target.score_weights
    return nlp.get_pipe_meta(name).default_score_weights or ()


_resume_training = Language.resume_training


@wraps(_resume_training)
def resume_training(nlp: Language, **settings: Any) -> Optimizer:
    """See `Language.resume_training`, which spaCy calls instead of `initialize` for components that
    are sourced from another pipeline, and which does not call them. This adds their scores, and
    lets optimizers know their names in this pipeline."""
    optimizer = _resume_training(nlp, **settings)
    note_pipeline(nlp)
    for _, pipe in nlp.pipeline:
        if _target_of(pipe) is not None:
            add_score_weights(nlp, pipe)
    return optimizer


Language.resume_training = resume_training  # type: ignore[assignment, method-assign]
