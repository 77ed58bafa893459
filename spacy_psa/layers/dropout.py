"""Dropout with cheap random numbers on a CPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

LEVELS = 1 << 16  # of probability: a 16-bit random number for each value


class Dropout(nn.Dropout):
    """PyTorch's dropout at a quarter of its cost on a CPU.

    PyTorch draws a floating-point number for each value. Here, a random 64-bit integer serves four
    values, so that the probability of keeping a value is rounded to a multiple of 1/65,536. Kept
    values are divided by this rounded probability, so the expectation is exact.

    p (float): The probability of setting a value to zero.

    Source: Srivastava et al. (2014), section 4; inverted, so that prediction needs no scaling.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Set values to zero at random, in training.

        x (Tensor): Any shape.
        RETURNS (Tensor): The same shape.
        """
        if not self.training:
            return x
        kept = round((1.0 - self.p) * LEVELS)
        if x.device.type != "cpu" or not 0 < kept < LEVELS:
            return super().forward(x)
        return _Drop.apply(x, kept)


class SharedDropout(Dropout):
    """Dropout with the same mask at all positions along an axis.

    Along the tokens of a sentence, this is the variational dropout of recurrent networks: a feature
    is kept or dropped for all tokens. Along the features of words, it drops whole words.

    p (float): The probability of setting the values along the axis to zero.
    axis (int): The axis along which values share the mask.

    Source: Gal and Ghahramani (2016), sections 4.1 and 4.2.
    """

    def __init__(self, p: float, *, axis: int) -> None:
        super().__init__(p)
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        """Set values to zero at random, in training.

        x (Tensor): Any shape with that axis.
        RETURNS (Tensor): The same shape.
        """
        if not self.training or not self.p:
            return x
        return x * super().forward(torch.ones_like(x.narrow(self.axis, 0, 1)))


class _Drop(torch.autograd.Function):
    """Keep each value with probability `kept / LEVELS`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kept: int) -> Tensor:
        # Multiplying by numbers takes a quarter of the time of multiplying by booleans. The factor
        # of values that are kept is not rounded to half precision.
        dtype = torch.promote_types(x.dtype, torch.float32)
        factors = random_mask(x.shape, kept).to(dtype).mul_(LEVELS / kept)
        ctx.save_for_backward(factors)
        return (x * factors).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (factors,) = ctx.saved_tensors
        return (grad * factors).to(grad.dtype), None


def random_mask(shape: torch.Size, kept: int) -> Tensor:
    """Draw a dropout mask on the CPU.

    shape (torch.Size): Shape of the mask.
    kept (int): The probability of keeping a value, times `LEVELS`.
    RETURNS (Tensor): True with probability `kept / LEVELS`. Boolean.
    """
    n = shape.numel()
    drawn = torch.empty((n + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    return (drawn.view(torch.int16)[:n] < kept - LEVELS // 2).view(shape)
