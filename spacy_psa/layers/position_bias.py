"""Where attention should look, told by position alone or by token and position.

Ψ_ij(x_i) = M_ij + α·G_ij + (1 − α)·P_ij(x_i)    (Wei et al. 2021, equation 4)
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .initialization import glorot_


def distances(n: int, device: torch.device) -> Tensor:
    """How far apart positions are: |i − j|.

    n (int): Number of positions.
    device (torch.device): Where to put the result.
    RETURNS (Tensor): Shape: (n, n), integers.
    """
    order = torch.arange(n, device=device)
    return (order.unsqueeze(0) - order.unsqueeze(1)).abs()


class GaussianBias(nn.Module):
    """The distance-aware Gaussian bias: G_ij = −(i − j)² / (2ε²), with ε = k / 2.

    window (float): The window size k, in tokens.

    Source: Wei et al. (2021), equation 10.
    """

    def __init__(self, window: float = 10) -> None:
        super().__init__()
        self.epsilon = window / 2

    def forward(self, x: Tensor) -> Tensor:
        """Bias for each pair of positions.

        x (Tensor): Token vectors; only their number counts. Shape: (batch_size, n, d).
        RETURNS (Tensor): Shape: (1, n, n).
        """
        squared = distances(x.shape[1], x.device).to(x.dtype).square()
        return (-squared / (2 * self.epsilon**2)).unsqueeze(0)


class TokenPositionBias(nn.Module):
    """The token-specific position bias: P_ij(x_i) = x_iᵀ R_m + (vᵀ R_m + b), m = min(|i − j|, r).

    R has a row for each distance from 0 to r. Row 0 is read only where a token may attend to
    itself; with the self-disabled mask the other r rows are the paper's R ∈ ℝ^{r×d}.

    width (int): Width d of the token vectors.
    max_distance (int): The distance r from which on all are treated alike.

    Source: Wei et al. (2021), equation 11.
    """

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
        batch_size, n, _ = x.shape
        # (x_i + v)ᵀ R_m for every m first: n·r products instead of n².
        by_distance = (x + self.vector) @ self.relative.t() + self.bias
        clipped = distances(n, x.device).clamp_(max=self.max_distance)
        return by_distance.gather(2, clipped.unsqueeze(0).expand(batch_size, n, n))


class PSABias(nn.Module):
    """The positional bias of position-aware self-attention, Ψ = M + α·G + (1 − α)·P.

    α is trainable and stays in (0, 1), as the sigmoid of a parameter that starts at 0 (the paper
    says 'a trainable trade-off parameter' and no more). The paper's ablations leave out one of
    the three: its term is then zero, and the others keep their weights.

    width (int): Width d of the token vectors.
    window (float): The window size k of the Gaussian bias, in tokens.
    max_distance (int): The distance r at which the token-specific bias is clipped.
    self_mask (bool): Whether to disable the attention of a token to itself (M, equation 9).
    gaussian (bool): Whether to have the Gaussian bias (G, equation 10).
    token_position (bool): Whether to have the token-specific position bias (P, equation 11).

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
        """The trade-off α between G and P, or None without either. Shape: (1,)."""
        return None if self.trade_off is None else torch.sigmoid(self.trade_off)

    def forward(self, x: Tensor) -> Tensor | None:
        """The additive part of the bias, α·G + (1 − α)·P. The mask M is `masks_self`: it is not a
        number to be added, since −∞ everywhere in a row has no softmax.

        x (Tensor): Token vectors. Shape: (batch_size, n, d).
        RETURNS (Optional[Tensor]): Shape: (batch_size or 1, n, n); None if there is nothing to add.
        """
        alpha = self.alpha
        bias = None
        if self.gaussian is not None and alpha is not None:
            bias = alpha * self.gaussian(x)
        if self.token_position is not None and alpha is not None:
            position = (1 - alpha) * self.token_position(x)
            bias = position if bias is None else bias + position
        return bias
