"""Predicate finders: a Doc's predicates are given, or found by a rule or a tagger."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import NamedTuple

from spacy.tokens import Doc, Token

from ...annotation.propositions import PREDICATE_LABEL, Frame, get_frames, set_frames
from ...errors import Errors

PREDICATES_KEY = "predicates"
AUXILIARIES = {
    "be": frozenset(("be", "am", "is", "are", "was", "were", "been", "being", "'s", "'re", "'m")),
    "have": frozenset(("have", "has", "had", "having", "'s", "'ve", "'d")),
    "do": frozenset(("do", "does", "did")),
}
# Penn Treebank tags of the main verbs that these auxiliaries take.
MAIN_VERB_TAGS = {
    "be": frozenset(("VBG", "VBN")),
    "have": frozenset(("VBN",)),
    "do": frozenset(("VB",)),
}
# Tags allowed between the two: "has not yet gone", "did you see", "is there"
BETWEEN_TAGS = frozenset(("RB", "RBR", "RBS", "PRP", "EX"))


class Predicate(NamedTuple):
    """A predicate of a Doc.

    token (int): The index of its token.
    lemma (Optional[str]): Its lemma, if known.
    sense (Optional[str]): Its sense, if known.
    """

    token: int
    lemma: str | None = None
    sense: str | None = None


PredicateFinder = Callable[[Doc], list[Predicate]]
"""Finds the predicates of a Doc, in any order."""


def set_predicates(doc: Doc, predicates: Iterable[int | Predicate]) -> None:
    """Set the predicates of a Doc, for `spacy_psa.GivenPredicates.v1`.

    They are stored as frames without arguments, replacing the Doc's frames.

    doc (Doc): The Doc.
    predicates (Iterable[Union[int, Predicate]]): Token indices, or predicates with lemmas and
        senses.
    RAISES (ValueError): If an index is out of range, no number, or occurs twice.
    """
    found = []
    for predicate in predicates:
        if not isinstance(predicate, Predicate):
            try:  # converts NumPy integers, which spaCy could not store
                predicate = Predicate(index(predicate))
            except TypeError:  # such as a Token
                raise _not_a_token(repr(predicate), doc) from None
        found.append(predicate)
    check_predicates(doc, found)
    set_frames(doc, [Frame(p.token, p.lemma, p.sense, []) for p in found])


def check_predicates(doc: Doc, predicates: Sequence[Predicate]) -> None:
    """Check that predicates are distinct tokens of a Doc."""
    seen = set()
    for predicate in predicates:
        if not 0 <= predicate.token < len(doc):
            raise _not_a_token(predicate.token, doc)
        if predicate.token in seen:
            raise ValueError(Errors.P321.format(predicate=predicate.token, text=doc.text[:60]))
        seen.add(predicate.token)


def _not_a_token(predicate: object, doc: Doc) -> ValueError:
    return ValueError(
        Errors.P320.format(predicate=predicate, n_tokens=len(doc), text=doc.text[:60])
    )


def create_given_predicates() -> PredicateFinder:
    """`spacy_psa.GivenPredicates.v1`: the predicates already set on a Doc, see `set_predicates`.

    RETURNS (PredicateFinder): Finds none in a Doc without frames.
    """
    return _given


def _given(doc: Doc) -> list[Predicate]:
    return [Predicate(frame.predicate, frame.lemma, frame.sense) for frame in get_frames(doc)]


def create_verb_predicates(
    pos: Sequence[str] = ("VERB",), tags: Sequence[str] = ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ")
) -> PredicateFinder:
    """`spacy_psa.VerbPredicates.v1`: verbs other than auxiliaries.

    Uses `token.pos_` if the Doc has it, and `token.tag_` otherwise. With tags, a form of be, have
    or do counts as an auxiliary if it is followed by a verb in the form that it governs, with only
    adverbs, pronouns and existential "there" in between. This rule is specific to English and Penn
    Treebank tags. White space is never a predicate.

    pos (Sequence[str]): The universal parts of speech of predicates; [] to use only tags.
    tags (Sequence[str]): The tags of predicates.
    RETURNS (PredicateFinder): The predicate finder. It raises a ValueError for a Doc with neither
        annotation.
    """
    return VerbPredicates(frozenset(pos), frozenset(tags))


@dataclass(frozen=True)
class VerbPredicates:
    """See `create_verb_predicates`.

    pos (FrozenSet[str]): The universal parts of speech of predicates.
    tags (FrozenSet[str]): The tags of predicates.
    """

    pos: frozenset[str]
    tags: frozenset[str]

    def __call__(self, doc: Doc) -> list[Predicate]:
        if not len(doc):
            return []
        if self.pos and doc.has_annotation("POS"):
            found = (token for token in doc if token.pos_ in self.pos)
        elif self.tags and doc.has_annotation("TAG"):
            found = (t for t in doc if t.tag_ in self.tags and not self._is_auxiliary(t))
        else:
            layer = "parts of speech (token.pos or token.tag)"
            raise ValueError(
                Errors.P322.format(
                    rule="spacy_psa.VerbPredicates.v1",
                    layer=layer,
                    text=doc.text[:60],
                    name="psa_srl",
                )
            )
        return [Predicate(t.i, t.lemma_ or None) for t in found if not t.is_space]

    def _is_auxiliary(self, token: Token) -> bool:
        form = token.text.lower()
        verbs = [verb for verb, forms in AUXILIARIES.items() if form in forms]
        if not verbs:
            return False
        for following in token.doc[token.i + 1 :]:
            if following.tag_ not in BETWEEN_TAGS and not following.is_space:
                return any(following.tag_ in MAIN_VERB_TAGS[verb] for verb in verbs)
        return False


def create_span_predicates(spans_key: str = PREDICATES_KEY) -> PredicateFinder:
    """`spacy_psa.SpanPredicates.v1`: spans found by another component, such as a `psa_tagger` with
    `target = "spans"` that was trained on the output of `spacy_psa.FrameCorpus.v1`.

    The predicate is the first token of the span. The span's label is its sense, unless it is V.

    spans_key (str): The key in `doc.spans`.
    RETURNS (PredicateFinder): The predicate finder. It raises a ValueError for a Doc without the
        key.
    """
    return SpanPredicates(spans_key)


@dataclass(frozen=True)
class SpanPredicates:
    """See `create_span_predicates`.

    spans_key (str): The key in `doc.spans`.
    """

    spans_key: str

    def __call__(self, doc: Doc) -> list[Predicate]:
        if not len(doc):
            return []
        if self.spans_key not in doc.spans:
            raise ValueError(
                Errors.P322.format(
                    rule="spacy_psa.SpanPredicates.v1",
                    layer=f"doc.spans['{self.spans_key}']",
                    text=doc.text[:60],
                    name="psa_srl",
                )
            )
        return [
            Predicate(
                span.start,
                doc[span.start].lemma_ or None,
                span.label_ if span.label_ != PREDICATE_LABEL else None,
            )
            for span in doc.spans[self.spans_key]
        ]
