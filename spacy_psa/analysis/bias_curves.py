"""Positional biases of attention by distance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .activations import Array
from .attention import Passage

MAX_DISTANCE = 15


def bias_by_distance(passages: Sequence[Passage]) -> dict[str, list[Array]]:
    """Average positional biases over all pairs of tokens at the same distance."""
    layers: dict[str, list[dict[str, Array]]] = {}
    for passage in passages:
        for layer in passage.layers:
            if "bias" in layer.view.values:
                layers.setdefault(layer.title, []).append(layer.view.values)
    return {
        title: [
            _rows([values["bias"][head] for values in own], with_self=_see_themselves(own))
            for head in range(len(own[0]["bias"]))
        ]
        for title, own in layers.items()
    }


def _see_themselves(layers: Sequence[dict[str, Array]]) -> bool:
    weights = [values["attention"] for values in layers if "attention" in values]
    return not weights or any((np.diagonal(w, axis1=1, axis2=2) > 0.0).any() for w in weights)


def _rows(matrices: Sequence[Array], *, with_self: bool) -> Array:
    rows = []
    for distance in range(-MAX_DISTANCE, MAX_DISTANCE + 1):
        values = np.concatenate([np.diagonal(matrix, distance) for matrix in matrices])
        values = values[np.isfinite(values)]
        if len(values) and (distance or with_self):
            rows.append([distance, values.mean(), values.min(), values.max()])
    return np.array(rows).reshape(-1, 4)
