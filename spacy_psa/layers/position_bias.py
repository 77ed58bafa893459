"""Positional biases of attention, by position alone or by token and position.

Ψ_ij(x_i) = M_ij + α·G_ij + (1 − α)·P_ij(x_i)    (Wei et al. 2021, equation 4)

A bias maps token vectors to numbers that are added to the scores of each pair of positions. Its
attribute `masks_self` says whether tokens are also prevented from attending to themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from .initialization import glorot_

Columns = Callable[..., Tensor]  # `clipped_distances` or `clipped_offsets`


def clipped_distances(n: int, most: int, *, like: Tensor) -> Tensor:
    """Compute min(|i − j|, r) for n positions and r = `most`. Shape: (n, n)."""
    return _offsets(n, like).abs().clamp(max=most)


def clipped_offsets(n: int, most: int, *, like: Tensor) -> Tensor:
    """Compute clip(i − j, −r, r) + r for n positions and r = `most`. Shape: (n, n)."""
    return _offsets(n, like).clamp(-most, most) + most


def _offsets(n: int, like: Tensor) -> Tensor:
    order = torch.arange(n, device=like.device)
    return order.unsqueeze(1) - order.unsqueeze(0)


def for_pairs(scores: Tensor, columns: Columns, max_distance: int) -> Tensor:
    """Look up the score of each pair of positions, from the scores of each token for each clipped
    distance or offset, (batch_size, n, m). Shape: (batch_size, n, n)."""
    found = columns(scores.shape[1], max_distance, like=scores)
    return scores.gather(2, found.unsqueeze(0).expand(len(scores), -1, -1))


class GaussianBias(nn.Module):
    """The distance-aware Gaussian bias: G_ij = −(i − j)² / (2ε²), with ε = k / 2.

    window (float): The window size k, in tokens.

    Where the paper is silent or we differ: nowhere.

    Source: Wei et al. (2021), equation 10; Wei et al. (2019), equation 10.
    """

    masks_self = False

    def __init__(self, window: float = 10) -> None:
        super().__init__()
        self.epsilon = window / 2

    def forward(self, x: Tensor) -> Tensor:
        """Bias for each pair of positions.

        x (Tensor): Token vectors; only their number matters. Shape: (batch_size, n, d).
        RETURNS (Tensor): Shape: (1, n, n).
        """
        # In half precision, only the result is rounded, and is finite at any distance
        squared = _offsets(x.shape[1], x).to(torch.promote_types(x.dtype, torch.float32)).square()
        bias = -squared / (2 * self.epsilon**2)
        return bias.clamp(min=torch.finfo(x.dtype).min).to(x.dtype).unsqueeze(0)


class TokenPositionBias(nn.Module):
    """The token-specific position bias: P_ij(x_i) = x_iᵀ R_m + (vᵀ R_m + b), m = min(|i − j|, r).

    Where the paper is silent or we differ:

    - R has a row for each distance from 0 to r. Row 0 is used only if a token may attend to itself;
      with the self-disabled mask, the other r rows are the paper's R ∈ ℝ^{r×d}.

    width (int): Width d of the token vectors.
    max_distance (int): The distance r at which distances are clipped.

    Source: Wei et al. (2021), equation 11.
    """

    masks_self = False

    def __init__(self, width: int, *, max_distance: int = 10) -> None:
        super().__init__()
        self.max_distance = max_distance
        self.relative = nn.Parameter(glorot_(torch.empty(max_distance + 1, width)))
        self.vector = nn.Parameter(glorot_(torch.empty(width)))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        """Bias for each pair of positions.

        x (Tensor): Token vectors. Shape: (batch_size, n, d).
        RETURNS (Tensor): Shape: (batch_size, n, n).
        """
        # First x_iᵀ R_m + (vᵀ R_m + b) for every m: n·r dot products instead of n².
        by_distance = linear(x, self.relative, self.constant())
        return for_pairs(by_distance, clipped_distances, self.max_distance)

    def constant(self) -> Tensor:
        """RETURNS (Tensor): What is the same for all tokens, vᵀ R_m + b. Shape: (r + 1,)."""
        return self.relative @ self.vector + self.bias


class TokenOffsetBias(nn.Module):
    """The direction-aware token-specific position bias: P_ij(x_i) = x_iᵀ W_C(i−j).

    W has 2r + 1 rows; row m is for the offset m − r.

    Where the paper is silent or we differ:

    - C(q) = clip(q, −r, r), as in Shaw et al. (2018), to which it is 'analogous'. Equation 12
      prints the clipped value as r for either sign, which would leave r rows unused.

    width (int): Width d of the token vectors.
    max_distance (int): The distance r at which offsets are clipped.

    Source: Wei et al. (2019), equations 11 and 12; Shaw et al. (2018), section 3.2.
    """

    masks_self = False

    def __init__(self, width: int, *, max_distance: int = 10) -> None:
        super().__init__()
        self.max_distance = max_distance
        self.relative = nn.Parameter(glorot_(torch.empty(2 * max_distance + 1, width)))

    def forward(self, x: Tensor) -> Tensor:
        """Bias for each pair of positions.

        x (Tensor): Token vectors. Shape: (batch_size, n, d).
        RETURNS (Tensor): Shape: (batch_size, n, n).
        """
        by_offset = linear(x, self.relative)
        return for_pairs(by_offset, clipped_offsets, self.max_distance)


class PSABias(nn.Module):
    """The positional bias of position-aware self-attention, Ψ = M + α·G + (1 − α)·P.

    Where the paper is silent or we differ:

    - α stays in (0, 1), as the sigmoid of a parameter that starts at 0. The paper only says 'a
      trainable trade-off parameter'.
    - The paper's ablations remove one of the three: its term is then zero, and the others keep
      their weights.

    width (int): Width d of the token vectors.
    window (float): The window size k of the Gaussian bias, in tokens.
    max_distance (int): The distance r at which the token-specific bias is clipped.
    self_mask (bool): Whether to disable the attention of a token to itself (M, equation 9).
    gaussian (bool): Whether to use the Gaussian bias (G, equation 10).
    token_position (bool): Whether to use the token-specific position bias (P, equation 11).

    Source: Wei et al. (2021), equations 4 and 9 to 11; tables 6 and 7.
    """

    def __init__(
        self,
        width: int,
        *,
        window: float = 10,
        max_distance: int = 10,
        self_mask: bool = True,
        gaussian: bool = True,
        token_position: bool = True,
    ) -> None:
        super().__init__()
        self.masks_self = self_mask
        self.gaussian = GaussianBias(window) if gaussian else None
        self.token_position = (
            TokenPositionBias(width, max_distance=max_distance) if token_position else None
        )
        self.trade_off = nn.Parameter(torch.zeros(1)) if gaussian or token_position else None

    @property
    def alpha(self) -> Tensor | None:
        """The trade-off α between G and P; None if there is neither. Shape: (1,)."""
        return None if self.trade_off is None else torch.sigmoid(self.trade_off)

    def forward(self, x: Tensor) -> Tensor | None:
        """Compute the additive part of the bias, α·G + (1 − α)·P. The mask M is given by
        `masks_self` and is not added, since the softmax of a row of −∞ is undefined.

        x (Tensor): Token vectors. Shape: (batch_size, n, d).
        RETURNS (Optional[Tensor]): Shape: (batch_size or 1, n, n); None if there is nothing to add.
        """
        alpha = self.alpha
        if alpha is None:
            return None
        if self.token_position is None:
            return None if self.gaussian is None else alpha * self.gaussian(x)
        position = self.token_position(x)
        if self.gaussian is None:
            return (1 - alpha) * position
        return torch.lerp(position, self.gaussian(x), alpha)


class BiasMixture(nn.Module):
    """A weighted mean of biases, Ψ = Σ_i α_i·B_i with trainable α_i > 0, Σ_i α_i = 1.

    This is the positional bias of the first version of PSA, Ψ = α₁·M + α₂·P + α₃·G. The mask M is
    −∞ or 0, and so is α₁·M; but the larger α₁, the less weight is left for the others.

    Where the paper is silent or we differ:

    - The weights are the softmax of parameters that start at zero: the paper does not say how their
      sum is kept at one.
    - A bias that is omitted, as in the ablations, has no weight: the others still sum to one.

    width (int): Width d of the token vectors.
    biases (Iterable[Callable[[int], nn.Module]]): Create the biases for a width, e.g.
        `TokenOffsetBias`.
    self_mask (bool): Whether to disable the attention of a token to itself (M).

    Source: Wei et al. (2019), equations 8 and 9.
    """

    def __init__(
        self, width: int, biases: Iterable[Callable[[int], nn.Module]], *, self_mask: bool = True
    ) -> None:
        super().__init__()
        self.biases = nn.ModuleList(make(width) for make in biases)
        self.masks_self = self_mask or any(bias.masks_self for bias in self.biases)
        self.has_mask_weight = self_mask
        n_weights = len(self.biases) + int(self_mask)
        self.trade_off = nn.Parameter(torch.zeros(n_weights)) if len(self.biases) else None

    @property
    def alphas(self) -> Tensor | None:
        """The weights α: the mask's, if there is a mask, then each bias's; None without biases.
        Shape: (weights,).
        """
        return None if self.trade_off is None else torch.softmax(self.trade_off, dim=0)

    def forward(self, x: Tensor) -> Tensor | None:
        """Compute the additive part of the mixture. The mask is given by `masks_self`.

        x (Tensor): Token vectors. Shape: (batch_size, n, d).
        RETURNS (Optional[Tensor]): Shape: (batch_size or 1, n, n); None if there is nothing to add.
        """
        alphas = self.alphas
        if alphas is None:
            return None
        weights = alphas[int(self.has_mask_weight) :]
        total = None
        for weight, bias in zip(weights, self.biases, strict=True):
            position = bias(x)
            if position is not None:
                term = weight * position
                total = term if total is None else total + term
        return total
