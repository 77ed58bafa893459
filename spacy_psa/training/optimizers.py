"""The optimizers of the papers, in addition to thinc's."""

from thinc.api import Optimizer
from thinc.optimizers import FloatOrSeq
from thinc.types import FloatsXd
from torch import Tensor
from torch.optim.sgd import sgd

from ..errors import check_value
from ..private_names import foreach
from .paper_optimizer import PaperOptimizer


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

    def step(
        self,
        weights: Tensor,
        gradient: Tensor,
        *moments: Tensor,
        rate: float,
        gradient_scale: float = 1.0,
    ) -> None:
        tensors = weights, gradient, *moments
        is_simple = all(x.device.type == "cpu" and x.is_contiguous() for x in tensors)
        if not (is_simple and self.momentum):
            super().step(*tensors, rate=rate, gradient_scale=gradient_scale)
            return
        given = ([tensor] for tensor in tensors)
        self.step_together(*given, rate=rate, gradient_scale=gradient_scale)

    def step_together(
        self,
        weights: list[Tensor],
        gradients: list[Tensor],
        *moments: list[Tensor],
        rate: float,
        gradient_scale: float = 1.0,
    ) -> None:
        (velocities,) = moments
        if gradient_scale != 1.0 and (self.L2 or not self.momentum):
            foreach("mul_", gradients, gradient_scale)
            gradient_scale = 1.0
        # What `torch.optim.SGD(fused=True)` calls: each of the tensors is read only once
        sgd(
            list(weights),
            list(gradients),
            list(velocities) if self.momentum else [None] * len(weights),
            fused=True,
            weight_decay=self.L2,
            momentum=self.momentum,
            lr=rate,
            # v ← μ·v + (1 − dampening)·(g + L2·w)
            dampening=1.0 - gradient_scale,
            nesterov=False,
            maximize=False,
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

    def step_together(
        self,
        weights: list[Tensor],
        gradients: list[Tensor],
        *moments: list[Tensor],
        rate: float,
        gradient_scale: float = 1.0,
    ) -> None:
        steps, squares = moments
        if gradient_scale != 1.0:
            foreach("mul_", gradients, gradient_scale)
        if self.L2:
            foreach("add_", gradients, weights, alpha=self.L2)
        foreach("mul_", squares, self.rho)
        foreach("addcmul_", squares, gradients, gradients, value=1.0 - self.rho)
        step, divisor = (foreach("add", kept, self.eps) for kept in (steps, squares))
        foreach("sqrt_", step)
        foreach("sqrt_", divisor)
        foreach("div_", step, divisor)
        foreach("mul_", step, gradients)
        foreach("mul_", steps, self.rho)
        foreach("addcmul_", steps, step, step, value=1.0 - self.rho)
        foreach("add_", weights, step, alpha=-rate)


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
    RAISES (ValueError): If a value is out of range.

    Source: Wei et al. (2021), section 5.2.
    """
    _check_rates(learn_rate, L2)
    check_value("momentum", momentum, lambda n: 0.0 <= n < 1.0, "in [0, 1)")
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
    RAISES (ValueError): If a value is out of range.

    Source: Zeiler (2012); Tan et al. (2018), 'Learning'.
    """
    _check_rates(learn_rate, L2)
    check_value("rho", rho, lambda n: 0.0 <= n < 1.0, "in [0, 1)")
    check_value("eps", eps, lambda n: n > 0.0, "greater than 0")
    return Adadelta(learn_rate, rho=rho, eps=eps, L2=L2, use_averages=use_averages)


def _check_rates(learn_rate: FloatOrSeq, L2: float) -> None:
    if isinstance(
        learn_rate, int | float | str
    ):  # the value of a schedule is only known in training
        check_value("learn_rate", learn_rate, lambda n: n >= 0.0, "at least 0")
    check_value("L2", L2, lambda n: n >= 0.0, "at least 0")
