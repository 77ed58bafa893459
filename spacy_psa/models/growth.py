"""Labels that a trained model gains.

At first, a model only notes that it has more outputs: its network stays as it is and new labels
score -inf, so nothing changes, not even a probability. The network gains rows for them when it is
next trained. Each is the mean of the existing rows: it does not outscore the best of them, and it
has a gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

import torch
from thinc.api import Model, Optimizer
from thinc.util import torch2xp, xp2torch
from torch import Tensor
from torch.nn.functional import pad

from ..errors import Errors
from ..inference import Potentials
from ..private_names import network_of
from .network_checks import saved_tensors
from .network_shim import NetworkShim, networks

# Unlike moments, averages of weights cannot start from zero
AVERAGES = "averages"
MEMORIES = ("mom1", "mom2", AVERAGES)


def can_resize(model: Model) -> bool:
    """Check whether a component's model can gain outputs: it has a function `resize_output`, as
    spaCy's resizable models do, and ours also a network. Before, it has as many outputs as
    configured."""
    shim = _shim(model)
    return "resize_output" in model.attrs and (shim is None or network_of(shim) is not None)


def _shim(model: Model) -> NetworkShim | None:
    shims = model.get_ref("network").shims if model.has_ref("network") else []
    return shims[0] if shims and isinstance(shims[0], NetworkShim) else None


def resize_output(model: Model, new_nO: int) -> Model:
    """Give a model more outputs. Its network grows when it is next trained."""
    model.set_dim("nO", new_nO, force=True)
    return model


def trained_outputs(model: Model) -> int:
    """Count the outputs of a model for which its network has scores. They come first."""
    return (model if _shim(model) is None else model.get_ref("network")).get_dim("nO")


def grow(model: Model) -> None:
    """Let the network of one of this package's models grow to the number of outputs that the model
    has. It is an error if a tensor's size depends on the number of labels in another way than as
    labels or pairs of labels."""
    shim, n_labels = _shim(model), model.get_dim("nO")
    if shim is None or trained_outputs(model) == n_labels:
        return
    config, old = {**shim.cfg, "n_labels": n_labels}, shim.network
    # Built anew, since any block may depend on the number of labels
    new = shim.make(**config).to(shim.device).eval()
    shapes = {name: tensor.shape for name, tensor in saved_tensors(new).items()}
    state = saved_tensors(old).items()
    new.load_state_dict(
        {name: _enlarged(name, tensor, shapes[name], n_labels) for name, tensor in state},
        strict=False,  # shared tensors have one name
    )
    parameters = dict(new.named_parameters())
    for name, parameter in old.named_parameters():
        parameters[name].requires_grad_(parameter.requires_grad)
        if parameter.shape != shapes[name]:
            shim.earlier_shapes.setdefault(name, []).append(parameter.shape)
        if parameter.grad is not None:
            gradient = _enlarged(name, parameter.grad, shapes[name], n_labels, with_zeros=True)
            parameters[name].grad = gradient
    shim.cfg, shim._model = config, new
    model.get_ref("network").set_dim("nO", n_labels, force=True)


def match_state(optimizer: Optimizer, model: Model) -> None:
    """Let an optimizer's state grow with a model's networks."""
    for shim in networks(model):
        for name, earlier in shim.earlier_shapes.items():
            shape = shim.network.get_parameter(name).shape
            for memory in MEMORIES:
                arrays = getattr(optimizer, memory, None) or {}
                found = arrays.get((shim.id, name))
                if found is None:
                    continue
                # thinc keeps moments without their shape
                before = next((known for known in earlier if known.numel() == found.size), None)
                if before is None:
                    continue
                tensor = xp2torch(found).view(before)
                with_zeros = memory != AVERAGES
                grown = _enlarged(name, tensor, shape, shim.cfg["n_labels"], with_zeros=with_zeros)
                flat = found.shape != tuple(before)
                arrays[shim.id, name] = torch2xp(grown.flatten() if flat else grown)


def _enlarged(
    name: str, tensor: Tensor, shape: Sequence[int], n_labels: int, *, with_zeros: bool = False
) -> Tensor:
    """Add rows and columns for new labels: their mean, or zeros."""
    grown = tensor
    for dim, size in enumerate(shape):
        if grown.shape[dim] == size:
            continue
        # Rows are labels, or pairs of labels
        is_pairs = size == n_labels**2
        n_before = isqrt(grown.shape[dim]) if is_pairs else grown.shape[dim]
        if is_pairs:
            grown = grown.unflatten(dim, (n_before, n_before))
        for axis in range(dim, dim + 1 + is_pairs):
            mean = grown.mean(axis, keepdim=True)
            more = torch.zeros_like(mean) if with_zeros else mean
            grown = torch.cat([grown, *[more] * (n_labels - n_before)], axis)
        if is_pairs:
            grown = grown.flatten(dim, dim + 1)
    if grown.shape != shape:
        problem = {"name": name, "found": tuple(tensor.shape), "expected": tuple(shape)}
        raise ValueError(Errors.P317.format(**problem))
    return grown


def padded(potentials: Potentials, n_labels: int) -> Potentials:
    """Add labels that no sequence has: their scores are -inf."""
    more = n_labels - potentials.n_labels
    if not more:
        return potentials
    rows, square = (0, more), (0, more, 0, more)
    sizes = {"transitions": square, "pairwise": square, "start": rows, "end": rows}
    tensors = potentials.tensors()
    emissions = pad(tensors.pop("emissions"), rows, value=-torch.inf)
    others = {name: pad(scores, sizes[name]) for name, scores in tensors.items()}
    return Potentials(emissions, potentials.lengths, **others)
