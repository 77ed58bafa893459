"""Transitions between labels in the log domain, in PyTorch: differentiable, on any device."""

from functools import cached_property

from torch import Tensor

from ..layout import TimeMajor
from .array_ops import TorchOps
from .torch_log_product import TorchLogProduct


class TorchTransitions:
    """As `transition_scores.TransitionScores`, for tensors.

    transitions (Tensor): *Shape:* (L, L). In float64.
    pairwise (Optional[Tensor]): *Shape:* (N, L, L). In any dtype.
    layout (TimeMajor): The layout of the N tokens in chains.
    """

    def __init__(self, transitions: Tensor, pairwise: Tensor | None, layout: TimeMajor) -> None:
        self._transitions, self._pairwise, self._layout = transitions, pairwise, layout
        self._ops = TorchOps(transitions.device)

    def _tokens(self, t: int) -> Tensor:
        begin = self._layout.offsets[t]
        return self._ops.integers(self._layout.order[begin : begin + self._layout.counts[t]])

    def _summands(self, values: Tensor, t: int) -> Tensor:
        """(n, L, L): for each label at t, the scores by previous label."""
        # In the same order of additions as in `viterbi`, so that both break ties alike
        summands = values.unsqueeze(1) + self._transitions.mT
        if self._pairwise is not None:
            summands = summands + self._pairwise[self._tokens(t)].mT
        return summands

    def best(self, values: Tensor, t: int) -> Tensor:
        return self._summands(values, t).amax(dim=2)

    def total(self, values: Tensor, t: int) -> Tensor:
        if self._pairwise is None:
            return self._product.total(values)
        return self._ops.logsumexp(self._summands(values, t))

    def total_onward(self, values: Tensor, t: int) -> Tensor:
        if self._pairwise is None:
            return self._onward.total(values)
        into = self._transitions + self._pairwise[self._tokens(t)]
        return self._ops.logsumexp(values.unsqueeze(1) + into)

    def entropy(self, values: Tensor, entropies: Tensor, t: int) -> Tensor:
        if self._pairwise is None:
            return self._product.entropy(values, entropies)
        return self._ops.mixture_entropy(self._summands(values, t), entropies.unsqueeze(1))

    @cached_property
    def _product(self) -> TorchLogProduct:
        return TorchLogProduct(self._transitions)

    @cached_property
    def _onward(self) -> TorchLogProduct:
        return TorchLogProduct(self._transitions.t())

    def before(self, values: Tensor, labels: Tensor, t: int) -> Tensor:
        scores = values.unsqueeze(1) + self._transitions.t()[labels]
        if self._pairwise is not None:
            scores = scores + self._pairwise[self._tokens(t).unsqueeze(1), :, labels]
        return scores
