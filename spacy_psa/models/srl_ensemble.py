"""An ensemble of semantic role labeling models, which averages their distributions."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from spacy.tokens import Doc
from thinc.api import Model

from ..errors import Errors
from ..inference import LinearChain, Potentials
from .srl import predict_in_parts
from .types import RoleLabeler


def build_role_ensemble(*models: RoleLabeler) -> RoleLabeler:
    """Combine trained models. The output is the log of the mean probability of each label of each
    token; with a CRF, these probabilities are the marginals.

    *models (RoleLabeler): The models; in a config, sections `model.*.name`. They must have the same
        labels.
    RETURNS (RoleLabeler): The ensemble, which cannot be trained.
    RAISES (ValueError): If there are fewer than two models, or their `max_length` or `overlap`
        differ.

    Source: Tan et al. (2018), 'Results'; five models there.
    """
    if len(models) < 2:
        raise ValueError(Errors.P334.format(n=len(models)))
    windows = {(m.attrs.get("max_length"), m.attrs.get("overlap")) for m in models}
    if len(windows) > 1:
        raise ValueError(Errors.P405.format(found=" and ".join(map(str, sorted(windows, key=str)))))
    attrs = {**models[0].attrs, "in_parts": _in_parts}
    attrs.pop("resize_output", None)  # it would only change what is said of the outputs
    return Model("role_ensemble", forward, init=init, layers=models, dims={"nO": None}, attrs=attrs)


def init(model: RoleLabeler, X: list[Doc] | None = None, Y: Any = None) -> RoleLabeler:
    """Initialize all models; `nO` must be set."""
    for layer in model.layers:
        layer.set_dim("nO", model.get_dim("nO"), force=True)
        layer.initialize(X=X)
    return model


def forward(
    model: RoleLabeler, inputs: tuple[list[Doc], list[list[int]]], is_train: bool
) -> tuple[Potentials, Callable[[Potentials], list[Doc]]]:
    """Average the distributions of all models. The result has no transitions."""
    if is_train:
        raise ValueError(Errors.P333)
    return _mean([layer.predict(inputs) for layer in model.layers]), lambda d_potentials: []


def _in_parts(
    model: RoleLabeler, docs: list[Doc], predicates: list[list[int]], max_positions: int
) -> Iterator[Potentials]:
    if not all("in_parts" in layer.attrs for layer in model.layers):
        yield model.predict((docs, predicates))
        return
    # All yield the same parts
    limits = [layer.attrs.get("max_positions", max_positions) for layer in model.layers]
    max_positions = min(max_positions, *limits)
    streams = (
        predict_in_parts(layer, docs, predicates, max_positions=max_positions)
        for layer in model.layers
    )
    for parts in zip(*streams, strict=True):
        yield _mean(parts)


def _mean(of_models: Sequence[Potentials]) -> Potentials:
    marginals = [LinearChain(potentials.detach()).marginals.double() for potentials in of_models]
    tiny = torch.finfo(torch.float64).tiny
    mean = (sum(marginals[1:], marginals[0]) / len(marginals)).clamp(min=tiny)
    return Potentials(mean.log().float(), of_models[0].lengths)
