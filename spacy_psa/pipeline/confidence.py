"""Probabilities on documents: `token._.psa_score` and `span._.psa_score`.

They are kept in `doc.user_data` under spaCy's own keys for custom attributes, so that they survive
whatever these survive, such as `Doc.from_docs`. Under each key there is a dictionary by layer:
several components may have labeled the same tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from spacy.tokens import Doc, Span, Token

from ..annotation.base import Target
from ..annotation.schemes import Span as Place
from ..annotation.targets import TARGETS

SCORE = "psa_score"
TOKEN_TARGETS = [name for name, target in TARGETS.items() if not target.has_spans]


def set_scores(
    doc: Doc, target: Target, tokens: Iterable[float | None], spans: Mapping[Place, float]
) -> None:
    """Keep probabilities on their document, in place of those that this target had there.

    Groups of spans have them in `attrs["scores"]` too, as those of spaCy's `spancat` have.

    doc (Doc): The document, annotated.
    target (Target): What was predicted.
    tokens (Iterable[Optional[float]]): The probability of each token's label, or None if it is not
        known.
    spans (Mapping[Place, float]): The probability of each predicted span.
    """
    forget_scores(doc, target)
    for token, score in zip(doc, tokens, strict=True):
        if score is not None:
            _keep(doc, _token_key(token), target.layer, float(score))
    for (start, end, label), score in spans.items():
        # A layer has one span for given tokens, since tags cannot express two
        _keep(doc, _span_key(doc[start:end]), target.layer, (label, float(score)))
    target.attach_scores(doc, spans)


def token_score(token: Token) -> float | None:
    """The probability that a token has the label that it was given: `token._.psa_score`.

    token (Token): The token.
    RETURNS (Optional[float]): The probability; that of its part of speech or morphology, if spans
        were predicted as well. None if it is not known.
    """
    scores = _user_data(token.doc).get(_token_key(token), {})
    return next((scores[layer] for layer in (*TOKEN_TARGETS, *scores) if layer in scores), None)


def span_score(span: Span) -> float | None:
    """The probability that just this span with its label is there: `span._.psa_score`.

    span (Span): The span.
    RETURNS (Optional[float]): The probability; that of the first component to predict it, if there
        are several. None if it is not known.
    """
    scores = _user_data(span.doc).get(_span_key(span), {})
    return next((score for label, score in scores.values() if label == span.label_), None)


def _keep(doc: Doc, key: tuple, layer: str, value: Any) -> None:
    # A new dictionary: documents that were made of this one may share the old one
    user_data = _user_data(doc)
    user_data[key] = {**user_data.get(key, {}), layer: value}


def _user_data(doc: Doc) -> dict[Any, Any]:
    """spaCy's own keys for custom attributes are no strings, as its types have it."""
    return doc.user_data


def forget_scores(doc: Doc, target: Target) -> None:
    """Remove the probabilities that a target has on a document.

    doc (Doc): The document.
    target (Target): What was predicted.
    """
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
    """Make `token._.psa_score` and `span._.psa_score` known to spaCy."""
    Token.set_extension(SCORE, getter=token_score, force=True)
    Span.set_extension(SCORE, getter=span_score, force=True)


register_extensions()
