"""The settings of `psa_tagger`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thinc.api import Config

from ...annotation.base import Target
from ...annotation.targets import make_target
from ...errors import Errors, suggestion
from ..settings import (
    FLAG,
    LABEL_WEIGHTS,
    LABELS,
    MAX_GRAD_NORM,
    OPTIONAL_TEXT,
    REDUCTION,
    SMOOTHING,
    TEMPERATURE,
    TEXT,
    THRESHOLD,
    Setting,
    check_settings,
)

# PSA (Wei et al. 2021), as in the recipe `best` of `psa init-config`, with less dropout, so that it
# also learns from a few sentences
DEFAULT_PSA_MODEL = Config().from_disk(Path(__file__).with_name("model.cfg"))["model"]
DEFAULTS: dict[str, Any] = {
    "target": "tag",
    "spans_key": "sc",
    "overwrite": False,
    "probabilities": False,
    "threshold": None,
    "allow_space": False,
    "constrain_decoding": True,
    "constrain_training": False,
    "loss_reduction": "mean",
    "label_smoothing": 0.0,
    "label_weights": None,
    "set_separator": None,
    "max_grad_norm": 5.0,
}
SETTINGS: dict[str, Setting] = {
    "labels": LABELS,
    "target": TEXT,
    "spans_key": TEXT,
    "overwrite": FLAG,
    "probabilities": FLAG,
    "threshold": THRESHOLD,
    "temperature": TEMPERATURE,
    "allow_space": FLAG,
    "constrain_decoding": FLAG,
    "constrain_training": FLAG,
    "loss_reduction": REDUCTION,
    "label_smoothing": SMOOTHING,
    "label_weights": LABEL_WEIGHTS,
    "set_separator": OPTIONAL_TEXT,
    "max_grad_norm": MAX_GRAD_NORM,
}
FIXED = ("target", "spans_key", "set_separator")


def target_of(cfg: Mapping[str, Any]) -> Target:
    """What a component with these settings reads and writes."""
    target, spans_key, separator = (cfg[name] for name in FIXED)
    return make_target(target, spans_key=spans_key, set_separator=separator)


def new_cfg(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a new component, after checks of each and of all together."""
    cfg = {"labels": [], "temperature": 1.0, **DEFAULTS, **given}
    unknown = next((key for key in given if key not in DEFAULTS), None)
    if unknown is not None:
        raise TypeError(f"PSATagger() has no setting '{unknown}'")
    check_settings(cfg, SETTINGS)
    smoothing, separator = cfg["label_smoothing"], cfg["set_separator"]
    if smoothing and cfg["constrain_training"]:
        raise ValueError(Errors.P231.format(name=name, smoothing=smoothing))
    if smoothing and separator is not None:
        names = {"name": name, "smoothing": smoothing, "separator": separator}
        raise ValueError(Errors.P367.format(**names))
    return cfg


def check_threshold(name: str, threshold: Any, labels: Sequence[str]) -> None:
    """Check that a threshold is in range, and that its labels are the component's."""
    check_settings({"threshold": threshold}, SETTINGS)
    if not isinstance(threshold, dict) or not labels:
        return
    for label in threshold:
        if label not in labels:
            names = {"name": name, "label": label, "options": ", ".join(labels)}
            raise ValueError(Errors.P343.format(**names, suggestion=suggestion(label, labels)))


def check_same_target(name: str, before: Target, loaded: Target) -> None:
    """Check that a component loads data of its own target."""
    if before.score_weights != loaded.score_weights:
        configured, found = (
            f"'{target.name}'" + f" (spans_key '{target.spans_key}')" * (target.name == "spans")
            for target in (before, loaded)
        )
        raise ValueError(Errors.P308.format(name=name, configured=configured, found=found))
