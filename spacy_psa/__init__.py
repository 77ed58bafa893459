"""Neural sequence labeling with exact structured decoding for spaCy."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import (
        analysis,
        annotation,
        calibration,
        corpora,
        distillation,
        evaluation,
        figures,
        inference,
        layers,
        models,
        pipeline,
        scale,
        training,
    )
    from .scale import apply

__version__ = "1.0.0"
__all__ = [
    "__version__",
    "analysis",
    "annotation",
    "apply",
    "calibration",
    "corpora",
    "distillation",
    "evaluation",
    "figures",
    "inference",
    "layers",
    "models",
    "pipeline",
    "scale",
    "training",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "apply":
        return import_module(".scale", __name__).apply
    return import_module(f".{name}", __name__)


def __dir__() -> list[str]:
    return __all__
