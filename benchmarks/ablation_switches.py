"""The speed devices that `benchmarks.ablation` switches off."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from spacy_psa.acceleration import bfloat16
from spacy_psa.acceleration.cpu import CPUPrediction, CPUTraining
from spacy_psa.inference import BACKENDS
from spacy_psa.layers import Ops

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


def _definition(kind: type[Ops], name: str) -> tuple[tuple[Any, str, Any], ...]:
    return ((kind, name, getattr(Ops, name)),)


_JOINED = _definition(CPUTraining, "bilstm")
_CACHE = ((CPUPrediction, "last_states", CPUPrediction._read_words),)
_PACKED = ((CPUPrediction, "_read_words", Ops.last_states),)
_ORDER = _definition(CPUPrediction, "bilstm")
_TANH = _definition(CPUPrediction, "tanh")
_SCALED = ((BACKENDS, "scaled", BACKENDS["logspace"]),)

SWITCHES = {
    "tiled additive scores": Switch(_definition(CPUPrediction, "additive_scores")),
    "tanh from the logistic function": Switch(_TANH, (TAGGING,)),
    "padding removal": Switch(_definition(CPUPrediction, "without_padding")),
    "joined rows of the LSTM": Switch(_JOINED, (TRAINING,)),
    "packed character LSTM": Switch(_PACKED),
    "character cache": Switch(_CACHE, (TAGGING,)),
    "kept order of LSTM weights": Switch(_ORDER, (TAGGING,)),
    "scaled CRF": Switch(_SCALED, (TRAINING,)),
    "row rounding": Switch(((bfloat16, "rounded_up", lambda n: n),), (TAGGING,), "bf16"),
    "kept order of bfloat16 weights": Switch(
        ((bfloat16, "ORDERS_WEIGHTS", False),), (TAGGING,), "bf16"
    ),
    "all but tiled scores and padding removal": Switch(
        (*_JOINED, *_PACKED, *_CACHE, *_ORDER, *_TANH, *_SCALED)
    ),
    "nothing (noise)": Switch(()),
}
