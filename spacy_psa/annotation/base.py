"""What labels mean on a `Doc`: the interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from spacy.training import Example

from ..errors import Errors
from ..inference import Constraints

UNKNOWN = -1
"""The tag of a token whose annotation is missing: any may be true."""


class Target(ABC):
    """Something on a `Doc` that a sequence of tags can express.

    A target has *labels*, which users know (parts of speech, types of entities), and *tags*, one
    of which the model gives to each token. For attributes of tokens they are the same; spans need
    several tags a label.

    name (str): Its name in a component's config.
    assigns (str): The attribute it writes, as in `Language.factory`.
    score_weights (Dict[str, float]): What its scores weigh by default.
    """

    name: str
    assigns: str

    @property
    @abstractmethod
    def score_weights(self) -> dict[str, float]: ...

    @abstractmethod
    def labels_of(self, doc: Doc) -> Iterable[str]:
        """Find the labels that are annotated.

        doc (Doc): A gold-standard document.
        YIELDS (str): Its labels, with repetitions.
        """

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
            it is unknown.
        """

    @abstractmethod
    def annotate(self, doc: Doc, tags: Sequence[str], *, overwrite: bool) -> None:
        """Write tags to a document.

        doc (Doc): The document.
        tags (Sequence[str]): One tag a token.
        overwrite (bool): Whether to replace annotation that is there already.
        """

    @abstractmethod
    def score(self, examples: Iterable[Example], **cfg: Any) -> dict[str, Any]:
        """Score predictions under spaCy's names.

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

    def gold_ids(
        self, example: Example, boundaries: Sequence[int], ids: dict[str, int]
    ) -> NDArray[np.int64]:
        """Read the annotation of an example as the model's outputs.

        example (Example): The example.
        boundaries (Sequence[int]): See `gold_tags`.
        ids (Dict[str, int]): Index of each tag.
        RETURNS (NDArray): One a token of the predicted document, -1 where it is unknown.
        RAISES (ValueError): If a tag is none of the model's.
        """
        tags = self.gold_tags(example, boundaries)
        try:
            return np.array([UNKNOWN if tag is None else ids[tag] for tag in tags], dtype=np.int64)
        except KeyError as error:
            raise ValueError(
                Errors.P301.format(
                    label=error.args[0], target=self.name, text=example.reference.text[:60]
                )
            ) from None
