"""Parameters of labels: embeddings and transition scores."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .initialization import glorot_, uniform_embedding_
from .ops import full_precision


class LabelEmbeddings(nn.Module):
    """A vector for each label, and the emissions computed from it.

    Where the papers are silent or we differ:

    - They initialize the embeddings 'randomly', without saying how. Here the distribution is
      uniform, by default with variance 1 / d, as for the character embeddings. This suits emissions
      hᵀ v_y. Attention that divides by √d (Vaswani et al. 2017) assumes a variance of 1; with
      1 / d, its distributions stay flat for a long time, and learning is slow.

    n_labels (int): Number of labels L.
    width (int): Width d of an embedding.
    deviation (Optional[float]): The initial standard deviation; None for 1 / √d.

    Source: Cui and Zhang (2019), section 4.1; Wang et al. (2021), equation 6.
    """

    def __init__(self, n_labels: int, width: int, *, deviation: float | None = None) -> None:
        super().__init__()
        weight = uniform_embedding_(torch.empty(n_labels, width))
        if deviation is not None:
            weight *= deviation * math.sqrt(width)
        self.weight = nn.Parameter(weight)

    @property
    def n_labels(self) -> int:
        """RETURNS (int): The number of labels, L."""
        return self.weight.shape[0]

    @property
    def width(self) -> int:
        """RETURNS (int): The width of an embedding, d."""
        return self.weight.shape[1]

    def forward(self, x: Tensor) -> Tensor:
        """Compute the emissions hᵀ v_y.

        x (Tensor): Token vectors h. Shape: (..., d).
        RETURNS (Tensor): Shape: (..., L).
        """
        with full_precision(x) as (x,):
            return nn.functional.linear(x, self.weight)


class LabelTransitions(nn.Module):
    """The scores of adjacent labels, and of labels at the start and the end of a sentence.

    Where the paper is silent or we differ:

    - The equations only have transitions, but the paper's parameter counts (table 7: 73² + 2 · 73
      for each set) show that its systems also score the first and the last label.

    n_labels (int): Number of labels L.

    Source: Wang et al. (2021), equation 6.
    """

    def __init__(self, n_labels: int) -> None:
        super().__init__()
        self.between = nn.Parameter(glorot_(torch.empty(n_labels, n_labels)))
        self.start = nn.Parameter(torch.zeros(n_labels))
        self.end = nn.Parameter(torch.zeros(n_labels))

    @property
    def n_labels(self) -> int:
        """RETURNS (int): The number of labels, L."""
        return self.start.shape[0]

    def scores(self) -> dict[str, Tensor]:
        """The scores, named as in `Potentials`.

        RETURNS (Dict[str, Tensor]): `transitions` (L, L), [i, j] for j right after i; `start` and
            `end` (L,).
        """
        return {"transitions": self.between, "start": self.start, "end": self.end}


class LabelSet:
    """A factory for the label parameters of layers, shared among them or not, created on request.

    Where the paper is silent or we differ: see `LabelEmbeddings` and `LabelTransitions`.

    width (int): Width of the embeddings.
    n_labels (int): Number of labels of the task.
    tie_embeddings (bool): Whether all layers share the same embeddings.
    tie_transitions (bool): Whether all layers share the same transitions.
    n_latent (Optional[int]): Number of labels in layers that share neither embeddings nor
        transitions; their labels need not be the task's. None for the task's number of labels.
    deviation (Optional[float]): The initial standard deviation of the embeddings; None for 1 / √d.

    Source: Wang et al. (2021), section 4.5, table 7.
    """

    def __init__(
        self,
        width: int,
        n_labels: int,
        *,
        tie_embeddings: bool = True,
        tie_transitions: bool = True,
        n_latent: int | None = None,
        deviation: float | None = None,
    ) -> None:
        self.width, self.deviation = width, deviation
        self.n_labels = n_labels if n_latent is None else n_latent
        self.tie_embeddings, self.tie_transitions = tie_embeddings, tie_transitions
        # Tied parameters, once a layer has requested them; a decoder may share them.
        self.shared_embeddings: LabelEmbeddings | None = None
        self.shared_transitions: LabelTransitions | None = None

    def embeddings(self) -> LabelEmbeddings:
        """RETURNS (LabelEmbeddings): The embeddings for another layer."""
        if self.shared_embeddings is not None:
            return self.shared_embeddings
        made = LabelEmbeddings(self.n_labels, self.width, deviation=self.deviation)
        if self.tie_embeddings:
            self.shared_embeddings = made
        return made

    def transitions(self) -> LabelTransitions:
        """RETURNS (LabelTransitions): The transitions for another layer."""
        if self.shared_transitions is not None:
            return self.shared_transitions
        made = LabelTransitions(self.n_labels)
        if self.tie_transitions:
            self.shared_transitions = made
        return made
