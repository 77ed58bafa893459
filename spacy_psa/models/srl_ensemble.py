"""Several models of semantic roles as one, which averages their distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from spacy.tokens import Doc
from thinc.api import Model

from ..errors import Errors
from ..inference import LinearChain, Potentials
from .types import RoleLabeler


def build_role_ensemble(*models: RoleLabeler) -> RoleLabeler:
    """Put trained models together. What comes out are the logarithms of the mean of their
    probabilities for each label of each token; with a CRF these are the marginals.

    *models (RoleLabeler): The models; in a config, sections `model.*.name`. They have the same
        labels.
    RETURNS (RoleLabeler): The ensemble, which cannot be trained.
    RAISES (ValueError): If there are fewer than two models.

    Source: Tan et al. (2018), 'Results'; five models there.
    """
    if len(models) < 2:
        raise ValueError(Errors.P334.format(n=len(models)))
    return Model("role_ensemble", forward, init=init, layers=models, dims={"nO": None})


def init(model: RoleLabeler, X: list[Doc] | None = None, Y: Any = None) -> RoleLabeler:
    """Initialize all models; `nO` must be known."""
    for layer in model.layers:
        layer.set_dim("nO", model.get_dim("nO"), force=True)
        layer.initialize(X=X)
    return model


def forward(
    model: RoleLabeler, inputs: tuple[list[Doc], list[list[int]]], is_train: bool
) -> tuple[Potentials, Callable[[Potentials], list[Doc]]]:
    """Average the distributions of all models. No transitions are left."""
    if is_train:
        raise ValueError(Errors.P333)
    total: torch.Tensor | None = None
    lengths: tuple[int, ...] = ()
    for layer in model.layers:
        potentials = layer.predict(inputs).detach()
        lengths = potentials.lengths
        marginals = LinearChain(potentials).marginals.double()
        total = marginals if total is None else total + marginals
    assert total is not None
    tiny = torch.finfo(torch.float64).tiny
    mean = (total / len(model.layers)).clamp(min=tiny)
    return Potentials(mean.log().float(), lengths), lambda d_potentials: []
