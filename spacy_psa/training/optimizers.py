"""PyTorch's optimizers for spaCy's config: those of the papers, and AdamW."""

from functools import partial
from typing import Any

import torch
from thinc.api import Optimizer
from thinc.optimizers import FloatOrSeq
from torch import Tensor
from torch.optim.adadelta import adadelta
from torch.optim.adamw import adamw
from torch.optim.sgd import sgd

from ..errors import check_value
from .torch_optimizer import TorchOptimizer


def _sgd_step(
    weights: list[Tensor],
    gradients: list[Tensor],
    velocities: list[Tensor] | None = None,
    *,
    counts: list[int],
    fused: bool,
    **settings: Any,
) -> None:
    velocity: list[Tensor | None] = [None] * len(weights)
    if velocities is not None:
        velocity[:] = velocities
    settings.update(dampening=0.0, nesterov=False, maximize=False)
    sgd(weights, gradients, velocity, fused=fused, foreach=False, **settings)


def _adadelta_step(
    weights: list[Tensor],
    gradients: list[Tensor],
    steps: list[Tensor],
    squares: list[Tensor],
    *,
    counts: list[int],
    fused: bool,
    **settings: Any,
) -> None:
    foreach = fused and weights[0].is_cuda
    counted = _counted(counts, torch.device("cpu"))
    settings.update(foreach=foreach, maximize=False)
    adadelta(weights, gradients, squares, steps, counted, **settings)


def _adamw_step(
    weights: list[Tensor],
    gradients: list[Tensor],
    means: list[Tensor],
    squares: list[Tensor],
    *,
    counts: list[int],
    fused: bool,
    **settings: Any,
) -> None:
    counted = _counted(counts, weights[0].device if fused else torch.device("cpu"))
    settings.update(fused=fused, foreach=False, amsgrad=False, maximize=False)
    adamw(weights, gradients, means, squares, [], counted, **settings)


def _counted(counts: list[int], device: torch.device) -> list[Tensor]:
    # One copy to a GPU for all parameters, for which the CPU need not wait
    counted = torch.tensor(counts, dtype=torch.float32)
    return list(counted.to(device, non_blocking=True).unbind())


def create_sgd(
    learn_rate: FloatOrSeq = 0.015,
    momentum: float = 0.9,
    L2: float = 0.0,
    use_averages: bool = False,
    groups: dict[str, dict[str, Any]] | None = None,
) -> Optimizer:
    """Configure stochastic gradient descent with momentum: v ← μ·v + g, w ← w − η·v.

    learn_rate (float or schedule): The learning rate η. The paper: 0.01 for part-of-speech tagging,
        0.015 for entities and chunks, with `spacy_psa.inverse_epoch_decay.v1`.
    momentum (float): The momentum μ.
    L2 (float): L2 regularization, added to the gradient.
    use_averages (bool): Whether to keep averages of the parameters for evaluation and saving.
    groups (Optional[Dict[str, Dict[str, Any]]]): Parameters with settings of their own, by the
        group's name: see `ParameterGroup`.
    RETURNS (Optimizer): The optimizer.
    RAISES (ValueError): If a value is out of range.

    Source: Wei et al. (2021), section 5.2.
    """
    _check_decay("momentum", momentum)
    step, memories = partial(_sgd_step, momentum=momentum), ("mom1",) if momentum else ()
    return TorchOptimizer(
        step, memories, learn_rate, L2=L2, use_averages=use_averages, groups=groups
    )


def create_adadelta(
    learn_rate: FloatOrSeq = 1.0,
    rho: float = 0.95,
    eps: float = 1e-6,
    L2: float = 0.0,
    use_averages: bool = False,
    groups: dict[str, dict[str, Any]] | None = None,
) -> Optimizer:
    """Configure Adadelta, which adapts each weight's step size to its previous gradients and steps.

    learn_rate (float or schedule): A factor for all steps. The paper: 1.0, with
        `spacy_psa.halving.v1`.
    rho (float): The decay rate of the averages.
    eps (float): Added to the averages; determines the size of the first steps. The paper prints
        10⁶; the authors' code uses 10⁻⁶.
    L2 (float): L2 regularization, added to the gradient.
    use_averages (bool): Whether to keep averages of the parameters for evaluation and saving.
    groups (Optional[Dict[str, Dict[str, Any]]]): Parameters with settings of their own, by the
        group's name: see `ParameterGroup`.
    RETURNS (Optimizer): The optimizer.
    RAISES (ValueError): If a value is out of range.

    Source: Zeiler (2012), algorithm 1; Tan et al. (2018), 'Learning'.
    """
    _check_decay("rho", rho)
    _check_eps(eps)
    step, memories = partial(_adadelta_step, rho=rho, eps=eps), ("mom1", "mom2")
    return TorchOptimizer(
        step, memories, learn_rate, L2=L2, use_averages=use_averages, groups=groups
    )


def create_adamw(
    learn_rate: FloatOrSeq = 0.001,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    L2: float = 0.01,
    use_averages: bool = False,
    groups: dict[str, dict[str, Any]] | None = None,
) -> Optimizer:
    """Configure Adam with decoupled weight decay.

    learn_rate (float or schedule): The learning rate.
    beta1 (float): The decay rate of the average gradient.
    beta2 (float): The decay rate of the average squared gradient.
    eps (float): Added to the root of the latter.
    L2 (float): The weight decay: in a step, weights shrink by this times the learning rate.
    use_averages (bool): Whether to keep averages of the parameters for evaluation and saving.
    groups (Optional[Dict[str, Dict[str, Any]]]): Parameters with settings of their own, by the
        group's name: see `ParameterGroup`.
    RETURNS (Optimizer): The optimizer.
    RAISES (ValueError): If a value is out of range.

    Source: Loshchilov and Hutter (2019), algorithm 2.
    """
    _check_decay("beta1", beta1)
    _check_decay("beta2", beta2)
    _check_eps(eps)
    step, memories = partial(_adamw_step, beta1=beta1, beta2=beta2, eps=eps), ("mom1", "mom2")
    return TorchOptimizer(
        step, memories, learn_rate, L2=L2, use_averages=use_averages, groups=groups
    )


def _check_decay(name: str, value: float) -> None:
    check_value(name, value, lambda n: 0.0 <= n < 1.0, "in [0, 1)")


def _check_eps(eps: float) -> None:
    check_value("eps", eps, lambda n: n > 0.0, "greater than 0")
