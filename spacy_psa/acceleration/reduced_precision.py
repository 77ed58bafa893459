"""Reduced precision for prediction: networks with their matrices in bfloat16.

`to_bfloat16` replaces the layers in `REPLACEMENTS`. Others stay, and their parts are replaced,
unless there is a rule for their type. Register rules for custom layers with `to_bfloat16.register`.

A replacement reads and writes float32, so the rest of the network is unaffected. Internally, inputs
and weights are rounded to 8 bits of precision and products are accumulated in float32. Nothing
depends on other rows of the batch: unlike dynamic quantization to 8-bit integers, there is no scale
to compute over all rows.

Rounding amplifies small differences. If the last bit of a float32 number differs between two
batches, as in sums over padded sentences, one of the two may be rounded up. Multi-head attention is
therefore accumulated over a sentence in float64, and only the result is rounded to float32. For
additive attention, see `bfloat16_attention`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from itertools import groupby
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, pad

from ..layers.characters import CharacterBiLSTM
from ..layers.fusion import AdditiveSelfAttention, ContextFusion, FusionGate
from ..layers.labeler import SequenceLabelerNetwork
from ..layers.mask import PackedLayer, SequenceMask
from ..layers.multihead import MultiHeadSelfAttention
from ..layers.ops import PLAIN
from ..layers.recurrent import BiLSTM
from ..layers.words import WordEmbedding
from .bfloat16 import BFloat16Linear, rounded, warn_of_amx
from .bfloat16_attention import BFloat16AdditiveSelfAttention, reduced_bias

FULL = "fp32"
# Words of up to so many characters are read together
WORD_LENGTHS = 6, 10, 16, 26, 50


class BFloat16BiLSTM(PackedLayer, nn.Module):
    """A `BiLSTM` with bfloat16 weights and no dropout.

    layer (BiLSTM): The layer in full precision. Its parts are reused and modified.
    """

    def __init__(self, layer: BiLSTM) -> None:
        super().__init__()
        self.width = layer.width
        self.forwards = layer.forwards.bfloat16()
        self.backwards = layer.backwards.bfloat16()

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        """Encode the tokens of each sentence. See `BiLSTM`."""
        h = x.bfloat16()
        for directions in zip(self.forwards, self.backwards, strict=True):
            h = PLAIN.bilstm(h, mask, *directions)
        return h.float()


class BFloat16CharacterBiLSTM(nn.Module):
    """A `CharacterBiLSTM` with bfloat16 weights.

    Words of similar length are read together. The layer in full precision packs words if there are
    many, but oneDNN cannot read packed words, and its sums do not depend on other words. Reading
    each length on its own would take more time to prepare for all the shapes than padding costs.

    layer (CharacterBiLSTM): The layer in full precision. Its parts are reused and modified.
    """

    def __init__(self, layer: CharacterBiLSTM) -> None:
        super().__init__()
        self.width = layer.width
        self.embedding = layer.embedding.bfloat16()
        self.forwards = layer.forwards.bfloat16()
        self.backwards = layer.backwards.bfloat16()

    def forward(self, characters: Tensor, lengths: Tensor) -> Tensor:
        """Represent words. See `CharacterBiLSTM`."""
        sizes = [_group_of(length) for length in lengths.tolist()]
        words, first = [], 0
        for n_steps, members in groupby(sizes):
            rows = slice(first, first + len(list(members)))
            ids = characters[rows, :n_steps]
            ids = pad(ids, (0, n_steps - ids.shape[1]))
            parts = self.embedding, self.forwards, self.backwards
            mask = SequenceMask(lengths[rows].to(ids.device), ids.shape[1])
            words.append(PLAIN.last_states(ids, mask, *parts))
            first = rows.stop
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
        """Look up words. See `WordEmbedding`."""
        output = embedding(rows.clamp(min=0), self.weight).float()
        if vectors is None:
            return output
        return output.index_copy(0, torch.nonzero(rows < 0).squeeze(1), vectors.to(output.dtype))


# By the type itself: subclasses may compute something else; or their weights may be read by another
# layer, as in PyTorch's multi-head attention
REPLACEMENTS: dict[type[nn.Module], Callable[[Any], nn.Module]] = {
    nn.Linear: BFloat16Linear,
    BiLSTM: BFloat16BiLSTM,
    CharacterBiLSTM: BFloat16CharacterBiLSTM,
    WordEmbedding: BFloat16WordEmbedding,
    AdditiveSelfAttention: BFloat16AdditiveSelfAttention,
}


@singledispatch
def to_bfloat16(layer: nn.Module) -> nn.Module:
    """Replace layers in full precision by layers in bfloat16, in place. Other layers
    stay."""
    replacement = REPLACEMENTS.get(type(layer))
    return _with_reduced_parts(layer) if replacement is None else replacement(layer)


def _with_reduced_parts(layer: nn.Module) -> nn.Module:
    for name, part in list(layer._modules.items()):
        if part is not None:
            setattr(layer, name, to_bfloat16(part))
    return layer


@to_bfloat16.register
def _context_fusion(layer: ContextFusion) -> nn.Module:
    _with_reduced_parts(layer)
    # Only layers that round them anyway read these
    inner = [layer.hidden]
    if isinstance(layer.gate, FusionGate):
        inner += [layer.output, layer.gate.token, layer.gate.context]
    for part in inner:
        cast(BFloat16Linear, part).dtype = torch.bfloat16
    return layer


@to_bfloat16.register
def _encoder_layer(layer: nn.TransformerEncoderLayer) -> nn.Module:
    return layer  # It reads the weights of its parts without calling them


@to_bfloat16.register
def _multihead(layer: MultiHeadSelfAttention) -> MultiHeadSelfAttention:
    for name in ("query", "key", "value"):
        setattr(layer, name, BFloat16Linear(getattr(layer, name), torch.float64))
    layer.output = BFloat16Linear(layer.output)
    layer.biases = nn.ModuleList(reduced_bias(bias) for bias in layer.biases)
    return layer


@to_bfloat16.register
def _encoder_alone(network: SequenceLabelerNetwork) -> SequenceLabelerNetwork:
    """Labels are scored, and label sequences decoded, in full precision."""
    network.encoder = to_bfloat16(network.encoder)
    return network


REDUCTIONS: dict[str, Callable[[nn.Module], nn.Module]] = {"bf16": to_bfloat16}


def reduce_precision(network: nn.Module, precision: str) -> nn.Module:
    """Make a network smaller and faster for prediction, in place, by a key of `REDUCTIONS`; "fp32"
    leaves it unchanged. It can no longer be trained."""
    if precision == FULL:
        return network
    warn_of_amx()
    return REDUCTIONS[precision](network).requires_grad_(False).eval()


def _group_of(length: int) -> int:
    """The number of characters to which a word is padded."""
    longest = WORD_LENGTHS[-1]
    return next((n for n in WORD_LENGTHS if length <= n), -(-length // longest) * longest)
