"""Reduced precision for prediction: networks with their matrices in bfloat16.

`to_bfloat16` has a rule for each type of layer that returns its replacement. A layer without a rule
stays, and the rules are applied to its parts. Register rules for custom layers with
`to_bfloat16.register`.

A replacement reads and writes float32, so the rest of the network is unaffected. Internally, inputs
and weights are rounded to 8 bits of precision and products are accumulated in float32. Nothing
depends on other rows of the batch: unlike dynamic quantization to 8-bit integers, there is no scale
to compute over all rows.

Rounding amplifies small differences. If the last bit of a float32 number differs between two
batches, as in sums over padded sentences, one of the two may be rounded up. Attention is therefore
accumulated over a sentence in float64, and only the result is rounded to float32. Additive scores,
which are sums over the width of a vector, are in float32 if the numbers are small: always computed
in the same way, they are identical to the bit in any batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, pad

from .additive import EXP_LIMIT, additive_scores, are_small
from .bfloat16 import BFloat16Linear, rounded, rounded_rows
from .characters import CharacterBiLSTM
from .fused_additive import can_be_fused
from .fusion import AdditiveSelfAttention, ContextFusion
from .inspection import is_watched
from .labeler import SequenceLabelerNetwork
from .mask import SequenceMask
from .multihead import MultiHeadSelfAttention
from .onednn import n_padding_rows
from .recurrent import BiLSTM, in_groups, read_both_ways
from .tokens import Tokenwise
from .words import WordEmbedding

FULL = "fp32"


class BFloat16BiLSTM(Tokenwise, nn.Module):
    """A `BiLSTM` with bfloat16 weights and no dropout.

    layer (BiLSTM): The layer in full precision. Its parts are reused and modified.
    """

    def __init__(self, layer: BiLSTM) -> None:
        super().__init__()
        self.width = layer.width
        self.forwards = layer.forwards.bfloat16()
        self.backwards = layer.backwards.bfloat16()

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Encode the tokens of each sentence. See `BiLSTM`.

        x (Tensor): Token vectors. Shape: (batch_size, n, input_width), or (tokens, input_width)
            without padding.
        mask (SequenceMask): The lengths of the sentences.
        RETURNS (Tensor): Shape: (batch_size, n, hidden_width), or (tokens, hidden_width).
        """
        states = in_groups(self._read, mask.padded(x), mask, self.width)
        return mask.in_form_of(x, states)

    def _read(self, x: Tensor, mask: SequenceMask) -> Tensor:
        h = x.bfloat16()
        for forwards, backwards in zip(self.forwards, self.backwards, strict=True):
            h = read_both_ways(h, mask, cast(nn.LSTM, forwards), cast(nn.LSTM, backwards))
        return h.float()


class Float64Bias(nn.Module):
    """A positional bias in float64.

    layer (nn.Module): The bias in full precision. It is reused and modified.
    """

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer.double()
        self.masks_self = layer.masks_self

    def forward(self, x: Tensor) -> Tensor | None:
        """Bias for each pair of positions.

        x (Tensor): Token vectors. Shape: (batch_size, n, d).
        RETURNS (Optional[Tensor]): Shape: (batch_size or 1, n, n); None if there is nothing to add.
        """
        return self.layer(x.double())


class BFloat16AdditiveSelfAttention(AdditiveSelfAttention):
    """An `AdditiveSelfAttention` with projections in bfloat16, scores in float32 and sums over a
    sentence in float64.

    layer (AdditiveSelfAttention): The layer in full precision. Its bias is reused and modified.
    """

    def __init__(self, layer: AdditiveSelfAttention) -> None:
        nn.Module.__init__(self)
        self.query = BFloat16Linear(layer.query)
        self.key = BFloat16Linear(layer.key)
        self.weight = nn.Parameter(layer.weight.detach().double(), requires_grad=False)
        self.bias = None if layer.bias is None else Float64Bias(layer.bias)

    def forward(self, x: Tensor, mask: SequenceMask, tokens: Tensor | None = None) -> Tensor:
        """Compute the context of each token. See `AdditiveSelfAttention`.

        x (Tensor): Token vectors. Shape: (batch_size, n, d).
        mask (SequenceMask): The lengths of the sentences.
        tokens (Optional[Tensor]): The output of `mask.pack(x)`, if available.
        RETURNS (Tensor): Shape: (batch_size, n, d).
        """
        tokens = mask.pack(x) if tokens is None else tokens
        values = x.double()
        return (super().attention(values, mask, tokens) @ values).float()

    def attention(self, x: Tensor, mask: SequenceMask, tokens: Tensor | None = None) -> Tensor:
        """Compute the attention weights. See `AdditiveSelfAttention`.

        x (Tensor): Token vectors. Shape: (batch_size, n, d).
        mask (SequenceMask): The lengths of the sentences.
        tokens (Optional[Tensor]): The output of `mask.pack(x)`, if available.
        RETURNS (Tensor): Shape: (batch_size, n, n).
        """
        return super().attention(x, mask, tokens).float()

    def _scores(self, tokens: Tensor, mask: SequenceMask) -> Tensor:
        rows = rounded_rows(tokens)
        queries, keys = mask.unpack(self.query(rows)), mask.unpack(self.key(rows))
        if can_be_fused(queries.device):
            weight = self.weight.float()
            return additive_scores(queries, keys, weight, mask.lengths).double()
        # A single large number changes how all scores of a call are computed. Sentences that have
        # one are therefore scored separately, in float64, where this makes no difference.
        if are_small(queries) and are_small(keys):
            lengths, weight = mask.known_lengths, self.weight.float()
            kept = is_watched(self.query) or is_watched(self.key)
            scores = additive_scores(queries, keys, weight, lengths, overwrite=not kept)
            return scores.double()
        is_small = torch.maximum(_largest(queries), _largest(keys)) <= EXP_LIMIT
        scores = self.weight.new_zeros(*queries.shape[:2], keys.shape[1])
        for chosen, dtype in ((is_small, torch.float32), (~is_small, torch.float64)):
            rows = chosen.nonzero().squeeze(1)
            some = queries[rows].to(dtype), keys[rows].to(dtype), self.weight.to(dtype)
            scores[rows] = additive_scores(*some).double()
        return scores


class BFloat16CharacterBiLSTM(nn.Module):
    """A `CharacterBiLSTM` with bfloat16 weights.

    Words of the same length are read together. The layer in full precision packs words if there are
    many, but oneDNN cannot read packed words, and only oneDNN is faster in bfloat16 on a CPU.

    layer (CharacterBiLSTM): The layer in full precision. Its parts are reused and modified.
    """

    def __init__(self, layer: CharacterBiLSTM) -> None:
        super().__init__()
        self.width = layer.width
        self.embedding = layer.embedding.bfloat16()
        self.forwards = layer.forwards.bfloat16()
        self.backwards = layer.backwards.bfloat16()

    def forward(self, characters: Tensor, lengths: Tensor) -> Tensor:
        """Represent words.

        characters (Tensor): Rows of the table, words sorted by length, longest first.
            Shape: (words, longest word), integers.
        lengths (Tensor): Length of each word in characters, at least one. Shape: (words,), on the
            CPU.
        RETURNS (Tensor): Shape: (words, width).
        """
        distinct, counts = torch.unique_consecutive(lengths, return_counts=True)
        words = []
        for ids, length in zip(characters.split(counts.tolist()), distinct.tolist(), strict=True):
            x = self.embedding(pad(ids[:, :length], (0, 0, 0, n_padding_rows(len(ids)))))
            _, (left, _) = self.forwards(x)
            _, (right, _) = self.backwards(x.flip(1))
            words.append(torch.cat([left[0], right[0]], dim=1)[: len(ids)])
        return torch.cat(words).float()


class BFloat16WordEmbedding(nn.Module):
    """A `WordEmbedding` with a bfloat16 table. Fixed vectors are not rounded.

    layer (WordEmbedding): The layer in full precision.
    """

    def __init__(self, layer: WordEmbedding) -> None:
        super().__init__()
        self.width = layer.width
        self.weight = rounded(layer.weight)

    def forward(self, rows: Tensor, vectors: Tensor | None) -> Tensor:
        """Look up words.

        rows (Tensor): Row of each word, or -1 if its vector is fixed. Shape: (words,), integers.
        vectors (Optional[Tensor]): The fixed vectors of the words with row -1, in order.
            Shape: (words with row -1, width).
        RETURNS (Tensor): Shape: (words, width).
        """
        output = embedding(rows.clamp(min=0), self.weight).float()
        if vectors is None:
            return output
        return output.index_copy(0, torch.nonzero(rows < 0).squeeze(1), vectors.to(output.dtype))


@singledispatch
def to_bfloat16(layer: nn.Module) -> nn.Module:
    """Replace layers in full precision by layers in bfloat16.

    layer (nn.Module): A layer or a network; modified in place.
    RETURNS (nn.Module): The replacement, or the layer itself if there is no rule for its type.
    """
    for name, part in list(layer._modules.items()):
        if part is not None:
            setattr(layer, name, to_bfloat16(part))
    return layer


@to_bfloat16.register
def _context_fusion(layer: ContextFusion) -> nn.Module:
    to_bfloat16.dispatch(nn.Module)(layer)
    # Only the next layer reads it, and rounds it
    cast(BFloat16Linear, layer.hidden).dtype = torch.bfloat16
    return layer


to_bfloat16.register(nn.Linear, BFloat16Linear)
to_bfloat16.register(BiLSTM, BFloat16BiLSTM)
to_bfloat16.register(CharacterBiLSTM, BFloat16CharacterBiLSTM)
to_bfloat16.register(WordEmbedding, BFloat16WordEmbedding)
to_bfloat16.register(AdditiveSelfAttention, BFloat16AdditiveSelfAttention)


@to_bfloat16.register
def _multihead(layer: MultiHeadSelfAttention) -> MultiHeadSelfAttention:
    for name in ("query", "key", "value"):
        setattr(layer, name, BFloat16Linear(getattr(layer, name), torch.float64))
    layer.output = BFloat16Linear(layer.output)
    layer.biases = nn.ModuleList(Float64Bias(bias) for bias in layer.biases)
    return layer


@to_bfloat16.register
def _encoder_alone(network: SequenceLabelerNetwork) -> SequenceLabelerNetwork:
    """Labels are scored, and label sequences decoded, in full precision."""
    network.encoder = to_bfloat16(network.encoder)
    return network


REDUCTIONS: dict[str, Callable[[nn.Module], nn.Module]] = {"bf16": to_bfloat16}


def reduce_precision(network: nn.Module, precision: str) -> nn.Module:
    """Make a network smaller and faster for prediction; it can no longer be trained.

    network (nn.Module): The network; modified in place.
    precision (str): A key of `REDUCTIONS`, or "fp32" to leave the network unchanged.
    RETURNS (nn.Module): The reduced network, in evaluation mode, or the network itself for "fp32".
    """
    if precision == FULL:
        return network
    return REDUCTIONS[precision](network).requires_grad_(False).eval()


def _largest(x: Tensor) -> Tensor:
    """The largest absolute value of each row. Shape: (batch_size,)."""
    return x.abs().amax(dim=(1, 2))
