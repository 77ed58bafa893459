"""The targets that a config can name."""

from __future__ import annotations

from ..errors import Errors, suggestion
from .base import Target
from .label_sets import LabelSets
from .span_targets import EntsTarget, SpansTarget, SpanTarget
from .tokens import MorphTarget, PosTarget, TagTarget, TokenTarget

TOKEN_TARGETS: dict[str, type[TokenTarget]] = {
    target.name: target for target in (TagTarget, PosTarget, MorphTarget)
}
SPAN_TARGETS: dict[str, type[SpanTarget]] = {
    target.name: target for target in (EntsTarget, SpansTarget)
}
TARGETS: dict[str, type[Target]] = {**TOKEN_TARGETS, **SPAN_TARGETS}


def make_target(name: str, *, spans_key: str, set_separator: str | None = None) -> Target:
    """Create the target of a name in `TARGETS`. Spans have a key in `doc.spans`, and the labels in
    a set a separator, as in "NN|JJ"; None if there are no sets."""
    if name not in TARGETS:
        nearest, options = suggestion(name, TARGETS), ", ".join(TARGETS)
        raise ValueError(Errors.P303.format(name=name, suggestion=nearest, options=options))
    target = TARGETS[name](spans_key)
    if set_separator is not None:
        if not target.has_sets:
            options = ", ".join(other.name for other in TARGETS.values() if other.has_sets)
            raise ValueError(Errors.P369.format(target=name, options=options))
        target.sets = LabelSets(set_separator)
    return target
