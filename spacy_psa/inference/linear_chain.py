"""The probability distribution of linear chains over label sequences."""

from functools import cached_property
from numbers import Integral

import torch
from torch import Tensor

from ..errors import Errors
from .chain_scores import UNKNOWN, as_sets, check_labels, log_ratio, path_score, working_dtype
from .constraints import Constraints
from .engines.backends import Backend, ExpectedCounts, get_backend
from .engines.logspace import IndependentBackend, LogSpaceBackend
from .engines.max_product import best_labels
from .engines.scaled import ScaledBackend
from .engines.trellis import Trellis
from .engines.triton.backend import FusedBackend
from .entropy import chain_entropy
from .nbest import KBest, k_best
from .potentials import Potentials
from .sampling import Generator, sampled_paths, uniform_numbers
from .spans import SpanQueries, Spans

BACKENDS: dict[str, Backend] = {
    "scaled": ScaledBackend(),
    "fused": FusedBackend(),
    "logspace": LogSpaceBackend(),
}
"""How to sum over label sequences, by the names that configs and `LinearChain` take."""

INDEPENDENT = IndependentBackend()


class LinearChain:
    """p(y | x) ∝ exp(score of y) for each chain in a batch: a linear-chain CRF (Lafferty et al.
    2001). Without transitions, start and end it is a softmax per token.

    Log-scores are returned in float64 if the potentials are on the CPU, otherwise in the dtype of
    the emissions, but at least float32. Marginals, expected counts and gradients are returned in
    the dtypes of the potentials. The results for a chain do not depend on the rest of the batch.
    An empty chain has one label sequence, the empty one, with log-score 0.

    The backends, all of them exact:

    - "scaled": on the CPU in the exp domain. Differentiable once. The default on the CPU, and the
      fastest there.
    - "fused": Triton kernels that process the whole batch. Differentiable once. The default on
      other devices. Where the kernels are not available, the same as "logspace".
    - "logspace": token by token on any device. Differentiable any number of times. The definition
      that the others are tested against.

    On a GPU, sums, marginals and best sequences are computed there. Other queries (the k best
    sequences, samples, entropies and probabilities of spans) are computed on the CPU.

    potentials (Potentials): The scores.
    constraints (Optional[Constraints]): Label sequences to rule out.
    backend (Optional[str]): How to sum over label sequences. Not used if there are only emissions.
    RAISES (ValueError): If the backend is unknown, or the constraints have a different number of
        labels.

    Source: Lafferty et al. (2001); Wei et al. (2021), equations 1 and 3; Wei et al. (2019),
    equations 1 and 3; Wang et al. (2021), equations 7 to 9, 13 and 14; Tan et al. (2018),
    equation 13.
    """

    def __init__(
        self,
        potentials: Potentials,
        *,
        constraints: Constraints | None = None,
        backend: str | None = None,
    ) -> None:
        chosen = get_backend(backend, BACKENDS) if backend is not None else None
        self.potentials = potentials if constraints is None else constraints.apply(potentials)
        if self.potentials.is_independent:
            chosen = INDEPENDENT
        default = "scaled" if potentials.device.type == "cpu" else "fused"
        self._backend = chosen or BACKENDS[default]

    @property
    def log_partition(self) -> Tensor:
        """RETURNS (Tensor): *Shape:* (C,). log Z, the log of the sum of exp(score) over all label
        sequences; -inf, with zero gradient, if none is possible. Differentiable.
        """
        return self._backend.log_partition(self.potentials)

    def log_prob(self, labels: Tensor) -> Tensor:
        """The log-probability of labels. Unknown labels are summed over: the result is the log of
        the total probability of all sequences that agree with the known labels. Differentiable.

        labels (Tensor): *Shape:* (N,). Integers from 0 to L - 1, or -1 for an unknown label.
        RETURNS (Tensor): *Shape:* (C,). -inf, with zero gradient, for impossible labels.
        RAISES (ValueError): If the labels do not match the potentials.
        """
        labels = check_labels(self.potentials, labels)
        if not bool((labels == UNKNOWN).any()):
            return self._backend.log_prob(self.potentials, labels)
        return self.log_prob_of(as_sets(labels, self.potentials.n_labels))

    def log_prob_of(self, allowed: Tensor) -> Tensor:
        """The log of the total probability of all label sequences within given sets.
        Differentiable.

        allowed (Tensor): *Shape:* (N, L). Booleans: the labels that each token may have.
        RETURNS (Tensor): *Shape:* (C,). -inf, with zero gradient, if no sequence is left.
        RAISES (ValueError): If `allowed` does not match the potentials.
        """
        within = self.potentials.within(allowed)
        return log_ratio(self._backend.log_partition(within), self.log_partition)

    def score(self, labels: Tensor) -> Tensor:
        """The unnormalized log-score of labels. Differentiable.

        labels (Tensor): *Shape:* (N,). Integers from 0 to L - 1.
        RETURNS (Tensor): *Shape:* (C,)
        RAISES (ValueError): If the labels do not match the potentials.
        """
        labels = check_labels(self.potentials, labels)
        if bool((labels == UNKNOWN).any()):
            raise ValueError(Errors.P003.format(problem="unknown labels (-1) have no score"))
        return path_score(self.potentials, labels)

    @property
    def marginals(self) -> Tensor:
        """The probability of each label of each token. Differentiable.

        RETURNS (Tensor): *Shape:* (N, L). Zeros for a chain without a possible sequence.
        """
        return self._backend.marginals(self.potentials)

    def expected_counts(self) -> ExpectedCounts:
        """The expected number of each transition, first label and last label, summed over chains.
        These are gradients of the sum of log_partition; its gradient with respect to `pairwise`
        holds the expected transitions of each token. No gradient flows through the counts.

        RETURNS (ExpectedCounts): A named tuple (transitions, start, end) of *Shapes* (L, L), (L,)
            and (L,).
        """
        return self._backend.expected_counts(self.potentials.detach())

    @cached_property
    def argmax(self) -> Tensor:
        """The best label sequence of each chain (Viterbi 1967). Ties go to the lower label index,
        from the end of the chain to its beginning.

        RETURNS (Tensor): *Shape:* (N,). Meaningless for a chain with max_score -inf.
        """
        return best_labels(self.potentials.detach())

    @property
    def max_score(self) -> Tensor:
        """RETURNS (Tensor): *Shape:* (C,). The log-score of `argmax`. Differentiable."""
        return path_score(self.potentials, self.argmax)

    def topk(self, k: int) -> KBest:
        """The k best label sequences of each chain, best first. Sequences with the same score are
        ordered by the index of their last label, then by the last but one, and so on. The first
        sequence is therefore `argmax`. No gradient flows through the result.

        k (int): The number of sequences, at least 1.
        RETURNS (KBest): A named tuple (labels, log_prob) of *Shapes* (N, k) and (C, k). If a chain
            has fewer than k possible sequences, the rest has log_prob -inf and labels -1.
        RAISES (ValueError): If k is not a positive integer.
        """
        _check_count("k", k)
        log_z = LinearChain(self._on_cpu).log_partition
        labels, log_prob = k_best(self._on_cpu, k, log_z)
        return KBest(labels.to(self.potentials.device), self._as_score(log_prob))

    @property
    def entropy(self) -> Tensor:
        """The entropy of each chain's distribution, −Σ_y p(y) log p(y), in nats. Differentiable.

        RETURNS (Tensor): *Shape:* (C,). 0 if only one sequence is possible, or none.
        """
        return self._as_score(chain_entropy(self.potentials.map(Tensor.cpu)))

    def sample(self, n: int, *, generator: Generator | None = None) -> Tensor:
        """Draw exact and independent samples from the distribution.

        n (int): The number of label sequences per chain.
        generator (Optional[Union[torch.Generator, np.random.Generator]]): The source of randomness:
            the same state gives the same samples. Defaults to PyTorch's global generator.
        RETURNS (Tensor): *Shape:* (N, n). int64. -1 in chains without a possible sequence.
        RAISES (ValueError): If n is not a positive integer.
        """
        _check_count("n", n)
        device, n_tokens = self.potentials.device, self.potentials.n_tokens
        uniform = uniform_numbers(n_tokens, n, device, generator)
        if not n_tokens:
            return torch.empty_like(uniform, dtype=torch.long, device=device)
        return sampled_paths(Trellis(self._on_cpu), uniform).to(device)

    def span_probs(self, spans: Spans, allowed: Tensor) -> Tensor:
        """The probabilities that all tokens of a span have labels in given sets, for many spans at
        once. Tokens outside the span are summed over. One pass over the chains serves all spans. No
        gradient flows through the result; use `log_prob_of` if you need one.

        spans (Union[Sequence[Tuple[int, int]], np.ndarray, Tensor]): *Shape:* (Q, 2). Start and end
            (exclusive) of each span, as indices into the N tokens. A span may not cross from one
            chain into the next.
        allowed (Tensor): *Shape:* (M, L). Booleans: the label sets of the M tokens of all spans,
            one span after the other.
        RETURNS (Tensor): *Shape:* (Q,). From 0 to 1; 1 for an empty span.
        RAISES (ValueError): If a span is not within one chain, or the sets do not match the spans.
        """
        queries = SpanQueries(self._on_cpu, spans, allowed)
        log_z, log_sums = (
            LinearChain(chains).log_partition for chains in (self._on_cpu, queries.chains)
        )
        return self._as_score(queries.log_probs(log_sums, log_z).exp())

    @cached_property
    def _on_cpu(self) -> Potentials:
        """The potentials for queries that have no kernels."""
        return self.potentials.detach().map(Tensor.cpu)

    def _as_score(self, scores: Tensor) -> Tensor:
        # In two steps, as not all devices support float64
        return scores.to(working_dtype(self.potentials)).to(self.potentials.device)


def _check_count(name: str, value: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(Errors.P014.format(name=name, value=value))
