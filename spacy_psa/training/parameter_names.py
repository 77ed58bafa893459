"""The names of parameters. Optimizers only know the number of a layer, which depends on what the
process has made before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from weakref import ref

from spacy.language import Language
from thinc.api import Model, PyTorchShim

from ..private_names import network_of

Key = tuple[int, str]
_pipelines: list[ref[Language]] = []


class ParameterName(NamedTuple):
    """The name of a parameter.

    component (str): The component that it belongs to.
    path (str): The name of its layer and its own, `layer/parameter`.
    """

    component: str
    path: str

    def __str__(self) -> str:
        return f"{self.component}/{self.path}"


def note_pipeline(nlp: Language) -> None:
    """Let optimizers know the names of a pipeline's parameters, for `groups`. Pipelines with
    `psa_tagger` or `psa_srl`, and those that `psa train` trains or the logger
    `spacy_psa.JsonlLogger.v1` follows, are noted already.

    nlp (Language): The pipeline. It is not kept alive.
    """
    # The latest comes last: a sourced component may have another name in it
    _pipelines[:] = [*(kept for kept in _pipelines if kept() not in (None, nlp)), ref(nlp)]


def names_beside(key: Key) -> dict[Key, ParameterName]:
    """Find the names of all parameters of the pipeline that has a parameter.

    RETURNS (Dict[Tuple[int, str], ParameterName]): The names, by key; empty if no pipeline noted
        has it.
    """
    for kept in reversed(_pipelines):
        nlp = kept()
        names = {} if nlp is None else dict(_names(nlp))
        if key in names:
            return names
    return {}


def _names(nlp: Language) -> Iterator[tuple[Key, ParameterName]]:
    for component, pipe in nlp.components:
        model: Any = getattr(pipe, "model", None)
        for node in model.walk() if isinstance(model, Model) else ():
            for name in node.param_names:
                yield (node.id, name), ParameterName(component, f"{node.name}/{name}")
            for shim in node.shims:
                network = network_of(shim) if isinstance(shim, PyTorchShim) else None
                for name, _ in network.named_parameters() if network is not None else ():
                    yield (shim.id, name), ParameterName(component, f"{node.name}/{name}")
