"""A network of encoder and decoder, from token vectors to the potentials of label sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..inference import Potentials
from .interfaces import Decoder
from .mask import PackedLayer, SequenceMask
from .ops import full_precision


@dataclass(frozen=True)
class Bucket:
    """Windows of similar length, padded to the longest.

    index (NDArray): The token at each position; padding repeats the window's last token.
        Shape: (windows, longest window), int64.
    lengths (NDArray): Number of tokens in each window. Shape: (windows,), int64.
    """

    index: NDArray[np.int64]
    lengths: NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """Where each token in a batch is placed for the encoder, and where to read its output.

    lengths (Tuple[int, ...]): Length in tokens of each sequence (sentence, or document without
        sentences), at least one. The sequences are consecutive.
    buckets (Tuple[Bucket, ...]): The input of the encoder.
    rows (NDArray): For each token, its index in the concatenated positions of all buckets. A token
        in the overlap of two windows is read from the one in which it has more context. Shape:
        (tokens,), int64.
    """

    lengths: tuple[int, ...]
    buckets: tuple[Bucket, ...]
    rows: NDArray[np.int64]

    @cached_property
    def packed_rows(self) -> NDArray[np.int64]:
        """As `rows`, in the positions without padding."""
        is_real = [
            (np.arange(bucket.index.shape[1]) < bucket.lengths[:, None]).ravel()
            for bucket in self.buckets
        ]
        return (np.cumsum(np.concatenate(is_real)) - 1)[self.rows]


Run = Callable[[Callable[[Tensor, Tensor], Any], nn.Module, Tensor, Tensor], Any]


class SequenceLabelerNetwork(nn.Module):
    """Encode the windows of a batch, decode them, and restore the order of tokens. Padding is
    removed before the encoder, where that saves time, and not needed after the decoder.

    The potentials span whole sequences, even those that the encoder reads in windows, so inference
    over each sequence is exact. `torch.autocast` affects the encoder alone.

    encoder (nn.Module): Maps (batch_size, n, d) and a `SequenceMask` to (batch_size, n, width).
    decoder (Decoder): Maps the encoder's output to emissions, or to several tensors with a row
        for each token, named as in `Potentials`; `transition_scores()` provides the rest.
    run (Optional[Callable]): Called with the function that encodes and decodes a batch, the network
        and the arguments of the function; None to call the function.
    """

    def __init__(self, encoder: nn.Module, decoder: Decoder, *, run: Run | None = None) -> None:
        super().__init__()
        self.encoder, self.decoder, self.run = encoder, decoder, run

    def forward(self, x: Tensor, layout: Layout) -> Potentials:
        """Score label sequences, one chain for each of the layout, from all token vectors."""
        parts: dict[str, list[Tensor]] = {}
        for bucket, vectors in zip(layout.buckets, _gathered(x, layout.buckets), strict=True):
            lengths = torch.from_numpy(bucket.lengths).to(x.device)
            if self.run is not None:
                decoded = self.run(self._decoded, self, vectors, lengths)
            elif isinstance(self.encoder, PackedLayer):
                mask = SequenceMask(lengths, vectors.shape[1])
                decoded = self._scored(mask.compact(vectors), mask)
            else:
                decoded = self._decoded(vectors, lengths)
            by_name = {"emissions": decoded} if isinstance(decoded, Tensor) else decoded
            is_packed = by_name["emissions"].dim() == 2
            for name, scores in by_name.items():
                parts.setdefault(name, []).append(scores if is_packed else scores.flatten(0, 1))
        rows = torch.from_numpy(layout.packed_rows if is_packed else layout.rows).to(x.device)
        fields = {}
        for name, scores in parts.items():
            found = torch.cat(scores).index_select(0, rows)
            # The whole network may be in half precision, which is not enough for inference
            fields[name] = found.to(torch.promote_types(found.dtype, torch.float32))
        with full_precision(x):
            fields.update(self.decoder.transition_scores())
        return Potentials(lengths=layout.lengths, **fields)

    def _decoded(self, vectors: Tensor, lengths: Tensor) -> Any:
        """The scores of a padded batch (batch_size, n, d)."""
        return self._scored(vectors, SequenceMask(lengths, vectors.shape[1]))

    def _scored(self, tokens: Tensor, mask: SequenceMask) -> Any:
        """The scores of tokens (batch_size, n, d), or (tokens, d) without padding: in the same form
        unless the decoder needs padding."""
        encoded = self.encoder(tokens, mask)
        if not isinstance(self.decoder, PackedLayer):
            encoded = mask.unpack(encoded)
        # Labels must not be scored in half precision
        with full_precision(encoded) as (encoded,):
            return self.decoder(encoded, mask)


def _gathered(x: Tensor, buckets: Sequence[Bucket]) -> Iterator[Tensor]:
    """The token vectors of each bucket. Shape: (windows, longest window, d)."""
    # One look-up for all: the gradient of each is as large as x, so summing the gradients would
    # take time quadratic in the number of tokens.
    index = torch.from_numpy(np.concatenate([bucket.index.ravel() for bucket in buckets]))
    rows = nn.functional.embedding(index.to(x.device), x)
    for bucket, part in zip(buckets, rows.split([b.index.size for b in buckets]), strict=True):
        yield part.view(*bucket.index.shape, x.shape[1])


class PredicateMask(nn.Module):
    """Append the embedding of the predicate mask to each word vector: x_t = [e(w_t), e(m_t)].

    The mask m_t is 1 at the predicate and 0 elsewhere.

    Where the paper is silent or we differ:

    - Its embeddings are normally distributed with standard deviation 1 / √d, where d is their own
      width, as in the authors' code.

    input_width (int): Width of the word vectors.
    mask_width (int): Width of the mask's embedding.

    Source: Tan et al. (2018), 'Pipeline' and 'Initialization'.
    """

    def __init__(self, input_width: int, mask_width: int) -> None:
        super().__init__()
        self.width = input_width + mask_width
        self.marks = nn.Parameter(torch.empty(2, mask_width).normal_(std=mask_width**-0.5))

    def forward(self, x: Tensor, tokens: Tensor, is_predicate: Tensor) -> Tensor:
        """Copy the word vectors for each predicate, and mark it.

        x (Tensor): Word vectors, one for each token. Shape: (tokens, input_width).
        tokens (Tensor): The token at each position. Shape: (positions,), integers.
        is_predicate (Tensor): True at predicates. Shape: (positions,), booleans.
        RETURNS (Tensor): Shape: (positions, width).
        """
        marks = nn.functional.embedding(is_predicate.long(), self.marks)
        return torch.cat([x.index_select(0, tokens), marks.to(x.dtype)], dim=1)


class RoleLabelerNetwork(nn.Module):
    """Map word vectors to the potentials of one label sequence for each predicate."""

    def __init__(self, mask: PredicateMask, labeler: SequenceLabelerNetwork) -> None:
        super().__init__()
        self.mask, self.labeler = mask, labeler

    def forward(
        self, x: Tensor, tokens: Tensor, is_predicate: Tensor, layout: Layout
    ) -> Potentials:
        """Score label sequences, one chain for each predicate. See `PredicateMask.forward`; the
        layout is that of the positions."""
        return self.labeler(self.mask(x, tokens, is_predicate), layout)
