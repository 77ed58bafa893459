"""The bridge between this package's PyTorch networks and thinc."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, cast

import srsly
import torch
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from spacy.language import Language
from thinc.api import ArgsKwargs, Model, Optimizer, PyTorchShim, Shim
from thinc.types import FloatsXd
from thinc.util import get_torch_default_device, xp2torch
from torch import Tensor, nn

from ..acceleration import install
from ..acceleration.reduced_precision import FULL, REDUCTIONS, reduce_precision
from ..errors import Errors
from ..layers.ops import full_precision
from ..messages import unpack
from ..private_names import network_of
from ..tensor_versions import weights_of
from . import forking
from .mixed_precision import HALF_PRECISIONS, GradientScaler, check_mixed_precision
from .network_checks import check_size, difference, saved_tensors, tensor_difference
from .updating import update_parameters

install()


class NetworkShim(PyTorchShim):
    """Wrap a network that is built once its widths are known, for use in a thinc model.

    In contrast to thinc's own `PyTorchShim`:

    - Averaged parameters (`use_averages`) are supported.
    - Parameters are updated in place, since cuDNN needs its weights in one contiguous block.
    - The network is in evaluation mode except during a training step, so that threads can share it.
    - Serialized networks contain only data: loading them runs no code, and the name, shape and type
      of every tensor are checked before memory is allocated for the network.
    - A parameter shared by several modules is updated, averaged and saved once, under its first
      name.
    - A network whose precision has been reduced is saved as such, and cannot be trained.
    - Mixed precision also works on a CPU and with gradients accumulated over several batches.
      Prediction always uses full precision.

    make (Callable[..., nn.Module]): Builds the network from the keyword arguments of `build`.
    mixed_precision (Optional[str]): Precision of matrix multiplications in training, a key of
        `HALF_PRECISIONS`; None for full precision.
    RAISES (ValueError): If `mixed_precision` is anything else.
    """

    precision: str = FULL

    def __init__(
        self, make: Callable[..., nn.Module], *, mixed_precision: str | None = None
    ) -> None:
        check_mixed_precision(mixed_precision)
        scaler = GradientScaler(mixed_precision)
        super().__init__(None, mixed_precision=mixed_precision is not None, grad_scaler=scaler)
        self._make = make
        # Of parameters that have grown since, to which an optimizer's state may still belong
        self.earlier_shapes: dict[str, list[torch.Size]] = {}
        self._half = None if mixed_precision is None else HALF_PRECISIONS[mixed_precision]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what was pickled, or copied."""
        self.__dict__.update(state)
        forking.note_network()

    @property
    def scaler(self) -> GradientScaler:
        """The gradient scaler for mixed precision."""
        return cast(GradientScaler, self._grad_scaler)

    @property
    def network(self) -> nn.Module:
        """The network. RAISES (ValueError): If it has not been built."""
        if self._model is None:
            raise ValueError(Errors.P201.format(what="The model"))
        return self._model

    @property
    def device(self) -> torch.device:
        """The network's device, in any thread: thinc's default device differs between threads."""
        # For a single sentence, PyTorch's `parameters` would take longer than some layers
        weight = next(weights_of(self.network.modules()), None)
        return get_torch_default_device() if weight is None else weight.device

    def build(self, **config: Any) -> nn.Module:
        """Build the network with newly initialized weights, from what it depends on, as plain
        numbers, strings and lists, which are saved with it. It must not be too large to be trained.
        """
        check_size(self._make, config)
        forking.note_network()
        if self._model is not None:
            self.forget_optimizers()
        self.cfg, self.precision = config, FULL
        self._model = self.make(**config).to(get_torch_default_device()).eval()
        return self._model

    def make(self, **config: Any) -> nn.Module:
        """Make a network in float32, as thinc's arrays are, whatever PyTorch's default is."""
        with _in_float32():
            return self._make(**config)

    def check_trainable(self, what: str) -> None:
        """Check that the precision of the network, which messages call `what`, has not been
        reduced."""
        if self.precision != FULL:
            raise ValueError(Errors.P440.format(what=what, precision=self.precision))

    def reduce(self, precision: str) -> None:
        """Reduce the precision of the network, once, to a key of `REDUCTIONS`. It can then no
        longer be trained."""
        if self.precision != FULL:
            raise ValueError(Errors.P441.format(precision=self.precision))
        self._model = reduce_precision(self.network, precision)
        self.precision = precision

    def predict(self, inputs: ArgsKwargs) -> Any:
        """Run the network without gradients, in full precision. Its first argument must be a
        tensor."""
        # Even within the caller's autocast: results cached here are reused by later predictions
        with torch.no_grad(), full_precision(inputs.args[0]):
            return self.network(*inputs.args, **inputs.kwargs)

    def begin_update(self, inputs: ArgsKwargs) -> tuple[Any, Callable[[Any, Any], None]]:
        """Run the network for training. With its output comes a callback that takes output tensors
        and their gradients, and accumulates gradients in parameters and inputs."""
        self.check_trainable("A network")
        self.network.train()
        try:
            with self._in_mixed_precision():
                output = self.network(*inputs.args, **inputs.kwargs)
        finally:
            self.network.eval()
        backward: Callable[..., None] = torch.autograd.backward
        if self._half is torch.float16:  # the only type whose gradients are scaled
            given = (x for x in inputs.args if isinstance(x, Tensor) and x.requires_grad)
            backward = partial(self.scaler.backward, [*self.network.parameters(), *given])
        return output, partial(_backward, backward)

    def _in_mixed_precision(self) -> contextlib.AbstractContextManager:
        if self._half is None:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=self._half)

    def finish_update(self, optimizer: Optimizer) -> None:
        """Update all parameters that have gradients, in place, and clear the gradients. If one has
        overflowed in float16, nothing is updated, and the scale is reduced."""
        if self._half is not None and self.scaler.found_inf:
            self.network.zero_grad()
        named = self.network.named_parameters()
        given = {(self.id, name): p for name, p in named if p.grad is not None}
        update_parameters(optimizer, given)
        if self._half is not None:
            self.scaler.update()

    def copy(self) -> NetworkShim:
        """Copy the shim and its network, with an ID of its own, which optimizers use as a key."""
        copied = copy.deepcopy(self)
        copied.forget_optimizers()
        return copied

    def forget_optimizers(self) -> None:
        """Take a new ID, under which no optimizer has state: what it has is of other weights."""
        with Shim.global_id_lock:
            Shim.global_id += 1
            self.id = Shim.global_id
        self.earlier_shapes = {}

    @contextlib.contextmanager
    def use_params(self, params: dict[tuple[int, str], FloatsXd]) -> Iterator[None]:
        """Temporarily use other values, by `(shim id, name)`, e.g. the optimizer's averages."""
        parameters = dict(self._model.named_parameters()) if self._model is not None else {}
        given = {name: p for name, p in parameters.items() if (self.id, name) in params}
        backup = {name: parameter.detach().clone() for name, parameter in given.items()}
        try:
            for name, parameter in given.items():
                value = xp2torch(params[self.id, name], device=parameter.device)
                parameter.detach().copy_(value.view_as(parameter))
            yield
        finally:
            for name, value in backup.items():
                given[name].detach().copy_(value)

    def message(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): The data to save: config, and tensors in safetensors format."""
        state = None
        if self._model is not None:
            tensors = {k: v.contiguous().cpu() for k, v in saved_tensors(self._model).items()}
            state = save_tensors(tensors)
        message: dict[str, Any] = {"config": self.cfg, "state": state}
        if self.precision != FULL:
            message["precision"] = self.precision
        return message

    def check_message(self, message: dict[str, Any]) -> None:
        """Check and process what a subclass has added to the saved data."""

    def to_bytes(self) -> bytes:
        """Serialize the network. It need not have been built."""
        return srsly.msgpack_dumps(self.message())

    def from_bytes(self, bytes_data: bytes) -> NetworkShim:
        """Load a network, after checking that its tensors match the configuration."""
        try:
            message = unpack(bytes_data)
            config, state = message["config"], message["state"]
            precision = message.get("precision", FULL)
            if not isinstance(config, dict):
                raise TypeError(f"the settings are of type {type(config).__name__}")
            if precision not in (FULL, *REDUCTIONS):
                raise ValueError(f"the precision is {repr(precision)[:40]}")
            tensors = None if state is None else load_tensors(state)
        except Exception as error:
            # Damaged data can raise many types of exceptions
            raise ValueError(Errors.P202.format(problem=error)) from error
        self.check_message(message)
        if tensors is None:
            self.cfg, self._model, self.precision = config, None, FULL
        else:
            network = self._loaded(config, tensors, precision)
            self.cfg, self._model, self.precision = config, network, precision
        return self

    def _loaded(
        self, config: dict[str, Any], tensors: dict[str, Tensor], precision: str
    ) -> nn.Module:
        """Build a network with these tensors, after checking that they match its configuration."""
        forking.note_network()
        adapt = partial(reduce_precision, precision=precision)
        # Check on the 'meta' device first: a damaged config may ask for any amount of memory
        with _in_float32():
            problem = difference(self._make, config, tensors, adapt)
        if problem is None:
            try:
                network = adapt(self.make(**config))
            except Exception as error:
                raise ValueError(Errors.P203.format(problem=repr(error))) from error
            problem = tensor_difference(saved_tensors(network), tensors)
        if problem is not None:
            raise ValueError(Errors.P203.format(problem=problem))
        # Not strict: shared tensors are saved under one name only. The rest has been checked.
        network.load_state_dict(tensors, strict=False)
        return network.to(get_torch_default_device()).eval()


@contextlib.contextmanager
def _in_float32() -> Iterator[None]:
    before = torch.get_default_dtype()
    if before == torch.float32:
        yield
        return
    torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _backward(
    backward: Callable[..., None], outputs: Sequence[Tensor], gradients: Sequence[Tensor]
) -> None:
    """Backpropagate from the outputs that depend on what is trained: parameters may be frozen, by
    `requires_grad_(False)`."""
    pairs = [(o, g) for o, g in zip(outputs, gradients, strict=True) if o.requires_grad]
    if pairs:
        backward(*map(list, zip(*pairs, strict=True)))


def networks(model: Model) -> Iterator[NetworkShim]:
    """Find the networks of this package in a model."""
    for node in model.walk():
        for shim in node.shims:
            if isinstance(shim, NetworkShim) and network_of(shim) is not None:
                yield shim


def reduce_pipeline(nlp: Language, precision: str) -> int:
    """Reduce the precision of all networks of this package in a pipeline, including those in
    spaCy's `tok2vec` component, which halves their size.

    nlp (Language): The pipeline, modified in place.
    precision (str): A key of `spacy_psa.acceleration.reduced_precision.REDUCTIONS`.
    RETURNS (int): The number of networks reduced.
    RAISES (ValueError): If one has been reduced before.
    """
    models = (getattr(pipe, "model", None) for _, pipe in nlp.components)
    found = [shim for model in models if isinstance(model, Model) for shim in networks(model)]
    for shim in found:
        shim.reduce(precision)
    return len(found)
