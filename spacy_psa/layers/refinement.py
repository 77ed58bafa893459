"""Encoders that refine their hidden states with labels, layer by layer."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from .interfaces import width_of
from .label_parameters import LabelEmbeddings, LabelTransitions
from .mask import PackedLayer, SequenceMask, apply_packed


class Concatenation(nn.Module):
    """Concatenate hidden states with their context from labels.

        H̃ = [H; Ĥ + H]          (Cui and Zhang 2019, section 4.2)
        H̃ = [H; Ĥ]              (Wang et al. 2021, equation 4 and table 8)

    width (int): Width d of the hidden states.
    residual (bool): Whether to add H to Ĥ.

    Where the papers are silent or we differ:

    - Equation 4 of Wang et al. does not add H, although it describes the same network.

    Source: Cui and Zhang (2019), section 4.2; Wang et al. (2021), equation 4.
    """

    def __init__(self, width: int, *, residual: bool = True) -> None:
        super().__init__()
        self.width = 2 * width
        self.residual = residual

    def forward(self, hidden: Tensor, refined: Tensor) -> Tensor:
        """Combine hidden states and label context.

        hidden (Tensor): H. Shape: (..., d).
        refined (Tensor): Ĥ. Shape: (..., d).
        RETURNS (Tensor): H̃. Shape: (..., 2d).
        """
        return torch.cat([hidden, refined + hidden if self.residual else refined], dim=-1)


class ResidualNorm(nn.Module):
    """A residual connection and layer normalization.

        H̃ = LayerNorm(H + max(0, Ĥ))

    width (int): Width d of the hidden states.

    Where the paper is silent or we differ: nowhere.

    Source: Wang et al. (2021), equation 11.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.norm = nn.LayerNorm(width)

    def forward(self, hidden: Tensor, refined: Tensor) -> Tensor:
        """Combine hidden states and label context.

        hidden (Tensor): H. Shape: (..., d).
        refined (Tensor): Ĥ. Shape: (..., d).
        RETURNS (Tensor): H̃. Shape: (..., d).
        """
        return self.norm(hidden + torch.relu(refined))


class RefiningLayer(nn.Module):
    """Encode tokens, attend to labels, and combine the two.

    recurrent (nn.Module): The encoder. It has a `width` and maps (batch_size, n, input width) and
        a mask to (batch_size, n, width).
    refine (nn.Module): The attention to labels, e.g. `LabelAttention` or `LabelMarginals`. It maps
        (tokens, width), or (batch_size, n, width) with padding, as on a GPU, and a mask to a vector
        and distributions over labels for each token.
    connection (nn.Module): Combines the two, e.g. `Concatenation` or `ResidualNorm`. It has a
        `width`.
    """

    def __init__(self, recurrent: nn.Module, refine: nn.Module, connection: nn.Module) -> None:
        super().__init__()
        self.recurrent, self.refine, self.connection = recurrent, refine, connection
        self.width = width_of(connection)

    def forward(self, x: Tensor, mask: SequenceMask) -> tuple[Tensor, Tensor]:
        """Encode tokens, and refine their states with labels.

        x (Tensor): Token vectors. Shape: (tokens, input width), or (batch_size, n, input width)
            with padding.
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tuple[Tensor, Tensor]): The refined states, (tokens, width), and the distributions
            over labels, (tokens, heads, L); or both with padding.
        """
        hidden = apply_packed(self.recurrent, x, mask)
        refined, distributions = self.refine(hidden, mask)
        return self.connection(hidden, refined), distributions


class LabelRefinement(PackedLayer, nn.Module):
    """Encoders interleaved with attention to labels, and a last encoder for the decoder.

    This is the stack of BiLSTM-LAN and of structured refinement. A decoder may share the layers'
    `labels` and `transitions`, or initialize embeddings of its own with `label_deviation`.

    layers (Iterable[RefiningLayer]): The refining layers.
    last (nn.Module): The last encoder, whose output is the decoder's input. It has a `width`.
    labels (Optional[LabelEmbeddings]): The embeddings that all layers share, if any.
    transitions (Optional[LabelTransitions]): The transitions that all layers share, if any.
    label_deviation (Optional[float]): The initial standard deviation of label embeddings, for a
        decoder with its own; None for 1 / √width.
    input_dropout (float): Dropout on the input of the first layer.

    Where the papers are silent or we differ:

    - Cui and Zhang mention no dropout outside their appendix of settings; their code has it.

    Source: Cui and Zhang (2019), figure 2; Wang et al. (2021), figure 2.
    """

    def __init__(
        self,
        layers: Iterable[RefiningLayer],
        last: nn.Module,
        *,
        labels: LabelEmbeddings | None = None,
        transitions: LabelTransitions | None = None,
        label_deviation: float | None = None,
        input_dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.labels = labels
        self.transitions = transitions
        self.label_deviation = label_deviation
        self.layers = nn.ModuleList(layers)
        self.last = last
        self.width = width_of(last)
        self.input_dropout = nn.Dropout(input_dropout)

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Encode tokens.

        x (Tensor): Token vectors. Shape: (batch_size, n, input width).
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): Shape: (batch_size, n, width).
        """
        tokens = self.input_dropout(mask.compact(x))
        for layer in self.layers:
            tokens, _ = layer(tokens, mask)
        return mask.in_form_of(x, apply_packed(self.last, tokens, mask))

    def label_distributions(self, x: Tensor, mask: SequenceMask) -> list[Tensor]:
        """Compute each refining layer's distributions over the labels of each token. (For the last
        encoder, see the distribution of the decoder's potentials.)

        x (Tensor): Token vectors. Shape: (batch_size, n, input width).
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (List[Tensor]): For each layer, attention weights or marginals, which sum to one
            over labels and are zero in the padding. Shape: (batch_size, n, heads, L).
        """
        found = []
        tokens = self.input_dropout(mask.pack(x))
        for layer in self.layers:
            tokens, distributions = layer(tokens, mask)
            padded = mask.unpack(distributions.flatten(1))
            found.append(padded.unflatten(2, distributions.shape[1:]))
        return found
