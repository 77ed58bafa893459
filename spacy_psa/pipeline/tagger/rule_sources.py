"""Sources of rules about labels: spans of earlier components, or several sources combined."""

from collections.abc import Mapping
from dataclasses import dataclass

from spacy.tokens import Doc

from ...annotation.rules import FORBIDDEN, MAX_SCORE, REQUIRED, Rule, TagRules, is_score, rules_for
from ...errors import Errors, invalid

WORDS = {"require": REQUIRED, "forbid": FORBIDDEN}


def create_span_rules(
    spans_key: str,
    score: float | str,
    labels: list[str] | dict[str, str] | None = None,
    whole: bool = True,
) -> TagRules:
    """`spacy_psa.SpanRules.v1`: one rule per span found by an earlier component, e.g. the gazetteer
    matches of spaCy's `span_ruler`.

    spans_key (str): The key in `doc.spans`.
    score (Union[float, str]): The number to add to the score of the span's label, see `Rule`; or
        "require" or "forbid".
    labels (Optional[Union[List[str], Dict[str, str]]]): The span labels to use, optionally mapped
        to the component's labels; None to use all of them unchanged.
    whole (bool): If the component predicts spans: whether a rule is about a span of exactly these
        tokens, or about each token being in some span with the label.
    RETURNS (TagRules): Returns the rules for a document, and raises a ValueError if it lacks the
        key.
    RAISES (ValueError): If the score is any other string, or out of range.
    """
    number = WORDS.get(score, score) if isinstance(score, str) else score
    if not is_score(number):
        expected = f'a number from -{MAX_SCORE} to {MAX_SCORE}, "require" or "forbid"'
        raise invalid("score", score, expected)
    renamed = {label: label for label in labels} if isinstance(labels, list) else labels
    return SpanRules(spans_key, float(number), renamed, whole)


@dataclass(frozen=True)
class SpanRules:
    """See `create_span_rules`.

    spans_key (str): The key in `doc.spans`.
    score (float): The score of each rule.
    labels (Optional[Mapping[str, str]]): Maps span labels to the component's labels; None to use
        all of them unchanged.
    whole (bool): Whether rules are about whole spans.
    """

    spans_key: str
    score: float
    labels: Mapping[str, str] | None = None
    whole: bool = True

    def __call__(self, doc: Doc) -> list[Rule]:
        if self.spans_key not in doc.spans:
            raise ValueError(Errors.P364.format(key=self.spans_key, text=doc.text[:60]))
        found = []
        for span in doc.spans[self.spans_key]:
            label = span.label_ if self.labels is None else self.labels.get(span.label_)
            if label is not None:
                found.append(Rule(span.start, span.end, label, self.score, self.whole))
        # A span matched by several patterns counts once
        return list(dict.fromkeys(found))


def create_all_rules(*rules: TagRules) -> TagRules:
    """`spacy_psa.AllRules.v1`: the rules of several sources combined. Their scores add up.

    *rules (TagRules): The sources; in a config, sections `rules.*.name`.
    RETURNS (TagRules): Returns the rules of all sources.
    """
    return AllRules(rules)


@dataclass(frozen=True)
class AllRules:
    """See `create_all_rules`."""

    sources: tuple[TagRules, ...]

    def __call__(self, doc: Doc) -> list[Rule]:
        return [rule for source in self.sources for rule in rules_for(doc, source)]
