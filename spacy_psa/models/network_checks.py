"""Check the size of a network before memory is allocated for it.

The size comes from settings in a file, which may have a slip, or be damaged or malicious. So the
network is first built on PyTorch's 'meta' device, where tensors have shapes but no data. A saved
network must then fit its tensors; a new one must be of a size that can be trained at all.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, get_args, get_origin, get_type_hints

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ..errors import Errors

# Calls to PyTorch functions allowed while a network is built. This package's make up to 15 per
# tensor.
BASE_CALLS, CALLS_PER_TENSOR = 1000, 100
# Numbers allowed in one tensor, which may be assembled from several
BASE_SIZE, SIZE_RATIO = 1 << 20, 4
# The same for a new network: DeepAtt, the deepest of the papers' systems, makes 2,444 calls, and
# embeddings of three million words with 300 numbers each are half as large
MOST_CALLS, LARGEST_TENSOR, MOST_NUMBERS = 20_000, 1 << 31, 1 << 33
# Tensors without data have no numbers to draw, but to find that out, PyTorch imports its compiler:
# seconds, when a pipeline is loaded.
DRAWN_BY_THE_COMPILER = (nn.init.normal_, Tensor.normal_)


class TooLarge(Exception):
    """A network is far larger than the tensors given for it."""


class _Budget(TorchFunctionMode):
    """Abort the construction of a network with, say, a billion layers or attention heads."""

    def __init__(self, calls: int, size: int) -> None:
        super().__init__()
        self._left, self._size = calls, size

    def __torch_function__(
        self, function: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self._left -= 1
        if self._left < 0:
            raise TooLarge
        if function in DRAWN_BY_THE_COMPILER:
            return args[0] if args else (kwargs or {})["tensor"]
        result = function(*args, **(kwargs or {}))
        if isinstance(result, Tensor) and result.numel() > self._size:
            raise TooLarge
        return result


def check_size(make: Callable[..., nn.Module], config: Mapping[str, Any]) -> None:
    """Check that a new network is not too large or too deep to be trained. The error names the
    largest setting."""
    sizes = [*_sizes(make), *_sizes(config)]
    name, value = max(sizes, key=lambda size: size[1], default=("", 0))
    is_absurd = value > LARGEST_TENSOR
    try:
        with torch.random.fork_rng([]), torch.device("meta"), _Budget(MOST_CALLS, LARGEST_TENSOR):
            if not is_absurd:
                n_numbers = sum(parameter.numel() for parameter in make(**config).parameters())
                is_absurd = n_numbers > MOST_NUMBERS
    except TooLarge:
        is_absurd = True
    except Exception:
        pass  # Other packages' blocks may need data. Real problems return in the real construction
    if is_absurd:
        raise ValueError(Errors.P215.format(name=name, value=value))


def _sizes(value: Any, name: str = "") -> Iterator[tuple[str, int]]:
    """Find the integers among the settings of a network: in what has been bound to the functions
    that build its parts."""
    if isinstance(value, partial):
        given = inspect.signature(value.func).bind_partial(*value.args, **value.keywords)
        yield from _sizes(given.arguments)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _sizes(item, key)
    elif isinstance(value, tuple):
        for item in value:
            yield from _sizes(item, name)
    elif type(value) is int:
        yield name, value


def difference(
    make: Callable[..., nn.Module],
    config: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    adapt: Callable[[nn.Module], nn.Module] | None = None,
) -> str | None:
    """Describe how tensors differ from those of the network that a config describes, once `adapt`
    has changed the types of its layers; None if they do not. Also None if the network cannot be
    built on the 'meta' device, like some blocks of other packages: then build it, and call
    `tensor_difference`."""
    problem = argument_problem(make, config)
    if problem is not None:
        return problem
    calls = BASE_CALLS + CALLS_PER_TENSOR * len(tensors)
    size = BASE_SIZE + SIZE_RATIO * sum(tensor.numel() for tensor in tensors.values())
    try:
        with torch.device("meta"), _Budget(calls, size):
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
    """Collect the tensors of a network that are saved, by name. A tensor shared by several modules
    appears once, under its first name."""
    found: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in network.state_dict(keep_vars=True).items():
        found.setdefault(id(tensor), (name, tensor.detach()))
    return dict(found.values())


def tensor_difference(expected: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> str | None:
    """Describe the first difference in names, shapes or types between the tensors in a file and
    those of a network; None if there is none."""
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
    """Find an argument whose type does not match the annotation of a function, class or
    `functools.partial`, and describe it. Only `bool`, `int`, `float`, `str` and lists of them are
    checked."""
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
