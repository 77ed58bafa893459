"""The targets that a config can name."""

from __future__ import annotations

from ..errors import Errors
from .base import Target
from .spans import EntsTarget, SpansTarget
from .tokens import MorphTarget, PosTarget, TagTarget

TARGETS: dict[str, type[Target]] = {
    target.name: target for target in (TagTarget, PosTarget, MorphTarget, EntsTarget, SpansTarget)
}


def make_target(name: str, *, spans_key: str) -> Target:
    """Make a target.

    name (str): Its name: one of `TARGETS`.
    spans_key (str): The key in `doc.spans`, for the target "spans".
    RETURNS (Target): The target.
    RAISES (ValueError): If there is no target of that name.
    """
    if name not in TARGETS:
        raise ValueError(Errors.P303.format(name=name, options=", ".join(TARGETS)))
    return TARGETS[name](spans_key)
