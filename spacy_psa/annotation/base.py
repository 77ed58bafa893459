"""What labels mean on a `Doc`: the interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from spacy.training import Example

from ..errors import Errors
from ..inference import Constraints
from .label_sets import LabelSets
from .rules import FORBIDDEN, REQUIRED, Rule
from .schemes import Span

UNKNOWN = -1
"""The tag of a token whose annotation is missing: any may be true."""


class Target(ABC):
    """Something on a `Doc` that a sequence of tags can express.

    A target has *labels*, which users know (parts of speech, types of entities), and *tags*, one
    of which the model gives to each token. For attributes of tokens they are the same; spans need
    several tags a label.

    name (str): Its name in a component's config.
    has_spans (bool): Whether labels are those of spans, not of tokens.
    has_sets (bool): Whether a label on a `Doc` can be a set of labels.
    sets (Optional[LabelSets]): How sets of labels are written, if there are any.
    assigns (str): The attribute it writes, as in `Language.factory`.
    spans_key (str): The key in `doc.spans`, for targets that are spans there.
    score_weights (Dict[str, Optional[float]]): What its scores weigh by default; None if
        they are no number.
    """

    name: str
    assigns: str
    has_spans: bool = False
    has_sets: bool = True
    sets: LabelSets | None = None

    def __init__(self, spans_key: str) -> None:
        # All targets are made in the same way, also those that have no use for the key.
        self.spans_key = spans_key

    @property
    def layer(self) -> str:
        """RETURNS (str): What is written, by a name that no other target has."""
        return self.name

    @property
    @abstractmethod
    def score_weights(self) -> dict[str, float | None]: ...

    @abstractmethod
    def labels_of(self, doc: Doc) -> Iterable[str]:
        """Find the labels that are annotated.

        doc (Doc): A gold-standard document.
        YIELDS (str): Its labels, with repetitions; of a set of labels each one.
        RAISES (ValueError): If a set of labels is not well formed.
        """

    def check(self, doc: Doc) -> None:
        """Check what is annotated.

        doc (Doc): A gold-standard document.
        RAISES (ValueError): If it cannot be meant so.
        """
        return

    def parts(self, label: str, doc: Doc) -> tuple[str, ...]:
        """Read a label that may be a set.

        label (str): The label, as it is annotated.
        doc (Doc): The document that has it, for messages.
        RETURNS (Tuple[str, ...]): The labels in the set, or the label itself if it is no set.
        RAISES (ValueError): If a set is not well formed.
        """
        return (label,) if self.sets is None else self.sets.parts(label, doc)

    def label_problem(self, label: str) -> str | None:
        """Say why a string cannot be a label.

        label (str): The string.
        RETURNS (Optional[str]): The reason; None if it can.
        """
        return None if label else "it is empty, which means 'not annotated'"

    def normal_form(self, label: str) -> str:
        """Write a label as documents have it.

        label (str): The label.
        RETURNS (str): Its normal form.
        """
        return label

    @abstractmethod
    def tags(self, labels: Sequence[str]) -> list[str]:
        """List the tags that express some labels.

        labels (Sequence[str]): The labels.
        RETURNS (List[str]): The tags, in the order of the model's outputs.
        """

    @abstractmethod
    def gold_tags(self, example: Example, boundaries: Sequence[int]) -> list[str | None]:
        """Read the annotation of an example.

        example (Example): The example.
        boundaries (Sequence[int]): Where sequences begin in the predicted document: no span of
            tags may cross such a place.
        RETURNS (List[Optional[str]]): A tag for each token of the predicted document; None where
            it is unknown. Sets of labels stand in tags as they are annotated: "B-PER|ORG".
        """

    @abstractmethod
    def existing_tags(self, doc: Doc, boundaries: Sequence[int]) -> list[str | None] | None:
        """Read what a document to predict has already.

        doc (Doc): The document.
        boundaries (Sequence[int]): See `gold_tags`.
        RETURNS (Optional[List[Optional[str]]]): A tag for each token, None where there is none; or
            None if there are none at all.
        """

    def tags_like(self, tag: str, ids: dict[str, int], doc: Doc) -> list[int]:
        """Find what stands for an existing tag among the model's outputs.

        tag (str): A tag of `existing_tags`.
        ids (Dict[str, int]): Index of each tag.
        doc (Doc): The document, for messages.
        RETURNS (List[int]): The output, or those of a set of labels; none if the model knows
            nothing like it.
        RAISES (ValueError): If a set of labels is not well formed.
        """
        return [ids[option] for option in self._options(tag, doc) if option in ids]

    def is_of_span(self, rule: Rule) -> bool:
        """Say whether a rule is about a span as a whole, not about each of its tokens.

        rule (Rule): The rule.
        RETURNS (bool): Whether it is.
        """
        return False

    @abstractmethod
    def apply_rule(self, rule: Rule, bias: NDArray[np.float32], ids: dict[str, int]) -> None:
        """Add what a rule says to the scores of tags.

        rule (Rule): The rule. Tokens and label are those of the document and the component.
        bias (NDArray): What is to be added to the scores of tags. Modified in place. Shape:
            (tokens, tags).
        ids (Dict[str, int]): Index of each tag.
        """

    @abstractmethod
    def label_of(self, tag: str) -> str:
        """Find the label that a token with a tag has.

        tag (str): The tag.
        RETURNS (str): The label; "O" for a token in no span.
        """

    @abstractmethod
    def spans_of(self, tags: Sequence[str]) -> list[Span]:
        """Find the spans that tags stand for.

        tags (Sequence[str]): One tag a token.
        RETURNS (List[Span]): First token, token after the last one, and label of each span; none
            for attributes of tokens.
        """

    @abstractmethod
    def annotate(self, doc: Doc, tags: Sequence[str | None], *, overwrite: bool) -> None:
        """Write tags to a document.

        doc (Doc): The document.
        tags (Sequence[Optional[str]]): One tag a token; None for one without annotation.
        overwrite (bool): Whether to replace annotation that is there already.
        """

    def attach_scores(self, doc: Doc, scores: Mapping[Span, float]) -> None:
        """Keep the probabilities of spans where spaCy's components keep theirs, if there is such a
        place.

        doc (Doc): The document, annotated.
        scores (Dict[Span, float]): The probability of each predicted span.
        """
        return

    @abstractmethod
    def score(self, examples: Iterable[Example], **cfg: Any) -> dict[str, Any]:
        """Score predictions under spaCy's names. Where the reference has a set of labels, each of
        them is right.

        examples (Iterable[Example]): The examples.
        **cfg: Settings of spaCy's scorer.
        RETURNS (Dict[str, Any]): The scores.
        """

    def constraints(self, tags: Sequence[str]) -> Constraints | None:
        """Say which tags may follow which.

        tags (Sequence[str]): The tags, in the order of the model's outputs.
        RETURNS (Optional[Constraints]): The constraints, or None if anything goes.
        """
        return None

    def gold_sets(
        self, example: Example, boundaries: Sequence[int], ids: dict[str, int]
    ) -> tuple[NDArray[np.int64], dict[int, list[int]]]:
        """Read the annotation of an example as the model's outputs, and sets of them.

        example (Example): The example.
        boundaries (Sequence[int]): See `gold_tags`.
        ids (Dict[str, int]): Index of each tag.
        RETURNS (Tuple[NDArray, Dict[int, List[int]]]): One a token of the predicted document, -1
            where it is unknown, or known only as a set; and by token the tags of those that have a
            set.
        RAISES (ValueError): If a tag is none of the model's, or a set is not well formed.
        """
        tags = self.gold_tags(example, boundaries)
        options: dict[int, list[str]] = {}
        if self.sets is not None:
            found = {i: self._options(tag, example.reference) for i, tag in enumerate(tags) if tag}
            options = {i: several for i, several in found.items() if len(several) > 1}
        try:
            known = [
                UNKNOWN if tag is None or i in options else ids[tag] for i, tag in enumerate(tags)
            ]
            sets = {i: [ids[tag] for tag in several] for i, several in options.items()}
            return np.array(known, dtype=np.int64), sets
        except KeyError as error:
            raise ValueError(
                Errors.P301.format(
                    label=self.label_of(error.args[0]),
                    target=self.name,
                    text=example.reference.text[:60],
                )
            ) from None

    def _options(self, tag: str, doc: Doc) -> list[str]:
        """The tags that a tag of `gold_tags` stands for."""
        label = self.label_of(tag)
        prefix = tag.removesuffix(label)
        return [f"{prefix}{part}" for part in self.parts(label, doc)]

    def resolved(self, examples: Iterable[Example]) -> Iterable[Example]:
        """Take what is predicted for right where it is in a set of labels.

        examples (Iterable[Example]): The examples.
        RETURNS (Iterable[Example]): The examples; those where it makes a difference with copies of
            their references, which have the predicted label instead of the set.
        RAISES (ValueError): If a set is not well formed.
        """
        return examples if self.sets is None else [self.resolve(eg) for eg in examples]

    @abstractmethod
    def resolve(self, example: Example) -> Example:
        """See `resolved`.

        example (Example): An example, which may have sets of labels.
        RETURNS (Example): It, or one with another reference.
        """


def add_bias(rows: NDArray[np.float32], ids: Sequence[int], score: float) -> None:
    """Favour, require or forbid some tags.

    rows (NDArray): What is to be added to scores. Modified in place. Shape: (..., tags).
    ids (Sequence[int]): The tags.
    score (float): What to add to theirs; inf to rule out all others.
    """
    if score == REQUIRED:
        rows[..., np.setdiff1d(np.arange(rows.shape[-1]), ids)] += FORBIDDEN
    else:
        rows[..., ids] += score
