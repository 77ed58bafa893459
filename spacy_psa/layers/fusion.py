"""The self-attentional context fusion layer of PSA (Wei et al. 2021, section 4)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from .initialization import glorot_, linear
from .interfaces import Gate
from .mask import PackedLayer, SequenceMask, masked_softmax
from .ops import full_precision, ops_for


class AdditiveSelfAttention(nn.Module):
    """Position-aware self-attention.

        f(x_i, x_j) = wᵀ tanh(W⁽¹⁾x_i + W⁽²⁾x_j + b) + Ψ_ij(x_i)     (equation 6)
        a_i = softmax(f(x_i, ·))                                      (equation 7)
        s_i = Σ_j a_i(j) x_j                                          (equation 8)

    Where the paper is silent or we differ:

    - σ in equation 5 is 'an activation function': tanh is the choice of the additive attention that
      the paper cites (Bahdanau et al. 2015).
    - A token with nothing to attend to, such as that of a one-token sentence under the
      self-disabled mask, has a zero vector as its context.

    width (int): Width d of the token vectors.
    bias (Optional[Callable[[int], nn.Module]]): Creates the positional bias Ψ for a width, e.g.
        `PSABias`; None for none.

    Source: Wei et al. (2021), equations 5 to 9; Wei et al. (2019), equations 4 to 7 and 9.
    """

    def __init__(self, width: int, *, bias: Callable[[int], nn.Module] | None = None) -> None:
        super().__init__()
        self.query = linear(width, width)
        self.key = linear(width, width, bias=False)
        self.weight = nn.Parameter(glorot_(torch.empty(width)))
        self.bias = bias(width) if bias is not None else None

    def attention(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Compute the attention weights a_i(j).

        x (Tensor): Token vectors. Shape: (batch_size, n, d), or (tokens, d) without padding.
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): Rows sum to one, or to zero if there is nothing to attend to. Shape:
            (batch_size, n, n).
        """
        return self._weights(self._scores(mask.compact(x), mask), x, mask)

    def _weights(self, scores: Tensor, x: Tensor, mask: SequenceMask) -> Tensor:
        """Equations 6 and 7. Shape: (batch_size, n, n)."""
        position = self._positions(mask.unpack(x))
        if position is not None:
            scores = scores + position
        masks_self = self.bias is not None and bool(self.bias.masks_self)
        return masked_softmax(scores, mask.pairs(include_self=not masks_self))

    def _positions(self, x: Tensor) -> Tensor | None:
        """The additive part of Ψ. Shape: (batch_size or 1, n, n)."""
        if self.bias is None:
            return None
        with full_precision(x) as (x,):
            return self.bias(x)

    def _scores(self, tokens: Tensor, mask: SequenceMask) -> Tensor:
        """Equation 5. Shape: (batch_size, n, n)."""
        queries, keys = self.query(tokens), self.key(tokens)
        return ops_for(queries).additive_scores(queries, keys, self.weight, mask)

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Compute the context s_i of each token.

        x (Tensor): Token vectors. Shape: (batch_size, n, d), or (tokens, d) without padding.
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): The same shape.
        """
        weights = self.attention(x, mask)
        with full_precision(weights, mask.unpack(x)) as (weights, values):
            contexts = weights @ values
        return mask.in_form_of(x, contexts)


class FusionGate(nn.Module):
    """A gate that mixes a token with its context, by λ of width `n_gates`.

    λ = sigmoid(W⁽ᶠ³⁾ tanh(W⁽ᶠ¹⁾x_i + W⁽ᶠ²⁾s̃_i))               (equation 13)
    x̃_i = λ ⊙ x_i + (1 − λ) ⊙ s̃_i                               (equation 14)
    """

    def __init__(self, width: int, n_gates: int) -> None:
        super().__init__()
        self.token = linear(width, width, bias=False)
        self.context = linear(width, width, bias=False)
        self.output = linear(width, n_gates, bias=False)

    def gate(self, x: Tensor, context: Tensor) -> Tensor:
        """Compute the share of the token itself in the mixture.

        x (Tensor): Token vectors. Shape: (..., d).
        context (Tensor): Their contexts s̃. Shape: (..., d).
        RETURNS (Tensor): λ, in (0, 1). Shape: (..., n_gates).
        """
        hidden = torch.tanh(self.token(x) + self.context(context))
        return torch.sigmoid(self.output(hidden))

    def forward(self, x: Tensor, context: Tensor) -> Tensor:
        """Mix tokens with their contexts.

        x (Tensor): Token vectors. Shape: (..., d).
        context (Tensor): Their contexts s̃. Shape: (..., d).
        RETURNS (Tensor): The mixtures, in the type of x. Shape: (..., d).
        """
        gate = self.gate(x, context)
        # In mixed precision, the token's own share is not rounded
        return torch.lerp(context.to(x.dtype), x, gate.to(x.dtype))


class FeatureGate(FusionGate):
    """The feature-wise fusion gate: λ is a vector with one number for each feature of a token.

    width (int): Width d of the token vectors.

    Where the papers are silent or we differ: nowhere. None of their equations has a bias.

    Source: Wei et al. (2021), equations 13 and 14; Wei et al. (2019), equations 14 and 15.
    """

    def __init__(self, width: int) -> None:
        super().__init__(width, width)


class ScalarGate(FusionGate):
    """The fusion gate with one λ for all features of a token: W⁽ᶠ³⁾ is a single row.

    width (int): Width d of the token vectors.

    Where the paper is silent or we differ:

    - The paper's figure 3 expands λ to the width of a token, but its equation 14 has a λ for each
      feature, as `FeatureGate`.

    Source: Wei et al. (2019), figure 3, and section 1 ('a parameter λ').
    """

    def __init__(self, width: int) -> None:
        super().__init__(width, 1)


class ContextFusion(PackedLayer, nn.Module):
    """The self-attentional context fusion layer.

        s̃_i = tanh(W⁽ᶻ²⁾ tanh(W⁽ᶻ¹⁾s_i + b))                         (equation 12)

    between the output s of the attention and the fusion gate. This is algorithm 1 of the paper.

    width (int): Width d of the token vectors, input and output.
    bias (Optional[Callable[[int], nn.Module]]): Creates the positional bias Ψ for a width.
    gate (Callable[[int], Gate]): Creates the gate that mixes tokens and contexts.
    dropout (float): Dropout on the output s of the self-attention (the paper's 0.2).

    Where the papers are silent or we differ: nowhere.

    Source: Wei et al. (2021), equations 12 to 14; Wei et al. (2019), equations 13 to 15.
    """

    def __init__(
        self,
        width: int,
        *,
        bias: Callable[[int], nn.Module] | None = None,
        gate: Callable[[int], Gate] = FeatureGate,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        self.width = width
        self.attention = AdditiveSelfAttention(width, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self.hidden = linear(width, width)
        self.output = linear(width, width, bias=False)
        self.gate = gate(width)

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Mix each token with its context.

        x (Tensor): Token vectors. Shape: (batch_size, n, d), or (tokens, d) without padding.
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): The same shape.
        """
        tokens = mask.compact(x)
        context = self._transformed(self.attention(tokens, mask))
        return mask.in_form_of(x, self.gate(tokens, context))

    def inspect(self, x: Tensor, mask: SequenceMask) -> dict[str, Tensor]:
        """Compute internal values for analysis. See `spacy_psa.analysis.activations`.

        x (Tensor): Token vectors. Shape: (batch_size, n, d), or (tokens, d) without padding.
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Dict[str, Tensor]): `attention`, the weights (batch_size, n, n); `gate`, λ
            (batch_size, n, d, or 1 for a scalar gate); and, if the attention has one, `bias`, the
            additive part of Ψ (batch_size or 1, n, n).
        """
        x = mask.unpack(x)
        context = self._transformed(self.attention(x, mask))
        values = {
            "attention": self.attention.attention(x, mask),
            "gate": self.gate.gate(x, context),
        }
        bias = self.attention._positions(x)
        return values if bias is None else {**values, "bias": bias}

    def _transformed(self, context: Tensor) -> Tensor:
        """Equation 12: from s to s̃."""
        hidden = torch.tanh(self.hidden(self.dropout(context)))
        return torch.tanh(self.output(hidden))
