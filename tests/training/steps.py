"""Optimizer steps through thinc's interface and PyTorch's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from thinc.api import Optimizer


def take_steps(
    optimizer: Optimizer,
    weights: np.ndarray,
    gradients: Sequence[np.ndarray],
    *,
    step_schedules: bool = True,
) -> np.ndarray:
    """The weights after a step for each gradient."""
    weights = weights.copy()
    for gradient in gradients:
        weights, _ = optimizer((0, "W"), weights, gradient.copy())
        if step_schedules:
            optimizer.step_schedules()
    return weights


def take_torch_steps(
    kind: type[torch.optim.Optimizer],
    weights: np.ndarray,
    gradients: Sequence[np.ndarray],
    rates: Sequence[float],
    **settings: float,
) -> np.ndarray:
    """The same, with a learning rate for each step."""
    parameter = torch.nn.Parameter(torch.tensor(weights))
    optimizer = kind([parameter], lr=rates[0], **settings)
    for rate, gradient in zip(rates, gradients, strict=True):
        optimizer.param_groups[0]["lr"] = rate
        parameter.grad = torch.tensor(gradient)
        optimizer.step()
    return parameter.detach().numpy()
