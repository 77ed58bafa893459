"""The scorer of `psa_tagger`, which returns spaCy's scores under spaCy's names."""

from collections.abc import Callable, Iterable
from typing import Any

from spacy.training import Example

from ..annotation.targets import make_target


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
