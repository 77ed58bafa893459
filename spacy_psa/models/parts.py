"""Registered parts of attention layers: positional biases and fusion gates."""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import nn

from ..errors import check_counts, check_value
from ..layers.fusion import FeatureGate, ScalarGate
from ..layers.position_bias import (
    BiasMixture,
    GaussianBias,
    PSABias,
    TokenOffsetBias,
    TokenPositionBias,
)
from .types import PartBuilder


def build_psa_bias(
    window: float = 10,
    max_distance: int = 10,
    self_mask: bool = True,
    gaussian: bool = True,
    token_position: bool = True,
) -> PartBuilder:
    """Configure the positional bias of PSA, Ψ = M + α·G + (1 − α)·P.

    window (float): The window size k of the Gaussian bias G, in tokens.
    max_distance (int): The distance r at which P is clipped: it treats larger distances alike.
    self_mask (bool): Whether M keeps a token from attending to itself.
    gaussian (bool): Whether to include G.
    token_position (bool): Whether to include P.
    RETURNS (PartBuilder): Builds a `PSABias`.
    RAISES (ValueError): If a value is out of range.
    """
    _check_window(window)
    check_counts(max_distance=max_distance)
    return partial(
        PSABias,
        window=window,
        max_distance=max_distance,
        self_mask=self_mask,
        gaussian=gaussian,
        token_position=token_position,
    )


def build_bias_mixture(*biases: PartBuilder, self_mask: bool = True) -> PartBuilder:
    """Configure a weighted mean of positional biases, Ψ = Σ α_i·B_i with Σ α_i = 1, as in the first
    version of PSA.

    *biases (PartBuilder): The biases; in a config, sections `bias.*.name`.
    self_mask (bool): Whether to include a mask that keeps a token from attending to itself as one
        of the biases.
    RETURNS (PartBuilder): Builds a `BiasMixture`.
    """
    return partial(BiasMixture, biases=biases, self_mask=self_mask)


def build_gaussian_bias(window: float = 10) -> PartBuilder:
    """Configure the distance-aware Gaussian bias on its own.

    window (float): The window size k, in tokens.
    RETURNS (PartBuilder): Builds a `GaussianBias`.
    RAISES (ValueError): If a value is out of range.
    """
    _check_window(window)
    return partial(_for_any_width, GaussianBias, window=window)


def build_token_position_bias(max_distance: int = 10) -> PartBuilder:
    """Configure the token-specific bias for (unsigned) distances on its own.

    max_distance (int): The distance r at which distances are clipped.
    RETURNS (PartBuilder): Builds a `TokenPositionBias`.
    RAISES (ValueError): If a value is out of range.
    """
    check_counts(max_distance=max_distance)
    return partial(TokenPositionBias, max_distance=max_distance)


def build_token_offset_bias(max_distance: int = 10) -> PartBuilder:
    """Configure the token-specific bias for signed distances (left and right).

    max_distance (int): The distance r at which distances are clipped on either side.
    RETURNS (PartBuilder): Builds a `TokenOffsetBias`.
    RAISES (ValueError): If a value is out of range.
    """
    check_counts(max_distance=max_distance)
    return partial(TokenOffsetBias, max_distance=max_distance)


def build_feature_gate() -> PartBuilder:
    """Configure the feature-wise fusion gate.

    RETURNS (PartBuilder): Builds a `FeatureGate`.
    """
    return FeatureGate


def build_scalar_gate() -> PartBuilder:
    """Configure the scalar fusion gate, a single number per token.

    RETURNS (PartBuilder): Builds a `ScalarGate`.
    """
    return ScalarGate


def _for_any_width(layer: Callable[..., nn.Module], width: int, **settings: Any) -> nn.Module:
    return layer(**settings)


def _check_window(window: float) -> None:
    # Its square is a divisor, so neither may be 0 or infinite
    check_value("window", window, lambda n: 1e-6 <= n <= 1e9, "greater than 0, from 1e-6 to 1e9")
