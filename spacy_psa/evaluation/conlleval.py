"""Precision, recall and F1 of chunks by the rules of the CoNLL evaluation script.

Published results for chunking and named entities come from that script, so ours must count in the
same way, even if a system's tags are ill-formed.

SOURCE: conlleval, by Erik Tjong Kim Sang, for the shared tasks of CoNLL-2000 to 2003. The script
knows B, I and E; S is read as in its usual extension to BIOES.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..annotation.schemes import read_spans, split_tag
from ..errors import Errors
from ..percentages import PRF, percentage


@dataclass
class Counts(PRF):
    """The numbers of gold, predicted and correct chunks.

    gold (int): Chunks in the gold standard.
    predicted (int): Chunks in the predictions.
    correct (int): Chunks in both, with the same tokens and the same type.
    """

    gold: int = 0
    predicted: int = 0
    correct: int = 0


@dataclass
class ConllevalResult:
    """The counts and scores that conlleval reports.

    chunks (Counts): Counts over all types.
    per_type (Dict[str, Counts]): Counts for each type in the gold standard or the predictions.
    sentences (int): Number of sentences.
    tokens (int): Number of tokens.
    correct_tags (int): Number of tokens whose full tag is correct, including O.
    """

    chunks: Counts = field(default_factory=Counts)
    per_type: dict[str, Counts] = field(default_factory=dict)
    sentences: int = 0
    tokens: int = 0
    correct_tags: int = 0

    @property
    def accuracy(self) -> float:
        """Correct tags among all, 0 to 1. It depends on the label scheme."""
        return self.correct_tags / self.tokens if self.tokens else 0.0

    def add(self, gold: Sequence[str], predicted: Sequence[str]) -> None:
        """Count one sentence.

        gold (Sequence[str]): The gold tags, one per token.
        predicted (Sequence[str]): The predicted tags, of the same length.
        RAISES (ValueError): If the lengths differ.
        """
        if len(gold) != len(predicted):
            raise ValueError(
                Errors.P106.format(
                    index=self.sentences + 1, gold=len(gold), predicted=len(predicted)
                )
            )
        self.sentences += 1
        self.tokens += len(gold)
        self.correct_tags += sum(
            split_tag(g) == split_tag(p) for g, p in zip(gold, predicted, strict=True)
        )
        gold_spans, predicted_spans = set(read_spans(gold)), set(read_spans(predicted))
        for span in gold_spans | predicted_spans:
            is_gold, is_predicted = span in gold_spans, span in predicted_spans
            for counts in (self.chunks, self.per_type.setdefault(span[2], Counts())):
                counts.gold += is_gold
                counts.predicted += is_predicted
                counts.correct += is_gold and is_predicted

    def to_dict(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): All counts and scores, for JSON."""
        return {
            **self.chunks.to_dict(),
            "accuracy": self.accuracy,
            "sentences": self.sentences,
            "tokens": self.tokens,
            "correct_tags": self.correct_tags,
            "per_type": {label: self.per_type[label].to_dict() for label in sorted(self.per_type)},
        }


def score_tags(
    gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]
) -> ConllevalResult:
    """Score predicted tags against gold tags.

    gold (Iterable[Sequence[str]]): The tags of each sentence, in BIO, IOB1, IO or BIOES.
    predicted (Iterable[Sequence[str]]): The same for the predictions. The label scheme can differ;
        this only lowers the tag accuracy.
    RETURNS (ConllevalResult): The counts and scores.
    RAISES (ValueError): If the numbers of sentences or of tokens differ.
    """
    gold, predicted = list(gold), list(predicted)
    if len(gold) != len(predicted):
        raise ValueError(Errors.P107.format(gold=len(gold), predicted=len(predicted)))
    result = ConllevalResult()
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        result.add(gold_tags, predicted_tags)
    return result


def format_table(result: ConllevalResult) -> str:
    """Format scores as conlleval does, in percent."""
    total = result.chunks
    lines = [
        f"processed {result.tokens} tokens with {total.gold} phrases; "
        f"found: {total.predicted} phrases; correct: {total.correct}."
    ]
    if result.tokens:
        accuracy = percentage(result.correct_tags, result.tokens)
        lines.append(f"accuracy: {accuracy:6.2f}%; {_scores(total)}")
    for label in sorted(result.per_type):
        counts = result.per_type[label]
        lines.append(f"{label:>17}: {_scores(counts)}  {counts.predicted}")
    return "\n".join(lines) + "\n"


def _scores(counts: Counts) -> str:
    precision, recall, f1 = counts.percentages
    return f"precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {f1:6.2f}"
