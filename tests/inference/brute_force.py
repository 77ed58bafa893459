"""The linear-chain distribution by enumeration of all sequences, and random potentials."""

import itertools
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from spacy_psa.inference import Potentials


def random_potentials(
    n_labels: int,
    lengths: Sequence[int],
    *,
    seed: int = 0,
    fields: Sequence[str] = ("transitions", "start", "end"),
    dtype: torch.dtype = torch.float64,
    scale: float = 1.5,
) -> Potentials:
    """Normally distributed scores. With a scale of 0, integers from -1 to 1, with many ties."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        if scale == 0:
            return torch.randint(-1, 2, shape, generator=generator).to(dtype)
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype) * scale

    shapes = {
        "transitions": (n_labels, n_labels),
        "start": (n_labels,),
        "end": (n_labels,),
        "pairwise": (sum(lengths), n_labels, n_labels),
    }
    return Potentials(
        draw(sum(lengths), n_labels),
        tuple(lengths),
        **{name: draw(*shapes[name]) for name in fields},
    )


class BruteForce:
    """Everything `LinearChain` computes, in float64, by enumerating the L^n sequences of each
    chain.
    """

    def __init__(self, potentials: Potentials) -> None:
        self.potentials = potentials
        n_labels = potentials.n_labels
        scores = {name: t.detach().double().numpy() for name, t in potentials.tensors().items()}
        transitions = scores.get("transitions", np.zeros((n_labels, n_labels)))
        start, end = scores.get("start", np.zeros(n_labels)), scores.get("end", np.zeros(n_labels))
        no_pairs = np.zeros((potentials.n_tokens, n_labels, n_labels))
        pairwise = split(scores.get("pairwise", no_pairs), potentials)
        self.chains: list[tuple[np.ndarray, np.ndarray]] = []  # sequences (S, n), scores (S,)
        by_chain = zip(split(scores["emissions"], potentials), pairwise, strict=True)
        for emissions, pairs in by_chain:
            n = len(emissions)
            paths = np.array(list(itertools.product(range(n_labels), repeat=n)), dtype=int)
            paths = paths.reshape(n_labels**n, n)
            total = np.zeros(len(paths))
            if n:
                total += emissions[np.arange(n), paths].sum(axis=1)
                total += transitions[paths[:, :-1], paths[:, 1:]].sum(axis=1)
                total += pairs[np.arange(1, n), paths[:, :-1], paths[:, 1:]].sum(axis=1)
                total += start[paths[:, 0]] + end[paths[:, -1]]
            self.chains.append((paths, total))

    @property
    def log_partition(self) -> np.ndarray:
        return np.array([_logsumexp(scores) for _, scores in self.chains])

    def log_prob(self, labels: np.ndarray) -> np.ndarray:
        labels = np.asarray(labels)
        allowed = (labels[:, None] == np.arange(self.potentials.n_labels)) | (labels < 0)[:, None]
        return self.log_prob_of(allowed)

    def log_prob_of(self, allowed: np.ndarray) -> np.ndarray:
        parts = []
        for (paths, scores), sets in zip(self.chains, split(allowed, self.potentials), strict=True):
            inside = sets[np.arange(len(sets)), paths].all(axis=1)
            parts.append(_logsumexp(scores[inside]) - _logsumexp(scores))
        return np.array(parts)

    @property
    def marginals(self) -> np.ndarray:
        rows = []
        for paths, scores in self.chains:
            weights = _probabilities(scores)
            for at in range(paths.shape[1]):
                rows.append(np.bincount(paths[:, at], weights, self.potentials.n_labels))
        return np.array(rows).reshape(-1, self.potentials.n_labels)

    @property
    def expected_counts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n_labels = self.potentials.n_labels
        pairs, start, end = np.zeros((n_labels, n_labels)), np.zeros(n_labels), np.zeros(n_labels)
        for paths, scores in self.chains:
            weights = _probabilities(scores)
            if paths.shape[1]:
                start += np.bincount(paths[:, 0], weights, n_labels)
                end += np.bincount(paths[:, -1], weights, n_labels)
            for before, after in itertools.pairwise(paths.T):
                np.add.at(pairs, (before, after), weights)
        return pairs, start, end

    @property
    def pair_marginals(self) -> np.ndarray:
        """The marginals of labels i, j at t - 1, t; zeros for the first token of a chain."""
        return self._expect([_probabilities(scores) for _, scores in self.chains])["pairwise"]

    def curvature(self, direction: np.ndarray) -> dict[str, np.ndarray]:
        """The Hessian of Σ log Z times a vector (N, L) on the emissions axis: the covariances of
        the counts in a sequence with the sum of the vector's entries along the sequence.
        """
        weights = []
        for (paths, scores), part in zip(
            self.chains, split(direction, self.potentials), strict=True
        ):
            along = part[np.arange(paths.shape[1]), paths].sum(axis=1)
            probabilities = _probabilities(scores)
            weights.append(probabilities * (along - (probabilities * along).sum()))
        return self._expect(weights)

    def _expect(self, weights: list[np.ndarray]) -> dict[str, np.ndarray]:
        """The weighted counts of all events in the sequences, token by token."""
        n_labels, n_tokens = self.potentials.n_labels, self.potentials.n_tokens
        found = {
            "emissions": np.zeros((n_tokens, n_labels)),
            "transitions": np.zeros((n_labels, n_labels)),
            "start": np.zeros(n_labels),
            "end": np.zeros(n_labels),
            "pairwise": np.zeros((n_tokens, n_labels, n_labels)),
        }
        first = 0
        for (paths, _), values in zip(self.chains, weights, strict=True):
            for path, value in zip(paths, values, strict=True):
                for at, label in enumerate(path):
                    found["emissions"][first + at, label] += value
                    if at:
                        found["transitions"][path[at - 1], label] += value
                        found["pairwise"][first + at, path[at - 1], label] += value
                if len(path):
                    found["start"][path[0]] += value
                    found["end"][path[-1]] += value
            first += paths.shape[1]
        return found

    @property
    def max_score(self) -> np.ndarray:
        return np.array([scores.max() for _, scores in self.chains])

    @property
    def argmax(self) -> np.ndarray:
        """The best sequences. Ties go to the lowest last label, then the lowest last but one, and
        so on.
        """
        best = []
        for paths, scores in self.chains:
            winners = paths[scores == scores.max()]
            best.extend(min(winners.tolist(), key=lambda path: path[::-1]))
        return np.array(best, dtype=int)


def split(rows: np.ndarray, potentials: Potentials) -> list[np.ndarray]:
    """The rows of each chain."""
    return np.split(rows, np.cumsum(potentials.lengths)[:-1]) if potentials.lengths else []


def _probabilities(scores: np.ndarray) -> np.ndarray:
    total = _logsumexp(scores)
    return np.zeros_like(scores) if total == -np.inf else np.exp(scores - total)


def _logsumexp(scores: np.ndarray) -> float:
    peak = scores.max(initial=-np.inf)
    return -np.inf if peak == -np.inf else peak + np.log(np.exp(scores - peak).sum())
