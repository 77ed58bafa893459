"""Mixed-precision training: matrix multiplications in half precision, weights in full precision."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from thinc.api import PyTorchGradScaler
from torch import Tensor

from ..errors import invalid
from ..private_names import foreach

HALF_PRECISIONS = {"bf16": torch.bfloat16, "fp16": torch.float16}
"""The values of the setting `mixed_precision`."""
LEAST_SCALE = 1.0  # at or below this scale, an overflow is not caused by scaling


def check_mixed_precision(value: str | None) -> None:
    """Check the setting `mixed_precision`: a key of `HALF_PRECISIONS`, or None."""
    if value is not None and value not in tuple(HALF_PRECISIONS):
        options = ", ".join(f'"{name}"' for name in HALF_PRECISIONS)
        raise invalid("mixed_precision", value, f"one of {options} or null")


class GradientScaler(PyTorchGradScaler):
    """Thinc's gradient scaler, extended to gradient accumulation and any device.

    In float16, gradients are scaled up during backpropagation so that small ones do not underflow.
    bfloat16 has the range of float32 and needs no scaling.

    mixed_precision (Optional[str]): The setting.
    has_scaled (bool): Whether gradients have been scaled since the last update.
    """

    def __init__(self, mixed_precision: str | None) -> None:
        super().__init__(mixed_precision == "fp16")
        self.has_scaled = False

    def backward(
        self, leaves: Sequence[Tensor], outputs: Sequence[Tensor], gradients: Sequence[Tensor]
    ) -> None:
        """Backpropagate scaled gradients, unscale them, and accumulate them in the leaves.

        Gradients that the leaves already have from other batches are not scaled, so they are set
        aside meanwhile. (Thinc's `PyTorchShim` would unscale them again with each batch.) If a
        value overflows, the batch contributes nothing and the whole update must be skipped:
        `found_inf` is true until it is over. If the scale is already at its minimum, nonfinite
        gradients are kept, for the caller to detect.
        """
        earlier = [leaf.grad for leaf in leaves]
        for leaf in leaves:
            leaf.grad = None
        try:
            scaled = [gradient * self._scale.to(gradient.device) for gradient in gradients]
            torch.autograd.backward(outputs, scaled)
        except BaseException:
            for leaf, gradient in zip(leaves, earlier, strict=True):
                leaf.grad = gradient
            raise
        self._scale_down([leaf.grad for leaf in leaves if leaf.grad is not None])
        for leaf, gradient in zip(leaves, earlier, strict=True):
            if gradient is not None:
                leaf.grad = gradient if leaf.grad is None else leaf.grad.add_(gradient)

    def _scale_down(self, gradients: list[Tensor]) -> None:
        self.has_scaled = True
        # `unscale` returns whether any batch of this update has overflowed
        has_overflowed, self._found_inf = self._found_inf, False
        if self.unscale(gradients):
            if float(self._scale) > LEAST_SCALE:
                foreach("zero_", gradients)
            else:
                self._found_inf = False
        self._found_inf = self._found_inf or has_overflowed

    def update(self) -> None:
        """Set the scale of the next update: halve it if this one has overflowed, double it if none
        has for a long time. Updates without gradients do not count."""
        if self.has_scaled:
            super().update()
        self.forget()

    def forget(self) -> None:
        """Forget the batches seen since the last update."""
        self.has_scaled = self._found_inf = False
