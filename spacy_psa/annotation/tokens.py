"""Attributes of tokens: fine- and coarse-grained parts of speech, morphology."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from spacy.morphology import Morphology
from spacy.parts_of_speech import IDS as POS_IDS
from spacy.scorer import Scorer
from spacy.tokens import Doc, Token
from spacy.training import Example

from ..errors import Errors
from .base import Target


class TokenTarget(Target):
    """A string attribute of tokens, of which the empty string means 'not annotated'.

    field (str): The attribute's name in `Doc.to_array`.
    """

    field: str

    def __init__(self, spans_key: str) -> None:
        # All targets are made in the same way; this one has no use for the key.
        pass

    @property
    def score_weights(self) -> dict[str, float]:
        return {f"{self.name}_acc": 1.0}

    def labels_of(self, doc: Doc) -> Iterable[str]:
        for token in doc:
            label = self.read(token)
            if label:
                yield label

    def tags(self, labels: Sequence[str]) -> list[str]:
        return list(labels)

    def gold_tags(self, example: Example, boundaries: Sequence[int]) -> list[str | None]:
        # None where tokens do not align, "" where annotation is missing: unknown, both.
        return [tag or None for tag in example.get_aligned(self.field, as_string=True)]

    def annotate(self, doc: Doc, tags: Sequence[str], *, overwrite: bool) -> None:
        for token, tag in zip(doc, tags, strict=True):
            if overwrite or not self.read(token):
                self.write(token, tag)

    def read(self, token: Token) -> str:
        """The token's value, or the empty string if it has none."""
        return getattr(token, f"{self.name}_")

    def write(self, token: Token, value: str) -> None:
        """Set the token's value."""
        setattr(token, f"{self.name}_", value)

    def score(self, examples: Iterable[Example], **cfg: Any) -> dict[str, Any]:
        return Scorer.score_token_attr(examples, self.name, **cfg)


class TagTarget(TokenTarget):
    """Fine-grained parts of speech: `token.tag_`."""

    name = "tag"
    field = "TAG"
    assigns = "token.tag"


class PosTarget(TokenTarget):
    """Universal parts of speech: `token.pos_`."""

    name = "pos"
    field = "POS"
    assigns = "token.pos"

    def tags(self, labels: Sequence[str]) -> list[str]:
        for label in labels:
            if label not in POS_IDS:
                raise ValueError(
                    Errors.P302.format(
                        label=label, options=", ".join(sorted(filter(None, POS_IDS)))
                    )
                )
        return list(labels)


class MorphTarget(TokenTarget):
    """Morphological features: `token.morph`. The label `_` is 'annotated as having none'."""

    name = "morph"
    field = "MORPH"
    assigns = "token.morph"

    def read(self, token: Token) -> str:
        return (str(token.morph) or Morphology.EMPTY_MORPH) if token.has_morph() else ""

    def write(self, token: Token, value: str) -> None:
        token.set_morph(value)

    def score(self, examples: Iterable[Example], **cfg: Any) -> dict[str, Any]:
        examples = list(examples)
        scores = Scorer.score_token_attr(examples, "morph", getter=_morph_key, **cfg)
        scores.update(Scorer.score_token_attr_per_feat(examples, "morph", getter=_morph_key, **cfg))
        return scores


def _morph_key(token: Token, attr: str) -> int:
    return token.morph.key
