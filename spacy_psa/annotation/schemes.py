"""Tag schemes, which encode spans as one tag per token and decode them again.

All schemes are decoded by the rules of the CoNLL evaluation script (conlleval), so that any
sequence of tags, well formed or not, stands for spans that do not overlap. Schemes differ in how
they encode spans, and in which tags may follow each other.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import ClassVar

import numpy as np

from ..errors import Errors, check_choice

Span = tuple[int, int, str]
"""The first token, the token after the last one, and the label."""

OUTSIDE = "O"

# Prefixes that conlleval treats as outside of all chunks. The empty prefix is that of "", "-" and
# "-X-", the tag of document boundaries in CoNLL-2003.
_OUTSIDE_PREFIXES = frozenset((OUTSIDE, ".", ""))
# "[" and "]" are chunks of one token in conlleval.
_STARTING_PREFIXES = frozenset("BS[]")
_ENDING_PREFIXES = frozenset("ES[]")


@lru_cache(maxsize=65536)
def split_tag(tag: str) -> tuple[str, str]:
    """Split a tag at its first hyphen, so that labels may contain hyphens themselves.

    tag (str): A tag such as `"B-some-type"` or `"O"`.
    RETURNS (Tuple[str, str]): The prefix and the label: `("B", "some-type")`, `("O", "")`.
    """
    prefix, _, label = tag.partition("-")
    return prefix, label


def read_spans(tags: Sequence[str]) -> list[Span]:
    """Decode any sequence of tags of one sentence to spans, as conlleval does.

    A span begins at B or S, and at any other tag that is not outside if the previous tag is
    outside, is E or S, or has another label. It ends where another span begins, before a tag that
    is outside, and after E and S. Unknown prefixes are read as I. conlleval continues a span from E
    to B of the same label; so does this function, unless the tags are well-formed BIOES.

    tags (Sequence[str]): The tags, in any scheme or a mixture of schemes.
    RETURNS (List[Span]): The spans, ordered and not overlapping.

    SOURCE: `startOfChunk` and `endOfChunk` in conlleval, by Erik Tjong Kim Sang.
    """
    spans: list[Span] = []
    start = -1
    open_label = previous = ""
    closed = True
    is_bioes: bool | None = None
    for i, tag in enumerate(tags):
        prefix, label = split_tag(tag)
        outside = prefix in _OUTSIDE_PREFIXES
        begins = closed or prefix in _STARTING_PREFIXES or label != open_label
        if previous == "E" and prefix == "B" and label == open_label:
            is_bioes = _is_bioes(tags) if is_bioes is None else is_bioes
            begins = is_bioes
        previous = prefix
        if start >= 0 and (outside or begins):
            spans.append((start, i, open_label))
            start = -1
        if not outside and begins:
            start, open_label = i, label
        closed = outside or prefix in _ENDING_PREFIXES
    if start >= 0:
        spans.append((start, len(tags), open_label))
    return spans


def _is_bioes(tags: Sequence[str]) -> bool:
    inside = (split_tag(tag)[0] not in _OUTSIDE_PREFIXES for tag in tags)
    known = [tag if is_in else OUTSIDE for tag, is_in in zip(tags, inside, strict=True)]
    return all(map(_may_follow_in_bioes, [None, *known], [*known, None]))


@lru_cache(maxsize=65536)
def _may_follow_in_bioes(previous: str | None, tag: str | None) -> bool:
    return SCHEMES["BIOES"].may_follow(previous, tag)


class Scheme(ABC):
    """A tag scheme. Schemes have no state: use the objects in `SCHEMES`.

    name (str): The name in the registry.
    prefixes (Tuple[str, ...]): The prefixes of tags in spans, in the order of `tags`.
    """

    name: ClassVar[str]
    prefixes: ClassVar[tuple[str, ...]]

    @abstractmethod
    def _prefixes_of(self, length: int, touches: bool) -> list[str]:
        """The prefixes of one span. It touches if a span of the same label ends right before it."""

    @abstractmethod
    def _allows(self, previous: str, current: str, same_label: bool) -> bool:
        """Whether a prefix may follow another. All schemes treat sentence boundaries as O."""

    def encode(self, spans: Iterable[Span], length: int) -> list[str]:
        """Encode spans as tags.

        spans (Iterable[Span]): The spans, in any order. They must not overlap.
        length (int): The number of tokens.
        RETURNS (List[str]): One tag per token.
        RAISES (ValueError): If spans overlap, are empty, or extend beyond the tokens.
        """
        tags = [OUTSIDE] * length
        last_end, last_label = 0, None
        for start, end, label in sorted(spans):
            if not 0 <= start < end <= length:
                raise ValueError(
                    Errors.P101.format(start=start, end=end, label=label, length=length)
                )
            if start < last_end:
                raise ValueError(
                    Errors.P102.format(start=start, end=end, label=label, last_end=last_end)
                )
            touches = start == last_end and label == last_label
            tags[start:end] = [f"{p}-{label}" for p in self._prefixes_of(end - start, touches)]
            last_end, last_label = end, label
        return tags

    def decode(self, tags: Sequence[str]) -> list[Span]:
        """Decode tags to spans. Tags that violate the scheme are read as in conlleval.

        tags (Sequence[str]): One tag per token of one sentence.
        RETURNS (List[Span]): The spans, ordered and not overlapping.
        """
        return read_spans(tags)

    def tags(self, labels: Sequence[str]) -> list[str]:
        """List all tags for the labels: `"O"` first, then the tags of each label in turn.

        labels (Sequence[str]): The labels of spans.
        RETURNS (List[str]): The tags.
        """
        return [OUTSIDE] + [f"{prefix}-{label}" for label in labels for prefix in self.prefixes]

    def may_follow(self, previous: str | None, tag: str | None) -> bool:
        """Whether the scheme allows a tag right after another.

        previous (Optional[str]): The previous tag, or None for the start of the sentence.
        tag (Optional[str]): The tag, or None for the end of the sentence.
        RETURNS (bool): Whether it is allowed. Tags of other schemes never are.
        """
        if not self.knows(previous) or not self.knows(tag):
            return False
        previous_prefix, previous_label = split_tag(previous or OUTSIDE)
        prefix, label = split_tag(tag or OUTSIDE)
        return self._allows(previous_prefix, prefix, previous_label == label)

    def problems(self, tags: Sequence[str]) -> list[tuple[int, str]]:
        """Validate tags against the scheme.

        tags (Sequence[str]): One tag per token of one sentence.
        RETURNS (List[Tuple[int, str]]): Index and message of each tag that is not in the scheme or
            is not allowed in its position. Empty if all tags are valid.
        """
        found = []
        previous: str | None = None
        for i, tag in enumerate(tags):
            if not self.knows(tag):
                expected = ", ".join([OUTSIDE] + [f"{p}-LABEL" for p in self.prefixes])
                found.append((i, Errors.P103.format(tag=tag, scheme=self.name, expected=expected)))
            elif self.knows(previous) and not self.may_follow(previous, tag):
                before = f"'{previous}'" if previous is not None else "the start"
                found.append((i, Errors.P104.format(tag=tag, before=before, scheme=self.name)))
            previous = tag
        if tags and self.knows(previous) and not self.may_follow(previous, None):
            found.append((len(tags) - 1, Errors.P105.format(tag=previous, scheme=self.name)))
        return found

    def knows(self, tag: str | None) -> bool:
        """Whether a tag is one of the scheme, in any position.

        tag (Optional[str]): The tag, or None for a sentence boundary.
        RETURNS (bool): Whether it is.
        """
        if tag is None or tag == OUTSIDE:
            return True
        return "-" in tag and split_tag(tag)[0] in self.prefixes


class BIO(Scheme):
    """B begins every span, I continues it. Also called IOB2."""

    name = "BIO"
    prefixes = ("B", "I")

    def _prefixes_of(self, length: int, touches: bool) -> list[str]:
        return ["B"] + ["I"] * (length - 1)

    def _allows(self, previous: str, current: str, same_label: bool) -> bool:
        return current != "I" or (same_label and previous != OUTSIDE)


class IOB1(Scheme):
    """I for all tokens of spans, B only to separate two adjacent spans of the same label.

    SOURCE: Ramshaw and Marcus (1995), 'Text Chunking using Transformation-Based Learning'.
    """

    name = "IOB1"
    prefixes = ("B", "I")

    def _prefixes_of(self, length: int, touches: bool) -> list[str]:
        return ["B" if touches else "I"] + ["I"] * (length - 1)

    def _allows(self, previous: str, current: str, same_label: bool) -> bool:
        return current != "B" or (same_label and previous != OUTSIDE)


class IO(Scheme):
    """I for all tokens of spans. Adjacent spans of the same label are merged when decoded."""

    name = "IO"
    prefixes = ("I",)

    def _prefixes_of(self, length: int, touches: bool) -> list[str]:
        return ["I"] * length

    def _allows(self, previous: str, current: str, same_label: bool) -> bool:
        return True


class BIOES(Scheme):
    """B begins a span, I continues it and E ends it; S is a span of one token.

    SOURCE: Ratinov and Roth (2009), 'Design Challenges and Misconceptions in Named Entity
    Recognition', where it is called BILOU.
    """

    name = "BIOES"
    prefixes = ("B", "I", "E", "S")

    def _prefixes_of(self, length: int, touches: bool) -> list[str]:
        return ["S"] if length == 1 else ["B"] + ["I"] * (length - 2) + ["E"]

    def _allows(self, previous: str, current: str, same_label: bool) -> bool:
        if previous in ("B", "I"):
            return current in ("I", "E") and same_label
        return current in (OUTSIDE, "B", "S")


SCHEMES: dict[str, Scheme] = {scheme.name: scheme for scheme in (BIOES(), BIO(), IOB1(), IO())}


def get_scheme(scheme: Scheme | str) -> Scheme:
    """Look up a scheme by its name.

    scheme (Union[Scheme, str]): A name in `SCHEMES`; a scheme is returned unchanged.
    RETURNS (Scheme): The scheme.
    RAISES (ValueError): If there is no scheme of that name.
    """
    if isinstance(scheme, Scheme):
        return scheme
    check_choice("tag scheme", scheme, SCHEMES)
    return SCHEMES[scheme]


def transition_mask(
    scheme: Scheme | str, tags: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Get the transitions between tags that a scheme allows.

    The tags should be complete, as returned by `Scheme.tags`. If, for example, the E tag of a label
    is missing in BIOES, a sequence that enters B of that label can never leave it.

    RETURNS (Tuple[np.ndarray, np.ndarray, np.ndarray]): Booleans: (L, L) whether the column's tag
        may follow the row's tag, (L,) whether a sentence may start with the tag, (L,) whether it
        may end with it.
    """
    scheme = get_scheme(scheme)
    inner = [[scheme.may_follow(previous, tag) for tag in tags] for previous in tags]
    start = [scheme.may_follow(None, tag) for tag in tags]
    end = [scheme.may_follow(tag, None) for tag in tags]
    mask = np.asarray(inner, dtype=bool).reshape(len(tags), len(tags))
    return mask, np.asarray(start, dtype=bool), np.asarray(end, dtype=bool)
