"""Training in mixed precision: products of matrices in half precision, weights in full."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from thinc.api import PyTorchGradScaler
from torch import Tensor

from ..errors import Errors

HALF_PRECISIONS = {"bf16": torch.bfloat16, "fp16": torch.float16}
"""What the setting `mixed_precision` may be."""
LEAST_SCALE = 1.0  # from which on an overflow is not the scale's fault


def check_mixed_precision(value: str | None) -> None:
    """Check the setting.

    value (Optional[str]): A key of `HALF_PRECISIONS`, or None for full precision.
    RAISES (ValueError): If it is something else.
    """
    if value is not None and value not in tuple(HALF_PRECISIONS):
        options = ", ".join(f'"{name}"' for name in HALF_PRECISIONS)
        names = {"name": "mixed_precision", "value": repr(value)[:40]}
        raise ValueError(Errors.P210.format(**names, expected=f"one of {options}, or null"))


class GradientScaler(PyTorchGradScaler):
    """Thinc's scaler, for gradients of several batches that add up, and on any device.

    Gradients in float16 are scaled up on their way, so that small ones do not become zero; those in
    bfloat16 have the range of float32, and need nothing.

    mixed_precision (Optional[str]): The setting.
    """

    def __init__(self, mixed_precision: str | None) -> None:
        super().__init__(mixed_precision == "fp16")
        self._has_scaled = False

    @property
    def is_on(self) -> bool:
        """Whether there is something to scale."""
        return bool(self._enabled)

    def backward(
        self, leaves: Sequence[Tensor], outputs: Sequence[Tensor], gradients: Sequence[Tensor]
    ) -> None:
        """Propagate gradients, scaled up, and add those of the leaves to what they have.

        What they have from other batches is not scaled, and not to be scaled down; so it is kept
        away meanwhile. (Thinc's `PyTorchShim` scales it down with each batch once more.) Where a
        number overflows, the batch adds nothing, and the whole update is to be skipped: `found_inf`
        tells so until it is over. Where the scale is small and that does not help, numbers that are
        not finite stay, for others to see.

        leaves (Sequence[Tensor]): The parameters and inputs that are to have gradients.
        outputs (Sequence[Tensor]): Tensors of the output.
        gradients (Sequence[Tensor]): The gradient of each.
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
        self._has_scaled = True
        # What `unscale` gives back is whether any batch of this update has overflowed
        has_overflowed, self._found_inf = self._found_inf, False
        if self.unscale(gradients):
            if float(self._scale) > LEAST_SCALE:
                torch._foreach_zero_(gradients)
            else:
                self._found_inf = False
        self._found_inf = self._found_inf or has_overflowed

    def update(self) -> None:
        """Find the scale of the next update: half if this one has overflowed, twice if none has for
        long. An update without gradients is none."""
        if self._has_scaled:
            super().update()
        self.forget()

    def forget(self) -> None:
        """Forget the batches of an update that is not made."""
        self._has_scaled = self._found_inf = False
