"""An LSTM that keeps its weights in oneDNN's order, for prediction on a CPU."""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from .versions import Versions, versions_of

States = tuple[Tensor, tuple[Tensor, Tensor]]
LSTM_MODE = 2  # of PyTorch's operations for recurrent layers
# Steps and rows for which weights are ordered. oneDNN puts them in order again for shapes for which
# it wants another one, which costs time and nothing else.
STEPS, ROWS = 25, 32
# What this PyTorch and this processor can do
ORDERS_WEIGHTS = torch.backends.mkldnn.is_available() and hasattr(
    torch.ops.mkldnn, "_reorder_mkldnn_rnn_layer_weight"
)
HAS_BFLOAT16 = ORDERS_WEIGHTS and torch.ops.mkldnn._is_mkldnn_bf16_supported()


class _Ordered(NamedTuple):
    """The weights in oneDNN's order, and the versions of those that they are made of."""

    versions: Versions
    weights: list[Tensor] | None


class OrderedWeights:
    """The weights of an LSTM in oneDNN's order, for as long as they stay what they are.

    PyTorch puts them in that order in each call, which for a single sentence takes as long as all
    that is computed with them. They are made anew where `versions_of` the weights are others than
    before. Threads may share it. Copies of it, and what other processes get, are empty.
    """

    def __init__(self) -> None:
        self._ordered: _Ordered | None = None

    def __reduce__(self) -> tuple[type[OrderedWeights], tuple[()]]:
        return OrderedWeights, ()

    def forget(self) -> None:
        """Make them anew the next time."""
        self._ordered = None

    def of(self, lstm: nn.LSTM) -> list[Tensor] | None:
        """Put weights in order.

        lstm (nn.LSTM): Has one layer and one direction.
        RETURNS (Optional[List[Tensor]]): Those of inputs and of states, which only oneDNN can read;
            None if it has no LSTM for them, as in bfloat16 where a processor is said to be older.
        """
        weights = cast(list[Tensor], lstm._flat_weights[:2])
        versions, ordered = versions_of(weights), self._ordered
        if ordered is None or ordered.versions != versions:
            shape = [STEPS, ROWS, lstm.input_size]
            try:
                found = torch.ops.mkldnn._reorder_mkldnn_rnn_layer_weight(
                    *weights, lstm.hidden_size, False, True, False, shape
                )
            except RuntimeError:
                found = None
            ordered = self._ordered = _Ordered(versions, found)
        return ordered.weights


class ReorderedLSTM(nn.LSTM):
    """PyTorch's LSTM, of one layer and one direction. Without gradients and on a CPU, it has oneDNN
    keep its weights in order, instead of doing so in each call.

    input_width (int): Width of the input.
    hidden_width (int): Width of the output.

    Source: Hochreiter and Schmidhuber (1997), with the forget gate of Gers et al. (2000).
    """

    def __init__(self, input_width: int, hidden_width: int) -> None:
        super().__init__(input_width, hidden_width, batch_first=True)
        self._ordered = OrderedWeights()

    def forget(self) -> None:
        """Put weights in order anew the next time. See `forget_weights`."""
        self._ordered.forget()

    # PyTorch's has no types, and takes packed sequences, too
    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> States:  # type: ignore[override]
        """Read sequences.

        input (Tensor): Shape: (batch_size, n, input_width); or a packed sequence.
        hx (Optional[Tuple[Tensor, Tensor]]): The first states, as for `nn.LSTM`.
        RETURNS (Tuple[Tensor, Tuple[Tensor, Tensor]]): The states, and the last ones, as `nn.LSTM`
            gives them. Shapes: (batch_size, n, hidden_width) and (1, batch_size, hidden_width).
        """
        if hx is not None or not isinstance(input, Tensor) or torch.is_grad_enabled():
            return super().forward(input, hx)
        # Not by their names, which PyTorch's modules look up slowly
        _, weight, b_input, b_hidden = cast(list[Tensor], self._flat_weights)
        if not _is_for_onednn(input, weight):
            return super().forward(input, hx)
        self.check_input(input, None)
        weights = self._ordered.of(self)
        if weights is None:
            return super().forward(input, hx)
        zeros = input.new_zeros(len(input), self.hidden_size)
        states, h, c, _ = torch.ops.aten.mkldnn_rnn_layer(
            input.transpose(0, 1).contiguous(),
            *weights,
            b_input,
            b_hidden,
            zeros,
            zeros,
            reverse=False,
            batch_sizes=[],
            mode=LSTM_MODE,
            hidden_size=self.hidden_size,
            num_layers=1,
            has_biases=True,
            bidirectional=False,
            batch_first=False,
            train=False,
        )
        shape = 1, len(input), self.hidden_size
        return states.transpose(0, 1), (h.view(shape), c.view(shape))


def _is_for_onednn(x: Tensor, weight: Tensor) -> bool:
    """Whether oneDNN reads such an input, as PyTorch sees it, and may keep weights for it."""
    return bool(
        ORDERS_WEIGHTS
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
