"""The speed devices that `benchmarks.ablation` switches off."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from spacy_psa.inference import BACKENDS, log_product, steps, workspace
from spacy_psa.layers import (
    bfloat16,
    bfloat16_attention,
    character_cache,
    characters,
    dropout,
    fusion,
    joined_lstm,
    labeler,
    linear,
    mask,
    recurrent,
    roomy,
    tiles,
    words,
)
from spacy_psa.layers.mask import SequenceMask
from spacy_psa.models import updating
from spacy_psa.pipeline import update

TRAINING, TAGGING = "training", "tagging"
BOTH = TRAINING, TAGGING


class Switch(NamedTuple):
    """A speed device.

    off (Tuple[Tuple[Any, str, Any], ...]): What replaces it: an object, an attribute (or a key of a
        dict) and the value without the device.
    figures (Tuple[str, ...]): What it is used for; other figures cannot depend on it.
    precision (Optional[str]): The precision in which alone it is used.
    """

    off: tuple[tuple[Any, str, Any], ...]
    figures: tuple[str, ...] = BOTH
    precision: str | None = None


@contextmanager
def switched_off(switch: Switch) -> Iterator[None]:
    """Compute without a device within the context.

    switch (Switch): The device.
    """
    kept = []
    try:
        for owner, name, value in switch.off:
            kept.append((owner, name, (owner if isinstance(owner, dict) else vars(owner))[name]))
            _set(owner, name, value)
        yield
    finally:
        for owner, name, value in reversed(kept):
            _set(owner, name, value)


def _set(owner: Any, name: str, value: Any) -> None:
    if isinstance(owner, dict):
        owner[name] = value
    else:
        setattr(owner, name, value)


def _scores(
    queries: Tensor, keys: Tensor, weight: Tensor, mask: SequenceMask, **options: Any
) -> Tensor:
    """Equation 5 of Wei et al. (2021), by broadcasting."""
    pairs = mask.padded(queries).unsqueeze(2) + mask.padded(keys).unsqueeze(1)
    return torch.tanh(pairs) @ weight


def _gather(x: Tensor, rows: Tensor) -> Tensor:
    return x.index_select(0, rows)


def _scatter(x: Tensor, rows: Tensor, n: int) -> Tensor:
    return x.new_zeros(n, x.shape[1]).index_copy(0, rows, x)


def _product(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    return np.dot(a, b, out)


def _never(*args: Any) -> bool:
    return False


class _Nothing:
    pass


_GATHER = (
    *((module, "gather", _gather) for module in (mask, labeler, joined_lstm, bfloat16_attention)),
    (mask, "scatter", _scatter),
    (mask, "spread", lambda x, nearest, rows: x.index_select(0, nearest)),
)
_ROUNDING = (
    (roomy, "rounded_up", lambda n: n),
    (bfloat16_attention, "rounded_up", lambda n: n),
)
_JOINED = ((SequenceMask, "joined", None),)
_PACKED = ((characters, "may_be_packed", _never),)
_DROPOUT = ((dropout.Dropout, "forward", nn.Dropout.forward),)
_SCALED = ((BACKENDS, "scaled", BACKENDS["logspace"]),)
_CACHE = (
    (words.WordCharacterEmbedding, "_read", lambda self, *args: character_cache.read_words(*args)),
)
_IN_PLACE = ((updating, "LeavesGradient", _Nothing), (update, "LeavesGradient", _Nothing))
_PRODUCTS = (
    (steps, "product", _product),
    (log_product, "product", _product),
    (steps, "sum_of_outer_products", lambda a, b: np.dot(a.T, b)),
)
_WORKSPACES = ((workspace.Workspace, "empty", lambda self, *shape: np.empty(shape)),)
_BUFFERS = ((tiles, "_free", lambda dtype: []),)
_GROUPS = ((recurrent, "ROWS_AT_ONCE", 1 << 40),)

SWITCHES = {
    "tiled additive scores": Switch(((fusion, "token_scores", _scores),)),
    "padding removal": Switch(((SequenceMask, "compact", lambda self, x: x),)),
    "joined rows of the LSTM": Switch(_JOINED, (TRAINING,)),
    "packed character LSTM": Switch(_PACKED),
    "own dropout": Switch(_DROPOUT, (TRAINING,)),
    "scaled CRF": Switch(_SCALED, (TRAINING,)),
    "row rounding": Switch(_ROUNDING),
    "gather and scatter": Switch(_GATHER),
    "LSTM in groups of sentences": Switch(_GROUPS, (TAGGING,)),
    "character cache": Switch(_CACHE, (TAGGING,)),
    "buffers of tiles": Switch(_BUFFERS),
    "in-place optimizer protocol": Switch(_IN_PLACE, (TRAINING,)),
    "products with PyTorch's threads": Switch(_PRODUCTS, (TRAINING,)),
    "workspaces": Switch(_WORKSPACES, (TRAINING,)),
    "bfloat16 sums of attention": Switch(
        ((bfloat16_attention, "DTYPES", set()),), (TAGGING,), "bf16"
    ),
    "kept order of bfloat16 weights": Switch(
        ((bfloat16, "ORDERS_WEIGHTS", False),), (TAGGING,), "bf16"
    ),
    "rows filled up in mixed precision": Switch(
        ((linear, "_is_to_be_filled_up", _never),), (TRAINING,), "bf16"
    ),
    "all but tiled scores and padding removal": Switch(
        (
            *(_JOINED + _PACKED + _DROPOUT + _SCALED),
            *(_ROUNDING + _GATHER + _GROUPS + _CACHE),
            *(_BUFFERS + _IN_PLACE + _PRODUCTS + _WORKSPACES),
        )
    ),
    "nothing (noise)": Switch(()),
}
