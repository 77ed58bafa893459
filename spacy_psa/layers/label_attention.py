"""Attention over label embeddings (Cui and Zhang 2019, section 4.2)."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..errors import Errors
from .initialization import linear
from .label_parameters import LabelEmbeddings
from .mask import PackedLayer, SequenceMask
from .ops import full_precision


class LinearProjection(nn.Module):
    """The matrices W^Q_i, W^K_i or W^V_i of all heads i, concatenated.

    width (int): Width of the input and the output.
    bias (bool): Whether to add a bias. The equations have none.

    Where the paper is silent or we differ: nowhere; its code has `ReLUProjection`.

    Source: Cui and Zhang (2019), section 4.2.
    """

    def __init__(self, width: int, *, bias: bool = False) -> None:
        super().__init__()
        self.linear = linear(width, width, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """x (Tensor): Shape: (..., width).
        RETURNS (Tensor): The same shape.
        """
        return self.linear(x)


class ReLUProjection(LinearProjection):
    """The projection of the published code, with a bias and a ReLU. If it projects both sides of a
    product, as in `LabelAttentionDecoder`, scores are never negative.

    width (int): Width of the input and the output.
    bias (bool): Whether to add a bias.
    """

    def __init__(self, width: int, *, bias: bool = True) -> None:
        super().__init__(width, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """x (Tensor): Shape: (..., width).
        RETURNS (Tensor): Shape: (..., width).
        """
        return torch.relu(self.linear(x))


class LabelReader(nn.Module):
    """Attends to labels: `distributions` finds how much, and `read` what there is to read."""

    def distributions(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Compute distributions over labels. Shape: (..., heads, L)."""
        raise NotImplementedError

    def read(self, distributions: Tensor) -> Tensor:
        """Compute what tokens read of the labels. Shape: (..., d)."""
        raise NotImplementedError

    def forward(self, x: Tensor, mask: SequenceMask) -> tuple[Tensor, Tensor]:
        """Attend to labels.

        x (Tensor): Hidden states. Shape: (batch_size, n, d), or (tokens, d) without padding.
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tuple[Tensor, Tensor]): Ĥ, (batch_size, n, d), and the attention weights,
            (batch_size, n, heads, L); or (tokens, d) and (tokens, heads, L).
        """
        distributions = self.distributions(x, mask)
        return self.read(distributions), distributions

    def inspect(self, x: Tensor, mask: SequenceMask) -> dict[str, Tensor]:
        """Compute internal values for analysis. See `spacy_psa.analysis.activations`.

        x (Tensor): Hidden states. Shape: (batch_size, n, d), or (tokens, d) without padding.
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Dict[str, Tensor]): The attention weights, `labels`, (batch_size, n, heads, L).
        """
        return {"labels": self.distributions(mask.unpack(x), mask)}


class LabelAttention(LabelReader):
    """Multi-head attention of tokens to labels: the inference sublayer of BiLSTM-LAN.

        α_i = softmax((H W^Q_i)(X W^K_i)ᵀ / √(d / k))
        Ĥ = concat(α_1 (X W^V_1), ..., α_k (X W^V_k))

    for the hidden states H and the label embeddings X, which are keys and values. A connection,
    e.g. `Concatenation`, combines H and Ĥ.

    Where the papers are silent or we differ:

    - The scale is √(d_h / k), the root of a head's width, as in the multi-head attention to which
      the paper refers (Vaswani et al. 2017) and in its code. The paper prints √d_h for any number
      of heads, with which distributions would get flatter with more heads.
    - The paper has no dropout on the attention weights, but its code has 0.5: set `dropout`.
    - The code projects through a ReLU: set `ReLUProjection`.

    labels (LabelEmbeddings): The embeddings X.
    projection (Callable[[int], nn.Module]): Creates a projection for a width; called three times.
    heads (int): Number of heads k; it must divide the width d.
    dropout (float): Dropout on the attention weights.
    RAISES (ValueError): If `heads` does not divide the width.

    Source: Cui and Zhang (2019), section 4.2; Wang et al. (2021), equations 2 and 3.
    """

    def __init__(
        self,
        labels: LabelEmbeddings,
        *,
        projection: Callable[[int], nn.Module] = LinearProjection,
        heads: int = 5,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if heads < 1 or labels.width % heads:
            raise ValueError(Errors.P213.format(heads=heads, width=labels.width))
        self.labels, self.heads = labels, heads
        self.query = projection(labels.width)
        self.key = projection(labels.width)
        self.value = projection(labels.width)
        self.dropout = nn.Dropout(dropout)

    def distributions(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Compute the attention weights α.

        x (Tensor): Hidden states. Shape: (batch_size, n, d), or (tokens, d) without padding.
        mask (SequenceMask): The lengths of the sentences. Tokens do not attend to each other here.
        RETURNS (Tensor): Shape: (batch_size, n, heads, L), or (tokens, heads, L).
        """
        width = x.shape[-1]
        queries = self.query(x).reshape(-1, self.heads, width // self.heads).transpose(0, 1)
        # Scaling the few labels is cheaper than scaling the many scores.
        keys = self.key(self.labels.weight) / math.sqrt(width / self.heads)
        keys = keys.reshape(self.labels.n_labels, self.heads, -1).permute(1, 2, 0)
        with full_precision(queries, keys) as (queries, keys):
            weights = torch.softmax(queries @ keys, dim=2)
        return weights.transpose(0, 1).view(*x.shape[:-1], self.heads, self.labels.n_labels)

    def read(self, distributions: Tensor) -> Tensor:
        """Compute the weighted sum of the labels that each token attends to.

        distributions (Tensor): The attention weights. Shape: (batch_size, n, heads, L), or
            (tokens, heads, L).
        RETURNS (Tensor): Ĥ. Shape: (batch_size, n, d), or (tokens, d).
        """
        weights = self.dropout(distributions).flatten(0, -3).transpose(0, 1)
        values = self.value(self.labels.weight).reshape(self.labels.n_labels, self.heads, -1)
        with full_precision(weights, values.transpose(0, 1)) as (weights, values):
            context = weights @ values
        width = self.heads * context.shape[2]
        return context.transpose(0, 1).reshape(*distributions.shape[:-2], width)


class LabelAttentionDecoder(PackedLayer, nn.Module):
    """The output layer of BiLSTM-LAN: the attention weights of a single head are the prediction.

        e_i = (X W^K) (W^Qᵀ h_i) / √d,  α_i = softmax(e_i)

    The emissions are the logits e_i, so a softmax over independent labels gives α_i.

    Without projections or scale, this is a softmax layer with the label embeddings as weights and
    no bias: the 'naive attention' of section 4.5. Without projections but with the scale, the
    gradients of the labels are √d times smaller, and learning is slower than in either case.

    Where the papers are silent or we differ:

    - The paper does not say whether the single head is projected. Its parameter counts (table 2: a
      second layer costs a BiLSTM and two attentions) and equations 2 and 5 of Wang et al. (2021)
      imply that it is.

    labels (LabelEmbeddings): The embeddings X, usually shared with the encoder.
    projection (Optional[Callable[[int], nn.Module]]): Creates a projection for a width, once for
        tokens and once for labels; None for none. The published code has `ReLUProjection`.
    scaled (bool): Whether to divide by √d.

    Source: Cui and Zhang (2019), sections 4.2, 'Output', and 4.5; Wang et al. (2021), equation 5.
    """

    def __init__(
        self,
        labels: LabelEmbeddings,
        *,
        projection: Callable[[int], nn.Module] | None = LinearProjection,
        scaled: bool = True,
    ) -> None:
        super().__init__()
        self.labels = labels
        self.scale = math.sqrt(labels.width) if scaled else 1.0
        make = projection or (lambda width: nn.Identity())
        self.query = make(labels.width)
        self.key = make(labels.width)

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Score the labels of each token.

        x (Tensor): Hidden states. Shape: (batch_size, n, d).
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): The emissions. Shape: (batch_size, n, L).
        """
        keys = self.key(self.labels.weight) / self.scale
        return mask.in_form_of(x, nn.functional.linear(self.query(mask.compact(x)), keys))

    def label_vectors(self) -> Tensor:
        """RETURNS (Tensor): The embeddings of the labels. Shape: (L, d)."""
        return self.labels.weight

    def transition_scores(self) -> dict[str, Tensor]:
        """RETURNS (Dict[str, Tensor]): Nothing: labels are independent of each other."""
        return {}
