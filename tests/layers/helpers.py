"""Random inputs and parameters for testing layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar
from unittest.mock import Mock

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from spacy_psa.layers import SequenceMask

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
DTYPES = list(TOLERANCE)
ModuleT = TypeVar("ModuleT", bound=nn.Module)


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    """Normally distributed numbers in float64."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64) * scale


def randomized(module: ModuleT, *, seed: int = 0, scale: float = 0.6) -> ModuleT:
    """Set every parameter, including biases, to nonzero numbers, in float64 without dropout."""
    module.double().eval()
    with torch.no_grad():
        for i, parameter in enumerate(module.parameters()):
            parameter.copy_(normal(*parameter.shape, seed=1000 * seed + i + 1, scale=scale))
    return module


def state_of(module: nn.Module) -> dict[str, NDArray[np.float64]]:
    """The parameters in the format of the reference."""
    return {
        name: value.detach().cpu().double().numpy() for name, value in module.state_dict().items()
    }


def mask_of(lengths: Sequence[int], device: torch.device | str = "cpu") -> SequenceMask:
    """The mask of a batch padded to its longest sequence."""
    return SequenceMask(torch.tensor(lengths, device=device), max(lengths))


def batch_of(lengths: Sequence[int], width: int, *, seed: int = 0) -> Tensor:
    """Random token vectors, also in the padding."""
    return normal(len(lengths), max(lengths), width, seed=seed)


def assert_close(actual: Tensor, expected: Tensor | NDArray[np.float64], atol: float) -> None:
    """Compare in float64. NaN is not close to anything."""
    wanted = torch.as_tensor(expected)
    torch.testing.assert_close(
        actual.detach().cpu().double(), wanted.detach().cpu().double(), rtol=atol, atol=atol
    )


def refusing() -> Mock:
    """An operation that oneDNN does not support; it counts its calls."""
    return Mock(side_effect=RuntimeError("could not create a primitive descriptor"))


def in_place(layer: nn.Linear) -> None:
    """Change a layer's weights as an optimizer does."""
    layer.weight.mul_(-2.0)


def by_loading(layer: nn.Linear) -> None:
    """Load other weights."""
    layer.load_state_dict({name: value + 1.0 for name, value in layer.state_dict().items()})


def behind_its_back(layer: nn.Linear) -> None:
    """Change a layer's weights so that PyTorch must be told."""
    layer.weight.data.view(torch.int16).numpy()[...] = 0
    torch.autograd.graph.increment_version(layer.weight)


def by_another_tensor(layer: nn.Linear) -> None:
    """Replace a layer's weights."""
    layer.weight = nn.Parameter(-layer.weight, requires_grad=False)


WEIGHT_CHANGES = [in_place, by_loading, behind_its_back, by_another_tensor]
