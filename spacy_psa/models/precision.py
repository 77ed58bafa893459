"""Which precision the networks of a model have, and how to reduce it."""

from __future__ import annotations

from collections.abc import Iterator

from thinc.api import Model

from ..errors import Errors
from ..layers.precision import FULL
from .shim import NetworkShim


def networks(model: Model) -> Iterator[NetworkShim]:
    """Find what a model has of our networks.

    model (Model): The model.
    YIELDS (NetworkShim): The networks that have been built.
    """
    for node in model.walk():
        for shim in node.shims:
            if isinstance(shim, NetworkShim) and shim._model is not None:
                yield shim


def reduced_precision(model: Model) -> str | None:
    """Find out whether a model has been reduced.

    model (Model): The model.
    RETURNS (Optional[str]): The precision of its first network that is not in full precision.
    """
    return next((s.precision for s in networks(model) if s.precision != FULL), None)


def reduce_model(model: Model, precision: str) -> int:
    """Reduce the precision of all networks of ours in a model.

    model (Model): The model, which is modified.
    precision (str): A key of `spacy_psa.layers.precision.REDUCTIONS`.
    RETURNS (int): How many networks there are.
    """
    found = list(networks(model))
    for shim in found:
        shim.reduce(precision)
    return len(found)


def check_trainable(name: str, model: Model) -> None:
    """Check that a component can be trained.

    name (str): The component.
    model (Model): Its model.
    RAISES (ValueError): If the precision of a network of its model has been reduced.
    """
    precision = reduced_precision(model)
    if precision is not None:
        what = f"The component '{name}'"
        raise ValueError(Errors.P440.format(what=what, precision=precision))
