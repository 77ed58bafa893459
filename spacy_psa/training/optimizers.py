"""The optimizers of the papers, in addition to thinc's."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
import torch
from thinc.api import Optimizer
from thinc.backends import get_array_ops
from thinc.optimizers import FloatOrSeq
from thinc.types import FloatsXd
from torch import Tensor

from ..errors import Errors

# Numbers processed at once: 4 MB of each array, most of which stay in the last-level cache during a
# step. A table of word embeddings is much larger, and each pass over it costs as much as a layer.
# Smaller blocks would be slower, since PyTorch's threads must be woken for each.
BLOCK = 2**20
# As in thinc: averages cover roughly the last 10,000 steps.
MAX_DECAY = 0.9999


class PaperOptimizer(Optimizer, ABC):
    """The base class of the optimizers. Subclasses define the direction of a step, and may make the
    step in fewer passes over memory:

        w ← w − η·direction(g)

    Gradients are not clipped here: the papers clip their global norm, see the component's
    `max_grad_norm`.

    learn_rate (float or Iterator[float]): The learning rate η, or a schedule of it.
    L2 (float or Iterator[float]): L2 regularization, added to the gradient g.
    use_averages (bool): Whether to keep averages of the parameters, which are then used for
        evaluation and saved.
    eps (float): A number that prevents division by zero, if the direction involves division.
    """

    # Like the base class, use slots to refuse misspelled attributes.
    __slots__: list[str] = []

    def __init__(
        self, learn_rate: FloatOrSeq, *, L2: float, use_averages: bool, eps: float = 1e-8
    ) -> None:
        super().__init__(
            learn_rate,
            L2=L2,
            L2_is_weight_decay=False,
            beta1=0.0,
            beta2=0.0,
            eps=eps,
            grad_clip=0.0,
            use_averages=use_averages,
        )

    @property
    @abstractmethod
    def moments(self) -> tuple[dict[tuple[int, str], FloatsXd], ...]:
        """State kept between steps, by parameter: arrays of its shape, initially zero."""

    @abstractmethod
    def direction(self, gradient: Tensor, *moments: Tensor) -> Tensor:
        """Compute the direction of a step, elementwise.

        gradient (Tensor): The gradient, or a part of it. May be overwritten.
        moments (Tensor): The same part of each of the `moments`, updated in place.
        RETURNS (Tensor): The direction.
        """

    def __call__(
        self,
        key: tuple[int, str],
        weights: FloatsXd,
        gradient: FloatsXd,
        *,
        lr_scale: float = 1.0,
    ) -> tuple[FloatsXd, FloatsXd]:
        """Update a parameter in place.

        key (Tuple[int, str]): The parameter's key.
        weights (FloatsXd): The parameter.
        gradient (FloatsXd): Its gradient.
        lr_scale (float): A factor for the learning rate.
        RETURNS (Tuple[FloatsXd, FloatsXd]): The parameter, and the gradient reset to zero.
        RAISES (ValueError): If one of the arrays is read-only.
        """
        self.update_only(key, weights, gradient, lr_scale=lr_scale)
        gradient.fill(0.0)
        return weights, gradient

    def update_only(
        self,
        key: tuple[int, str],
        weights: FloatsXd,
        gradient: FloatsXd,
        *,
        lr_scale: float = 1.0,
    ) -> None:
        """Update a parameter in place. Unlike a call of the optimizer, this does not reset the
        gradient: it takes time, and whoever drops the gradient does not need it.

        key (Tuple[int, str]): The parameter's key.
        weights (FloatsXd): The parameter.
        gradient (FloatsXd): Its gradient. Overwritten.
        lr_scale (float): A factor for the learning rate.
        RAISES (ValueError): If one of the arrays is read-only.
        """
        self.nr_update[key] += 1
        ops = get_array_ops(weights)
        averages = () if self.averages is None else (self.averages,)
        state = (*self.moments, *averages)
        for arrays in state:
            if key not in arrays:
                # As in thinc, averages are in float32 whatever the type of the weights
                kind = "float32" if arrays is self.averages else weights.dtype
                arrays[key] = ops.alloc(weights.shape, dtype=kind)
        rate = self.learn_rate * lr_scale
        arrays = (weights, gradient, *(kept[key] for kept in state))
        with torch.no_grad():
            for w, g, *rest in _blocks(*map(_as_tensor, arrays)):
                self.step(w, g, *rest[: len(self.moments)], rate=rate)
                if averages:
                    _average(rest[-1], w, self.nr_update[key])

    def step(self, weights: Tensor, gradient: Tensor, *moments: Tensor, rate: float) -> None:
        """Make a step, elementwise.

        weights (Tensor): The parameter, or a part of it. Updated in place.
        gradient (Tensor): The same part of its gradient. May be overwritten.
        moments (Tensor): The same part of each of the `moments`. Updated in place.
        rate (float): The learning rate η.
        """
        if self.L2:
            gradient.add_(weights, alpha=self.L2)
        weights.add_(self.direction(gradient, *moments), alpha=-rate)


def _as_tensor(array: FloatsXd) -> Tensor:
    """Convert an array to a tensor that shares its memory."""
    if not isinstance(array, np.ndarray):
        return torch.from_dlpack(array)
    if not array.flags.writeable:
        # PyTorch would write to it anyway
        raise ValueError(Errors.P214)
    return torch.from_numpy(array)


def _average(averages: Tensor, weights: Tensor, t: int) -> None:
    """Update averages with step t, as thinc's optimizers do."""
    decay = min((1.0 + t) / (10.0 + t), MAX_DECAY)
    averages.lerp_(weights.to(averages.dtype), 1.0 - decay)


def _blocks(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Iterate over blocks of the tensors, as views; on a GPU, everything is one block."""
    is_small = tensors[0].numel() <= BLOCK
    if is_small or not all(
        tensor.device.type == "cpu" and tensor.is_contiguous() for tensor in tensors
    ):
        yield tensors
        return
    yield from zip(*(tensor.view(-1).split(BLOCK) for tensor in tensors), strict=True)


class MomentumSGD(PaperOptimizer):
    """Stochastic gradient descent with momentum, which thinc's `SGD.v1` lacks.

        v ← μ·v + g
        w ← w − η·v

    as in `torch.optim.SGD(momentum=μ)`.

    learn_rate (float or Iterator[float]): The learning rate η, or a schedule of it.
    momentum (float): The momentum μ.
    L2 (float): L2 regularization, added to the gradient.
    use_averages (bool): Whether to keep averages of the parameters.
    """

    __slots__ = ["momentum"]

    def __init__(
        self, learn_rate: FloatOrSeq, *, momentum: float, L2: float, use_averages: bool
    ) -> None:
        super().__init__(learn_rate, L2=L2, use_averages=use_averages)
        self.momentum = momentum

    @property
    def moments(self) -> tuple[dict[tuple[int, str], FloatsXd], ...]:
        return (self.mom1,)

    def direction(self, gradient: Tensor, *moments: Tensor) -> Tensor:
        (velocity,) = moments
        return velocity.mul_(self.momentum).add_(gradient)

    def step(self, weights: Tensor, gradient: Tensor, *moments: Tensor, rate: float) -> None:
        tensors = weights, gradient, *moments
        is_simple = all(x.device.type == "cpu" and x.is_contiguous() for x in tensors)
        if not (is_simple and self.momentum):
            super().step(*tensors, rate=rate)
            return
        # Each of the tensors is read only once. This is `torch.optim.SGD(fused=True)`
        torch._fused_sgd_(
            [weights],
            [gradient],
            list(moments),
            weight_decay=self.L2,
            momentum=self.momentum,
            lr=rate,
            dampening=0.0,
            nesterov=False,
            maximize=False,
            is_first_step=False,
        )


class Adadelta(PaperOptimizer):
    """Adadelta, which adapts each weight's step size to its previous gradients and steps.

        E[g²] ← ρ·E[g²] + (1 − ρ)·g²
        Δ = √(E[Δ²] + ε) / √(E[g²] + ε) · g
        E[Δ²] ← ρ·E[Δ²] + (1 − ρ)·Δ²
        w ← w − η·Δ

    as in `torch.optim.Adadelta`.

    learn_rate (float or Iterator[float]): A factor η for all steps, or a schedule of it.
    rho (float): The decay rate ρ of the averages.
    eps (float): The constant ε, which determines the size of the first steps.
    L2 (float): L2 regularization, added to the gradient.
    use_averages (bool): Whether to keep averages of the parameters.

    Source: Zeiler (2012), algorithm 1.
    """

    __slots__ = ["rho"]

    def __init__(
        self, learn_rate: FloatOrSeq, *, rho: float, eps: float, L2: float, use_averages: bool
    ) -> None:
        super().__init__(learn_rate, L2=L2, use_averages=use_averages, eps=eps)
        self.rho = rho

    @property
    def moments(self) -> tuple[dict[tuple[int, str], FloatsXd], ...]:
        return self.mom1, self.mom2

    def direction(self, gradient: Tensor, *moments: Tensor) -> Tensor:
        steps, squares = moments
        squares.mul_(self.rho).addcmul_(gradient, gradient, value=1.0 - self.rho)
        step = (squares + self.eps).rsqrt_().mul_((steps + self.eps).sqrt_()).mul_(gradient)
        steps.mul_(self.rho).addcmul_(step, step, value=1.0 - self.rho)
        return step


def create_sgd(
    learn_rate: FloatOrSeq = 0.015,
    momentum: float = 0.9,
    L2: float = 0.0,
    use_averages: bool = False,
) -> Optimizer:
    """Configure stochastic gradient descent with momentum.

    learn_rate (float or schedule): The learning rate. The paper: 0.01 for part-of-speech tagging,
        0.015 for entities and chunks, with `spacy_psa.inverse_epoch_decay.v1`.
    momentum (float): The momentum.
    L2 (float): L2 regularization, added to the gradient.
    use_averages (bool): Whether to keep averages of the parameters for evaluation and saving.
    RETURNS (Optimizer): The optimizer.
    RAISES (ValueError): If the momentum is not in [0, 1).

    Source: Wei et al. (2021), section 5.2.
    """
    if not 0.0 <= momentum < 1.0:
        raise ValueError(Errors.P210.format(name="momentum", value=momentum, expected="in [0, 1)"))
    return MomentumSGD(learn_rate, momentum=momentum, L2=L2, use_averages=use_averages)


def create_adadelta(
    learn_rate: FloatOrSeq = 1.0,
    rho: float = 0.95,
    eps: float = 1e-6,
    L2: float = 0.0,
    use_averages: bool = False,
) -> Optimizer:
    """Configure Adadelta.

    learn_rate (float or schedule): A factor for all steps. The paper: 1.0, with
        `spacy_psa.halving.v1`.
    rho (float): The decay rate of the averages.
    eps (float): Added to the averages; determines the size of the first steps. The paper prints
        10⁶; the authors' code uses 10⁻⁶.
    L2 (float): L2 regularization, added to the gradient.
    use_averages (bool): Whether to keep averages of the parameters for evaluation and saving.
    RETURNS (Optimizer): The optimizer.
    RAISES (ValueError): If rho is not in [0, 1), or eps is not positive.

    Source: Zeiler (2012); Tan et al. (2018), 'Learning'.
    """
    if not 0.0 <= rho < 1.0:
        raise ValueError(Errors.P210.format(name="rho", value=rho, expected="in [0, 1)"))
    if eps <= 0.0:
        raise ValueError(Errors.P210.format(name="eps", value=eps, expected="greater than 0"))
    return Adadelta(learn_rate, rho=rho, eps=eps, L2=L2, use_averages=use_averages)
