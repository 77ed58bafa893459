"""Count the FLOPs and memory traffic of PyTorch operations."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter
from torch.utils.flop_counter import flop_registry

aten = torch.ops.aten
# Operations that read no more of a table than they return
LOOK_UPS = {aten.embedding, aten.index_select, aten.index, aten.gather}
EMPTY = {aten.empty, aten.new_empty, aten.empty_like, aten.empty_strided, aten._unsafe_view}


class CountingMode(TorchDispatchMode):
    """Intercepts the operations that run within its context, including those of autograd."""

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if not _is_view(func):
            self.note(func, args, kwargs, result)
        return result

    def note(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Process an operation that reads or writes data.

        func (OpOverload): The operation.
        args (Tuple): Its positional arguments.
        kwargs (Dict[str, Any]): Its keyword arguments.
        result (Any): Its result.
        """
        raise NotImplementedError


class Counting(CountingMode):
    """Counts the operations that run within its context.

    products (int): FLOPs of matrix multiplications, where a multiply-add counts as two.
    others (int): Elements written by other operations.
    bytes (int): Bytes read and written by all operations, as if there were no cache. Views are
        free.
    """

    def __init__(self) -> None:
        super().__init__()
        self.products = self.others = self.bytes = 0

    def note(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Count an operation. See `CountingMode`."""
        packet = func._overloadpacket
        written = list(_tensors(result))
        # Tensors in keyword arguments are outputs (`out`); tensors modified in place are also read
        read = list(_tensors(args)) if packet not in LOOK_UPS else written
        self.bytes += sum(t.numel() * t.element_size() for t in (*read, *written))
        formula = FORMULAS.get(packet)
        if formula is not None:
            self.products += formula(*args, **kwargs)
        elif packet in flop_registry:
            self.products += flop_registry[packet](*args, **kwargs, out_val=result)
        else:
            self.others += sum(t.numel() for t in written)


def is_product(packet: Any) -> bool:
    """Check whether an operation is a matrix multiplication, or a layer composed of them.

    packet (OpOverloadPacket): The operation.
    RETURNS (bool): Whether it is one.
    """
    return packet in FORMULAS or packet in flop_registry


def _tensors(tree: Any) -> Iterator[Tensor]:
    return (leaf for leaf in tree_iter(tree) if isinstance(leaf, Tensor))


def _is_view(func: Any) -> bool:
    """Whether an operation moves no data: its result is a view of its input, or uninitialized."""
    aliases = [found.alias_info for found in func._schema.returns]
    is_alias = any(alias is not None and not alias.is_write for alias in aliases)
    return is_alias or func._overloadpacket in EMPTY


def _matrix_vector(matrix: Tensor, vector: Tensor, *_: Any, **__: Any) -> int:
    return 2 * matrix.numel()


def _batched(inputs: Tensor, left: Tensor, right: Tensor, *_: Any, **__: Any) -> int:
    return 2 * left.numel() * right.shape[2]


def _lstm(inputs: Tensor, *weights: Any, **__: Any) -> int:
    """2 · 4h (d + h) per position and direction: each of the two matrices is used once."""
    return _at_all_positions(inputs, weights[:2])


def _cudnn_lstm(inputs: Tensor, weights: Sequence[Tensor], *_: Any, **__: Any) -> int:
    return _at_all_positions(inputs, [weight for weight in weights if weight.dim() == 2])


def _at_all_positions(inputs: Tensor, matrices: Sequence[Tensor]) -> int:
    positions = inputs.numel() // inputs.shape[-1]
    return 2 * positions * sum(matrix.numel() for matrix in matrices)


def _ordered_linear(inputs: Tensor, weight: Tensor, *_: Any, **__: Any) -> int:
    return _at_all_positions(inputs, [weight])


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *_: Any,
    n_scores: int = 1,
    n_values: int = 1,
    **__: Any,
) -> int:
    """Scores, (n, d) times (d, m), and weighted sums of values, (n, m) times (m, d)."""
    pairs = query.numel() // query.shape[-1] * key.shape[-2]
    return 2 * pairs * (n_scores * query.shape[-1] + n_values * value.shape[-1])


def _attention_backward(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, *_: Any, **__: Any
) -> int:
    """Recomputed scores, and the gradients of queries, keys, weights and values."""
    return _attention(query, key, value, n_scores=3, n_values=2)


def _twice(formula: Callable[..., int]) -> Callable[..., int]:
    """The gradient of a matrix multiplication takes two matrix multiplications."""
    return lambda *args, **kwargs: 2 * formula(*args, **kwargs)


# Operations that PyTorch's own formulas do not cover
FORMULAS: dict[Any, Callable[..., int]] = {
    aten.mv: _matrix_vector,
    aten.addmv: lambda inputs, *args, **kwargs: _matrix_vector(*args, **kwargs),
    aten.baddbmm_: _batched,
    aten.mkldnn_rnn_layer: _lstm,
    aten.mkldnn_rnn_layer_backward: _twice(_lstm),
    aten._scaled_dot_product_flash_attention_for_cpu: _attention,
    aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
    aten._cudnn_rnn: _cudnn_lstm,
    aten._cudnn_rnn_backward: _twice(_cudnn_lstm),
}
if hasattr(torch.ops.mkldnn, "_linear_pointwise"):
    FORMULAS[torch.ops.mkldnn._linear_pointwise] = _ordered_linear
