"""The predictions of a `psa_tagger` on held-out data, for calibrating its probabilities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from spacy.tokens import Doc
from spacy.training import Example

from ..annotation.base import UNKNOWN
from ..annotation.schemes import OUTSIDE, Span
from ..inference import LinearChain, Potentials
from ..models.labeler import sentence_lengths
from ..pipeline.monitors import scores_of
from ..pipeline.tagger.queries import split
from .temperature import LabeledBatch

if TYPE_CHECKING:
    from ..pipeline.tagger import PSATagger


@dataclass(frozen=True)
class Gold:
    """The gold standard of a document. If it has a set of labels, any of them is correct.

    labels (List[Optional[Tuple[str, ...]]]): The correct labels of each token; None if unknown.
    spans (Dict[Tuple[int, int], Tuple[str, ...]]): The correct labels of each span, by its first
        token and the token after its last one.
    """

    labels: list[tuple[str, ...] | None]
    spans: dict[tuple[int, int], tuple[str, ...]]


@dataclass(frozen=True)
class HeldOut:
    """Documents with their scores and gold standard. All tensors are on the CPU.

    docs (List[Doc]): The documents, as the component receives them.
    gold (List[Gold]): Their gold standard.
    labeled (LabeledBatch): The scores at temperature 1, what rules and existing annotation add to
        them, and the gold tags, which are unknown for sentences with unseen labels.
    n_new (int): The number of sentences with labels that the component does not have.
    """

    docs: list[Doc]
    gold: list[Gold]
    labeled: LabeledBatch
    n_new: int


@dataclass(frozen=True)
class Confidences:
    """How confident a component is in its predictions, and whether they are correct.

    confidence (NDArray): The probability of each prediction. *Shape:* (P,)
    correct (NDArray): Whether each prediction is correct. *Shape:* (P,), booleans.
    n_gold (int): The number of units in the gold standard.
    """

    confidence: NDArray[np.float64]
    correct: NDArray[np.bool_]
    n_gold: int


def hold_out(component: PSATagger, docs: Sequence[Doc], references: Sequence[Doc]) -> HeldOut:
    """Run a component's model on documents, and read their gold standard.

    component (PSATagger): The component.
    docs (Sequence[Doc]): The documents, with the annotation of the preceding components.
    references (Sequence[Doc]): The same documents with the gold standard.
    RETURNS (HeldOut): The held-out data, without empty documents.
    RAISES (ValueError): If a rule does not fit its document or the component, or if rules and
        annotation leave a token without possible tags.
    """
    pairs = [pair for pair in zip(docs, references, strict=True) if len(pair[0])]
    kept = [doc for doc, _ in pairs]
    potentials, bias = _scores(component, kept)
    labels = [np.zeros(0, dtype=np.int64)]
    sets: dict[int, list[int]] = {}
    gold, n_new, offset = [], 0, 0
    for doc, reference in pairs:
        of_doc, options = _read_gold(component, doc, reference)
        known, n = _known_tags(doc, options)
        n_new += n
        gold.append(of_doc)
        labels.append(np.array([ids[0] if len(ids) == 1 else UNKNOWN for ids in known]))
        sets.update({offset + i: ids for i, ids in enumerate(known) if len(ids) > 1})
        offset += len(doc)
    # As in training, all tokens of a span have the same label, also without constraints
    within_sets = component.tagset.constraints if component.constraints is None else None
    labeled = LabeledBatch(
        potentials, torch.from_numpy(np.concatenate(labels)), bias, sets, within_sets
    )
    return HeldOut(kept, gold, labeled, n_new)


def confidences(
    component: PSATagger, batches: Iterable[HeldOut], temperature: float
) -> dict[str, Confidences]:
    """Compare a component's predictions with the gold standard. Predictions that include a token
    without gold annotation are skipped.
    """
    units = ("tokens", "spans") if component.target.has_spans else ("tokens",)
    found: dict[str, list[tuple[float, bool]]] = {unit: [] for unit in units}
    n_gold = Counter[str]()
    columns = {label: i for i, label in enumerate(component.marginal_labels)}
    for batch in batches:
        chain = LinearChain(batch.labeled.at(temperature), constraints=component.constraints)
        marginals = component.marginals(batch.docs, distribution=chain)
        best = split(chain.argmax.cpu().numpy(), chain.potentials.lengths)
        well_formed = iter(component.queries.well_formed(best))
        tags = [[next(well_formed) for _ in doc] for doc in batch.docs]
        for names, gold, probs in zip(tags, batch.gold, marginals, strict=True):
            for i, (name, right) in enumerate(zip(names, gold.labels, strict=True)):
                if right is not None:
                    label = component.target.label_of(name)
                    found["tokens"].append((float(probs[i, columns[label]]), label in right))
                    n_gold["tokens"] += 1
        if component.target.has_spans:
            spans = [component.target.spans_of(names) for names in tags]
            scores = component.span_probs(batch.docs, spans, distribution=chain)
            for places, gold, of_spans in zip(spans, batch.gold, scores, strict=True):
                found["spans"] += _compared(places, gold, of_spans)
                n_gold["spans"] += len(gold.spans)
    return {
        unit: Confidences(
            np.array([confidence for confidence, _ in pairs], dtype=np.float64),
            np.array([correct for _, correct in pairs], dtype=bool),
            n_gold[unit],
        )
        for unit, pairs in found.items()
    }


def _scores(component: PSATagger, docs: Sequence[Doc]) -> tuple[Potentials, torch.Tensor | None]:
    """Compute the model's scores, and what rules and existing annotation add to them."""
    if not docs:
        return Potentials(torch.zeros(0, len(component.tags)), ()), None
    potentials = scores_of(component, docs).map(torch.Tensor.cpu)
    # Kept apart, since the temperature applies only to the model's scores
    zeros = replace(potentials, emissions=torch.zeros_like(potentials.emissions))
    given = component.condition(zeros, docs)
    if given is zeros:
        return potentials, None
    bias, scores = given.emissions, potentials.emissions
    # Only labels may be left that were added after training, which have no scores yet
    unscored = (scores + bias).isneginf().all(dim=1, keepdim=True)
    return replace(potentials, emissions=scores.masked_fill(unscored, 0.0)), bias


def _read_gold(
    component: PSATagger, doc: Doc, reference: Doc
) -> tuple[Gold, list[list[int] | None]]:
    """Read the gold standard, and the tags of each token that agree with it; None if unknown.

    Tags that the component does not have are left out: a token with only unseen labels has none.
    """
    target = component.target
    boundaries = np.cumsum([0, *sentence_lengths(doc)]).tolist()
    tags = target.gold_tags(Example(doc, reference), boundaries)
    ids = {tag: i for i, tag in enumerate(component.tags)}
    labels: list[tuple[str, ...] | None] = []
    options: list[list[int] | None] = []
    for tag in tags:
        if tag is None:
            labels.append(None)
            options.append(None)
            continue
        label = target.label_of(tag)
        prefix, parts = tag.removesuffix(label), target.parts(label, reference)
        labels.append(parts)
        options.append([ids[prefix + part] for part in parts if prefix + part in ids])
    spans = {
        (start, end): target.parts(label, reference)
        for start, end, label in target.spans_of([tag or OUTSIDE for tag in tags])
    }
    return Gold(labels, spans), options


def _known_tags(doc: Doc, options: Sequence[list[int] | None]) -> tuple[list[list[int]], int]:
    """Find each token's correct tags (none if unknown), and the number of sentences with unseen
    labels, all of whose tokens count as unknown.
    """
    known: list[list[int]] = []
    n_new = 0
    for length in sentence_lengths(doc):
        of_sentence = options[len(known) : len(known) + length]
        new = any(ids == [] for ids in of_sentence)
        n_new += new
        known += [[] if new else ids or [] for ids in of_sentence]
    return known, n_new


def _compared(
    found: Sequence[Span], gold: Gold, probabilities: Sequence[float]
) -> Iterator[tuple[float, bool]]:
    """The probability of each span of known tokens, and whether it is correct."""
    for (start, end, label), probability in zip(found, probabilities, strict=True):
        if None not in gold.labels[start:end]:
            yield probability, label in gold.spans.get((start, end), ())
