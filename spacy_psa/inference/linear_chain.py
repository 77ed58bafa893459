"""The probability distribution over the label sequences of linear chains."""

from functools import cached_property
from numbers import Integral

import torch
from torch import Tensor

from ..errors import Errors
from .backends import Backend, ExpectedCounts, get_backend
from .constraints import Constraints
from .entropy import chain_entropy
from .fused import FusedBackend
from .fused_trellis import make_trellis
from .independent import IndependentBackend
from .logspace import LogSpaceBackend
from .nbest import KBest, exact_log_partition, k_best
from .potentials import Potentials
from .sampling import Generator, draw_labels
from .scaled import ScaledBackend
from .scan import ScanBackend
from .scores import UNKNOWN, check_labels, log_ratio, path_score
from .spans import SpanQueries, Spans
from .trellis import Trellis, torch_trellis
from .viterbi import best_labels

BACKENDS: dict[str, Backend] = {
    "scaled": ScaledBackend(),
    "fused": FusedBackend(),
    "logspace": LogSpaceBackend(),
    "scan": ScanBackend(),
}
INDEPENDENT = IndependentBackend()


class LinearChain:
    """p(y | x) ∝ exp(score of y), for each of a batch of chains: a linear-chain CRF (Lafferty et
    al. 2001). Without transitions, start and end it is a softmax for each token.

    Log-scores come back in float64 if the potentials lie on the CPU, otherwise in the type of the
    emissions, or in float32 if that is narrower. Marginals, expected counts and gradients come back
    in the types of the potentials. What comes out for a chain does not depend on its batch mates.
    An empty chain has one label sequence, the empty one, of log-score 0.

    potentials (Potentials): The scores.
    constraints (Optional[Constraints]): Label sequences to rule out.
    backend (Optional[str]): What sums over label sequences; all are exact. "scaled", the default on
        the CPU and the fastest there, computes on the CPU, and what it returns is differentiable
        once. So is what "fused" returns, the default elsewhere: a program of a GPU for the whole
        batch, in Triton; where there is none, it is "logspace". That goes token by token on any
        device, and is differentiable any number of times. So is "scan", which multiplies the
        matrices of all tokens in a tree: fewer steps, more arithmetic, and a matrix (L, L) in
        memory for each token. None is needed where there are emissions only.
    RAISES (ValueError): If the backend is unknown, or the constraints are about other labels.
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
        sequences; -inf, with the gradient zero, where none is possible. Differentiable.
        """
        return self._backend.log_partition(self.potentials)

    def log_prob(self, labels: Tensor) -> Tensor:
        """The log-probability of labels. Unknown ones are summed over: what comes out is the
        probability of all label sequences that agree with the known ones. Differentiable.

        labels (Tensor): *Shape:* (N,). Integers from 0 to L - 1, or -1 for an unknown label.
        RETURNS (Tensor): *Shape:* (C,). -inf, with the gradient zero, for impossible labels.
        RAISES (ValueError): If the labels do not fit the potentials.
        """
        labels = self._check_labels(labels)
        unknown = labels == UNKNOWN
        if not bool(unknown.any()):
            return self._backend.log_prob(self.potentials, labels)
        allowed = unknown.unsqueeze(1).repeat(1, self.potentials.n_labels)
        allowed.scatter_(1, labels.clamp(min=0).unsqueeze(1), True)
        return self.log_prob_of(allowed)

    def log_prob_of(self, allowed: Tensor) -> Tensor:
        """The log of the total probability of all label sequences within given sets.
        Differentiable.

        allowed (Tensor): *Shape:* (N, L). Booleans: which labels may each token have?
        RETURNS (Tensor): *Shape:* (C,). -inf, with the gradient zero, where no sequence is left.
        RAISES (ValueError): If `allowed` does not fit the potentials.
        """
        within = self.potentials.within(allowed)
        return log_ratio(self._backend.log_partition(within), self.log_partition)

    def score(self, labels: Tensor) -> Tensor:
        """The log-score of labels, which is not normalised. Differentiable.

        labels (Tensor): *Shape:* (N,). Integers from 0 to L - 1.
        RETURNS (Tensor): *Shape:* (C,)
        RAISES (ValueError): If the labels do not fit the potentials.
        """
        labels = self._check_labels(labels)
        if bool((labels == UNKNOWN).any()):
            raise ValueError(Errors.P003.format(problem="an unknown label (-1) has no score"))
        return path_score(self.potentials, labels)

    @property
    def marginals(self) -> Tensor:
        """The probability of each label of each token. Differentiable.

        RETURNS (Tensor): *Shape:* (N, L). Zeros for a chain for which no sequence is possible.
        """
        return self._backend.marginals(self.potentials)

    def expected_counts(self) -> ExpectedCounts:
        """How often each transition, first label and last label is expected, summed over chains.
        This is the gradient of the sum of log_partition; that with respect to `pairwise` has the
        expected transitions of each token. No gradient flows through it.

        RETURNS (ExpectedCounts): The named tuple (transitions, start, end), of the *Shapes* (L, L),
            (L,) and (L,).
        """
        return self._backend.expected_counts(self.potentials.detach())

    @cached_property
    def argmax(self) -> Tensor:
        """The best label sequence of each chain (Viterbi 1967). Ties go to the lower label index,
        decided from the end of the chain to its beginning.

        RETURNS (Tensor): *Shape:* (N,). Meaningless for a chain of max_score -inf.
        """
        return best_labels(self.potentials.detach())

    @property
    def max_score(self) -> Tensor:
        """RETURNS (Tensor): *Shape:* (C,). The log-score of `argmax`. Differentiable."""
        return path_score(self.potentials, self.argmax)

    def topk(self, k: int) -> KBest:
        """The k best label sequences of each chain, the best one first. Of sequences with the same
        score, the one that is lower in its last label comes first; if that is the same, lower in
        the last but one, and so on. So the first one is `argmax`. No gradient flows through it.

        k (int): How many, at least 1.
        RETURNS (KBest): The named tuple (labels, log_prob), of the *Shapes* (N, k) and (C, k).
            Where a chain has fewer than k possible sequences, the rest has log_prob -inf and
            labels -1.
        RAISES (ValueError): If k is not a whole number above 0.
        """
        _check_count("k", k)
        log_z = self._backend.log_partition(self.potentials.detach())
        labels, log_prob = k_best(self._trellis, k, exact_log_partition(self._trellis, log_z))
        return KBest(labels, log_prob.to(log_z.dtype))

    @property
    def entropy(self) -> Tensor:
        """The entropy of each chain's distribution, −Σ_y p(y) log p(y), in nats. Differentiable.

        RETURNS (Tensor): *Shape:* (C,). 0 where just one sequence is possible, and where none is.
        """
        if torch.is_grad_enabled() and self.potentials.requires_grad:
            return chain_entropy(torch_trellis(self.potentials), self.potentials)
        return chain_entropy(self._trellis, self.potentials.detach())

    def sample(self, n: int, *, generator: Generator | None = None) -> Tensor:
        """Draw label sequences from the distribution, exactly and independently of each other.

        n (int): How many for each chain.
        generator (Optional[Union[torch.Generator, np.random.Generator]]): The source of randomness:
            in the same state it gives the same samples. By default, PyTorch's global one.
        RETURNS (Tensor): *Shape:* (N, n). int64. -1 in chains for which no sequence is possible.
        RAISES (ValueError): If n is not a whole number above 0.
        """
        _check_count("n", n)
        return draw_labels(self._trellis, self.potentials, n, generator)

    def span_probs(self, spans: Spans, allowed: Tensor) -> Tensor:
        """The probabilities that all tokens of a stretch have labels in given sets, for many
        stretches at once. What is outside of a stretch is summed over. One pass over whole chains
        serves all of them. No gradient flows through it; `log_prob_of` has one.

        spans (Union[Sequence[Tuple[int, int]], np.ndarray, Tensor]): *Shape:* (Q, 2). Where each
            stretch begins, and where it stops (exclusive), in the N tokens. It may not go from one
            chain to the next.
        allowed (Tensor): *Shape:* (M, L). Booleans: the sets for the M tokens of all stretches, one
            stretch after the other.
        RETURNS (Tensor): *Shape:* (Q,). From 0 to 1; 1 for a stretch of no tokens.
        RAISES (ValueError): If the stretches do not lie in chains, or the sets do not fit them.
        """
        queries = SpanQueries(self.potentials.detach(), self._trellis, spans, allowed)
        return queries.probabilities(LinearChain(queries.chains).log_partition)

    @cached_property
    def _trellis(self) -> Trellis:
        return make_trellis(self.potentials.detach())

    def _check_labels(self, labels: Tensor) -> Tensor:
        return check_labels(self.potentials, labels)


def _check_count(name: str, value: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(Errors.P014.format(name=name, value=value))
