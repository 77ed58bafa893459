"""Probabilities of predictions: `token._.psa_score` and `span._.psa_score`.

They are stored in `doc.user_data` under spaCy's own keys for custom attributes, so that operations
that preserve custom attributes, such as `Doc.from_docs`, also preserve them. Each key holds a
dictionary by annotation layer, since several components may have labeled the same tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from spacy.tokens import Doc, Span, Token

from ...annotation.base import Target
from ...annotation.schemes import Span as Place
from ...annotation.targets import TARGETS

SCORE = "psa_score"
TOKEN_TARGETS = [name for name, target in TARGETS.items() if not target.has_spans]


def set_scores(
    doc: Doc, target: Target, tokens: Iterable[float | None], spans: Mapping[Place, float]
) -> None:
    """Store probabilities on a document, replacing those of the same target.

    Span groups also have them in `attrs["scores"]`, like those of spaCy's `spancat`. None stands
    for an unknown probability of a token's label."""
    forget_scores(doc, target)
    for token, score in zip(doc, tokens, strict=True):
        if score is not None:
            _keep(doc, _token_key(token), target.layer, float(score))
    for (start, end, label), score in spans.items():
        # A layer has at most one span with given boundaries, since tags cannot encode two
        _keep(doc, _span_key(doc[start:end]), target.layer, (label, float(score)))
    target.attach_scores(doc, spans)


def token_score(token: Token) -> float | None:
    """Get the probability of a token's predicted label, `token._.psa_score`: that of its tag, part
    of speech or morphology if spans were predicted as well. None if unknown."""
    scores = _user_data(token.doc).get(_token_key(token), {})
    return next((scores[layer] for layer in (*TOKEN_TARGETS, *scores) if layer in scores), None)


def span_score(span: Span) -> float | None:
    """Get the probability of exactly this span with its label, `span._.psa_score`. If several
    components predicted the span, that of the first one. None if unknown."""
    scores = _user_data(span.doc).get(_span_key(span), {})
    return next((score for label, score in scores.values() if label == span.label_), None)


def _keep(doc: Doc, key: tuple, layer: str, value: Any) -> None:
    # A new dictionary: documents created from this one may share the old one
    user_data = _user_data(doc)
    user_data[key] = {**user_data.get(key, {}), layer: value}


def _user_data(doc: Doc) -> dict[Any, Any]:
    """Get `doc.user_data` with a wider type: spaCy's own keys are tuples, not strings as it is
    annotated."""
    return doc.user_data


def forget_scores(doc: Doc, target: Target) -> None:
    """Remove a target's probabilities from a document."""
    layer = target.layer
    for key, scores in list(doc.user_data.items()):
        if isinstance(key, tuple) and key[:2] == ("._.", SCORE) and layer in scores:
            doc.user_data[key] = {name: scores[name] for name in scores if name != layer}
            if not doc.user_data[key]:
                del doc.user_data[key]


def _token_key(token: Token) -> tuple:
    return ("._.", SCORE, token.idx, None)


def _span_key(span: Span) -> tuple:
    return ("._.", SCORE, span.start_char, span.end_char)


def register_extensions() -> None:
    """Register `token._.psa_score` and `span._.psa_score` with spaCy."""
    Token.set_extension(SCORE, getter=token_score, force=True)
    Span.set_extension(SCORE, getter=span_score, force=True)


register_extensions()
