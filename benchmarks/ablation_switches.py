"""The speed devices that `benchmarks.ablation` switches off."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from spacy_psa.acceleration import bfloat16
from spacy_psa.acceleration.cpu import CPUPrediction, CPUTraining
from spacy_psa.acceleration.cuda import operations
from spacy_psa.acceleration.cuda.graphed import GraphedBody
from spacy_psa.acceleration.cuda.operations import CUDAOps
from spacy_psa.acceleration.tiled_scores import tiled_scores
from spacy_psa.inference import BACKENDS
from spacy_psa.inference.engines import max_product
from spacy_psa.inference.engines.triton import backend as triton
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

    def counts(self, figure: str, precision: str) -> bool:
        """RETURNS (bool): Whether the device is used for a figure in a precision."""
        kind = TRAINING if figure.startswith(TRAINING) else TAGGING
        return kind in self.figures and self.precision in (None, precision)


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
_SCALED = ((BACKENDS, "scaled", BACKENDS["logspace"]),)

NOISE = "nothing (noise)"
CPU_SWITCHES = {
    "tiled additive scores": Switch(_definition(CPUPrediction, "additive_scores")),
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
        (*_JOINED, *_PACKED, *_CACHE, *_ORDER, *_SCALED)
    ),
    NOISE: Switch(()),
}


def _no(*_: Any) -> bool:
    return False


def _padded_tiles(_: Ops, queries: Any, keys: Any, weight: Any, mask: Any) -> Any:
    return tiled_scores(mask.unpack(queries), mask.unpack(keys), weight)


_GRAPHS = ((GraphedBody, "_is_possible", _no),)
_ATTENTION = ((CUDAOps, "additive_scores", _padded_tiles),)
_CHAINS = ((triton, "have_kernels", _no), (operations, "have_kernels", _no))
_VITERBI = ((max_product, "have_kernels", _no),)

CUDA_SWITCHES = {
    "CUDA graphs": Switch(_GRAPHS, (TRAINING,)),
    "Triton kernels of additive scores": Switch(_ATTENTION),
    "Triton kernels of the CRF's sums": Switch(_CHAINS, (TRAINING,)),
    "Triton kernel of Viterbi": Switch(_VITERBI, (TAGGING,)),
    "all of them": Switch((*_GRAPHS, *_ATTENTION, *_CHAINS, *_VITERBI)),
    NOISE: Switch(()),
}
SWITCHES = {"cpu": CPU_SWITCHES, "cuda": CUDA_SWITCHES}
