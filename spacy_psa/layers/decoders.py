"""From token vectors to the potentials of label sequences."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .initialization import glorot_, linear
from .mask import SequenceMask


class SoftmaxDecoder(nn.Module):
    """Each label on its own: emissions e_i = W h_i + b, and no transitions.

    width (int): Width of the token vectors.
    n_labels (int): Number of labels L.
    """

    def __init__(self, width: int, n_labels: int) -> None:
        super().__init__()
        self.emission = linear(width, n_labels)

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Score the labels of each token.

        x (Tensor): Token vectors. Shape: (batch_size, n, width).
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): The emissions. Shape: (batch_size, n, n_labels).
        """
        return self.emission(x)

    def label_vectors(self) -> Tensor:
        """What a label is to the network: the weights of its emissions.

        RETURNS (Tensor): Shape: (n_labels, width).
        """
        return self.emission.weight

    def transition_scores(self) -> dict[str, Tensor]:
        """The potentials that do not depend on the tokens, by the names of `Potentials`.

        RETURNS (Dict[str, Tensor]): `transitions` (L, L), `start` (L,), `end` (L,), or nothing.
        """
        return {}


class CRFDecoder(SoftmaxDecoder):
    """A linear-chain conditional random field: emissions, and scores of neighbouring labels.

        log φ(y_{j−1}, y_j, z_j) = w_{y_j}ᵀ z_j + b_{y_j} + A_{y_{j−1}, y_j}

    This is equation 2 with weights that depend on the label and a bias that depends on the pair,
    the usual form (Lample et al. 2016). Labels at the start and the end of a sentence have scores
    of their own.

    width (int): Width of the token vectors.
    n_labels (int): Number of labels L.

    Source: Wei et al. (2021), equations 1 to 3.
    """

    def __init__(self, width: int, n_labels: int) -> None:
        super().__init__(width, n_labels)
        self.transitions = nn.Parameter(glorot_(torch.empty(n_labels, n_labels)))
        self.start = nn.Parameter(torch.zeros(n_labels))
        self.end = nn.Parameter(torch.zeros(n_labels))

    def transition_scores(self) -> dict[str, Tensor]:
        """The scores of neighbouring labels.

        RETURNS (Dict[str, Tensor]): `transitions` (L, L), [i, j] for j right after i; `start` and
            `end` (L,).
        """
        return {"transitions": self.transitions, "start": self.start, "end": self.end}


class PairwiseCRFDecoder(CRFDecoder):
    """A conditional random field in which a token scores each pair of neighbouring labels.

        log φ(y_{j−1}, y_j, z_j) = W_{y_{j−1}, y_j}ᵀ z_j + b_{y_{j−1}, y_j}

    This is equation 2 as it is printed: a weight vector and a bias for each pair. The weights are
    W_{i, j} = w_j + u_{i, j}, the part that a label has in all pairs and that of the pair, since
    the first token of a sentence has no pair; the biases are A_{i, j} + b_j.

    The scores of a batch are N·L² numbers, for N tokens and L labels, and inference takes several
    times that memory; there are L²·width weights. It is meant for up to about 50 labels: beyond
    that, use `CRFDecoder`.

    width (int): Width of the token vectors.
    n_labels (int): Number of labels L.

    Source: Wei et al. (2021), equations 1 to 3; Ma and Hovy (2016), section 2.3.
    """

    def __init__(self, width: int, n_labels: int) -> None:
        super().__init__(width, n_labels)
        # Its bias is that of the pairs, the transitions
        self.pair = linear(width, n_labels**2, bias=False)

    # Other than those of its parents, its scores have several names; a `Decoder` may do either
    def forward(self, x: Tensor, mask: SequenceMask) -> dict[str, Tensor]:  # type: ignore[override]
        """Score the labels of each token, and the pairs of its predecessor's label and its own.

        x (Tensor): Token vectors. Shape: (batch_size, n, width).
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Dict[str, Tensor]): `emissions` (batch_size, n, n_labels) and `pairwise`
            (batch_size, n, n_labels, n_labels), [..., i, j] for label j right after i.
        """
        n_labels = self.emission.out_features
        pairwise = self.pair(x).unflatten(-1, (n_labels, n_labels))
        return {"emissions": self.emission(x), "pairwise": pairwise}
