"""Rules about labels: what users know of a document before the model sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from numbers import Real

from spacy.tokens import Doc

from ..errors import Errors

REQUIRED = inf
FORBIDDEN = -inf
# Single precision has to hold a model's scores next to it.
MAX_SCORE = 10_000


@dataclass(frozen=True)
class Rule:
    """Something that holds, or is more or less likely, for a label and some tokens.

    Rules are about predictions. Training does not see them.

    For attributes of tokens, a rule is about the label of each of the tokens. For spans, it is
    about the span that has just these tokens; or, if it is not `whole`, about each of the tokens
    being in some span of that label. The label "O" stands for each of them being in no span.

    A finite score is added to the scores of label sequences (those of the model, divided by the
    temperature), once for each token that complies. That of a whole span is shared out: each of its
    n tokens that has the BIOES tag which it has in the span counts score / n. So a sequence with
    the span gains the score, and one without it, but with m of its tags, m / n of the score: it has
    a span of that label that begins, goes on or ends at the same tokens. The odds of sequences with
    the span against those without it change by a factor between exp(score / n) and exp(score),
    which is exactly exp(score) for spans of one token; the odds among sequences with the span stay
    as they are.

    start (int): The first token.
    end (int): The token after the last one.
    label (str): The label.
    score (float): How much more likely it is, in nats; less, below 0. `inf` requires it: all
        sequences that do not comply are ruled out. `-inf` forbids it: none of the tokens may have
        the label, or be in a span of that label, `whole` or not.
    whole (bool): For spans, see above.
    """

    start: int
    end: int
    label: str
    score: float = REQUIRED
    whole: bool = True


TagRules = Callable[[Doc], Iterable[Rule]]
"""From a document, which may have annotation of earlier components, to rules for it."""


def rules_for(doc: Doc, rules: TagRules) -> list[Rule]:
    """Ask for the rules for a document.

    doc (Doc): The document.
    rules (TagRules): Gives the rules.
    RETURNS (List[Rule]): The rules.
    RAISES (ValueError): If it gives something else.
    """
    found = rules(doc)
    listed = list(found) if isinstance(found, Iterable) else None
    if listed is None or not all(isinstance(rule, Rule) for rule in listed):
        shown = repr(found if listed is None else listed)
        raise ValueError(Errors.P360.format(found=shown[:60], text=doc.text[:60]))
    return listed


def check_rule(rule: Rule, doc: Doc, labels: Iterable[str]) -> None:
    """Check that a rule fits its document and the component.

    rule (Rule): The rule.
    doc (Doc): The document.
    labels (Iterable[str]): The labels that the component has.
    RAISES (ValueError): If it is about other tokens or labels, or its score is no score.
    """
    text = doc.text[:60]
    if not 0 <= rule.start < rule.end <= len(doc):
        raise ValueError(Errors.P341.format(text=text, start=rule.start, end=rule.end, n=len(doc)))
    if rule.label not in labels:
        raise ValueError(Errors.P340.format(text=text, label=rule.label, options=", ".join(labels)))
    if not is_score(rule.score):
        raise ValueError(Errors.P361.format(text=text, score=rule.score, most=MAX_SCORE))


def is_score(score: object) -> bool:
    """Whether something can be the score of a rule.

    score (object): A number, or something else.
    RETURNS (bool): Whether it is a number in range, or infinite.
    """
    if not isinstance(score, Real) or isinstance(score, bool):
        return False
    # Compared as it is: a whole number may be too large to be made a float
    return bool(score <= MAX_SCORE and not score < -MAX_SCORE) or score in (inf, -inf)
