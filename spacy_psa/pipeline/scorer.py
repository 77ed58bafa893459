"""The scorer of `psa_tagger`: spaCy's scores under spaCy's names."""

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
    """Score what a `psa_tagger` has written.

    examples (Iterable[Example]): The examples.
    target (str): What it writes.
    spans_key (str): The key in `doc.spans`, for the target "spans".
    set_separator (Optional[str]): What stands between labels in the reference of which any one is
        right, as in "NN|JJ"; None if there are no such sets.
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
