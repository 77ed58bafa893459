"""Decoders that map token vectors to the potentials of label sequences."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .initialization import glorot_, linear
from .mask import PackedLayer, SequenceMask


class SoftmaxDecoder(PackedLayer, nn.Module):
    """Score labels independently: emissions e_i = W h_i + b without transitions.

    width (int): Width of the token vectors.
    n_labels (int): Number of labels L.
    bias (bool): Whether to add b. Equation 15 of Tan et al. has none.

    Where the papers are silent or we differ: nowhere.

    Source: Cui and Zhang (2019), equation 1; Tan et al. (2018), equations 14 and 15.
    """

    def __init__(self, width: int, n_labels: int, *, bias: bool = True) -> None:
        super().__init__()
        self.emission = linear(width, n_labels, bias=bias)

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Score the labels of each token.

        x (Tensor): Token vectors. Shape: (batch_size, n, width).
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): The emissions. Shape: (batch_size, n, n_labels).
        """
        return self.emission(x)

    def label_vectors(self) -> Tensor:
        """The network's vector for each label: its emission weights.

        RETURNS (Tensor): Shape: (n_labels, width).
        """
        return self.emission.weight

    def transition_scores(self) -> dict[str, Tensor]:
        """The potentials that do not depend on the tokens, named as in `Potentials`.

        RETURNS (Dict[str, Tensor]): `transitions` (L, L), `start` (L,) and `end` (L,), or empty.
        """
        return {}


class CRFDecoder(SoftmaxDecoder):
    """A linear-chain conditional random field: emissions and transitions.

        log φ(y_{j−1}, y_j, z_j) = w_{y_j}ᵀ z_j + b_{y_j} + A_{y_{j−1}, y_j}

    Where the papers are silent or we differ:

    - This is equation 2 in its usual form (Lample et al. 2016): weights depend on the label, the
      bias on the pair of labels. `PairwiseCRFDecoder` has the printed form.
    - Labels have scores for starting and ending a sentence, where the equations have no pair.
    - Equation 3 is a sum over sentences, and so is its gradient. Here it is their mean
      (`loss_reduction`).
    - For spans and entities, the best sequence is the best of those that BIO tags allow
      (`constrain_decoding`); the papers mention no such constraint.

    width (int): Width of the token vectors.
    n_labels (int): Number of labels L.

    Source: Wei et al. (2021), equations 1 to 3; Wei et al. (2019), equations 1 to 3.
    """

    def __init__(self, width: int, n_labels: int) -> None:
        super().__init__(width, n_labels)
        self.transitions = nn.Parameter(glorot_(torch.empty(n_labels, n_labels)))
        self.start = nn.Parameter(torch.zeros(n_labels))
        self.end = nn.Parameter(torch.zeros(n_labels))

    def transition_scores(self) -> dict[str, Tensor]:
        """The transition scores.

        RETURNS (Dict[str, Tensor]): `transitions` (L, L), [i, j] for j right after i; `start` and
            `end` (L,).
        """
        return {"transitions": self.transitions, "start": self.start, "end": self.end}


class PairwiseCRFDecoder(CRFDecoder):
    """A conditional random field in which each token scores the pairs of adjacent labels.

        log φ(y_{j−1}, y_j, z_j) = W_{y_{j−1}, y_j}ᵀ z_j + b_{y_{j−1}, y_j}

    Where the papers are silent or we differ:

    - The first token of a sentence has no pair. So the weights are the sum of a label's and a
      pair's, W_{i, j} = w_j + u_{i, j}, and so are the biases, A_{i, j} + b_j.

    The decoder has L²·width weights. The scores of a batch of N tokens and L labels are N·L²
    numbers, and inference takes several times that memory. Beyond about 50 labels, use
    `CRFDecoder`.

    width (int): Width of the token vectors.
    n_labels (int): Number of labels L.

    Source: Wei et al. (2021), equations 1 to 3; Wei et al. (2019), equations 1 to 3; Ma and Hovy
    (2016), section 2.3.
    """

    def __init__(self, width: int, n_labels: int) -> None:
        super().__init__(width, n_labels)
        # The transitions are its bias
        self.pair = linear(width, n_labels**2, bias=False)

    # Unlike its parents, it returns a dict of scores; a `Decoder` may do either
    def forward(self, x: Tensor, mask: SequenceMask) -> dict[str, Tensor]:  # type: ignore[override]
        """Score the labels of each token, and the pairs of the previous token's label and its own.

        x (Tensor): Token vectors. Shape: (batch_size, n, width).
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Dict[str, Tensor]): `emissions` (batch_size, n, n_labels) and `pairwise`
            (batch_size, n, n_labels, n_labels), [..., i, j] for label j right after i.
        """
        n_labels = self.emission.out_features
        pairwise = self.pair(x).unflatten(-1, (n_labels, n_labels))
        return {"emissions": self.emission(x), "pairwise": pairwise}
