"""Inspect and reduce the precision of a model's networks."""

from __future__ import annotations

from collections.abc import Iterator

from thinc.api import Model

from ..acceleration.reduced_precision import FULL
from ..errors import Errors
from ..private_names import network_of
from .network_shim import NetworkShim


def networks(model: Model) -> Iterator[NetworkShim]:
    """Find the networks of this package in a model.

    model (Model): The model.
    YIELDS (NetworkShim): The networks that have been built.
    """
    for node in model.walk():
        for shim in node.shims:
            if isinstance(shim, NetworkShim) and network_of(shim) is not None:
                yield shim


def reduced_precision(model: Model) -> str | None:
    """Check whether the precision of a model has been reduced.

    model (Model): The model.
    RETURNS (Optional[str]): The precision of the first network that is not in full precision; None
        if all are.
    """
    return next((s.precision for s in networks(model) if s.precision != FULL), None)


def reduce_model(model: Model, precision: str) -> int:
    """Reduce the precision of all networks of this package in a model.

    model (Model): The model, modified in place.
    precision (str): A key of `spacy_psa.acceleration.reduced_precision.REDUCTIONS`.
    RETURNS (int): The number of networks reduced.
    RAISES (ValueError): If one has been reduced before.
    """
    found = list(networks(model))
    for shim in found:
        shim.reduce(precision)
    return len(found)


def check_trainable(name: str, model: Model) -> None:
    """Check that a component can be trained.

    name (str): The component's name.
    model (Model): Its model.
    RAISES (ValueError): If the precision of one of the model's networks has been reduced.
    """
    precision = reduced_precision(model)
    if precision is not None:
        what = f"The component '{name}'"
        raise ValueError(Errors.P440.format(what=what, precision=precision))
