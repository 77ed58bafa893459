"""The private names of PyTorch, thinc and spaCy that this package uses, all of them, each with what
is done without it. A later version may rename or remove them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain, repeat
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.modules import module as torch_module

HOOKS = "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"
hooks_of_layer = attrgetter(*HOOKS)
hooks_of_all = attrgetter(*(f"_global{name}" for name in HOOKS))


def foreach(
    name: str, tensors: Sequence[Tensor], *others: Any, **settings: Any
) -> Sequence[Tensor]:
    """Apply an operation to many tensors at once; without `torch._foreach_…`, one by one. Other
    arguments are lists with one for each tensor, or numbers for all of them. If the name ends with
    an underscore, the tensors are changed in place."""
    together = getattr(torch, f"_foreach_{name}", None)
    if together is not None:
        return together(tensors, *others, **settings) or tensors
    rows = zip(
        tensors, *(x if isinstance(x, list | tuple) else repeat(x) for x in others), strict=False
    )
    return [getattr(first, name)(*rest, **settings) for first, *rest in rows]


def has_amx() -> bool:
    """RETURNS (bool): Whether the processor has AMX, as far as PyTorch says."""
    found = getattr(torch.cpu, "_is_amx_tile_supported", None)
    return found is not None and bool(found())


def has_bfloat16() -> bool:
    """RETURNS (bool): Whether oneDNN computes in bfloat16 on this processor, as far as PyTorch
    says."""
    found = _onednn("_is_mkldnn_bf16_supported")
    return found is not None and bool(found())


class OrderedLinear(NamedTuple):
    """A linear layer whose weight is in oneDNN's order.

    order (Callable[[Tensor, int], Tensor]): Brings the weight into that order, which is made for a
        number of rows.
    run (Callable[..., Tensor]): Computes the layer.
    """

    order: Callable[[Tensor, int], Tensor]
    run: Callable[..., Tensor]


def ordered_linear() -> OrderedLinear | None:
    """RETURNS (Optional[OrderedLinear]): The functions; None if PyTorch has them not."""
    order, run = (_onednn(name) for name in ("_reorder_linear_weight", "_linear_pointwise"))
    return None if order is None or run is None else OrderedLinear(order, run.default)


def order_of_lstm() -> Callable[..., list[Tensor]] | None:
    """RETURNS (Optional[Callable[..., List[Tensor]]]): Brings the weights of an LSTM into
    oneDNN's order; None if PyTorch has it not."""
    return _onednn("_reorder_mkldnn_rnn_layer_weight")


def _onednn(name: str) -> Any:
    is_available = torch.backends.mkldnn.is_available()
    return getattr(torch.ops.mkldnn, name, None) if is_available else None


def is_dispatched() -> bool:
    """RETURNS (bool): Whether something such as a counter of operations receives all of them; also
    if PyTorch does not say."""
    found = getattr(torch._C, "_len_torch_dispatch_stack", None)
    return found is None or bool(found())


def is_watched(layer: nn.Module) -> bool:
    """Check whether a hook is called before or after a layer or its gradient is computed; also true
    if PyTorch does not say. A hook may change what the layer computes."""
    try:
        return any(hooks_of_layer(layer)) or any(hooks_of_all(torch_module))
    except AttributeError:
        return True


def tensors_of(layer: nn.Module) -> Iterable[Tensor | None]:
    """Get the parameters and buffers of a layer, without those of its submodules; None for
    those that are not used. The public methods take several times as long."""
    if hasattr(layer, "_parameters") and hasattr(layer, "_buffers"):
        return chain(layer._parameters.values(), layer._buffers.values())
    return chain(layer.parameters(recurse=False), layer.buffers(recurse=False))


def version_of(tensor: Tensor) -> object:
    """RETURNS (object): What changes whenever a tensor is changed in place; something that equals
    nothing else, so that nothing is kept, if PyTorch does not say."""
    return getattr(tensor, "_version", object())


def network_of(shim: Any) -> Any:
    """RETURNS: The network in a shim of thinc's; None if there is none yet."""
    return shim._model if hasattr(shim, "_model") else getattr(shim, "model", None)


def gradient_scaler_of(shim: Any) -> Any:
    """RETURNS: The gradient scaler of a shim in mixed precision; None in full precision."""
    is_mixed = getattr(shim, "_mixed_precision", False)
    return getattr(shim, "_grad_scaler", None) if is_mixed else None


def set_overflow(scaler: Any, has_overflowed: bool) -> None:
    """Tell a gradient scaler that gradients have overflowed, here or in another process. If that is
    kept elsewhere, the processes' scales may come to differ, and with them which updates they skip.
    """
    if hasattr(scaler, "_found_inf"):
        scaler._found_inf = has_overflowed


def scaler_state(shim: Any) -> dict[str, Tensor]:
    """RETURNS (Dict[str, Tensor]): The state of a shim's gradient scaler, by name; empty if it is
    off, or if it is kept elsewhere: a resumed run then begins with the initial scale."""
    scaler = getattr(shim, "_grad_scaler", None)
    if not getattr(scaler, "_enabled", False):
        return {}
    found = {"scale": "_scale", "growth": "_growth_tracker"}
    return {name: getattr(scaler, own) for name, own in found.items() if hasattr(scaler, own)}


def function_of(model: Any) -> Any:
    """RETURNS: The forward function of a layer of thinc's; None if it is kept elsewhere, so that
    settings of our layers are checked less closely when they are loaded."""
    return getattr(model, "_func", None)


def _spacy(name: str) -> Any:
    from spacy.cli import _util

    return getattr(_util, name, None)


def setup_gpu(use_gpu: int) -> None:
    """Use a GPU, or the CPU if the number is negative, and say so as spaCy's commands do."""
    from thinc.api import require_gpu

    own = _spacy("setup_gpu")
    if own is not None:
        own(use_gpu)
    elif use_gpu >= 0:
        require_gpu(use_gpu)


def import_code(path: Path | None) -> None:
    """Import a file with registered functions, as spaCy's commands do."""
    from spacy.util import import_file

    own = _spacy("import_code")
    if own is not None:
        own(path)
    elif path is not None:
        import_file("python_code", path)


def show_validation_error(path: Path, **settings: Any) -> AbstractContextManager[object]:
    """Print errors in a config as spaCy's commands do; otherwise, they are raised."""
    own = _spacy("show_validation_error")
    return nullcontext() if own is None else own(path, **settings)


def config_overrides(arguments: list[str], **settings: Any) -> dict[str, Any]:
    """Read settings such as `--training.max_steps 100` from a command line, as spaCy's commands do;
    otherwise, each needs a value."""
    import srsly

    own = _spacy("parse_config_overrides")
    if own is not None:
        try:
            return own(arguments, **settings)
        except Exception as error:
            # click's, which newer releases of typer, with a click of their own, do not print
            if type(error).__name__ != "NoSuchOption":
                raise
            from typer import BadParameter

            raise BadParameter(str(error)) from error
    found: dict[str, Any] = {}
    for name, value in zip(arguments[::2], arguments[1::2], strict=True):
        try:
            found[name.removeprefix("--")] = srsly.json_loads(value)
        except ValueError:
            found[name.removeprefix("--")] = value
    return found
