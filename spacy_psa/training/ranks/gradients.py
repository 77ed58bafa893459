"""Add up the gradients of all ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import islice
from typing import Any

import torch
from spacy.language import Language
from thinc.api import Model
from thinc.util import xp2torch
from torch import Tensor

from ...private_names import foreach, gradient_scaler_of, network_of, set_overflow
from ..state import Owner, trained_owners, trained_shims, zero_gradient
from .group import Group


def sum_gradients(
    nlp: Language, frozen: Sequence[str], group: Group, numbers: Sequence[float]
) -> list[float]:
    """Add up the gradients of all trained components over all ranks, in place.

    A parameter that has a gradient on any rank gets one on all of them, as in a single process:
    optimizers with momentum also update by a gradient of zero.

    nlp (Language): The pipeline.
    frozen (Sequence[str]): Components that are not trained.
    group (Group): The ranks.
    numbers (Sequence[float]): Other numbers to add up on the way.
    RETURNS (List[float]): Their sums.
    """
    owners = trained_owners(nlp, frozen)
    scalers = _scalers(nlp, frozen)
    present = [float(_gradient(owner) is not None) for owner in owners]
    overflows = [float(scaler.found_inf) for scaler in scalers]
    scaled = [float(getattr(scaler, "has_scaled", False)) for scaler in scalers]
    sums = iter(group.sum([*present, *overflows, *scaled, *numbers]))
    present = list(islice(sums, len(owners)))
    for scaler in scalers:
        set_overflow(scaler, next(sums) > 0)
    for scaler in scalers:
        scaler.has_scaled = next(sums) > 0
    alike: dict[tuple[torch.device, torch.dtype], list[Tensor]] = defaultdict(list)
    for owner, count in zip(owners, present, strict=True):
        if count > 0:
            if _gradient(owner) is None:
                zero_gradient(*owner)
            gradient = _gradient(owner)
            assert gradient is not None
            alike[gradient.device, gradient.dtype].append(gradient)
    for gradients in alike.values():
        _sum(gradients, group)
    return list(sums)


def _sum(gradients: list[Tensor], group: Group) -> None:
    """Add up gradients in one message."""
    together = torch.cat([gradient.reshape(-1) for gradient in gradients])
    group.sum_tensor(together)
    parts = together.split([gradient.numel() for gradient in gradients])
    with torch.no_grad():
        views = [part.view(g.shape) for part, g in zip(parts, gradients, strict=True)]
        foreach("copy_", gradients, views)


def _gradient(owner: Owner) -> Tensor | None:
    """The gradient of a parameter, as a tensor that shares its memory."""
    place, name = owner
    if isinstance(place, Model):
        return xp2torch(place.get_grad(name)) if place.has_grad(name) else None
    return network_of(place).get_parameter(name).grad


def _scalers(nlp: Language, frozen: Sequence[str]) -> list[Any]:
    found = (gradient_scaler_of(shim) for shim in trained_shims(nlp, frozen))
    return [scaler for scaler in found if scaler is not None]
