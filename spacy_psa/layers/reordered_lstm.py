"""An LSTM that keeps its weights in oneDNN's order, for prediction on a CPU."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .versions import Forgetful, Versions

States = tuple[Tensor, tuple[Tensor, Tensor]]
LSTM_MODE = 2  # of PyTorch's operations for recurrent layers
NAMES = "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"
# Steps and rows for which weights are ordered. oneDNN puts them in order again for shapes for which
# it wants another one, which costs time and nothing else.
STEPS, ROWS = 25, 32
# What this PyTorch and this processor can do
ORDERS_WEIGHTS = torch.backends.mkldnn.is_available() and hasattr(
    torch.ops.mkldnn, "_reorder_mkldnn_rnn_layer_weight"
)
RUN_LAYER: Any = torch.ops.aten.mkldnn_rnn_layer.default if ORDERS_WEIGHTS else None
HAS_BFLOAT16 = ORDERS_WEIGHTS and torch.ops.mkldnn._is_mkldnn_bf16_supported()


class _Ordered(NamedTuple):
    """The weights in oneDNN's order, and the versions of those that they are made of."""

    versions: Versions
    weights: list[Tensor] | None


class OrderedWeights:
    """The weights of an LSTM in oneDNN's order, for as long as they stay what they are.

    PyTorch puts them in that order in each call, which for a single sentence takes as long as all
    that is computed with them. They are made anew where `Versions` tells that the weights are
    others than before. Threads may share it. Copies of it, and what other processes get, are empty.
    """

    def __init__(self) -> None:
        self._ordered: _Ordered | None = None

    def __reduce__(self) -> tuple[type[OrderedWeights], tuple[()]]:
        return OrderedWeights, ()

    def forget(self) -> None:
        """Make them anew the next time."""
        self._ordered = None

    def run(
        self, x: Tensor, w_input: Tensor, w_hidden: Tensor, b_input: Tensor, b_hidden: Tensor
    ) -> States | None:
        """Run an LSTM.

        x (Tensor): Shape: (batch_size, n, input_width).
        w_input, w_hidden, b_input, b_hidden (Tensor): As PyTorch has them. Shapes:
            (4 * width, input_width), (4 * width, width), (4 * width,) and (4 * width,).
        RETURNS (Optional[Tuple[Tensor, Tuple[Tensor, Tensor]]]): What `nn.LSTM` returns; None if
            oneDNN has no LSTM for such weights, as in bfloat16 for some processors.
        """
        weights, ordered = (w_input, w_hidden), self._ordered
        if ordered is None or not ordered.versions.are_those_of(weights):
            ordered = _Ordered(Versions(weights), _in_order(w_input, w_hidden))
        if ordered.weights is not None:
            try:
                states = _run(x, ordered.weights[0], ordered.weights[1], b_input, b_hidden)
            except RuntimeError:
                ordered = ordered._replace(weights=None)
        self._ordered = ordered
        return None if ordered.weights is None else states


class ReorderedLSTM(Forgetful, nn.LSTM):
    """PyTorch's LSTM, of one layer and one direction. Without gradients and on a CPU, it has oneDNN
    keep its weights in order, instead of doing so in each call.

    input_width (int): Width of the input.
    hidden_width (int): Width of the output.

    Source: Hochreiter and Schmidhuber (1997), with the forget gate of Gers et al. (2000).
    """

    def __init__(self, input_width: int, hidden_width: int) -> None:
        super().__init__(input_width, hidden_width, batch_first=True)
        self._ordered = OrderedWeights()

    def forget_weights(self) -> None:
        """Put weights in order anew the next time."""
        self._ordered.forget()

    # PyTorch's has no types, and takes packed sequences, too
    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> States:  # type: ignore[override]
        """Read sequences.

        input (Tensor): Shape: (batch_size, n, input_width); or a packed sequence.
        hx (Optional[Tuple[Tensor, Tensor]]): The first states, as for `nn.LSTM`.
        RETURNS (Tuple[Tensor, Tuple[Tensor, Tensor]]): The states, and the last ones, as `nn.LSTM`
            gives them. Shapes: (batch_size, n, hidden_width) and (1, batch_size, hidden_width).
        """
        # Not as attributes, which PyTorch's modules look up slowly
        weights = [weight for name in NAMES if (weight := self._parameters.get(name)) is not None]
        if hx is None and len(weights) == len(NAMES) and _is_for_onednn(input, weights[0]):
            self.check_input(input, None)
            states = self._ordered.run(input, *weights)
            if states is not None:
                return states
        return super().forward(input, hx)


def _in_order(w_input: Tensor, w_hidden: Tensor) -> list[Tensor] | None:
    shape = [STEPS, ROWS, w_input.shape[1]]
    try:
        return torch.ops.mkldnn._reorder_mkldnn_rnn_layer_weight(
            w_input, w_hidden, w_hidden.shape[1], False, True, False, shape
        )
    except RuntimeError:
        return None


def _run(x: Tensor, w_input: Tensor, w_hidden: Tensor, b_input: Tensor, b_hidden: Tensor) -> States:
    width = len(b_hidden) // 4
    zeros = x.new_zeros(len(x), width)
    # By position, since to find arguments by name takes as long as to read a short word
    states, h, c, _ = RUN_LAYER(
        x.transpose(0, 1).contiguous(),
        w_input,
        w_hidden,
        b_input,
        b_hidden,
        zeros,
        zeros,
        False,  # reverse
        [],  # batch_sizes
        LSTM_MODE,
        width,
        1,  # num_layers
        True,  # has_biases
        False,  # bidirectional
        False,  # batch_first
        False,  # train
    )
    shape = 1, len(x), width
    return states.transpose(0, 1), (h.view(shape), c.view(shape))


def _is_for_onednn(x: Tensor, weight: Tensor) -> bool:
    """Whether oneDNN reads such an input, as PyTorch sees it, and may keep weights for it."""
    return bool(
        ORDERS_WEIGHTS
        and not torch.is_grad_enabled()
        and type(x) is Tensor
        and x.device.type == weight.device.type == "cpu"
        and x.dtype == weight.dtype
        and (x.dtype == torch.float32 or (x.dtype == torch.bfloat16 and HAS_BFLOAT16))
        and x.dim() == 3
        and x.numel() > 0
        and torch.backends.mkldnn.enabled
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
        and not torch.jit.is_tracing()
    )
