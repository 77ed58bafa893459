"""Load the weights of a model, checking each part before thinc accepts it.

thinc accepts the names, sizes and settings of layers in a file as they are. Errors in them would
surface much later, in a prediction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from thinc.api import Model
from torch import Tensor

from ..errors import Errors
from ..messages import unpack
from ..private_names import function_of, network_of
from .network_shim import NetworkShim, networks
from .srl_ensemble import forward as average
from .word_shim import WordCharacterShim

OURS = __name__.partition(".")[0] + "."
# The shapes of the parameters, by dimension, of the layers that spaCy's embeddings consist of
SHAPES: dict[str, dict[str, tuple[str, ...]]] = {
    "hashembed": {"E": ("nV", "nO")},
    "embed": {"E": ("nV", "nO")},
    "static_vectors": {"W": ("nO", "nM")},
    "maxout": {"W": ("nO", "nP", "nI"), "b": ("nO", "nP")},
    "mish": {"W": ("nO", "nI"), "b": ("nO",)},
    "linear": {"W": ("nO", "nI"), "b": ("nO",)},
    "layernorm": {"G": ("nI",), "b": ("nI",)},
}


def read_model(model: Model, data: bytes) -> None:
    """Load a model's weights. The saved settings of this package's layers are ignored: the config,
    which the user may have edited, takes precedence. The error for data that is damaged, of another
    configuration or not finite may come when a part of it has been loaded."""
    try:
        message = unpack(data)
    except Exception as error:
        raise ValueError(Errors.P202.format(problem=error)) from error
    nodes = list(model.walk())
    problem = _layout_problem(message)
    if problem is not None:
        raise ValueError(Errors.P202.format(problem=problem))
    if len(message["nodes"]) != len(nodes):
        raise ValueError(Errors.P204.format(found=len(message["nodes"]), n=len(nodes)))
    parts = zip(*(message[part] for part in ("nodes", "attrs", "params", "shims")), strict=True)
    for node, (info, attrs, params, shims) in zip(nodes, parts, strict=True):
        _check(
            node,
            *_info_problems(node, info, len(nodes)),
            *_attr_problems(node, attrs),
            *_param_problems(node, params, info.get("dims")),
            *_shim_problems(node, shims),
        )
    configured = [(node, dict(node.attrs)) for node in nodes if _is_ours(node)]
    for node in nodes:
        for shim in _networks(node):
            if isinstance(shim, WordCharacterShim):
                shim.words_from = None  # allows words of a sample: the whole model is replaced
    model.from_dict(message)
    # Sizes of networks are known only once they are loaded
    for node, info in zip(nodes, message["nodes"], strict=True):
        _check(
            node,
            *_network_problems(node, info["dims"]),
            *_part_problems(node),
            *_window_problems(node),
        )
        _check_all_finite(node)
    for node, attrs in configured:
        node.attrs.update(attrs)
        _check(node, *_width_problems(node))


def has_network(model: Model) -> bool:
    """Check whether a model contains a built network of this package."""
    return next(networks(model), None) is not None


def _check(node: Model, *problems: str) -> None:
    """Report the first problem with a layer, if there is one."""
    for problem in problems:
        raise ValueError(Errors.P203.format(problem=f"in the layer '{node.name}', {problem}"))


def _check_all_finite(node: Model) -> None:
    for shim in _networks(node):
        if network_of(shim) is not None:
            for name, tensor in network_of(shim).state_dict().items():
                _check_finite(name, tensor)


def _check_finite(name: str, tensor: Tensor) -> None:
    if not tensor.is_floating_point():
        return
    # The sum is finite only if all values are, and allocates no memory
    if not tensor.detach().sum().isfinite():
        n = int((~tensor.isfinite()).sum())
        if n:
            raise ValueError(Errors.P420.format(name=name, n=n, total=tensor.numel()))


def _networks(node: Model) -> list[NetworkShim]:
    return [shim for shim in node.shims if isinstance(shim, NetworkShim)]


def _is_ours(node: Model) -> bool:
    return getattr(function_of(node), "__module__", "").startswith(OURS)


def _layout_problem(message: Any) -> str | None:
    """Find problems with the message as a whole."""
    if not isinstance(message, dict):
        return f"it is of type {type(message).__name__}"
    for part, kind in (("nodes", dict), ("attrs", dict), ("params", dict), ("shims", list)):
        items = message.get(part)
        if not isinstance(items, list) or not all(isinstance(item, kind) for item in items):
            return f"its part '{part}' is missing or has the wrong type"
        if len(items) != len(message["nodes"]):
            return f"it has {part} for {len(items)} layers, but nodes for {len(message['nodes'])}"
    return None


def _info_problems(node: Model, info: Mapping[str, Any], n_nodes: int) -> Iterator[str]:
    name, dims, refs = (info.get(key) for key in ("name", "dims", "refs"))
    if not isinstance(name, str) or not isinstance(dims, dict) or not isinstance(refs, dict):
        yield "'name', 'dims' or 'refs' is missing or has the wrong type"
        return
    for dim, size in dims.items():
        if dim not in node.dim_names:
            yield f"there is no dimension {dim!r}"
        elif size is not None and (type(size) is not int or size < 0):
            yield f"the dimension '{dim}' is {size!r}"
        elif size is not None and node.has_dim(dim) and node.get_dim(dim) != size:
            yield f"the dimension '{dim}' is {size}, not {node.get_dim(dim)}"
    for ref, index in refs.items():
        if ref not in node.ref_names and _is_ours(node):
            yield f"there is no reference {ref!r}"
        elif index is None:
            if _is_ours(node):
                yield f"the reference '{ref}' is empty"
        elif type(index) is not int or not 0 <= index < n_nodes:
            yield f"the reference '{ref}' is {index!r}"


def _attr_problems(node: Model, attrs: Mapping[str, Any]) -> Iterator[str]:
    for name, saved in attrs.items():
        if not isinstance(name, str) or not isinstance(saved, bytes):
            yield f"the setting {name!r} has the wrong type"
        elif _is_ours(node):
            if name not in node.attrs:
                yield f"there is no setting '{name}'"
                continue
            present = node.attrs[name]
            try:
                value = unpack(saved)
            except Exception as error:
                yield f"the setting '{name}' is damaged ({error})"
                continue
            if callable(present) or not _alike(value, present):
                yield f"the setting '{name}' is {repr(value)[:40]}"


def _alike(value: Any, other: Any) -> bool:
    """Whether two values are of the same kind; None matches any kind."""
    kinds = {type(None): None, bool: bool, str: str, int: float, float: float}
    kind, expected = (kinds.get(type(each), "other") for each in (value, other))
    return kind != "other" and (kind == expected or None in (kind, expected))


def _param_problems(node: Model, params: Mapping[str, Any], dims: Any) -> Iterator[str]:
    shapes = SHAPES.get(node.name, {}) if isinstance(dims, dict) else {}
    for name, dimensions in shapes.items():
        sizes = tuple(dims.get(dim) for dim in dimensions)
        found = getattr(params.get(name), "shape", None)
        # Sizes are unknown in a model that has not been initialized
        if None not in sizes and found != sizes:
            yield f"'{name}' has shape {found}, not {sizes}"
            return
    for name, value in params.items():
        if not isinstance(name, str) or (_is_ours(node) and name not in node.param_names):
            yield f"there is no parameter {name!r}"
        elif value is None:
            continue
        elif not isinstance(value, np.ndarray) or value.dtype.kind != "f":
            yield f"the parameter '{name}' is not a numeric array"
        elif node.has_param(name) and node.get_param(name).shape != value.shape:
            yield f"'{name}' has shape {value.shape}, not {node.get_param(name).shape}"
        elif not np.isfinite(value).all():
            n = int((~np.isfinite(value)).sum())
            raise ValueError(Errors.P420.format(name=name, n=n, total=value.size))


def _shim_problems(node: Model, shims: list[Any]) -> Iterator[str]:
    if len(shims) != len(node.shims):
        yield f"there are {len(shims)} networks, not {len(node.shims)}"
    elif not all(isinstance(shim, bytes) for shim in shims):
        yield "a network has the wrong type"


def _network_problems(node: Model, dims: Mapping[str, int | None]) -> Iterator[str]:
    """Find differences between the sizes of a layer and those of its network."""
    for shim in _networks(node):
        if network_of(shim) is None:
            # Before there are weights, some sizes may be set, but not all
            if dims and None not in dims.values():
                yield "the weights of the network are missing"
            continue
        sizes = {dim: node.maybe_get_dim(dim) for dim in node.dim_names}
        own = {
            "nI": shim.cfg.get("input_width"),
            "nO": shim.cfg.get("n_labels", getattr(network_of(shim), "width", None)),
        }
        for dim, size in sizes.items():
            if own.get(dim) is not None and own[dim] != size:
                yield f"the dimension '{dim}' is {size}, but that of the network is {own[dim]}"


def _part_problems(node: Model) -> Iterator[str]:
    """Find differences between the sizes of a layer of this package and those of its parts."""
    if not _is_ours(node):
        return
    n_outputs = node.maybe_get_dim("nO")
    if function_of(node) is average:
        for layer in node.layers:
            if layer.maybe_get_dim("nO") != n_outputs:
                yield f"one of the models has {layer.maybe_get_dim('nO')} outputs"
    if not node.has_ref("network"):
        return
    network = node.get_ref("network")
    n_own = network.maybe_get_dim("nO")
    # Labels that were added after training have no rows in the network yet
    if n_outputs is not None and n_own is not None and n_own > n_outputs:
        yield f"there are {n_outputs} outputs, but the network has {n_own}"
    n_inputs, n_own = node.layers[0].maybe_get_dim("nO"), network.maybe_get_dim("nI")
    if None not in (n_inputs, n_own) and n_inputs != n_own:
        yield f"there are {n_inputs} inputs, but the network has {n_own}"


def _width_problems(node: Model) -> Iterator[str]:
    """Find conflicts with the config: loaded networks are not rebuilt from it."""
    configured = node.attrs.get("width")
    for shim in _networks(node):
        width = shim.cfg.get("width")
        if network_of(shim) is not None and None not in (configured, width) and configured != width:
            yield f"'width' is {width}, not {configured} as configured"


def _window_problems(node: Model) -> Iterator[str]:
    if _is_ours(node) and {"max_length", "overlap"} <= set(node.attrs):
        overlap, max_length = node.attrs["overlap"], node.attrs["max_length"]
        are_numbers = type(overlap) is int and type(max_length) is int
        if not are_numbers or not 0 <= overlap < max_length:
            yield f"'overlap' is {overlap!r} and 'max_length' {max_length!r}"
