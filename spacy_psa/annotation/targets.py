"""The targets that a config can name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spacy.tokens import Doc

from ..errors import Errors, check_choice
from .base import Target
from .label_sets import LabelSets
from .propositions import FRAMES_KEY
from .span_targets import EntsTarget, SpansTarget, SpanTarget
from .tokens import MorphTarget, PosTarget, TagTarget, TokenTarget

TOKEN_TARGETS: dict[str, type[TokenTarget]] = {
    target.name: target for target in (TagTarget, PosTarget, MorphTarget)
}
SPAN_TARGETS: dict[str, type[SpanTarget]] = {
    target.name: target for target in (EntsTarget, SpansTarget)
}
TARGETS: dict[str, type[Target]] = {**TOKEN_TARGETS, **SPAN_TARGETS}


# What converted corpora have in `doc.spans` beside annotation
DOCUMENT_KEY, SPEAKERS_KEY = "document", "speakers"


def annotated_targets(docs: Iterable[Doc]) -> Iterator[tuple[str, str]]:
    """Find the targets that documents are annotated for, with repetitions, each with its key in
    `doc.spans` if it has one; "roles" for frames."""
    # spaCy says that a Doc without tokens has any annotation
    for doc in filter(len, docs):
        yield from ((name, "") for name, t in TOKEN_TARGETS.items() if doc.has_annotation(t.field))
        if doc.ents:
            yield "ents", ""
        for key, group in doc.spans.items():
            if len(group) and key not in (DOCUMENT_KEY, SPEAKERS_KEY):
                yield ("roles", "") if key.partition("/")[0] == FRAMES_KEY else ("spans", key)


def list_targets(docs: Iterable[Doc]) -> str:
    """List the targets that documents are annotated for."""
    found = sorted(set(annotated_targets(docs)))
    names = [f"{target} (spans_key '{key}')" if key else target for target, key in found]
    return ", ".join(names) or "nothing"


def make_target(name: str, *, spans_key: str, set_separator: str | None = None) -> Target:
    """Create the target of a name in `TARGETS`. Spans have a key in `doc.spans`, and the labels in
    a set a separator, as in "NN|JJ"; None if there are no sets."""
    check_choice("target", name, TARGETS)
    target = TARGETS[name](spans_key)
    if set_separator is not None:
        if not target.has_sets:
            options = ", ".join(other.name for other in TARGETS.values() if other.has_sets)
            raise ValueError(Errors.P369.format(target=name, options=options))
        target.sets = LabelSets(set_separator)
    return target
