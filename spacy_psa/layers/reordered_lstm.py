"""An LSTM that keeps its weights in oneDNN's order, for prediction on a CPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .inspection import has_hooks
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
        weights = self.weights_for(input) if hx is None else None
        if weights is not None:
            states = self._ordered.run(
                weights[:2],
                _in_order,
                lambda ordered: _run(_in_steps(input), *ordered, *weights[2:]),
            )
            if states is not None:
                return states
        return super().forward(input, hx)

    def weights_for(self, x: Tensor) -> list[Tensor] | None:
        """Find the weights to read sequences with, if oneDNN may do so.

        x (Tensor): The sequences.
        RETURNS (Optional[List[Tensor]]): The parameters in PyTorch's order; None if they are not
            those of an `nn.LSTM`, or if oneDNN may not read the sequences.
        RAISES (RuntimeError): If the sequences have another width.
        """
        # Attribute look-ups of PyTorch's modules are slow
        found = [self._parameters.get(name) for name in NAMES]
        weights: list[Tensor] = [weight for weight in found if weight is not None]
        if len(weights) < len(NAMES) or not _may_be_run(x, weights[0]):
            return None
        self.check_input(x, None)
        return weights


def read_unpadded(x: Tensor, forwards: nn.Module, backwards: nn.Module) -> Tensor | None:
    """Read sequences without padding in both directions.

    For a single sentence, this takes less time than calling both layers: oneDNN turns the sentence
    around by itself, and the second call is prepared before the weights of the first one displace
    everything else from the processor's cache.

    x (Tensor): Shape: (batch_size, n, input_width).
    forwards, backwards (nn.Module): The layers for both directions.
    RETURNS (Optional[Tensor]): The states of both, concatenated, as if the layers had been called;
        None if they have to be called, since they have hooks or are of another class, or since
        oneDNN cannot read the sequences. Shape: (batch_size, n, width of both).
    """
    directions = [
        (layer, weights)
        for layer in (forwards, backwards)
        if type(layer) is ReorderedLSTM
        and not has_hooks(layer)
        and (weights := layer.weights_for(x))
    ]
    if len(directions) < 2:
        return None
    (left, left_weights), (right, right_weights) = directions
    steps = _in_steps(x)

    def run(left_ordered: list[Tensor], right_ordered: list[Tensor]) -> Tensor:
        calls = (
            _arguments(steps, *left_ordered, *left_weights[2:]),
            _arguments(steps, *right_ordered, *right_weights[2:], reverse=True),
        )
        return torch.cat([RUN_LAYER(*call)[0] for call in calls], dim=2).transpose(0, 1)

    return left._ordered.run(
        left_weights[:2],
        _in_order,
        lambda first: right._ordered.run(
            right_weights[:2], _in_order, lambda second: run(first, second)
        ),
    )


def _in_order(w_input: Tensor, w_hidden: Tensor) -> list[Tensor]:
    shape = [STEPS, ROWS, w_input.shape[1]]
    return torch.ops.mkldnn._reorder_mkldnn_rnn_layer_weight(
        w_input, w_hidden, w_hidden.shape[1], False, True, False, shape
    )


def _in_steps(x: Tensor) -> Tensor:
    """Time-major, as oneDNN reads them."""
    return x.transpose(0, 1).contiguous()


def _run(steps: Tensor, *weights: Tensor) -> States:
    states, h, c, _ = RUN_LAYER(*_arguments(steps, *weights))
    return states.transpose(0, 1), (h.unsqueeze(0), c.unsqueeze(0))


def _arguments(steps: Tensor, *weights: Tensor, reverse: bool = False) -> tuple[Any, ...]:
    """The arguments of PyTorch's operation. With `reverse`, it reads from the last step to the
    first."""
    width = weights[-1].shape[0] // 4
    zeros = steps.new_zeros(steps.shape[1], width)
    # Positional, since keyword arguments would take as long as reading a short word
    return (
        steps,
        *weights,
        zeros,
        zeros,
        reverse,
        [],  # batch_sizes
        LSTM_MODE,
        width,
        1,  # num_layers
        True,  # has_biases
        False,  # bidirectional
        False,  # batch_first
        False,  # train
    )


def _may_be_run(x: Tensor, weight: Tensor) -> bool:
    return ORDERS_WEIGHTS and is_for_onednn(x, weight) and x.dim() == 3
