"""Check a saved network against its config before memory is allocated for it.

The size of a network comes from settings in a file, which may be damaged or malicious. So the
network is first built on PyTorch's 'meta' device, where tensors have shapes but no data.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_args, get_origin, get_type_hints

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

# Calls to PyTorch functions allowed while a network is built. This package's make up to 15 per
# tensor.
BASE_CALLS, CALLS_PER_TENSOR = 1000, 100
# Numbers allowed in one tensor, which may be assembled from several
BASE_SIZE, SIZE_RATIO = 1 << 20, 4


class TooLarge(Exception):
    """A network is far larger than the tensors given for it."""


class _Budget(TorchFunctionMode):
    """Abort the construction of a network with, say, a billion layers or attention heads."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        super().__init__()
        self._left = BASE_CALLS + CALLS_PER_TENSOR * len(tensors)
        self._size = BASE_SIZE + SIZE_RATIO * sum(tensor.numel() for tensor in tensors.values())

    def __torch_function__(
        self, function: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self._left -= 1
        if self._left < 0:
            raise TooLarge
        result = function(*args, **(kwargs or {}))
        if isinstance(result, Tensor) and result.numel() > self._size:
            raise TooLarge
        return result


def difference(
    make: Callable[..., nn.Module],
    config: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    adapt: Callable[[nn.Module], nn.Module] | None = None,
) -> str | None:
    """Describe how tensors differ from those of the network that a config describes.

    make (Callable[..., nn.Module]): Builds the network.
    config (Mapping[str, Any]): Its arguments.
    tensors (Mapping[str, Tensor]): The tensors, by name.
    adapt (Optional[Callable[[nn.Module], nn.Module]]): Applied to the network to change the types
        of its layers.
    RETURNS (Optional[str]): A difference, in words; None if there is none. Also None if the network
        cannot be built on the 'meta' device, like some blocks of other packages: then build it, and
        call `tensor_difference`.
    """
    problem = argument_problem(make, config)
    if problem is not None:
        return problem
    try:
        with torch.device("meta"), _Budget(tensors):
            network = make(**config)
            network = network if adapt is None else adapt(network)
    except TooLarge:
        total = sum(tensor.numel() for tensor in tensors.values())
        return (
            f"it describes a network with far more than {total:,} numbers in {len(tensors)} tensors"
        )
    except RuntimeError:
        # Something needs data; or sizes are negative, which the real construction will reject.
        return None
    except Exception as error:
        # Whatever invalid sizes such as 0 lead to
        return repr(error)
    return tensor_difference(saved_tensors(network), tensors)


def saved_tensors(network: nn.Module) -> dict[str, Tensor]:
    """Collect the tensors of a network that are saved.

    network (nn.Module): The network.
    RETURNS (Dict[str, Tensor]): The tensors by name. A tensor shared by several modules appears
        once, under its first name.
    """
    found: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in network.state_dict(keep_vars=True).items():
        found.setdefault(id(tensor), (name, tensor.detach()))
    return dict(found.values())


def tensor_difference(expected: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> str | None:
    """Describe how the tensors in a file differ from those of a network.

    expected (Mapping[str, Tensor]): The network's tensors.
    found (Mapping[str, Tensor]): The file's tensors.
    RETURNS (Optional[str]): The first difference in names, shapes or types, in words.
    """
    for name, tensor in expected.items():
        if name not in found:
            return f"'{name}' is missing"
        if found[name].shape != tensor.shape:
            return f"'{name}' has shape {tuple(found[name].shape)}, not {tuple(tensor.shape)}"
        if found[name].dtype != tensor.dtype:
            return f"'{name}' has type {found[name].dtype}, not {tensor.dtype}"
    unknown = sorted(set(found) - set(expected))
    return f"'{unknown[0]}' is not part of the network" if unknown else None


def argument_problem(make: Callable[..., Any], config: Mapping[str, Any]) -> str | None:
    """Find an argument whose type does not match the annotation of a function.

    make (Callable[..., Any]): The function or class, or a `functools.partial` of it.
    config (Mapping[str, Any]): The arguments.
    RETURNS (Optional[str]): The first problem, in words. Only `bool`, `int`, `float`, `str` and
        lists of them are checked.
    """
    while isinstance(make, partial):
        make = make.func
    try:
        hints = get_type_hints(make.__init__ if inspect.isclass(make) else make)
    except (NameError, TypeError, AttributeError):
        hints = {}
    for name, value in config.items():
        hint = hints.get(name)
        if hint is not None and not _fits(value, hint):
            return f"'{name}' is {repr(value)[:40]}, not of type {getattr(hint, '__name__', hint)}"
    return None


def _fits(value: Any, hint: Any) -> bool:
    if hint in (bool, int, float, str):
        return type(value) is hint
    if get_origin(hint) is list:
        (item,) = get_args(hint)
        return isinstance(value, list) and all(_fits(each, item) for each in value)
    return True
