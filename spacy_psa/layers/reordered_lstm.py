"""An LSTM that keeps its weights in oneDNN's order, for prediction on a CPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .onednn import HAS_ONEDNN, OrderedWeights, is_for_onednn
from .versions import Forgetful

States = tuple[Tensor, tuple[Tensor, Tensor]]
LSTM_MODE = 2  # of PyTorch's operations for recurrent layers
NAMES = "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"
# The numbers of steps and rows that weights are reordered for. For shapes that need another order,
# oneDNN reorders the weights again, which only costs time.
STEPS, ROWS = 25, 32
# What this version of PyTorch supports
ORDERS_WEIGHTS = HAS_ONEDNN and hasattr(torch.ops.mkldnn, "_reorder_mkldnn_rnn_layer_weight")
RUN_LAYER: Any = torch.ops.aten.mkldnn_rnn_layer.default if ORDERS_WEIGHTS else None


class ReorderedLSTM(Forgetful, nn.LSTM):
    """PyTorch's LSTM with one layer and one direction. Without gradients on a CPU, it keeps its
    weights in oneDNN's order. PyTorch reorders them in each call, which for a single sentence takes
    as long as the computation.

    input_width (int): Width of the input.
    hidden_width (int): Width of the output.

    Source: Hochreiter and Schmidhuber (1997), with the forget gate of Gers et al. (2000).
    """

    def __init__(self, input_width: int, hidden_width: int) -> None:
        super().__init__(input_width, hidden_width, batch_first=True)
        self._ordered = OrderedWeights()

    def forget_weights(self) -> None:
        """Discard the reordered copy of the weights."""
        self._ordered.forget()

    # PyTorch's method has no types and also accepts packed sequences
    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> States:  # type: ignore[override]
        """Read sequences.

        input (Tensor): Shape: (batch_size, n, input_width); or a packed sequence.
        hx (Optional[Tuple[Tensor, Tensor]]): The initial states, as for `nn.LSTM`.
        RETURNS (Tuple[Tensor, Tuple[Tensor, Tensor]]): All states and the last ones, as from
            `nn.LSTM`. Shapes: (batch_size, n, hidden_width) and (1, batch_size, hidden_width).
        """
        # Attribute look-ups of PyTorch's modules are slow
        weights = [weight for name in NAMES if (weight := self._parameters.get(name)) is not None]
        if hx is None and len(weights) == len(NAMES) and _may_be_run(input, weights[0]):
            self.check_input(input, None)
            states = self._ordered.run(
                weights[:2], _in_order, lambda ordered: _run(input, *ordered, *weights[2:])
            )
            if states is not None:
                return states
        return super().forward(input, hx)


def _in_order(w_input: Tensor, w_hidden: Tensor) -> list[Tensor]:
    shape = [STEPS, ROWS, w_input.shape[1]]
    return torch.ops.mkldnn._reorder_mkldnn_rnn_layer_weight(
        w_input, w_hidden, w_hidden.shape[1], False, True, False, shape
    )


def _run(x: Tensor, w_input: Tensor, w_hidden: Tensor, b_input: Tensor, b_hidden: Tensor) -> States:
    width = len(b_hidden) // 4
    zeros = x.new_zeros(len(x), width)
    # Positional, since keyword arguments would take as long as reading a short word
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


def _may_be_run(x: Tensor, weight: Tensor) -> bool:
    return ORDERS_WEIGHTS and is_for_onednn(x, weight) and x.dim() == 3
