"""An LSTM with its weights in oneDNN's order, for prediction on a CPU.

PyTorch reorders them in each call, which for a single sentence takes as long as the computation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn

from ..private_names import order_of_lstm
from ..tensor_versions import TensorVersions
from .packed_lstm import is_usual

LSTM_MODE = 2  # of PyTorch's operations for recurrent layers
# The numbers of steps and rows that weights are reordered for. For shapes that need another order,
# oneDNN reorders the weights again, which only costs time.
STEPS, ROWS = 25, 32
# What this version of PyTorch supports
ORDER = order_of_lstm()
ORDERS_WEIGHTS = ORDER is not None
RUN_LAYER: Any = torch.ops.aten.mkldnn_rnn_layer.default if ORDERS_WEIGHTS else None


def can_be_ordered(lstm: nn.LSTM, x: Tensor) -> bool:
    """Check whether oneDNN can read vectors with a layer."""
    return bool(
        ORDERS_WEIGHTS
        and torch.backends.mkldnn.enabled
        and is_usual(lstm)
        and x.dtype == lstm.weight_ih_l0.dtype == torch.float32
        and x.numel()
        and x.shape[-1] == lstm.input_size
        and not torch.is_autocast_enabled("cpu")
    )


class OrderedLSTM:
    """The weights of an LSTM with one layer and one direction in oneDNN's order.

    lstm (nn.LSTM): The layer, in float32.
    """

    def __init__(self, lstm: nn.LSTM) -> None:
        w_input, w_hidden, *self._biases = cast(list[Tensor], lstm.all_weights[0])
        self._versions = TensorVersions([w_input, w_hidden])
        self._width = lstm.hidden_size
        shape = [STEPS, ROWS, lstm.input_size]
        in_rows = w_input.contiguous(), w_hidden.contiguous()  # others would be misread
        self._weights = cast(Callable[..., list[Tensor]], ORDER)(
            *in_rows, self._width, False, True, False, shape
        )

    def is_of(self, lstm: nn.LSTM) -> bool:
        """Check whether the weights are still those of the layer. Biases are read anew each time,
        so that they need only be the same objects."""
        if lstm.bias_ih_l0 is not self._biases[0] or lstm.bias_hh_l0 is not self._biases[1]:
            return False
        weights = [lstm.weight_ih_l0, lstm.weight_hh_l0]
        return self._versions.are_those_of(cast(list[Tensor], weights))

    def read(self, steps: Tensor, *, turned: bool = False) -> Tensor:
        """Compute the states (n, batch_size, width) of contiguous steps (n, batch_size, d)."""
        zeros = steps.new_zeros(steps.shape[1], self._width)
        # Positional, since keyword arguments would take as long as reading a short word
        states: Tensor = RUN_LAYER(
            steps,
            *self._weights,
            *self._biases,
            zeros,
            zeros,
            turned,
            [],  # batch_sizes
            LSTM_MODE,
            self._width,
            1,  # num_layers
            True,  # has_biases
            False,  # bidirectional
            False,  # batch_first
            False,  # train
        )[0]
        return states
