"""The probability distribution over the label sequences of linear chains."""

from functools import cached_property

import torch
from torch import Tensor

from ..errors import Errors
from .backends import Backend, ExpectedCounts, get_backend
from .constraints import Constraints
from .independent import IndependentBackend
from .logspace import LogSpaceBackend
from .potentials import Potentials
from .scaled import ScaledBackend
from .scores import log_ratio, path_score
from .viterbi import best_labels

UNKNOWN = -1  # the label of a token that is not annotated

BACKENDS: dict[str, Backend] = {"scaled": ScaledBackend(), "logspace": LogSpaceBackend()}
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
    backend (Optional[str]): "scaled" is fast on the CPU and differentiable once, "logspace" runs on
        any device and is differentiable any number of times. By default, "scaled" on the CPU, save
        for marginals that need a gradient, and "logspace" elsewhere. Both are exact, and without
        transitions, start and end neither is needed.
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
        default = "scaled" if potentials.device.type == "cpu" else "logspace"
        self._is_default = chosen is None
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
        shape = tuple(self.potentials.emissions.shape)
        if tuple(allowed.shape) != shape or allowed.dtype != torch.bool:
            problem = f"the allowed labels are {allowed.dtype} of the shape {tuple(allowed.shape)},"
            raise ValueError(Errors.P003.format(problem=f"{problem} not torch.bool of {shape}"))
        fields = self.potentials.tensors()
        forbidden = ~allowed.to(self.potentials.device)
        fields["emissions"] = self.potentials.emissions.masked_fill(forbidden, -torch.inf)
        within = Potentials(lengths=self.potentials.lengths, **fields)
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
        """The probability of each label of each token. If the potentials require a gradient, so
        do the marginals.

        RETURNS (Tensor): *Shape:* (N, L). Zeros for a chain for which no sequence is possible.
        RAISES (ValueError): If a gradient is required of a backend chosen by name that has none.
        """
        backend = self._backend
        if (
            not backend.differentiable_marginals
            and torch.is_grad_enabled()
            and self.potentials.requires_grad
        ):
            if not self._is_default:
                raise ValueError(Errors.P005)
            backend = BACKENDS["logspace"]
        return backend.marginals(self.potentials)

    def expected_counts(self) -> ExpectedCounts:
        """How often each transition, first label and last label is expected, summed over chains.
        This is the gradient of the sum of log_partition. No gradient flows through it.

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

    def _check_labels(self, labels: Tensor) -> Tensor:
        n_tokens, n_labels = self.potentials.n_tokens, self.potentials.n_labels
        problem = None
        if tuple(labels.shape) != (n_tokens,):
            problem = f"their shape is {tuple(labels.shape)} instead of {(n_tokens,)}"
        elif labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool:
            problem = f"they are {labels.dtype}, not integers"
        elif n_tokens and not -1 <= int(labels.min()) <= int(labels.max()) < n_labels:
            problem = f"they go from {int(labels.min())} to {int(labels.max())}, instead of from "
            problem += f"-1 (unknown) to {n_labels - 1}"
        if problem is not None:
            raise ValueError(Errors.P003.format(problem=problem))
        return labels.to(device=self.potentials.device, dtype=torch.long)
