"""Add up the gradients of all ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import islice
from typing import Any

import torch
from spacy.language import Language
from torch import Tensor

from ...private_names import foreach, gradient_scaler_of, set_overflow
from ..state import gradient_of, trained_owners, trained_shims, zero_gradient
from .group import Group

LARGE_TABLE = 1024  # rows, of which a batch uses few


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
    present = [float(gradient_of(owner) is not None) for owner in owners]
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
            if gradient_of(owner) is None:
                zero_gradient(*owner)
            gradient = gradient_of(owner)
            assert gradient is not None
            alike[gradient.device, gradient.dtype].append(gradient)
    for gradients in alike.values():
        _sum(gradients, group)
    return list(sums)


def _sum(gradients: list[Tensor], group: Group) -> None:
    """Add up gradients in one message. Of a large table, such as that of words, it has the rows
    that a rank has used, and no others."""
    used = _used_rows(gradients, group)
    parts = [g if i not in used else g.index_select(0, used[i]) for i, g in enumerate(gradients)]
    together = torch.cat([part.reshape(-1) for part in parts])
    group.sum_tensor(together)
    sums = together.split([part.numel() for part in parts])
    views = [found.view(part.shape) for found, part in zip(sums, parts, strict=True)]
    whole = [i for i in range(len(gradients)) if i not in used]
    with torch.no_grad():
        foreach("copy_", [gradients[i] for i in whole], [views[i] for i in whole])
        for i, rows in used.items():
            gradients[i].index_copy_(0, rows, views[i])


def _used_rows(gradients: Sequence[Tensor], group: Group) -> dict[int, Tensor]:
    """The rows of large tables that are not zero on some rank, by the tables' indices."""
    tables = {i: g for i, g in enumerate(gradients) if g.dim() == 2 and len(g) >= LARGE_TABLE}
    if not tables:
        return {}
    counts = torch.cat([(g != 0).any(1) for g in tables.values()]).int()
    group.sum_tensor(counts)
    parts = counts.split([len(g) for g in tables.values()])
    return {i: part.nonzero().squeeze(1) for i, part in zip(tables, parts, strict=True)}


def _scalers(nlp: Language, frozen: Sequence[str]) -> list[Any]:
    found = (gradient_scaler_of(shim) for shim in trained_shims(nlp, frozen))
    return [scaler for scaler in found if scaler is not None]
