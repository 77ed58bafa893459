"""The score of several pipelines whose distributions are averaged."""

from collections.abc import Sequence
from pathlib import Path

import spacy
import torch
from spacy.scorer import Scorer
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_psa.annotation.schemes import read_spans
from spacy_psa.distillation.filling import Settings, Text, ask, words_of
from spacy_psa.distillation.teachers import Teacher, averaged
from spacy_psa.pipeline.teaching import Teaching

from .transformers import OURS, SCORES

BATCH = 256


def load_members(folders: Sequence[Path]) -> list[Teacher]:
    """RETURNS (List[Teacher]): The members of an ensemble."""
    return [Teacher(str(path), spacy.load(path), OURS, OURS) for path in folders]


def evaluate_ensemble(
    members: Sequence[Teacher], examples: Sequence[Example], target: str
) -> float:
    """Give each token the tag with the highest average of the members' marginal probabilities, and
    score in percent.

    members (Sequence[Teacher]): The pipelines.
    examples (Sequence[Example]): The sentences; receive the predictions.
    target (str): The target, `ents` or `tag`.
    RETURNS (float): The score.
    """
    for first in range(0, len(examples), BATCH):
        docs = [eg.predicted for eg in examples[first : first + BATCH]]
        texts = [Text(doc, words_of(doc)) for doc in docs]
        lessons = [list(ask(member, texts, Settings())) for member in members]
        for doc, said in zip(docs, zip(*lessons, strict=True), strict=True):
            teaching = averaged([one.teaching for one in said if one.teaching is not None])
            annotate(doc, best_tags(teaching), target)
    return float(100.0 * Scorer(members[0].nlp).score(examples)[SCORES[target]])


def best_tags(teaching: Teaching) -> list[str]:
    """RETURNS (List[str]): The most probable tag of each token."""
    edges = teaching.edges
    marginals = torch.zeros(sum(teaching.lengths), len(teaching.tags))
    marginals.index_put_((edges.token, edges.after), edges.probability, accumulate=True)
    return [teaching.tags[i] for i in marginals.argmax(1).tolist()]


def annotate(doc: Doc, tags: Sequence[str], target: str) -> None:
    """Write tags into a document."""
    if target == "tag":
        for token, tag in zip(doc, tags, strict=True):
            token.tag_ = tag
    else:
        doc.set_ents([Span(doc, *span[:2], label=span[2]) for span in read_spans(tags)])
