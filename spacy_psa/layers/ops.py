"""The operations that are worth accelerating, and the choice of what computes them.

`Ops` has their definitions. Layers call `ops_for(x)`, which returns what has been registered for
the device of x, if it may be used, or else the definitions. Within `using(PLAIN)`, everything is
computed by the definitions. No other module of this folder asks for a device, for gradients, for
mixed precision or for tracing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from ..inference import LinearChain, Potentials
from ..private_names import has_bfloat16

if TYPE_CHECKING:
    from .mask import SequenceMask

# Registered by device and whether gradients are recorded
_registered: dict[tuple[str, bool], Ops] = {}
_chosen: ContextVar[Ops | None] = ContextVar("chosen", default=None)


class Ops:
    """The definitions, on any device."""

    backend: str | None = None  # of the marginals: see `LinearChain`

    def without_padding(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Remove padding if that saves time: all layers accept vectors with and without it.

        x (Tensor): Shape: (batch_size, n, d) or (tokens, d).
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): The same, or the vectors of the tokens alone. Shape: (tokens, d).
        """
        return x

    def has_padding(self, mask: SequenceMask) -> bool:
        """Whether there is padding, or may be, where a look would take long.

        mask (SequenceMask): The lengths of the sentences.
        RETURNS (bool): False if there is none for sure."""
        return True

    def additive_scores(
        self, queries: Tensor, keys: Tensor, weight: Tensor, mask: SequenceMask
    ) -> Tensor:
        """Score every pair of positions: f(i, j) = wᵀ tanh(q_i + k_j).

        queries (Tensor): Projected tokens, including the bias. Shape: (tokens, d), or
            (batch_size, n, d) with padding.
        keys (Tensor): Projected tokens. The same shape.
        weight (Tensor): The vector w. Shape: (d,).
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): The scores, in the type of the queries; in mixed precision, in at least
            float32. Those with padding have no meaning, but are finite. Shape: (batch_size, n, n).

        Source: Bahdanau et al. (2015); Wei et al. (2021), equation 5.
        """
        with full_precision(queries, keys, weight) as (queries, keys, weight):
            pairs = mask.unpack(queries).unsqueeze(2) + mask.unpack(keys).unsqueeze(1)
            return torch.tanh(pairs) @ weight.to(pairs.dtype)

    def attention(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None,
        *,
        scale: float,
        dropout: float,
    ) -> Tensor:
        """Compute softmax(c · Q Kᵀ + Ψ) V.

        queries, keys, values (Tensor): Q, K and V. Shape: (batch_size, heads, n, width).
        mask (Optional[Tensor]): Booleans, or the numbers Ψ. Broadcast to
            (batch_size, heads, n, n).
        scale (float): The factor c.
        dropout (float): Dropout on the attention weights.
        RETURNS (Tensor): Shape: (batch_size, heads, n, width).

        Source: Vaswani et al. (2017), equation 1.
        """
        if mask is not None and mask.dtype != torch.bool:
            mask = mask.to(queries.dtype)
        return scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask, dropout_p=dropout, scale=scale
        )

    def bilstm(
        self, x: Tensor, mask: SequenceMask, forwards: nn.Module, backwards: nn.Module
    ) -> Tensor:
        """Compute the states of a bidirectional LSTM.

        The backward direction reads each sentence reversed, with its padding still at the end. So
        padding never affects a token.

        x (Tensor): Token vectors. Shape: (batch_size, n, d), or (tokens, d) without padding.
        mask (SequenceMask): The lengths of the sentences.
        forwards, backwards (nn.Module): One `nn.LSTM` for each direction.
        RETURNS (Tensor): h→ and h←, concatenated. Shape: (batch_size, n, width of both), or
            (tokens, width of both).

        Source: Hochreiter and Schmidhuber (1997), with the forget gate of Gers et al. (2000).
        """
        with lstm_precision(x) as x:
            padded = mask.unpack(x)
            left, _ = forwards(padded)
            right, _ = backwards(mask.reversed(padded))
        return mask.in_form_of(x, torch.cat([left, mask.reversed(right)], dim=2))

    def last_states(
        self,
        characters: Tensor,
        mask: SequenceMask,
        embedding: nn.Module,
        forwards: nn.Module,
        backwards: nn.Module,
    ) -> Tensor:
        """Compute the last states of both directions of an LSTM over the characters of words.

        characters (Tensor): Rows of the table. Shape: (words, n), integers.
        mask (SequenceMask): The lengths of the words.
        embedding (nn.Module): The table.
        forwards, backwards (nn.Module): One `nn.LSTM` for each direction.
        RETURNS (Tensor): Shape: (words, width of both).

        Source: Lample et al. (2016), section 4.1.
        """
        vectors = embedding(characters)
        with lstm_precision(vectors) as x:
            left, _ = forwards(x)
            right, _ = backwards(mask.reversed(x))
        return torch.cat([mask.last(left), mask.last(right)], dim=1)

    def marginals(
        self, emissions: Tensor, mask: SequenceMask, transitions: dict[str, Tensor]
    ) -> Tensor:
        """Compute the marginal probabilities of a linear-chain conditional random field.

        emissions (Tensor): In at least float32. Shape: (tokens, L), or (batch_size, n, L).
        mask (SequenceMask): The lengths of the sentences.
        transitions (Dict[str, Tensor]): The other potentials, named as in `Potentials`.
        RETURNS (Tensor): Zero in the padding. The same shape.
        """
        potentials = Potentials(mask.pack(emissions), mask.known_lengths, **transitions)
        chain = LinearChain(potentials, backend=self.backend)
        return mask.in_form_of(emissions, chain.marginals)


class _Plain(Ops):
    """The definitions, differentiable any number of times: the fastest ways to compute attention
    and marginals are so only once."""

    backend = "logspace"

    def attention(self, *args: Any, **kwargs: Any) -> Tensor:
        """As `Ops.attention`."""
        with sdpa_kernel(SDPBackend.MATH):
            return super().attention(*args, **kwargs)


PLAIN: Ops = _Plain()
"""The definitions, differentiable any number of times: `with using(PLAIN):` computes everything by
them."""

# Where nothing is registered
UNREGISTERED = Ops()


def register(device: str, *, training: Ops, prediction: Ops) -> None:
    """Let other operations replace the definitions on a device.

    device (str): The type of the device, e.g. "cpu".
    training (Ops): The operations while gradients are recorded.
    prediction (Ops): The operations without gradients.
    """
    _registered[device, True], _registered[device, False] = training, prediction


def ops_for(x: Tensor) -> Ops:
    """Choose the operations: by device, whether gradients are recorded, and whether operations are
    recorded, for a compiler or an export.

    x (Tensor): An operand.
    RETURNS (Ops): The operations.
    """
    chosen = _chosen.get()
    if chosen is not None:
        return chosen
    # Subclasses of tensors record what is done with them, or have no memory
    is_recorded = type(x) not in (Tensor, nn.Parameter) or torch.compiler.is_compiling()
    if is_recorded or torch.jit.is_tracing():
        return UNREGISTERED
    return _registered.get((x.device.type, torch.is_grad_enabled()), UNREGISTERED)


@contextmanager
def using(ops: Ops) -> Iterator[None]:
    """Compute everything with the same operations within the context, in this thread.

    ops (Ops): The operations, e.g. `PLAIN`.
    YIELDS (None): Nothing.
    """
    token = _chosen.set(ops)
    try:
        yield
    finally:
        _chosen.reset(token)


def are_chosen() -> bool:
    """RETURNS (bool): Whether this is within `using`."""
    return _chosen.get() is not None


@contextmanager
def full_precision(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Turn mixed precision off within the context. Yields tensors, all on the same device, in at
    least float32 if it was on. (If it is not, they keep their types: a whole network may be in half
    precision.)
    """
    device = tensors[0].device.type
    # Some devices, such as "meta", have no mixed precision
    if not (torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)):
        yield tensors
        return
    with torch.autocast(device, enabled=False):
        yield tuple(x.to(torch.promote_types(x.dtype, torch.float32)) for x in tensors)


@contextmanager
def lstm_precision(x: Tensor) -> Iterator[Tensor]:
    """Turn mixed precision off within the context if the device has no LSTM in its type: on a CPU,
    PyTorch fails instead of using full precision. Yields the input of the LSTM, in at least float32
    if mixed precision was turned off."""
    is_mixed = x.device.type == "cpu" and torch.is_autocast_enabled("cpu")
    if not is_mixed or torch.get_autocast_dtype("cpu") in lstm_types():
        yield x
        return
    with full_precision(x) as (x,):
        yield x


@cache
def lstm_types() -> set[torch.dtype]:
    """The types of LSTMs on this CPU."""
    return {torch.float32, torch.bfloat16} if has_bfloat16() else {torch.float32}
