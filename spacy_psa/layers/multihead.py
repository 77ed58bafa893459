"""Multi-head scaled dot-product self-attention (Vaswani et al. 2017, section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..errors import Errors
from .initialization import linear
from .mask import PackedLayer, SequenceMask
from .ops import full_precision, ops_for


class MultiHeadSelfAttention(PackedLayer, nn.Module):
    """Multi-head self-attention with an optional positional bias.

        head_h = softmax(c · (X W_h^Q)(X W_h^K)ᵀ + Ψ_h(X)) X W_h^V
        output = [head_1; …; head_H] W^O

    Where the papers are silent or we differ:

    - c is 1 / √(d / H), the root of a head's width: equation 1 of Tan et al. prints √d, for
      attention that is not yet split into heads.
    - Projections map d features: equation 2 prints n × d/h matrices, and n is the length.
    - If the positional bias Ψ masks self-attention, the heads of the token in a one-token sentence
      are zero vectors.

    width (int): Width d of the token vectors, input and output.
    n_heads (int): Number of heads H.
    key_width (Optional[int]): Width of the queries, keys and values of each head; d / H by
        default.
    bias (Optional[Callable[[int], nn.Module]]): Creates the positional bias Ψ for a width, e.g.
        `PSABias`; None for none.
    share_bias (bool): Whether all heads share one bias. By default each head has its own: it is a
        separate attention, to which equation 6 of Wei et al. (2021) adds the bias, and heads can
        then attend to different distances. In both cases the bias reads whole token vectors.
    attention_dropout (float): Dropout on the attention weights.
    scale (Optional[float]): The factor c of the dot products; 1 / √key_width by default.
    RAISES (ValueError): If there are no heads, or `n_heads` does not divide the width and
        `key_width` is not given.

    Source: Vaswani et al. (2017), section 3.2; Tan et al. (2018), equations 1 to 4.
    """

    def __init__(
        self,
        width: int,
        n_heads: int,
        *,
        key_width: int | None = None,
        bias: Callable[[int], nn.Module] | None = None,
        share_bias: bool = False,
        attention_dropout: float = 0.0,
        scale: float | None = None,
    ) -> None:
        super().__init__()
        if n_heads < 1 or (key_width is None and width % n_heads):
            raise ValueError(Errors.P220.format(n_heads=n_heads, width=width))
        self.width, self.n_heads = width, n_heads
        self.key_width = width // n_heads if key_width is None else key_width
        self.scale = 1.0 / math.sqrt(self.key_width) if scale is None else scale
        self.attention_dropout = attention_dropout
        heads_width = n_heads * self.key_width
        self.query = linear(width, heads_width, bias=False)
        self.key = linear(width, heads_width, bias=False)
        self.value = linear(width, heads_width, bias=False)
        self.output = linear(heads_width, width, bias=False)
        n_biases = 0 if bias is None else 1 if share_bias else n_heads
        self.biases = nn.ModuleList(bias(width) for _ in range(n_biases) if bias is not None)

    def attention(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Compute the attention weights of each head, for analysis: `forward` never stores them.

        x (Tensor): Token vectors. Shape: (batch_size, n, width).
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): Rows sum to one, or to zero if there is nothing to attend to. Shape:
            (batch_size, n_heads, n, n).
        """
        scores = self.scale * (self._heads(self.query(x)) @ self._heads(self.key(x)).mT)
        to_add, nothing = self._mask(x, mask)
        if to_add is not None:
            scores = scores + _additive(to_add, scores.dtype)
        return _zeroed(torch.softmax(scores, dim=-1), nothing)

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Compute the context of each token.

        x (Tensor): Token vectors. Shape: (batch_size, n, width), or (tokens, width) without
            padding.
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): The same shape.
        """
        tokens = mask.compact(x)
        query, key, value = (
            self._heads(mask.unpack(project(tokens)))
            for project in (self.query, self.key, self.value)
        )
        to_add, nothing = self._mask(x, mask)
        dropout = self.attention_dropout if self.training else 0.0
        heads = ops_for(query).attention(
            query, key, value, to_add, scale=self.scale, dropout=dropout
        )
        contexts = _zeroed(heads, nothing).transpose(1, 2).flatten(2)
        return mask.in_form_of(x, self.output(mask.in_form_of(tokens, contexts)))

    def inspect(self, x: Tensor, mask: SequenceMask) -> dict[str, Tensor]:
        """Compute internal values for analysis. See `spacy_psa.analysis.activations`.

        x (Tensor): Token vectors. Shape: (batch_size, n, width), or (tokens, width) without
            padding.
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Dict[str, Tensor]): `attention`, the weights (batch_size, n_heads, n, n); and, if
            there is one, `bias`, the additive part of Ψ (batch_size or 1, n_heads or 1, n, n).
        """
        x = mask.unpack(x)
        values = {"attention": self.attention(x, mask)}
        positions = self._positions(x, mask)
        return values if positions is None else {**values, "bias": positions}

    def _heads(self, x: Tensor) -> Tensor:
        """From (batch_size, n, n_heads · key_width) to (batch_size, n_heads, n, key_width)."""
        return x.unflatten(2, (self.n_heads, self.key_width)).transpose(1, 2)

    def _mask(self, x: Tensor, mask: SequenceMask) -> tuple[Tensor | None, Tensor | None]:
        """The mask of the scores (booleans or numbers to add; None if nothing is masked), and
        whether a token has nothing to attend to (None if no bias masks self-attention)."""
        masks_self = any(bias.masks_self for bias in self.biases)
        positions = self._positions(x, mask)
        if positions is None and not masks_self and not mask.is_padded:
            return None, None
        allowed = mask.pairs(include_self=not masks_self)
        nothing = None
        if masks_self:
            # The softmax of a row of −∞ is undefined, and kernels differ in what they return. Such
            # a token attends to itself, and its heads are set to zero afterwards.
            nothing = ~allowed.any(dim=-1, keepdim=True)
            allowed = allowed | (nothing & mask.pairs())
            nothing = nothing.unsqueeze(1)
        allowed = allowed.unsqueeze(1)
        if positions is None:
            return allowed, nothing
        return positions.masked_fill(~allowed, -math.inf), nothing

    def _positions(self, x: Tensor, mask: SequenceMask) -> Tensor | None:
        """The additive part of the biases. Shape: (batch_size or 1, n_heads or 1, n, n)."""
        if not len(self.biases):
            return None
        with full_precision(mask.unpack(x)) as (x,):
            positions = [bias(x) for bias in self.biases]
        found = [position for position in positions if position is not None]
        return torch.stack(found, dim=1) if found else None


def _additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """A mask as numbers to add to scores."""
    if mask.dtype != torch.bool:
        return mask.to(dtype)
    return torch.zeros_like(mask, dtype=dtype).masked_fill(~mask, -math.inf)


def _zeroed(x: Tensor, rows: Tensor | None) -> Tensor:
    return x if rows is None else x.masked_fill(rows, 0.0)
