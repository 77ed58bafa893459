"""Faster replacements of the operations that `spacy_psa.layers.ops` defines."""

from ..layers.ops import register
from .cpu import CPUPrediction, CPUTraining
from .cuda.operations import CUDAOps


def install() -> None:
    """Let the layers use what is faster than the definitions on their device."""
    register("cpu", training=CPUTraining(), prediction=CPUPrediction())
    register("cuda", training=CUDAOps(), prediction=CUDAOps())
