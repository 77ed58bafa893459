"""Rules about labels: what users know about a document before the model predicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from numbers import Real

from spacy.tokens import Doc

from ..errors import Errors

REQUIRED = inf
FORBIDDEN = -inf
# Small enough that single precision does not lose the model's scores in the sum
MAX_SCORE = 10_000


@dataclass(frozen=True)
class Rule:
    """A rule that requires, forbids, favors or disfavors a label for some tokens.

    Rules apply to predictions, not to training.

    For token attributes, a rule is about the label of each of the tokens. For spans, it is about
    the span of exactly these tokens or, if it is not `whole`, about each of the tokens being in any
    span of that label. The label "O" means that each of them is outside all spans.

    A finite score is added to the scores of label sequences (the model's scores divided by the
    temperature), once for each token that complies. The score of a whole span is divided among its
    n tokens: each token with the BIOES tag that it has in the span gains score / n. A sequence with
    the span thus gains the score. A sequence without it, but with m of its tags, gains m / n of the
    score: it has a span of that label that begins, continues or ends at the same tokens. The odds
    of sequences with the span against those without it change by a factor between exp(score / n)
    and exp(score), or exactly exp(score) for spans of one token; the odds among sequences with the
    span do not change.

    start (int): The first token.
    end (int): The token after the last one.
    label (str): The label.
    score (float): How much more likely the label becomes, in nats; less likely if negative. `inf`
        requires it: all sequences that do not comply are ruled out. `-inf` forbids it: none of the
        tokens may have the label or be in a span of that label, `whole` or not.
    whole (bool): Whether a rule for spans is about the span as a whole, see above.
    """

    start: int
    end: int
    label: str
    score: float = REQUIRED
    whole: bool = True


TagRules = Callable[[Doc], Iterable[Rule]]
"""A function that returns rules for a document, which may have annotation of earlier components."""


def rules_for(doc: Doc, rules: TagRules) -> list[Rule]:
    """Get the rules for a document, checking that they are rules."""
    found = rules(doc)
    listed = list(found) if isinstance(found, Iterable) else None
    if listed is None or not all(isinstance(rule, Rule) for rule in listed):
        shown = repr(found if listed is None else listed)
        raise ValueError(Errors.P360.format(found=shown[:60], text=doc.text[:60]))
    return listed


def check_rule(rule: Rule, doc: Doc, labels: Iterable[str]) -> None:
    """Check that a document has the tokens of a rule and a component its label, and its score."""
    text = doc.text[:60]
    if not 0 <= rule.start < rule.end <= len(doc):
        raise ValueError(Errors.P341.format(text=text, start=rule.start, end=rule.end, n=len(doc)))
    if rule.label not in labels:
        raise ValueError(Errors.P340.format(text=text, label=rule.label, options=", ".join(labels)))
    if not is_score(rule.score):
        raise ValueError(Errors.P361.format(text=text, score=rule.score, most=MAX_SCORE))


def is_score(score: object) -> bool:
    """Whether an object is a valid score of a rule."""
    if not isinstance(score, Real) or isinstance(score, bool):
        return False
    # Compared without conversion: an integer may be too large for a float
    return bool(score <= MAX_SCORE and not score < -MAX_SCORE) or score in (inf, -inf)
