"""Additive self-attention in bfloat16, for prediction.

Rounding amplifies small differences: if the last bit of a float32 number differs between two
batches, as in sums over padded sentences, one of the two may be rounded up. So whatever is rounded
here is computed in a way that padding does not change: scores are sums over the width of a vector,
in float32 and always in the same order; their softmax, and the sums of vectors that it weights, are
computed in float64.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..inference.engines.triton import kernels_run_on
from ..layers.fusion import AdditiveSelfAttention
from ..layers.mask import SequenceMask
from ..layers.ops import ops_for
from ..layers.position_bias import (
    BiasMixture,
    Columns,
    GaussianBias,
    PSABias,
    TokenOffsetBias,
    TokenPositionBias,
    clipped_distances,
    clipped_offsets,
    for_pairs,
)
from .bfloat16 import BFloat16Linear
from .tiled_scores import EXP_LIMIT, are_small, tiled_scores


class BFloat16AdditiveSelfAttention(AdditiveSelfAttention):
    """An `AdditiveSelfAttention` with bfloat16 projections, scores in float32, and softmax and sums
    in float64.

    layer (AdditiveSelfAttention): The layer in full precision. Its bias is reused and modified.
    """

    def __init__(self, layer: AdditiveSelfAttention) -> None:
        nn.Module.__init__(self)
        self.query = BFloat16Linear(layer.query)
        self.key = BFloat16Linear(layer.key)
        self.weight = nn.Parameter(layer.weight.detach().double(), requires_grad=False)
        self.bias = None if layer.bias is None else reduced_bias(layer.bias)

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Compute the context of each token. See `AdditiveSelfAttention`."""
        weights = self._weights(self._scores(mask.pack(x), mask), x, mask)
        return mask.in_form_of(x, (weights @ mask.unpack(x).double()).float())

    def attention(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Compute the attention weights (batch_size, n, n). See `AdditiveSelfAttention`."""
        return super().attention(x, mask).float()

    def _scores(self, tokens: Tensor, mask: SequenceMask) -> Tensor:
        rows = tokens.bfloat16()
        queries, keys, weight = self.query(rows), self.key(rows), self.weight.float()
        # A single large number changes how all scores of a call are computed. Sentences that have
        # one are therefore scored separately, in float64, where this makes no difference.
        is_fused = queries.is_cuda and kernels_run_on(queries.device)
        if is_fused or (are_small(queries) and are_small(keys)):
            return ops_for(queries).additive_scores(queries, keys, weight, mask).double()
        queries, keys = mask.unpack(queries), mask.unpack(keys)
        is_small = torch.maximum(_largest(queries), _largest(keys)) <= EXP_LIMIT
        scores = self.weight.new_zeros(*queries.shape[:2], keys.shape[1])
        for chosen, dtype in ((is_small, torch.float32), (~is_small, torch.float64)):
            rows = chosen.nonzero().squeeze(1)
            some = queries[rows].to(dtype), keys[rows].to(dtype), self.weight.to(dtype)
            scores[rows] = tiled_scores(*some).double()
        return scores


def _largest(x: Tensor) -> Tensor:
    """The largest absolute value of each row. Shape: (batch_size,)."""
    return x.abs().amax(dim=(1, 2))


class Float64Bias(nn.Module):
    """A positional bias in float64.

    layer (nn.Module): The bias in full precision. It is reused and modified.
    """

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer.double()
        self.masks_self = layer.masks_self

    def forward(self, x: Tensor) -> Tensor | None:
        """Bias for each pair of positions (batch_size or 1, n, n), from token vectors (batch_size,
        n, d); None if there is nothing to add."""
        return self.layer(x.double())


class BFloat16TokenBias(nn.Module):
    """A `TokenPositionBias` or `TokenOffsetBias` with its product in bfloat16.

    projection (nn.Linear): Maps tokens to a score for each clipped distance or offset.
    columns (Callable): Computes the output of the projection to read for each pair:
        `clipped_distances` or `clipped_offsets`.
    max_distance (int): The distance at which they are clipped.
    """

    masks_self = False

    def __init__(self, projection: nn.Linear, columns: Columns, max_distance: int) -> None:
        super().__init__()
        self.projection = BFloat16Linear(projection)
        self.columns, self.max_distance = columns, max_distance

    def forward(self, x: Tensor) -> Tensor:
        """Bias for each pair of positions (batch_size, n, n), from token vectors (batch_size, n,
        d)."""
        return for_pairs(self.projection(x), self.columns, self.max_distance)


def reduced_bias(bias: nn.Module) -> nn.Module:
    """Replace a positional bias, modified in place, by one that does not depend on padding, with
    products in bfloat16. A bias of any other type is computed in float64."""
    if isinstance(bias, GaussianBias):
        return bias  # There is no product
    if isinstance(bias, TokenPositionBias):
        projection = _projection(bias.relative, bias.constant())
        return BFloat16TokenBias(projection, clipped_distances, bias.max_distance)
    if isinstance(bias, TokenOffsetBias):
        return BFloat16TokenBias(_projection(bias.relative), clipped_offsets, bias.max_distance)
    if isinstance(bias, PSABias):
        if bias.token_position is not None:
            bias.add_module("token_position", reduced_bias(bias.token_position))
        return bias
    if isinstance(bias, BiasMixture):
        bias.biases = nn.ModuleList(reduced_bias(part) for part in bias.biases)
        return bias
    return Float64Bias(bias)


def _projection(weight: Tensor, constant: Tensor | None = None) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], len(weight), bias=constant is not None, device="meta")
    layer.weight = nn.Parameter(weight.detach())
    if constant is not None:
        layer.bias = nn.Parameter(constant.detach())
    return layer
