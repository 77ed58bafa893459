"""What the tags of `psa_srl` express: the arguments of a predicate, by their roles."""

from collections.abc import Iterable, Sequence

from spacy.tokens import Doc

from ...annotation.frame_tags import check_arguments, role_constraints, role_tags
from ...annotation.propositions import PREDICATE_LABEL, get_frames
from ...inference import Constraints


class Roles:
    """The roles of arguments, and V for predicates. Each has the tags B and I. The methods have the
    names that those of a `Target` have."""

    sets = None

    def tags(self, labels: Sequence[str]) -> list[str]:
        """See `Target`."""
        return role_tags(labels)

    def constraints(self, tags: Sequence[str]) -> Constraints:
        """See `Target`."""
        return role_constraints(tags)

    def labels_of(self, doc: Doc) -> Iterable[str]:
        """See `Target`."""
        for frame in get_frames(doc):
            yield from {PREDICATE_LABEL, *(role for _, _, role in frame.arguments)}

    def check(self, doc: Doc) -> None:
        """See `Target`."""
        check_arguments(doc)

    def label_problem(self, label: str) -> str | None:
        """See `Target`."""
        return None if label else "it is empty, which means 'not annotated'"

    def normal_form(self, label: str) -> str:
        """See `Target`."""
        return label
