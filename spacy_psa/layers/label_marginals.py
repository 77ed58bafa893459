"""Structured attention to labels: the marginals of a CRF (Wang et al. 2021, section 3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .initialization import linear
from .label_attention import LabelReader
from .label_parameters import LabelEmbeddings, LabelTransitions
from .mask import PackedLayer, SequenceMask
from .ops import full_precision, ops_for


class LabelMarginals(LabelReader):
    """Attention to labels, normalized over whole label sequences.

        φ(y', y, h_t) = A_{y', y} + h_tᵀ v_y                         (equation 6)
        p(y_1 … y_n | h) ∝ exp Σ_t φ(y_{t−1}, y_t, h_t)              (equations 7 and 8)
        ĥ_t = Σ_j p(y_t = j | h) V v_j                               (equations 9 and 10)

    The marginals p(y_t = j | h) and the gradients through them are exact. A connection, e.g.
    `ResidualNorm`, computes the rest of equation 11.

    Where the paper is silent or we differ:

    - V has a bias, unlike in equation 10: the paper's parameter counts (table 9: d² + 3d for
      another layer, not counting the LSTM) imply one besides the layer normalization.
    - Marginals come from forward-backward; the gradient of log Z (equation 12) is the same.

    labels (LabelEmbeddings): The embeddings v.
    transitions (LabelTransitions): The transitions A.

    Source: Wang et al. (2021), equations 6 to 10 and 12.
    """

    def __init__(self, labels: LabelEmbeddings, transitions: LabelTransitions) -> None:
        super().__init__()
        self.labels, self.transitions = labels, transitions
        self.value = linear(labels.width, labels.width)

    def distributions(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Compute the marginal probabilities of the labels of each token.

        x (Tensor): Hidden states. Shape: (batch_size, n, d), or (tokens, d) without padding.
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): The marginals as a single head; zero in the padding. Shape:
            (batch_size, n, 1, L), or (tokens, 1, L).
        """
        emissions = self.labels(x)
        # Half precision is not enough for inference, as with the output's potentials
        scores = emissions.to(torch.promote_types(emissions.dtype, torch.float32))
        with full_precision(scores):
            marginals = ops_for(scores).marginals(scores, mask, self.transitions.scores())
        return marginals.to(emissions.dtype).unsqueeze(-2)

    def read(self, distributions: Tensor) -> Tensor:
        """Compute the expected label embedding of each token, transformed by V.

        distributions (Tensor): The marginals. Shape: (batch_size, n, 1, L), or (tokens, 1, L).
        RETURNS (Tensor): ĥ. Shape: (batch_size, n, d), or (tokens, d).
        """
        # Transforming the few labels is cheaper than transforming the many tokens. The bias is
        # unaffected, as the marginals sum to one.
        values = self.value(self.labels.weight)
        with full_precision(distributions, values) as (weights, values):
            return weights.squeeze(-2) @ values


class LabelCRFDecoder(PackedLayer, nn.Module):
    """A linear-chain conditional random field over label embeddings, equation 6.

    labels (LabelEmbeddings): The embeddings v, usually shared with the encoder.
    transitions (LabelTransitions): The transitions A, usually shared with the encoder.

    Where the paper is silent or we differ: see `LabelEmbeddings` and `LabelTransitions`.

    Source: Wang et al. (2021), equation 6.
    """

    def __init__(self, labels: LabelEmbeddings, transitions: LabelTransitions) -> None:
        super().__init__()
        self.labels, self.transitions = labels, transitions

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Score the labels of each token.

        x (Tensor): Hidden states. Shape: (batch_size, n, d).
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): The emissions. Shape: (batch_size, n, L).
        """
        return self.labels(x)

    def label_vectors(self) -> Tensor:
        """RETURNS (Tensor): The embeddings of the labels. Shape: (L, d)."""
        return self.labels.weight

    def transition_scores(self) -> dict[str, Tensor]:
        """RETURNS (Dict[str, Tensor]): `transitions` (L, L), [i, j] for j right after i; `start`
        and `end` (L,)."""
        return self.transitions.scores()
