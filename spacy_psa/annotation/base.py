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
        """Find the annotated labels, with repetitions; of a set of labels, each."""

    def check(self, doc: Doc) -> None:
        """Check that the annotation of a document is valid."""
        return

    def parts(self, label: str, doc: Doc) -> tuple[str, ...]:
        """Read a label that may be a set: the labels in it, or the label itself."""
        return (label,) if self.sets is None else self.sets.parts(label, doc)

    def label_problem(self, label: str) -> str | None:
        """Explain why a string cannot be a label; None if it can."""
        return None if label else "it is empty, which means 'not annotated'"

    def normal_form(self, label: str) -> str:
        """Normalize a label to the form it has on documents."""
        return label

    @abstractmethod
    def tags(self, labels: Sequence[str]) -> list[str]:
        """List the tags that express the labels."""

    @abstractmethod
    def gold_tags(self, example: Example, boundaries: Sequence[int]) -> list[str | None]:
        """Read the annotation of an example: a tag for each token of the predicted document, with
        sets of labels as annotated ("B-PER|ORG"), or None if it is unknown. Sequences begin at the
        boundaries, which no span of tags may cross."""

    @abstractmethod
    def existing_tags(self, doc: Doc, boundaries: Sequence[int]) -> list[str | None] | None:
        """Read existing annotation from a document to be predicted: a tag for each token, None for
        tokens without annotation; or None if no token has any."""

    def matching_tag_ids(self, tag: str, ids: dict[str, int], doc: Doc) -> list[int]:
        """Find the model's outputs that correspond to an existing tag: one, several for a set of
        labels, or none."""
        return [ids[option] for option in self._options(tag, doc) if option in ids]

    def applies_to_whole_span(self, rule: Rule) -> bool:
        """Whether a rule applies to a span as a whole, not to each of its tokens."""
        return False

    @abstractmethod
    def apply_rule(self, rule: Rule, bias: NDArray[np.float32], ids: dict[str, int]) -> None:
        """Apply a valid rule (see `check_rule`) to the bias of the tags' scores (tokens, tags), in
        place."""

    def keep_inside(self, bias: NDArray[np.float32], ids: dict[str, int]) -> None:
        """Rule out that a span begins or ends at a token, if the token can be outside of spans, by
        the bias of its tags' scores (tags,), in place."""
        return

    @abstractmethod
    def label_of(self, tag: str) -> str:
        """Get the label that a tag expresses; "O" for a token outside all spans."""

    @abstractmethod
    def spans_of(self, tags: Sequence[str]) -> list[Span]:
        """Decode tags to spans, each with start, end (exclusive) and label; none for token
        attributes."""

    @abstractmethod
    def annotate(self, doc: Doc, tags: Sequence[str | None], *, overwrite: bool) -> None:
        """Write tags to a document; None for tokens without annotation."""

    def attach_scores(self, doc: Doc, scores: Mapping[Span, float]) -> None:
        """Store the probabilities of spans where spaCy's components store them, if they do."""
        return

    @abstractmethod
    def score(self, examples: Iterable[Example], **cfg: Any) -> dict[str, Any]:
        """Score predictions, with spaCy's names for the scores. If the reference has a set of
        labels, each of them is correct.
        """

    def constraints(self, tags: Sequence[str]) -> Constraints | None:
        """Get the constraints on tag sequences, if there are any."""
        return None

    def gold_sets(
        self, example: Example, boundaries: Sequence[int], ids: dict[str, int]
    ) -> tuple[NDArray[np.int64], dict[int, list[int]]]:
        """Read the annotation of an example as indices of the model's outputs, -1 for tokens whose
        tag is unknown or known only as a set; and as sets of indices, by token."""
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
        set. Examples with sets get a copy of their reference, in which correctly predicted labels
        replace the sets."""
        return examples if self.sets is None else [self.resolve(eg) for eg in examples]

    @abstractmethod
    def resolve(self, example: Example) -> Example:
        """See `resolved`."""


def add_bias(rows: NDArray[np.float32], ids: Sequence[int], score: float) -> None:
    """Favor, require or forbid tags, by the bias of scores (..., tags), in place. An infinite score
    rules out all other tags."""
    if score == REQUIRED:
        rows[..., np.setdiff1d(np.arange(rows.shape[-1]), ids)] += FORBIDDEN
    else:
        rows[..., ids] += score
