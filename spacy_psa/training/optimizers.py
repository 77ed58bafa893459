"""The papers' optimizers, next to thinc's."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from thinc.api import Optimizer
from thinc.backends import get_array_ops
from thinc.optimizers import FloatOrSeq
from thinc.types import FloatsXd

from ..errors import Errors

# Numbers at a time: 64 KB of each array, so that all of a step is done on what the cache holds. A
# table of words is much larger than it, and each pass over one costs as much as a layer.
BLOCK = 2**14


class PaperOptimizer(Optimizer, ABC):
    """What our optimizers share: each says in which direction it goes, and the rest is the same.

        w ← w − η·direction(g)

    Gradients are not clipped tensor by tensor here: the papers clip their global norm, which is
    the component's `max_grad_norm`.

    learn_rate (float or Iterator[float]): The learning rate η, or a schedule of it.
    L2 (float or Iterator[float]): Weight decay, added to the gradient g.
    use_averages (bool): Whether to keep averages of the parameters, which are then used for
        evaluation and are what is saved.
    eps (float): A number that keeps divisions from exploding, where there are any.
    """

    # The base class has slots, to refuse misspelled attributes; so have we.
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
        """What is remembered of former steps, by parameter: of the shape of it, at first zero."""

    @abstractmethod
    def direction(self, gradient: FloatsXd, *moments: FloatsXd) -> None:
        """Turn a gradient into the direction of the step, in place, number by number.

        gradient (FloatsXd): The gradient, or a part of it.
        moments (FloatsXd): What is remembered of former steps, of the same part.
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

        key (Tuple[int, str]): Which parameter it is.
        weights (FloatsXd): The parameter.
        gradient (FloatsXd): Its gradient.
        lr_scale (float): A factor for the learning rate.
        RETURNS (Tuple[FloatsXd, FloatsXd]): The parameter, and the gradient reset to zero.
        """
        self.nr_update[key] += 1
        ops = get_array_ops(weights)
        averages = () if self.averages is None else (self.averages,)
        state = (*self.moments, *averages)
        for arrays in state:
            if key not in arrays:
                # As in thinc, averages are in float32 whatever the weights are in
                kind = "float32" if arrays is self.averages else weights.dtype
                arrays[key] = ops.alloc(weights.shape, dtype=kind)
        rate = self.learn_rate * lr_scale
        for w, g, *rest in _blocks(weights, gradient, *(arrays[key] for arrays in state)):
            if self.L2:
                g += self.L2 * w
            # The gradient is not needed any more: a place for the step without an allocation.
            self.direction(g, *rest[: len(self.moments)])
            g *= rate
            w -= g
            g.fill(0.0)
            if averages:
                ops.update_averages(rest[-1], w, self.nr_update[key])
        return weights, gradient


def _blocks(*arrays: FloatsXd) -> Iterator[tuple[FloatsXd, ...]]:
    """The same part of each array at a time, as views; everything at once on a GPU."""
    if not all(isinstance(array, np.ndarray) and array.flags.c_contiguous for array in arrays):
        yield arrays
        return
    flat = [cast(Any, array).reshape(-1) for array in arrays]
    for start in range(0, flat[0].size, BLOCK):
        yield tuple(array[start : start + BLOCK] for array in flat)


class MomentumSGD(PaperOptimizer):
    """Stochastic gradient descent with momentum, which thinc's `SGD.v1` does not have.

        v ← μ·v + g
        w ← w − η·v

    as `torch.optim.SGD(momentum=μ)` does it.

    learn_rate (float or Iterator[float]): The learning rate η, or a schedule of it.
    momentum (float): The momentum μ.
    L2 (float): Weight decay, added to the gradient.
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

    def direction(self, gradient: FloatsXd, *moments: FloatsXd) -> None:
        (velocity,) = moments
        velocity *= self.momentum
        velocity += gradient
        cast(Any, gradient)[...] = velocity  # thinc's types know of no ellipsis


class Adadelta(PaperOptimizer):
    """Steps whose size follows from those before, feature by feature, instead of being set.

        E[g²] ← ρ·E[g²] + (1 − ρ)·g²
        Δ = √(E[Δ²] + ε) / √(E[g²] + ε) · g
        E[Δ²] ← ρ·E[Δ²] + (1 − ρ)·Δ²
        w ← w − η·Δ

    as `torch.optim.Adadelta` does it.

    learn_rate (float or Iterator[float]): A factor η for all steps, or a schedule of it.
    rho (float): How much of the averages stays in each step, ρ.
    eps (float): ε, which sets the size of the first steps.
    L2 (float): Weight decay, added to the gradient.
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

    def direction(self, gradient: FloatsXd, *moments: FloatsXd) -> None:
        xp = get_array_ops(gradient).xp
        steps, squares = moments
        self._average(squares, gradient)
        gradient *= xp.sqrt((steps + self.eps) / (squares + self.eps))
        self._average(steps, gradient)

    def _average(self, average: FloatsXd, values: FloatsXd) -> None:
        average *= self.rho
        average += (1.0 - self.rho) * values * values


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
    L2 (float): Weight decay, added to the gradient.
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
    rho (float): How much of the averages stays in each step.
    eps (float): Added to the averages; it sets the size of the first steps. The paper prints 10⁶,
        and its authors' code has 10⁻⁶.
    L2 (float): Weight decay, added to the gradient.
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
