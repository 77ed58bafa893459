"""Variants of PSA for long sentences, which are no part of the package: several heads of
self-attention, and a bias by the logarithm of the distance.
"""

from collections.abc import Callable
from typing import Any

import torch
from spacy.util import registry
from torch import Tensor, nn

from spacy_psa.layers.fusion import AdditiveSelfAttention, ContextFusion
from spacy_psa.layers.interfaces import Gate
from spacy_psa.layers.mask import SequenceMask
from spacy_psa.models.types import EncoderBuilder, PartBuilder

_FUSIONS = [f"components.psa_tagger.model.encoder.{part}_fusion" for part in ("first", "second")]


class Heads(nn.Module):
    """Additive self-attention in several heads, each for some of the features of a token.

    width (int): Width of the token vectors.
    n_heads (int): The number of heads.
    bias (Optional[PartBuilder]): The positional bias of each head.
    """

    def __init__(self, width: int, n_heads: int, bias: PartBuilder | None) -> None:
        super().__init__()
        self.sizes = [len(part) for part in torch.arange(width).tensor_split(n_heads)]
        self.heads = nn.ModuleList(AdditiveSelfAttention(size, bias=bias) for size in self.sizes)

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """RETURNS (Tensor): The contexts of the tokens, in the shape of `x`."""
        parts = zip(self.heads, x.split(self.sizes, dim=-1), strict=True)
        return torch.cat([head(part.contiguous(), mask) for head, part in parts], dim=-1)


class LogDistance(nn.Module):
    """A bias of −s·log(1 + |i − j|) with a trainable s > 0: far from as steep as a Gaussian."""

    masks_self = False

    def __init__(self) -> None:
        super().__init__()
        self.steepness = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        """RETURNS (Tensor): The bias of each pair of positions, (1, n, n)."""
        order = torch.arange(x.shape[1], device=x.device, dtype=x.dtype)
        distances = (order.unsqueeze(1) - order.unsqueeze(0)).abs()
        return -nn.functional.softplus(self.steepness) * distances.log1p().unsqueeze(0)


@registry.architectures("benchmarks.HeadedFusion.v1")
def build_headed_fusion(
    n_heads: int, bias: PartBuilder | None, gate: Callable[[int], Gate], dropout: float
) -> EncoderBuilder:
    """RETURNS (EncoderBuilder): Builds a context fusion layer with several heads."""

    def build(width: int, n_labels: int) -> ContextFusion:
        layer = ContextFusion(width, bias=bias, gate=gate, dropout=dropout)
        layer.attention = Heads(width, n_heads, bias)  # type: ignore[assignment]
        return layer

    return build


@registry.architectures("benchmarks.LogDistance.v1")
def build_log_distance() -> PartBuilder:
    """RETURNS (PartBuilder): Builds the bias, for any width."""
    return lambda width: LogDistance()


def _heads(n: int) -> dict[str, Any]:
    fusion = {"@architectures": "benchmarks.HeadedFusion.v1", "n_heads": n}
    return {f"{part}.{key}": value for part in _FUSIONS for key, value in fusion.items()}


_LOG_DISTANCE = {
    "@architectures": "spacy_psa.BiasMixture.v1",
    "self_mask": False,
    "*": {
        "position": {"@architectures": "spacy_psa.TokenPositionBias.v1", "max_distance": 10},
        "distance": {"@architectures": "benchmarks.LogDistance.v1"},
    },
}
# As in `recipes_variants`
LONG: dict[str, tuple[str, dict[str, Any] | None]] = {
    "heads-2": ("self-attention with 2 heads", _heads(2)),
    "heads-5": ("self-attention with 5 heads", _heads(5)),
    "log-distance": (
        "the logarithm of the distance instead of its Gaussian",
        {f"{part}.bias": _LOG_DISTANCE for part in _FUSIONS},
    ),
}
