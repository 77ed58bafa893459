"""The interface of targets: the annotation on a `Doc` that tags express."""

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
"""The tag of an unannotated token, which may have any tag."""


class Target(ABC):
    """Annotation on a `Doc` that a sequence of tags can express.

    A target has *labels*, which users see (parts of speech, entity types), and *tags*, one of which
    the model predicts for each token. For token attributes they are the same; spans need several
    tags per label.

    name (str): The name of the target in a component's config.
    has_spans (bool): Whether spans are labeled, not tokens.
    has_sets (bool): Whether a label on a `Doc` can be a set of labels.
    sets (Optional[LabelSets]): How sets of labels are written, if they are used.
    assigns (str): The attribute that the target writes, as in `Language.factory`.
    spans_key (str): The key in `doc.spans`, for the target "spans".
    score_weights (Dict[str, Optional[float]]): The default weights of its scores; None for scores
        that are not numbers.
    """

    name: str
    assigns: str
    has_spans: bool = False
    has_sets: bool = True
    sets: LabelSets | None = None

    def __init__(self, spans_key: str) -> None:
        # All targets have the same signature, even those that do not use the key
        self.spans_key = spans_key

    @property
    def layer(self) -> str:
        """RETURNS (str): A name for what the target writes, unique among targets."""
        return self.name

    @property
    @abstractmethod
    def score_weights(self) -> dict[str, float | None]: ...

    @abstractmethod
    def labels_of(self, doc: Doc) -> Iterable[str]:
        """Find the annotated labels.

        YIELDS (str): Its labels, with repetitions; for a set of labels, each of its labels.
        RAISES (ValueError): If a set of labels is malformed.
        """

    def check(self, doc: Doc) -> None:
        """Check the annotation of a document.

        RAISES (ValueError): If the annotation is invalid.
        """
        return

    def parts(self, label: str, doc: Doc) -> tuple[str, ...]:
        """Read a label that may be a set.

        RETURNS (Tuple[str, ...]): The labels in the set, or the label itself if it is not a set.
        RAISES (ValueError): If a set is malformed.
        """
        return (label,) if self.sets is None else self.sets.parts(label, doc)

    def label_problem(self, label: str) -> str | None:
        """Explain why a string cannot be a label.

        RETURNS (Optional[str]): The reason; None if the string is a valid label.
        """
        return None if label else "it is empty, which means 'not annotated'"

    def normal_form(self, label: str) -> str:
        """Normalize a label to the form it has on documents."""
        return label

    @abstractmethod
    def tags(self, labels: Sequence[str]) -> list[str]:
        """List the tags that express the labels."""

    @abstractmethod
    def gold_tags(self, example: Example, boundaries: Sequence[int]) -> list[str | None]:
        """Read the annotation of an example.

        boundaries (Sequence[int]): The tokens of the predicted document at which sequences begin.
            No span of tags may cross them.
        RETURNS (List[Optional[str]]): A tag for each token of the predicted document; None for
            unknown tags. Tags contain sets of labels as annotated: "B-PER|ORG".
        """

    @abstractmethod
    def existing_tags(self, doc: Doc, boundaries: Sequence[int]) -> list[str | None] | None:
        """Read existing annotation from a document to be predicted.

        RETURNS (Optional[List[Optional[str]]]): A tag for each token, None for tokens without
            annotation; or None if no token has any.
        """

    def matching_tag_ids(self, tag: str, ids: dict[str, int], doc: Doc) -> list[int]:
        """Find the model's outputs that correspond to an existing tag.

        tag (str): A tag from `existing_tags`.
        RETURNS (List[int]): The output, or several for a set of labels; empty if no output of the
            model corresponds to the tag.
        RAISES (ValueError): If a set of labels is malformed.
        """
        return [ids[option] for option in self._options(tag, doc) if option in ids]

    def applies_to_whole_span(self, rule: Rule) -> bool:
        """Whether a rule applies to a span as a whole, not to each of its tokens."""
        return False

    @abstractmethod
    def apply_rule(self, rule: Rule, bias: NDArray[np.float32], ids: dict[str, int]) -> None:
        """Apply a rule to the bias of the tags' scores.

        rule (Rule): The rule. Its tokens and label must be valid, see `check_rule`.
        bias (NDArray): Added to the scores of tags. Modified in place. Shape: (tokens, tags).
        """

    def keep_inside(self, bias: NDArray[np.float32], ids: dict[str, int]) -> None:
        """Rule out that a span begins or ends at a token, if the token can be outside of spans.

        bias (NDArray): Added to the scores of the token's tags. Modified in place. Shape: (tags,).
        """
        return

    @abstractmethod
    def label_of(self, tag: str) -> str:
        """Get the label that a tag expresses.

        RETURNS (str): The label; "O" for a token outside all spans.
        """

    @abstractmethod
    def spans_of(self, tags: Sequence[str]) -> list[Span]:
        """Decode tags to spans.

        RETURNS (List[Span]): Start, end (exclusive) and label of each span; empty for token
            attributes.
        """

    @abstractmethod
    def annotate(self, doc: Doc, tags: Sequence[str | None], *, overwrite: bool) -> None:
        """Write tags to a document.

        tags (Sequence[Optional[str]]): One tag per token; None for tokens without annotation.
        """

    def attach_scores(self, doc: Doc, scores: Mapping[Span, float]) -> None:
        """Store the probabilities of spans where spaCy's components store them, if they do."""
        return

    @abstractmethod
    def score(self, examples: Iterable[Example], **cfg: Any) -> dict[str, Any]:
        """Score predictions, with spaCy's names for the scores. If the reference has a set of
        labels, each of them is correct.
        """

    def constraints(self, tags: Sequence[str]) -> Constraints | None:
        """Get the constraints on tag sequences.

        RETURNS (Optional[Constraints]): The constraints, or None if there are none.
        """
        return None

    def gold_sets(
        self, example: Example, boundaries: Sequence[int], ids: dict[str, int]
    ) -> tuple[NDArray[np.int64], dict[int, list[int]]]:
        """Read the annotation of an example as indices of the model's outputs, and as sets of them.

        RETURNS (Tuple[NDArray, Dict[int, List[int]]]): One index for each token of the predicted
            document, -1 if it is unknown or known only as a set; and the indices in each set, by
            token.
        RAISES (ValueError): If the model does not have a tag, or a set is malformed.
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
        """The tags that a tag from `gold_tags` stands for."""
        label = self.label_of(tag)
        prefix = tag.removesuffix(label)
        return [f"{prefix}{part}" for part in self.parts(label, doc)]

    def resolved(self, examples: Iterable[Example]) -> Iterable[Example]:
        """Resolve sets of labels for scoring: a predicted label counts as correct if it is in the
        set.

        RETURNS (Iterable[Example]): The examples. Those with sets have a copy of their reference,
            in which correctly predicted labels replace the sets.
        RAISES (ValueError): If a set is malformed.
        """
        return examples if self.sets is None else [self.resolve(eg) for eg in examples]

    @abstractmethod
    def resolve(self, example: Example) -> Example:
        """See `resolved`.

        RETURNS (Example): The same example, or a new one with another reference.
        """


def add_bias(rows: NDArray[np.float32], ids: Sequence[int], score: float) -> None:
    """Favor, require or forbid tags.

    rows (NDArray): The bias of scores. Modified in place. Shape: (..., tags).
    score (float): The number to add to their bias; inf rules out all other tags.
    """
    if score == REQUIRED:
        rows[..., np.setdiff1d(np.arange(rows.shape[-1]), ids)] += FORBIDDEN
    else:
        rows[..., ids] += score
