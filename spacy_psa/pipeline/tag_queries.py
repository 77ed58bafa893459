"""What one can ask a `psa_tagger` besides the best labels: probabilities, alternatives, doubt."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from math import exp

import numpy as np
import torch
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..annotation.rules import TagRules
from ..annotation.schemes import Span
from ..annotation.spans import SCHEME
from ..errors import Errors
from ..inference import LinearChain, Potentials
from ..inference.sampling import Generator
from ..models.labeler import sentence_lengths
from .conditioning import condition
from .tag_learner import TagLearner
from .tag_prediction import Labeling, TagPrediction


class TagQueries(TagLearner):
    """The half of `psa_tagger` that answers questions. None of them modifies documents.

    All but `distribution` take what it returned for the same documents as `distribution`, so that
    the model runs once for several questions.

    rules (Optional[TagRules]): Rules about labels.
    """

    rules: TagRules | None = None

    def distribution(self, docs: Sequence[Doc]) -> LinearChain:
        """Give the distribution over the tag sequences of documents, given the temperature, the
        rules and, if `overwrite` is false, the annotation that is there already.

        docs (Sequence[Doc]): The documents.
        RETURNS (LinearChain): A chain for each sentence, or for each document without sentence
            boundaries, in their order; documents without tokens have none.
        RAISES (ValueError): If a rule does not fit its document, the component, or other rules, or
            the model's scores are NaN.
        """
        if not any(len(doc) for doc in docs):
            return LinearChain(Potentials(torch.zeros(0, len(self.tags)), ()))
        potentials = self.model.predict(docs).detach()
        self.check_scores(potentials, docs)
        if self.cfg["temperature"] != 1.0:
            potentials = potentials.tempered(self.cfg["temperature"])
        keep_existing = not self.cfg["overwrite"]
        given = condition(
            potentials, docs, self.target, self.tags, rules=self.rules, keep_existing=keep_existing
        )
        return LinearChain(given, constraints=self.constraints)

    @property
    def marginal_labels(self) -> list[str]:
        """RETURNS (List[str]): What the columns of `marginals` are about: the labels, for spans
        after "O".
        """
        return list(dict.fromkeys(map(self.target.label_of, self.tags)))

    def marginals(
        self, docs: Iterable[Doc], *, distribution: LinearChain | None = None
    ) -> list[NDArray[np.float32]]:
        """Find the probability of each label of each token: for spans, that it is in a span of that
        label.

        docs (Iterable[Doc]): The documents.
        distribution (Optional[LinearChain]): Their distribution.
        RETURNS (List[NDArray]): For each document the probabilities. Shape: (tokens, columns), see
            `marginal_labels`. Rows sum to 1.
        """
        docs = list(docs)
        distribution = distribution or self.distribution(docs)
        return split(self._label_marginals(distribution), map(len, docs))

    def span_probs(
        self,
        docs: Iterable[Doc],
        spans: Iterable[Iterable[Span]],
        *,
        distribution: LinearChain | None = None,
    ) -> list[list[float]]:
        """Find the probabilities of spans, whether they are among the best ones or not.

        docs (Iterable[Doc]): The documents.
        spans (Iterable[Iterable[Span]]): For each document the first token, the token after the
            last one, and the label of each span.
        distribution (Optional[LinearChain]): Their distribution.
        RETURNS (List[List[float]]): The probability that just this span with this label is there,
            whatever else is; 0 for spans that cross a sentence boundary.
        RAISES (ValueError): If the component does not predict spans, or a span does not lie in its
            document, or its label is none of the component's.
        """
        docs, asked = list(docs), [list(found) for found in spans]
        if not self.target.has_spans:
            raise ValueError(Errors.P350.format(name=self.name, target=self.target.name))
        for doc, found in zip(docs, asked, strict=True):
            n, of_doc = len(doc), {"text": doc.text[:60], "options": ", ".join(self.labels)}
            for start, end, label in found:
                if not 0 <= start < end <= n or label not in self.labels:
                    span = {"start": start, "end": end, "label": label}
                    raise ValueError(Errors.P351.format(**span, n=n, **of_doc))
        return self._span_probs(docs, asked, distribution or self.distribution(docs))

    def nbest(
        self, docs: Iterable[Doc], k: int, *, distribution: LinearChain | None = None
    ) -> list[list[Labeling]]:
        """Find the k most probable ways to label documents.

        docs (Iterable[Doc]): The documents.
        k (int): How many, at least 1.
        distribution (Optional[LinearChain]): Their distribution.
        RETURNS (List[List[Labeling]]): For each document the labelings, the best one first; fewer
            than k if there are no more.
        RAISES (ValueError): If k is not a whole number above 0.
        """
        docs = list(docs)
        distribution = distribution or self.distribution(docs)
        labels, log_probs = (tensor.cpu().numpy() for tensor in distribution.topk(k))
        chains = split(labels, distribution.potentials.lengths)
        n_chains = [len(sentence_lengths(doc)) for doc in docs]
        found, first = [], 0
        for n, of_doc in zip(n_chains, split(log_probs, n_chains), strict=True):
            own = chains[first : first + n]
            found.append(
                [
                    self._labeling([chain[:, i] for chain, i in zip(own, ranks, strict=True)], p)
                    for p, ranks in _best_combinations(of_doc, k)
                ]
            )
            first += n
        return found

    def sample(
        self,
        docs: Iterable[Doc],
        n: int,
        *,
        generator: Generator | None = None,
        distribution: LinearChain | None = None,
    ) -> list[list[list[str]]]:
        """Draw ways to label documents, exactly from their distribution.

        docs (Iterable[Doc]): The documents.
        n (int): How many for each, at least 1.
        generator (Optional[Union[torch.Generator, np.random.Generator]]): The source of randomness.
            By default, PyTorch's global one.
        distribution (Optional[LinearChain]): Their distribution.
        RETURNS (List[List[List[str]]]): For each document n lists of tags.
        RAISES (ValueError): If n is not a whole number above 0.
        """
        docs = list(docs)
        distribution = distribution or self.distribution(docs)
        drawn = distribution.sample(n, generator=generator).cpu().numpy()
        tags = np.asarray(self.tags, dtype=object)
        return [tags[part.T].tolist() for part in split(drawn, map(len, docs))]

    def entropy(
        self, docs: Iterable[Doc], *, distribution: LinearChain | None = None
    ) -> list[float]:
        """Say how much doubt there is about documents: the entropy of their label sequences.

        docs (Iterable[Doc]): The documents.
        distribution (Optional[LinearChain]): Their distribution.
        RETURNS (List[float]): For each document the entropy in nats; 0 if all is certain.
        """
        docs = list(docs)
        of_chain = (distribution or self.distribution(docs)).entropy.cpu().numpy()
        n_chains = [len(sentence_lengths(doc)) for doc in docs]
        return [float(part.sum()) for part in split(of_chain, n_chains)]

    def _labeling(self, chains: Sequence[NDArray[np.int64]], log_prob: float) -> Labeling:
        tags = [self.tags[i] for chain in chains for i in chain]
        return Labeling(tags, self.target.spans_of(tags), exp(log_prob))

    def _with_scores(
        self, docs: Sequence[Doc], best: Sequence[NDArray[np.int64]], distribution: LinearChain
    ) -> list[TagPrediction]:
        """Add probabilities to the best tags."""
        ids = np.concatenate(best)
        of_token = self._label_marginals(distribution)[np.arange(len(ids)), self._columns()[ids]]
        spans = [self.target.spans_of([self.tags[i] for i in part]) for part in best]
        of_span = self._span_probs(docs, spans, distribution)
        return [
            TagPrediction(part, scores, dict(zip(found, probabilities, strict=True)))
            for part, scores, found, probabilities in zip(
                best, split(of_token, map(len, docs)), spans, of_span, strict=True
            )
        ]

    def _columns(self) -> NDArray[np.int64]:
        """The column of `marginals` that each tag belongs to."""
        columns = {label: i for i, label in enumerate(self.marginal_labels)}
        return np.array([columns[self.target.label_of(tag)] for tag in self.tags])

    def _label_marginals(self, distribution: LinearChain) -> NDArray[np.float32]:
        """The probabilities of labels, which may have several tags. Shape: (tokens, columns)"""
        of_tag = distribution.marginals.float().cpu()
        columns = torch.from_numpy(self._columns())
        of_label = of_tag.new_zeros(len(of_tag), len(self.marginal_labels))
        # Rounding must not make anything more than certain
        return of_label.index_add_(1, columns, of_tag).clamp_(max=1.0).numpy()

    def _span_probs(
        self, docs: Sequence[Doc], spans: Sequence[Sequence[Span]], distribution: LinearChain
    ) -> list[list[float]]:
        """The probabilities of spans. A span is its tags: BIOES says where it begins and ends."""
        ids = {tag: i for i, tag in enumerate(self.tags)}
        lengths = distribution.potentials.lengths
        chain_of_token = np.repeat(np.arange(len(lengths)), lengths)
        probabilities = [[0.0] * len(found) for found in spans]
        asked, places, own, offset = [], [], [], 0
        for i, (doc, found) in enumerate(zip(docs, spans, strict=True)):
            for j, (start, end, label) in enumerate(found):
                first, stop, length = start + offset, end + offset, end - start
                if chain_of_token[first] == chain_of_token[stop - 1]:
                    asked.append((i, j))
                    places.append((first, stop))
                    own += [ids[tag] for tag in SCHEME.encode([(0, length, label)], length)]
            offset += len(doc)
        allowed = torch.zeros(len(own), len(ids), dtype=torch.bool)
        allowed[torch.arange(len(own)), own] = True
        answers = distribution.span_probs(places, allowed).tolist()
        for (i, j), answer in zip(asked, answers, strict=True):
            probabilities[i][j] = answer
        return probabilities


def split(array: NDArray, lengths: Iterable[int]) -> list[NDArray]:
    """Split an array into parts.

    array (NDArray): The array.
    lengths (Iterable[int]): The lengths of the parts, which add up to that of the array.
    RETURNS (List[NDArray]): As many parts as there are lengths.
    """
    return [array[start:end] for start, end in pairwise(accumulate(lengths, initial=0))]


def _best_combinations(
    log_probs: NDArray[np.float64], k: int
) -> list[tuple[float, tuple[int, ...]]]:
    """The k best choices of one sequence from each of several chains.

    Chains are independent of each other, so that log-probabilities add up; the k best of two chains
    are among the k × k combinations of their k best.

    log_probs (NDArray): Of the k best sequences of each chain. Shape: (chains, k)
    k (int): How many.
    RETURNS (List[Tuple[float, Tuple[int, ...]]]): Log-probability, and rank within each chain.
    """
    best: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for of_chain in log_probs:
        ranks = [(float(p), i) for i, p in enumerate(of_chain) if p > -np.inf]
        pairs = ((p + q, (*choice, i)) for p, choice in best for q, i in ranks)
        best = heapq.nlargest(k, pairs, key=lambda pair: pair[0])
    return best
