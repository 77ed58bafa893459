"""A network of encoder and decoder, from token vectors to the potentials of label sequences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..inference import Potentials
from .autocast import full_precision
from .graphed import GraphedBody
from .interfaces import Decoder
from .layout import Bucket, Layout
from .mask import SequenceMask
from .rows import gather


class SequenceLabelerNetwork(nn.Module):
    """Encode the windows of a batch, decode them, and restore the order of tokens.

    The potentials span whole sequences, even those that the encoder reads in windows, so inference
    over each sequence is exact. `torch.autocast` affects the encoder alone.

    encoder (nn.Module): Maps (batch_size, n, d) and a `SequenceMask` to (batch_size, n, width).
    decoder (Decoder): Maps the encoder's output to emissions, or to several tensors with a row
        for each token, named as in `Potentials`; `transition_scores()` provides the rest.
    cuda_graphs (bool): Whether to run training steps as CUDA graphs, on a GPU. See `GraphedBody`.
    """

    def __init__(self, encoder: nn.Module, decoder: Decoder, *, cuda_graphs: bool = False) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.graphed = GraphedBody() if cuda_graphs else None

    def forward(self, x: Tensor, layout: Layout) -> Potentials:
        """Score label sequences.

        x (Tensor): Vectors of all tokens in the batch. Shape: (tokens, d).
        layout (Layout): How the tokens are laid out for the encoder.
        RETURNS (Potentials): One chain for each sequence of the layout.
        """
        parts: dict[str, list[Tensor]] = {}
        for bucket, vectors in zip(layout.buckets, _gathered(x, layout.buckets), strict=True):
            lengths = torch.from_numpy(bucket.lengths).to(x.device)
            if self.graphed is None:
                decoded = self._decoded(vectors, lengths)
            else:
                decoded = self.graphed(self._decoded, self, vectors, lengths)
            by_name = {"emissions": decoded} if isinstance(decoded, Tensor) else decoded
            for name, scores in by_name.items():
                parts.setdefault(name, []).append(scores.flatten(0, 1))
        # In training, the scores may be in memory that a CUDA graph overwrites
        is_in_order = layout.is_in_order and not torch.is_grad_enabled()
        rows = None if is_in_order else torch.from_numpy(layout.rows).to(x.device)
        fields = {name: _in_token_order(scores, rows) for name, scores in parts.items()}
        with full_precision(x):
            fields.update(self.decoder.transition_scores())
        return Potentials(lengths=layout.lengths, **fields)

    def _decoded(self, vectors: Tensor, lengths: Tensor) -> Any:
        mask = SequenceMask(lengths, vectors.shape[1])
        encoded = self.encoder(vectors, mask)
        # Labels must not be scored in half precision
        with full_precision(encoded) as (encoded,):
            return self.decoder(encoded, mask)


def _gathered(x: Tensor, buckets: Sequence[Bucket]) -> Iterator[Tensor]:
    """The token vectors of each bucket. Shape: (windows, longest window, d)."""
    if len(buckets) == 1 or not (torch.is_grad_enabled() and x.requires_grad):
        for bucket in buckets:
            yield nn.functional.embedding(torch.from_numpy(bucket.index).to(x.device), x)
        return
    # One look-up for all: the gradient of each is as large as x, so summing the gradients would
    # take time quadratic in the number of tokens.
    index = torch.from_numpy(np.concatenate([bucket.index.ravel() for bucket in buckets]))
    rows = nn.functional.embedding(index.to(x.device), x)
    for bucket, part in zip(buckets, rows.split([b.index.size for b in buckets]), strict=True):
        yield part.view(*bucket.index.shape, x.shape[1])


def _in_token_order(parts: list[Tensor], rows: Tensor | None) -> Tensor:
    """The scores of all positions, in the order of `rows`; None if they are in it already."""
    scores = torch.cat(parts) if len(parts) > 1 else parts[0]
    if rows is not None:
        # Each has one row, so the gradient is a plain copy: PyTorch's indexing would accumulate
        scores = gather(scores.flatten(1), rows).view(len(rows), *scores.shape[1:])
    # The whole network may be in half precision, which is not enough for inference
    return scores.to(torch.promote_types(scores.dtype, torch.float32))
