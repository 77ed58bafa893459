"""Brute force: all label sequences of short documents, with their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np
import torch
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_psa.annotation.schemes import SCHEMES
from spacy_psa.inference import Potentials
from spacy_psa.pipeline.tagger import PSATagger

from ..conftest import initialized_nlp, make_nlp, tagger_of, tiny_model

BIOES = SCHEMES["BIOES"]
DECODERS = ("CRF", "PairwiseCRF", "Softmax")
CASES = [(target, decoder) for target in ("tag", "ents", "spans") for decoder in DECODERS]

Labelings = dict[tuple[str, ...], float]


@cache
def _random(target: str, decoder: str) -> bytes:
    model = tiny_model(decoder={"@architectures": f"spacy_psa.{decoder}.v1"})
    nlp = initialized_nlp(target, model=model)
    generator = torch.Generator().manual_seed(3)
    for node in tagger_of(nlp).model.walk():
        for shim in node.shims:
            for parameter in shim.network.parameters():
                noise = torch.randn(parameter.shape, generator=generator)
                parameter.data += 0.3 * noise
    return nlp.to_bytes()


def random_nlp(target: str, decoder: str = "CRF", **config: object) -> Language:
    """A pipeline with random weights, which gives every label sequence some probability."""
    model = tiny_model(decoder={"@architectures": f"spacy_psa.{decoder}.v1"})
    nlp = make_nlp(target, model=model).from_bytes(_random(target, decoder))
    tagger_of(nlp).cfg.update(config)
    return nlp


def short_docs(nlp: Language) -> list[Doc]:
    """Short documents: one sentence, no tokens, several sentences, a single token, and white
    space.
    """
    first = Doc(nlp.vocab, words=["Ann", "saw", "Berlin", "."])
    starts = [True, False, True, True]
    sentences = Doc(nlp.vocab, words=["New", "ham", "They", "eat"], sent_starts=starts)
    raw = Doc(nlp.vocab, words=["Ann", "\n", " ", "Lee"])
    return [first, Doc(nlp.vocab), sentences, Doc(nlp.vocab, words=["likes"]), raw]


def all_labelings(tagger: PSATagger, doc: Doc) -> Labelings:
    """The probability of each tag sequence of a document that the tag scheme allows, and whose
    spans neither begin nor end with white space.
    """
    if not len(doc):
        return {(): 1.0}
    potentials = tagger.model.predict([doc]).detach()
    found: Labelings = {(): 1.0}
    start = 0
    for length in potentials.lengths:
        sentence = doc[start : start + length]
        chain = _chain(tagger, potentials, start, length)
        if not tagger.cfg["allow_space"] and any(token.is_space for token in sentence):
            chain = {n: p for n, p in chain.items() if not touches_space(sentence, tagger, n)}
        total = sum(chain.values())
        chain = {names: p / total for names, p in chain.items()}
        found = {a + b: p * q for a, p in found.items() for b, q in chain.items()}
        start += length
    return found


def touches_space(doc: Doc | Span, tagger: PSATagger, tags: Sequence[str]) -> bool:
    """Whether a span of tags begins or ends with white space."""
    spans = tagger.target.spans_of(tags)
    return any(doc[start].is_space or doc[end - 1].is_space for start, end, _ in spans)


@cache
def _is_allowed(names: tuple[str, ...]) -> bool:
    return not BIOES.problems(names)


def _chain(tagger: PSATagger, potentials: Potentials, start: int, length: int) -> Labelings:
    tags, temperature = tagger.tags, tagger.cfg["temperature"]
    scores = {name: tensor.double().numpy() for name, tensor in potentials.tensors().items()}
    labels = np.array(list(product(range(len(tags)), repeat=length)))
    totals = np.zeros(len(labels))
    for t in range(length):
        totals += scores["emissions"][start + t, labels[:, t]]
        if t and "transitions" in scores:
            totals += scores["transitions"][labels[:, t - 1], labels[:, t]]
        if t and "pairwise" in scores:
            totals += scores["pairwise"][start + t, labels[:, t - 1], labels[:, t]]
    totals += scores["start"][labels[:, 0]] if "start" in scores else 0.0
    totals += scores["end"][labels[:, -1]] if "end" in scores else 0.0
    found = {}
    for row, value in zip(labels.tolist(), np.exp(totals / temperature).tolist(), strict=True):
        names = tuple(tags[i] for i in row)
        if not tagger.target.has_spans or _is_allowed(names):
            found[names] = value
    partition = sum(found.values())
    return {names: value / partition for names, value in found.items()}


def marginals_of(tagger: PSATagger, labelings: Labelings, n_tokens: int) -> np.ndarray:
    """The probability of each label of each token."""
    columns = {label: i for i, label in enumerate(tagger.marginal_labels)}
    table = np.zeros((n_tokens, len(columns)))
    for names, p in labelings.items():
        for t, tag in enumerate(names):
            table[t, columns[tagger.target.label_of(tag)]] += p
    return table


def spans_of(labelings: Labelings) -> dict[tuple[int, int, str], float]:
    """The probability of each span."""
    found: dict[tuple[int, int, str], float] = {}
    for names, p in labelings.items():
        for span in BIOES.decode(names):
            found[span] = found.get(span, 0.0) + p
    return found
