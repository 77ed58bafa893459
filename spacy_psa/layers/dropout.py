"""Dropout whose random numbers are cheap on a CPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

LEVELS = 1 << 16  # of probability: a random number of 16 bits for each value


class Dropout(nn.Dropout):
    """Dropout as PyTorch has it, with a quarter of its cost on a CPU.

    PyTorch draws a floating-point number for each value there. Four of these come out of one random
    integer of 64 bits, so that a probability is a multiple of 1/65,536; what is kept is scaled by
    just that probability, and the expectation is exact.

    p (float): The probability that a value is set to zero.

    Source: Srivastava et al. (2014), section 4; inverted, so that prediction needs no scaling.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Set values to zero at random, in training.

        x (Tensor): Any shape.
        RETURNS (Tensor): The same shape.
        """
        kept = round((1.0 - self.p) * LEVELS)
        if not self.training or x.device.type != "cpu" or not 0 < kept < LEVELS:
            return super().forward(x)
        return _Drop.apply(x, kept)


class SharedDropout(Dropout):
    """Dropout that decides once for all positions along an axis.

    Along the tokens of a sentence, this is the variational dropout of recurrent networks: a feature
    is there for all of them or for none. Along the features of words, whole words are left out.

    p (float): The probability that a decision is for zero.
    axis (int): The axis along which all values share it.

    Source: Gal and Ghahramani (2016), sections 4.1 and 4.2.
    """

    def __init__(self, p: float, *, axis: int) -> None:
        super().__init__(p)
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        """Set values to zero at random, in training.

        x (Tensor): Any shape that has the axis.
        RETURNS (Tensor): The same shape.
        """
        if not self.training or not self.p:
            return x
        return x * super().forward(torch.ones_like(x.narrow(self.axis, 0, 1)))


class _Drop(torch.autograd.Function):
    """Keep each value with the probability `kept / LEVELS`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kept: int) -> Tensor:
        mask = random_mask(x.shape, kept)
        ctx.save_for_backward(mask)
        ctx.scale = LEVELS / kept
        return torch.mul(x, mask).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (mask,) = ctx.saved_tensors
        return torch.mul(grad, mask) * ctx.scale, None


def random_mask(shape: torch.Size, kept: int) -> Tensor:
    """Draw what to keep, on the CPU.

    shape (torch.Size): Shape of the mask.
    kept (int): Of `LEVELS`, how probable it is to be kept.
    RETURNS (Tensor): True with the probability `kept / LEVELS`. Boolean.
    """
    n = shape.numel()
    drawn = torch.empty((n + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    return (drawn.view(torch.int16)[:n] < kept - LEVELS // 2).view(shape)
