"""Targets for token attributes: fine- and coarse-grained parts of speech, and morphology."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.morphology import Morphology
from spacy.parts_of_speech import IDS as POS_IDS
from spacy.scorer import Scorer
from spacy.strings import StringStore
from spacy.tokens import Doc, Token
from spacy.training import Example

from ..errors import Errors
from .base import Target, add_bias
from .rules import Rule
from .schemes import Span


class TokenTarget(Target):
    """A string attribute of tokens. The empty string means 'not annotated'.

    field (str): The attribute's name in `Doc.to_array`.
    """

    field: str

    @property
    def score_weights(self) -> dict[str, float | None]:
        return {f"{self.name}_acc": 1.0}

    def labels_of(self, doc: Doc) -> Iterable[str]:
        for token in doc:
            label = self.read(token)
            if label:
                yield from self.parts(label, doc)

    def tags(self, labels: Sequence[str]) -> list[str]:
        return list(labels)

    def gold_tags(self, example: Example, boundaries: Sequence[int]) -> list[str | None]:
        # None if tokens do not align, "" if annotation is missing: both are unknown
        return [tag or None for tag in example.get_aligned(self.field, as_string=True)]

    def existing_tags(self, doc: Doc, boundaries: Sequence[int]) -> list[str | None] | None:
        if not doc.to_array(self.field).any():
            return None
        return [self.read(token) or None for token in doc]

    def apply_rule(self, rule: Rule, bias: NDArray[np.float32], ids: dict[str, int]) -> None:
        add_bias(bias[rule.start : rule.end], [ids[rule.label]], rule.score)

    def label_of(self, tag: str) -> str:
        return tag

    def spans_of(self, tags: Sequence[str]) -> list[Span]:
        return []

    def annotate(self, doc: Doc, tags: Sequence[str | None], *, overwrite: bool) -> None:
        for token, tag in zip(doc, tags, strict=True):
            if tag is not None and (overwrite or not self.read(token)):
                self.write(token, tag)

    def read(self, token: Token) -> str:
        """The token's value, or the empty string if it has none."""
        return getattr(token, f"{self.name}_")

    def write(self, token: Token, value: str) -> None:
        """Set the token's value."""
        setattr(token, f"{self.name}_", value)

    def score(self, examples: Iterable[Example], **cfg: Any) -> dict[str, Any]:
        return Scorer.score_token_attr(self.resolved(examples), self.name, **cfg)

    def resolve(self, example: Example) -> Example:
        reference = example.reference
        parts = [self.parts(self.read(token), reference) for token in reference]
        if all(len(labels) == 1 for labels in parts):
            return example
        reference = reference.copy()
        alignment = example.alignment  # only once, see `align_spans`
        for token in example.predicted:
            aligned = alignment.x2y[token.i]
            if len(aligned) == 1 and self.read(token) in parts[aligned[0]]:
                self.write(reference[int(aligned[0])], self.read(token))
        return Example(example.predicted, reference, alignment=alignment)


class TagTarget(TokenTarget):
    """Fine-grained parts of speech: `token.tag_`."""

    name = "tag"
    field = "TAG"
    assigns = "token.tag"


class PosTarget(TokenTarget):
    """Universal parts of speech: `token.pos_`."""

    has_sets = False
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
    """Morphological features: `token.morph`. The label `_` means 'annotated as having none'."""

    has_sets = False
    name = "morph"
    field = "MORPH"
    assigns = "token.morph"

    @property
    def score_weights(self) -> dict[str, float | None]:
        return {**super().score_weights, "morph_per_feat": None}

    def label_problem(self, label: str) -> str | None:
        if label and label != Morphology.EMPTY_MORPH:
            pairs = [feature.split(Morphology.FIELD_SEP) for feature in label.split("|")]
            if not all(len(pair) == 2 and all(pair) for pair in pairs):
                return "morphology must be '_', or Feature=Value pairs separated by |"
        return super().label_problem(label)

    def normal_form(self, label: str) -> str:
        """See `Target.normal_form`. spaCy sorts the features."""
        return Morphology(StringStore()).normalize_features(label)

    def read(self, token: Token) -> str:
        return (str(token.morph) or Morphology.EMPTY_MORPH) if token.has_morph() else ""

    def write(self, token: Token, value: str) -> None:
        token.set_morph(value)  # type: ignore[attr-defined]  # spaCy's stub lacks it

    def score(self, examples: Iterable[Example], **cfg: Any) -> dict[str, Any]:
        examples = list(examples)
        scores = Scorer.score_token_attr(examples, "morph", getter=_morph_key, **cfg)
        scores.update(Scorer.score_token_attr_per_feat(examples, "morph", getter=_morph_key, **cfg))
        return scores


def _morph_key(token: Token, attr: str) -> int:
    return token.morph.key  # type: ignore[attr-defined]  # spaCy's stub lacks it
