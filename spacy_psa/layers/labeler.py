"""An encoder and a decoder: from token vectors to the potentials of label sequences."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..inference import Potentials
from .layout import Layout
from .mask import SequenceMask


class SequenceLabelerNetwork(nn.Module):
    """Encode the windows of a batch, decode them, and put the emissions back in token order.

    The potentials span whole sequences, also those that the encoder sees in windows, so that
    inference is exact over the whole.

    encoder (nn.Module): Maps (batch_size, n, d) and a `SequenceMask` to (batch_size, n, width).
    decoder (nn.Module): Maps the encoder's output to emissions, and has `transition_scores()`.
    """

    def __init__(self, encoder: nn.Module, decoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, x: Tensor, layout: Layout) -> Potentials:
        """Score label sequences.

        x (Tensor): Vectors of all tokens of the batch. Shape: (tokens, d).
        layout (Layout): Where they go.
        RETURNS (Potentials): One chain for each sequence of the layout.
        """
        parts = []
        for bucket in layout.buckets:
            index = torch.from_numpy(bucket.index).to(x.device)
            lengths = torch.from_numpy(bucket.lengths).to(x.device)
            mask = SequenceMask(lengths, index.shape[1])
            encoded = self.encoder(nn.functional.embedding(index, x), mask)
            parts.append(self.decoder(encoded, mask).flatten(0, 1))
        emissions = torch.cat(parts) if len(parts) > 1 else parts[0]
        rows = torch.from_numpy(layout.rows).to(x.device)
        emissions = emissions.index_select(0, rows)
        # Mixed precision ends here: inference is not for half precision.
        emissions = emissions.to(torch.promote_types(emissions.dtype, torch.float32))
        return Potentials(emissions, layout.lengths, **self.decoder.transition_scores())
