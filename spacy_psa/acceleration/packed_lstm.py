"""A bidirectional LSTM over real positions only, on a CPU."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeGuard, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ..layers.mask import SequenceMask
from ..private_names import is_watched


class Steps(NamedTuple):
    """The real positions of a padded batch in the order in which a recurrent layer reads them: the
    first of each sequence, then the second of those that have one, etc., longest sequence first.

    sizes (List[int]): The number of sequences at each step, never increasing.
    places (Tensor): The indices of the positions in the flattened batch, for the forward and the
        backward direction. Shape: (2, tokens), integers.
    last (Tensor): The index of each sequence's last position in this order. Shape: (batch_size,),
        integers.
    """

    sizes: list[int]
    places: Tensor
    last: Tensor


def steps_of(mask: SequenceMask) -> Steps:
    """Order the positions of a padded batch."""
    # For a few words, NumPy calls take a fraction of the time of PyTorch's
    lengths = mask.lengths.numpy()
    longest_first = np.argsort(-lengths, kind="stable")
    n_steps = lengths[longest_first[0]] if len(lengths) else 0
    sizes = len(lengths) - np.bincount(lengths, minlength=n_steps + 1)[:n_steps].cumsum()
    before = sizes.cumsum() - sizes
    step = np.arange(n_steps).repeat(sizes)
    row = longest_first[np.arange(len(step)) - before[step]]
    begin = row * mask.width
    places = np.stack([begin + step, begin + lengths[row] - 1 - step])
    last = np.empty_like(longest_first)
    last[longest_first] = np.arange(len(lengths))
    last += before[lengths - 1]
    return Steps(sizes.tolist(), torch.from_numpy(places), torch.from_numpy(last))


def is_usual(layer: nn.Module) -> TypeGuard[nn.LSTM]:
    """Check whether a layer is an LSTM like those of this package, which can be computed from its
    weights: not a subclass, nor several layers or directions, without a projection and hooks."""
    return (
        type(layer) is nn.LSTM
        and layer.num_layers == 1
        and layer.bias
        and layer.batch_first
        and not layer.bidirectional
        and not layer.proj_size
        and not is_watched(layer)
    )


def may_be_packed(forwards: nn.Module, backwards: nn.Module) -> bool:
    """RETURNS (bool): Whether `packed_bilstm` can run these directions: both are usual ones of the
    same width, and not in half precision, in which its tanh is not precise enough."""
    return bool(
        is_usual(forwards)
        and is_usual(backwards)
        and forwards.hidden_size == backwards.hidden_size
        and cast(Tensor, forwards.weight_ih_l0).element_size() >= 4
    )


def packed_bilstm(
    inputs: Tensor, sizes: list[int], forwards: nn.LSTM, backwards: nn.LSTM
) -> Tensor:
    """Run both directions of a layer together, each step on the sequences that reach it.

    Words padded to the longest among them consist mostly of padding. PyTorch's packed LSTM skips
    it, but computes the gradients of its matrices step by step. Here, one multiplication serves all
    steps, for these gradients and for the gates' derivatives. Without gradients, only the states
    are kept.

        i, f, o = σ(W x_t + U h_{t−1} + b),   z = tanh(W x_t + U h_{t−1} + b),
        c_t = f ⊙ c_{t−1} + i ⊙ z,            h_t = o ⊙ tanh(c_t)

    Inputs (2, tokens, input_width) are in the order of `Steps`, as each direction reads them, and
    so are the states (2, tokens, width). Layers are of one width, in float32 or float64.

    Source: Hochreiter and Schmidhuber (1997), with the forget gate of Gers et al. (2000).
    """
    weights = (*_weights(forwards), *_weights(backwards))
    return _PackedBiLSTM.apply(inputs, sizes, *weights)


def _weights(lstm: nn.LSTM) -> tuple[Tensor, Tensor, Tensor]:
    """W, U and the sum of both biases."""
    w_input, w_hidden, b_input, b_hidden = lstm.all_weights[0]
    return w_input, w_hidden, b_input + b_hidden


def _before_steps(
    inputs: Tensor,
    w_left: Tensor,
    u_left: Tensor,
    b_left: Tensor,
    w_right: Tensor,
    u_right: Tensor,
    b_right: Tensor,
) -> tuple[Tensor, Tensor]:
    """W x_t + b of all positions, and U. Shapes: (2, tokens, 4 * width), (2, 4 * width, width).

    The parts for z are doubled, which is exact: tanh(x) = 2σ(2x) − 1, and PyTorch's σ, called once
    for all gates, takes a fifth of the time of its tanh.
    """
    width = u_left.shape[1]
    gates = inputs.new_empty(2, inputs.shape[1], 4 * width)
    torch.addmm(b_left, inputs[0], w_left.t(), out=gates[0])
    torch.addmm(b_right, inputs[1], w_right.t(), out=gates[1])
    w_hidden = torch.stack([u_left, u_right])
    _of_z(gates, 2).mul_(2.0)
    _of_z(w_hidden, 1).mul_(2.0)
    return gates, w_hidden


def _of_z(tensor: Tensor, dim: int) -> Tensor:
    width = tensor.shape[dim] // 4
    return tensor.narrow(dim, 2 * width, width)


def _take_steps(
    gates: Tensor, w_hidden: Tensor, sizes: list[int], memory: tuple[Tensor, Tensor, Tensor]
) -> None:
    """Compute the equations step by step, from W x_t + b (2, tokens, 4 * width), which the gates
    overwrite, and U (2, 4 * width, width). States, cells and tanh(c) (2, tokens, width) are written
    to memory; cells may overwrite z and tanh(c) may overwrite i, if z and i are not needed
    afterwards."""
    to_gates = w_hidden.transpose(1, 2)
    parts = gates, *gates.split(w_hidden.shape[2], dim=2), *memory
    h = c = None
    before = 0
    # Creating views one by one would take as long as the computation for a few words
    for n, gate, i, f, z, o, next_h, next_c, squashed in zip(
        sizes, *(part.split_with_sizes(sizes, 1) for part in parts), strict=True
    ):
        if h is not None and c is not None:
            if n < before:
                h, c = h[:, :n], c[:, :n]
            gate.baddbmm_(h, to_gates)
        gate.sigmoid_()
        _tanh_of(z)
        torch.mul(i, z, out=next_c)
        if c is not None:
            next_c.addcmul_(f, c)
        _tanh_of(torch.mul(next_c, 2.0, out=squashed).sigmoid_())
        torch.mul(o, squashed, out=next_h)
        h, c, before = next_h, next_c, n


def _tanh_of(x: Tensor) -> Tensor:
    """Compute tanh(y) from σ(2y), in place."""
    return x.mul_(2.0).sub_(1.0)


class _PackedBiLSTM(torch.autograd.Function):
    """The equations and their gradients. Tensors have a row for each direction and position, in the
    order of `Steps`; gates are in the order i, f, z, o."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        sizes: list[int],
        w_left: Tensor,
        u_left: Tensor,
        b_left: Tensor,
        w_right: Tensor,
        u_right: Tensor,
        b_right: Tensor,
    ) -> Tensor:
        weights = (w_left, u_left, b_left, w_right, u_right, b_right)
        gates, w_hidden = _before_steps(inputs, *weights)
        shape = (3, 2, inputs.shape[1], u_left.shape[1])
        states, cells, squashed = gates.new_empty(shape).unbind()
        _take_steps(gates, w_hidden, sizes, (states, cells, squashed))
        _of_z(w_hidden, 1).mul_(0.5)
        ctx.sizes = sizes
        ctx.save_for_backward(inputs, w_left, w_right, w_hidden, gates, states, cells, squashed)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        inputs, w_left, w_right, w_hidden, gates, states, cells, squashed = ctx.saved_tensors
        sizes, width = ctx.sizes, w_hidden.shape[2]
        dh = grad.clone(memory_format=torch.contiguous_format)
        i, f, z, o = gates.unflatten(2, (4, width)).unbind(2)
        last_h, last_c = (_previous(tensor, sizes) for tensor in (states, cells))
        # Derivatives of c (for i, f and z) or h (for o) by each gate's pre-activation
        slopes = torch.addcmul(gates, gates, gates, value=-1).unflatten(2, (4, width))
        torch.addcmul(z.new_ones(()), z, z, value=-1, out=slopes[:, :, 2])
        for gate, factor in enumerate((z, last_c, i, squashed)):
            slopes[:, :, gate].mul_(factor)
        dc = torch.addcmul(o, o * squashed, squashed, value=-1)
        flat = slopes.flatten(2)
        by_step = [tensor.split(sizes, dim=1) for tensor in (dh, dc, f, slopes, flat)]
        last = len(sizes) - 1
        for t in range(last, -1, -1):
            dh_t, dc_t, _, slopes_t, _ = (tensors[t] for tensors in by_step)
            if t < last:
                n = sizes[t + 1]
                dh_t[:, :n].baddbmm_(by_step[4][t + 1], w_hidden)
            dc_t.mul_(dh_t)
            if t < last:
                dc_t[:, :n].addcmul_(by_step[1][t + 1], by_step[2][t + 1])
            slopes_t[:, :, :3].mul_(dc_t.unsqueeze(2))
            slopes_t[:, :, 3].mul_(dh_t)
        dx = None
        if ctx.needs_input_grad[0]:
            dx = torch.empty_like(inputs)
            torch.mm(flat[0], w_left, out=dx[0])
            torch.mm(flat[1], w_right, out=dx[1])
        left, right = (
            (slope.t() @ x, slope.t() @ h, slope.sum(dim=0))
            for slope, x, h in zip(flat, inputs, last_h, strict=True)
        )
        return dx, None, *left, *right


def _previous(tensor: Tensor, sizes: list[int]) -> Tensor:
    """The rows of the previous step; zeros at the first step."""
    found = torch.zeros_like(tensor)
    by_step = tensor.split(sizes, dim=1)
    for before, after in zip(by_step, found.split(sizes, dim=1)[1:], strict=False):
        after.copy_(before[:, : after.shape[1]])
    return found
