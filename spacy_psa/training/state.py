"""The state that updates change (weights and optimizer state), under persistent names.

thinc identifies parameters by numbers that differ from process to process. Here, a parameter is
identified by its path: the component, the index of the layer in the model's walk, and its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import srsly
import torch
from spacy.language import Language
from thinc.api import Model, Optimizer, PyTorchShim, get_current_ops
from thinc.model import deserialize_attr, serialize_attr
from thinc.util import xp2torch
from torch import Tensor

from ..errors import Errors
from ..private_names import network_of, scaler_state

MEMORIES = ("mom1", "mom2", "averages")
COUNTS = ("nr_update", "last_seen")
Owner = tuple[Model | PyTorchShim, str]
ATTRIBUTES = "attributes"


def read_state(
    nlp: Language, optimizer: Optimizer, frozen: Sequence[str]
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the state of a training run, without the components that are not trained: the tensors,
    on their devices, sharing memory with the pipeline and the optimizer; and the rest,
    JSON-serializable. It is an error if the optimizer has state for parameters that the pipeline
    does not have."""
    nodes = dict(_nodes(nlp, frozen))
    tensors = {f"weights/{path}": tensor for path, tensor in _weights(nodes)}
    keys = dict(_keys(nodes))
    for memory in MEMORIES:
        for key, array in (getattr(optimizer, memory) or {}).items():
            if key not in keys:
                raise ValueError(Errors.P282.format(name=key[1]))
            tensors[f"{memory}/{keys[key]}"] = xp2torch(array)
    attributes = srsly.msgpack_dumps({path: _attributes(node) for path, node in nodes.items()})
    tensors[ATTRIBUTES] = torch.frombuffer(bytearray(attributes), dtype=torch.uint8)
    rest: dict[str, Any] = {
        count: {keys[key]: n for key, n in getattr(optimizer, count).items() if key in keys}
        for count in COUNTS
    }
    rest["radam"] = optimizer._radam_buffer
    rest["labels"] = {name: list(pipe.labels) for name, pipe in _labelers(nlp, frozen)}
    rest["gradients"] = [path for path, owner in _owners(nodes) if gradient_of(owner) is not None]
    return tensors, rest


def write_state(
    nlp: Language,
    optimizer: Optimizer,
    frozen: Sequence[str],
    tensors: dict[str, Tensor],
    rest: dict[str, Any],
) -> None:
    """Restore what `read_state` has read in a pipeline and its optimizer. If the state does not
    match the pipeline, no weight is changed."""
    for name, pipe in _labelers(nlp, frozen):
        # A sourced component may have gained labels in training
        pipe.tagset.take(rest.get("labels", {}).get(name, ()))
    nodes = dict(_nodes(nlp, frozen))
    weights = dict(_weights(nodes))
    saved = _of_kind("weights", tensors)
    problem = _difference(weights, saved)
    if problem is not None:
        raise ValueError(Errors.P287.format(problem=problem))
    with torch.no_grad():
        for path, tensor in weights.items():
            tensor.copy_(saved[path])
    _write_attributes(nodes, srsly.msgpack_loads(tensors[ATTRIBUTES].numpy().tobytes()))
    owners, xp = dict(_owners(nodes)), get_current_ops().xp
    keys = {path: key for key, path in _keys(nodes)}
    for memory in MEMORIES:
        found = _of_kind(memory, tensors)
        arrays = {keys[path]: xp.array(tensor.numpy()) for path, tensor in found.items()}
        if getattr(optimizer, memory) is not None:
            getattr(optimizer, memory).update(arrays)
    for count in COUNTS:
        getattr(optimizer, count).update({keys[path]: n for path, n in rest[count].items()})
    optimizer._radam_buffer = [list(entry) for entry in rest["radam"]]
    # An optimizer with momentum updates parameters that have a gradient, even if it is zero.
    for path in rest["gradients"]:
        zero_gradient(*owners[path])


def trained_owners(nlp: Language, frozen: Sequence[str]) -> list[Owner]:
    """Find the owner of each parameter of the components that are not frozen, and the name under
    which it has it, in the same order in each process. One that several components share is found
    once."""
    owners = (owner for _, owner in _owners(dict(_nodes(nlp, frozen))))
    return list({(id(owner), name): (owner, name) for owner, name in owners}.values())


def trained_shims(nlp: Language, frozen: Sequence[str]) -> list[PyTorchShim]:
    """Find the networks of all components that are not frozen."""
    shims = _shims(dict(_nodes(nlp, frozen)))
    return list({id(shim): shim for _, shim in shims}.values())


def _labelers(nlp: Language, frozen: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Find the trained components of this package."""
    for name, pipe in nlp.pipeline:
        if name not in frozen and hasattr(pipe, "tagset"):
            yield name, pipe


def _nodes(nlp: Language, frozen: Sequence[str]) -> Iterator[tuple[str, Model]]:
    """Find the layers of all trained components, each with its path."""
    for name, pipe in nlp.pipeline:
        if name in frozen or not getattr(pipe, "is_trainable", False):
            continue
        model = getattr(pipe, "model", None)
        if isinstance(model, Model):
            for i, node in enumerate(model.walk()):
                yield f"{name}/{i}", node


def _shims(nodes: dict[str, Model]) -> Iterator[tuple[str, PyTorchShim]]:
    for path, node in nodes.items():
        for i, shim in enumerate(node.shims):
            if not isinstance(shim, PyTorchShim):
                raise ValueError(Errors.P289.format(name=path, kind=type(shim).__name__))
            if network_of(shim) is not None:
                yield f"{path}/torch{i}", shim


def _weights(nodes: dict[str, Model]) -> Iterator[tuple[str, Tensor]]:
    """Find all tensors that training changes. Shared tensors appear under their first name only."""
    for path, node in nodes.items():
        for name in node.param_names:
            if node.has_param(name):
                yield f"{path}/{name}", xp2torch(node.get_param(name))
    for path, shim in _shims(nodes):
        seen = set()
        for name, tensor in network_of(shim).state_dict(keep_vars=True).items():
            if id(tensor) not in seen:
                seen.add(id(tensor))
                yield f"{path}/{name}", tensor.detach()
        for name, tensor in scaler_state(shim).items():
            yield f"{path}:{name}", tensor


def _owners(nodes: dict[str, Model]) -> Iterator[tuple[str, Owner]]:
    """Find the owner of each parameter, and the name under which it has it."""
    for path, node in nodes.items():
        for name in node.param_names:
            if node.has_param(name):
                yield f"{path}/{name}", (node, name)
    for path, shim in _shims(nodes):
        for name, _ in network_of(shim).named_parameters():
            yield f"{path}/{name}", (shim, name)


def _keys(nodes: dict[str, Model]) -> Iterator[tuple[tuple[int, str], str]]:
    """Map the optimizer's key of each parameter to its path."""
    for path, (owner, name) in _owners(nodes):
        yield (owner.id, name), path


def gradient_of(owner: Owner) -> Tensor | None:
    """The gradient of a parameter, as a tensor that shares its memory."""
    place, name = owner
    if isinstance(place, Model):
        return xp2torch(place.get_grad(name)) if place.has_grad(name) else None
    return network_of(place).get_parameter(name).grad


def zero_gradient(owner: Model | PyTorchShim, name: str) -> None:
    """Give a parameter a gradient of zeros."""
    if isinstance(owner, Model):
        owner.set_grad(name, owner.ops.xp.zeros_like(owner.get_param(name)))
    else:
        parameter = network_of(owner).get_parameter(name)
        parameter.grad = torch.zeros_like(parameter)


def _attributes(node: Model) -> dict[str, bytes]:
    """Serialize the attributes of a layer, as far as thinc can."""
    found = {}
    for name, value in node.attrs.items():
        try:
            found[name] = serialize_attr(value, value, name, node)
        except TypeError:
            continue
    return found


def _write_attributes(nodes: dict[str, Model], saved: dict[str, dict[str, bytes]]) -> None:
    """Restore attributes that differ, such as hash seeds, which thinc takes from a counter."""
    for path, node in nodes.items():
        found = _attributes(node)
        for name, data in saved[path].items():
            if found.get(name) != data:
                node.attrs[name] = deserialize_attr(node.attrs.get(name), data, name, node)


def _difference(expected: dict[str, Tensor], found: dict[str, Tensor]) -> str | None:
    """Describe how two sets of weights differ."""
    for path, tensor in expected.items():
        if path not in found:
            return f"'{path}' is missing"
        if found[path].shape != tensor.shape:
            return f"'{path}' has shape {tuple(found[path].shape)}, not {tuple(tensor.shape)}"
    unknown = next((path for path in found if path not in expected), None)
    return None if unknown is None else f"'{unknown}' is not part of this pipeline"


def _of_kind(kind: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Find the tensors of a kind, by the path of their parameter."""
    start = f"{kind}/"
    return {name.removeprefix(start): t for name, t in tensors.items() if name.startswith(start)}
