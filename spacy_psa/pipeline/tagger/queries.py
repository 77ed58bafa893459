"""Queries to a `psa_tagger` beyond the best labels: probabilities, alternatives, uncertainty."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from spacy.tokens import Doc

from ...annotation.schemes import Span
from ...annotation.span_targets import SCHEME
from ...errors import Errors
from ...inference import LinearChain, Potentials
from ...inference.sampling import Generator
from ...models.labeler import sentence_lengths
from ..delegation import all_docs
from ..monitors import check_initialized, scores_of
from .conditioning import condition

if TYPE_CHECKING:
    from .component import PSATagger


@dataclass(frozen=True)
class Labeling:
    """A labeling of a document.

    tags (List[str]): One tag per token: its label, or a BIOES tag for spans.
    spans (List[Span]): First token, token after the last one, and label of each span.
    probability (float): Its probability among all labelings of the document. Without
        `constrain_decoding`, that of one of the tag sequences that are read as this labeling.
    """

    tags: list[str]
    spans: list[Span]
    probability: float


class TagQueries:
    """Answers queries about documents, which are not modified.

    The components before this one must have read them, such as a transformer that it listens to,
    but not the component itself, since existing annotation is kept unless `overwrite` is true:
    `nlp(text, disable=["psa_tagger"])`.

    To run the model only once for several queries, call `distribution` and pass the result to the
    other methods, together with the same documents.

    pipe (PSATagger): The component.
    """

    def __init__(self, pipe: PSATagger) -> None:
        self.pipe = pipe

    def distribution(self, docs: Iterable[Doc]) -> LinearChain:
        """Compute the distribution over the tag sequences of documents, given the temperature, the
        rules and, if `overwrite` is false, existing annotation, also that of an earlier prediction.
        No span begins or ends with white space, unless `allow_space` is true.

        docs (Iterable[Doc]): The documents, e.g. of `nlp(text, disable=["psa_tagger"])`: the
            components before this one have read them.
        RETURNS (LinearChain): One chain per sentence, or per document without sentence boundaries,
            in order. Empty documents have none.
        RAISES (ValueError): If a rule does not fit its document, the component, or other rules, if
            a score of the model is NaN, or if these are no documents, but e.g. texts.
        """
        docs = all_docs(self.pipe.name, docs)
        if not any(len(doc) for doc in docs):
            check_initialized(self.pipe)
            return LinearChain(Potentials(torch.zeros(0, len(self.pipe.tags)), ()))
        return self._of_model(docs, keep_existing=not self.pipe.cfg["overwrite"])

    def _distribution(self, docs: Sequence[Doc], given: LinearChain | None) -> LinearChain:
        """The distribution over documents, computed unless it is given."""
        if given is None:
            return self.distribution(docs)
        if given.potentials.lengths != tuple(n for doc in docs for n in sentence_lengths(doc)):
            raise ValueError(Errors.P357.format(name=self.pipe.name))
        return given

    def as_teacher(self, docs: Sequence[Doc], temperature: float = 1.0) -> LinearChain:
        """Compute the distribution whatever annotation the documents, not all of them empty, have.
        See `distribution`."""
        return self._of_model(docs, keep_existing=False, temperature=temperature)

    def _of_model(
        self, docs: Sequence[Doc], *, keep_existing: bool, temperature: float = 1.0
    ) -> LinearChain:
        potentials = scores_of(self.pipe, docs)
        temperature *= self.pipe.cfg["temperature"]
        if temperature != 1.0:
            potentials = potentials.tempered(temperature)
        given = self._condition(potentials, docs, keep_existing=keep_existing)
        return LinearChain(given, constraints=self.pipe.constraints)

    def condition(self, potentials: Potentials, docs: Iterable[Doc]) -> Potentials:
        """Condition scores on the settings `rules`, `overwrite` and `allow_space`.

        potentials (Potentials): The scores of the tokens of all documents.
        docs (Iterable[Doc]): The documents.
        RETURNS (Potentials): The scores, see `condition`.
        RAISES (ValueError): If a rule does not fit its document, the component, or other rules.
        """
        docs = all_docs(self.pipe.name, docs)
        return self._condition(potentials, docs, keep_existing=not self.pipe.cfg["overwrite"])

    def _condition(
        self, potentials: Potentials, docs: Sequence[Doc], *, keep_existing: bool
    ) -> Potentials:
        return condition(
            potentials,
            docs,
            self.pipe.target,
            self.pipe.tags,
            rules=self.pipe.rules,
            keep_existing=keep_existing,
            allow_space=self.pipe.cfg["allow_space"],
        )

    @property
    def marginal_labels(self) -> list[str]:
        """RETURNS (List[str]): The labels of `marginals`' columns; for spans, "O" comes first."""
        return list(dict.fromkeys(map(self.pipe.target.label_of, self.pipe.tags)))

    def marginals(
        self, docs: Iterable[Doc], *, distribution: LinearChain | None = None
    ) -> list[NDArray[np.float32]]:
        """Compute the probability of each label for each token. For spans, this is the probability
        that the token is in a span with the label.

        docs (Iterable[Doc]): The documents.
        distribution (Optional[LinearChain]): Their distribution.
        RETURNS (List[NDArray]): The probabilities for each document. Shape: (tokens, columns), see
            `marginal_labels`. Rows sum to 1.
        """
        docs = all_docs(self.pipe.name, docs)
        distribution = self._distribution(docs, distribution)
        return split(self.label_marginals(distribution), map(len, docs))

    def span_probs(
        self,
        docs: Iterable[Doc],
        spans: Iterable[Iterable[Span]],
        *,
        distribution: LinearChain | None = None,
    ) -> list[list[float]]:
        """Compute the probabilities of arbitrary spans, predicted or not.

        docs (Iterable[Doc]): The documents.
        spans (Iterable[Iterable[Span]]): The spans of each document: first token, token after the
            last one, and label.
        distribution (Optional[LinearChain]): Their distribution.
        RETURNS (List[List[float]]): The marginal probability of exactly this span with this label;
            0 for spans that cross a sentence boundary.
        RAISES (ValueError): If the component does not predict spans, there is not a list of spans
            for each document, a span is outside its document, or its label is not one of the
            component's.
        """
        docs, asked = all_docs(self.pipe.name, docs), [list(found) for found in spans]
        if not self.pipe.target.has_spans:
            raise ValueError(Errors.P350.format(name=self.pipe.name, target=self.pipe.target.name))
        if len(docs) != len(asked):
            raise ValueError(Errors.P355.format(n_docs=len(docs), n_lists=len(asked)))
        labels = self.pipe.labels
        for doc, found in zip(docs, asked, strict=True):
            for span in found:
                if not _is_place(span, len(doc), labels):
                    names = {"text": doc.text[:60], "n": len(doc), "options": ", ".join(labels)}
                    raise ValueError(Errors.P351.format(span=span, **names))
        return self.probs_of_spans(docs, asked, self._distribution(docs, distribution))

    def nbest(
        self, docs: Iterable[Doc], k: int, *, distribution: LinearChain | None = None
    ) -> list[list[Labeling]]:
        """Find the k most probable labelings of documents.

        docs (Iterable[Doc]): The documents.
        k (int): The number of labelings per document, at least 1.
        distribution (Optional[LinearChain]): Their distribution.
        RETURNS (List[List[Labeling]]): The labelings of each document, best first; fewer than k if
            there are no more. Without `constrain_decoding`, a labeling comes once for each of the
            best tag sequences that are read as it.
        RAISES (ValueError): If k is not a positive integer.
        """
        docs = all_docs(self.pipe.name, docs)
        distribution = self._distribution(docs, distribution)
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
        """Draw exact samples from the distribution over labelings of documents.

        docs (Iterable[Doc]): The documents.
        n (int): The number of samples per document, at least 1.
        generator (Optional[Union[torch.Generator, np.random.Generator]]): The random number
            generator. By default, PyTorch's global one.
        distribution (Optional[LinearChain]): Their distribution.
        RETURNS (List[List[List[str]]]): For each document, n lists of tags.
        RAISES (ValueError): If n is not a positive integer.
        """
        docs = all_docs(self.pipe.name, docs)
        distribution = self._distribution(docs, distribution)
        drawn = distribution.sample(n, generator=generator).cpu().numpy()
        tags = np.asarray(self.pipe.tags, dtype=object)
        return [tags[part.T].tolist() for part in split(drawn, map(len, docs))]

    def entropy(
        self, docs: Iterable[Doc], *, distribution: LinearChain | None = None
    ) -> list[float]:
        """Compute the uncertainty about documents: the entropy of their label sequences.

        docs (Iterable[Doc]): The documents.
        distribution (Optional[LinearChain]): Their distribution.
        RETURNS (List[float]): The entropy of each document, in nats; 0 if its labels are certain.
        """
        docs = all_docs(self.pipe.name, docs)
        of_chain = self._distribution(docs, distribution).entropy.cpu().numpy()
        n_chains = [len(sentence_lengths(doc)) for doc in docs]
        return [float(part.sum()) for part in split(of_chain, n_chains)]

    def _labeling(self, chains: Sequence[NDArray[np.int64]], log_prob: float) -> Labeling:
        tags = self.well_formed(chains)
        return Labeling(tags, self.pipe.target.spans_of(tags), exp(log_prob))

    def well_formed(self, chains: Iterable[Sequence[int] | NDArray[np.int64]]) -> list[str]:
        """The tags of chains. Without constraints, those of the spans that conlleval reads in each
        chain: tags that violate the scheme are repaired."""
        found = [[self.pipe.tags[i] for i in chain] for chain in chains]
        if self.pipe.target.has_spans and not self.pipe.cfg["constrain_decoding"]:
            found = [SCHEME.encode(SCHEME.decode(tags), len(tags)) for tags in found]
        return [tag for tags in found for tag in tags]

    def columns(self) -> NDArray[np.int64]:
        """Map each tag to its column of `marginals`."""
        columns = {label: i for i, label in enumerate(self.marginal_labels)}
        return np.array([columns[self.pipe.target.label_of(tag)] for tag in self.pipe.tags])

    def label_marginals(self, distribution: LinearChain) -> NDArray[np.float32]:
        """Sum the marginals of the tags of each label. Shape: (tokens, columns)"""
        of_tag = distribution.marginals.float().cpu()
        columns = torch.from_numpy(self.columns())
        of_label = of_tag.new_zeros(len(of_tag), len(self.marginal_labels))
        # Rounding must not push a probability above 1
        return of_label.index_add_(1, columns, of_tag).clamp_(max=1.0).numpy()

    def probs_of_spans(
        self, docs: Sequence[Doc], spans: Sequence[Sequence[Span]], distribution: LinearChain
    ) -> list[list[float]]:
        """Compute the probabilities of spans. BIOES tags fully determine a span's boundaries."""
        ids = {tag: i for i, tag in enumerate(self.pipe.tags)}
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


def _is_place(span: Any, n_tokens: int, labels: Sequence[str]) -> bool:
    """Whether this is a span with one of the labels in a document of so many tokens."""
    match span:
        case (int() | np.integer() as start, int() | np.integer() as end, str() as label):
            return bool(0 <= start < end <= n_tokens) and label in labels
    return False


def split(array: NDArray, lengths: Iterable[int]) -> list[NDArray]:
    """Split an array into parts of these lengths, which sum to its own."""
    return [array[start:end] for start, end in pairwise(accumulate(lengths, initial=0))]


def _best_combinations(
    log_probs: NDArray[np.float64], k: int
) -> list[tuple[float, tuple[int, ...]]]:
    """Find the k best combinations of one sequence from each chain, given the log probabilities of
    the k best sequences of each (chains, k): the log probability of each combination, and the rank
    of its sequence within each chain.

    Chains are independent, so their log probabilities add up; the k best combinations of two chains
    are among the k × k combinations of their k best sequences.
    """
    best: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for of_chain in log_probs:
        ranks = [(float(p), i) for i, p in enumerate(of_chain) if p > -np.inf]
        pairs = ((p + q, (*choice, i)) for p, choice in best for q, i in ranks)
        best = heapq.nlargest(k, pairs, key=lambda pair: pair[0])
    return best
