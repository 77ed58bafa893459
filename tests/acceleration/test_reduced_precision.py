"""Layers in bfloat16 against the same layers in full precision."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from spacy_psa.acceleration.reduced_precision import (
    BFloat16BiLSTM,
    BFloat16Linear,
    reduce_precision,
    to_bfloat16,
)
from spacy_psa.acceleration.tiled_scores import EXP_LIMIT
from spacy_psa.layers import (
    AdditiveSelfAttention,
    BiLSTM,
    CharacterBiLSTM,
    ContextFusion,
    CRFDecoder,
    MultiHeadSelfAttention,
    PSABias,
    SequenceMask,
    WordEmbedding,
)
from spacy_psa.layers.deepatt import (
    ConvolutionSublayer,
    DeepAtt,
    FeedForwardSublayer,
    RecurrentSublayer,
)
from spacy_psa.layers.labeler import SequenceLabelerNetwork
from spacy_psa.layers.transformer import TransformerEncoder

from ..layers.helpers import assert_close, mask_of, normal, randomized

LENGTHS = [7, 5, 5, 1]
WIDTH = 12
# Half the distance between adjacent numbers at 1
UNIT = 2.0**-9
Contextual = Callable[[], nn.Module]
CONTEXTUAL: dict[str, Contextual] = {
    "bilstm": lambda: BiLSTM(WIDTH, hidden_width=10, depth=2),
    "additive": lambda: AdditiveSelfAttention(WIDTH, bias=PSABias),
    "without bias": lambda: AdditiveSelfAttention(WIDTH),
    "fusion": lambda: ContextFusion(WIDTH, bias=PSABias),
    "multihead": lambda: MultiHeadSelfAttention(WIDTH, n_heads=2, bias=PSABias),
    "transformer": lambda: TransformerEncoder(WIDTH, width=12, n_heads=2, hidden_width=16),
    "deepatt, feed-forward": lambda: deepatt(FeedForwardSublayer),
    "deepatt, recurrent": lambda: deepatt(RecurrentSublayer),
    "deepatt, convolution": lambda: deepatt(ConvolutionSublayer),
}


def deepatt(sublayer: Callable[[int], nn.Module]) -> nn.Module:
    return DeepAtt(WIDTH, sublayer=sublayer, positions=None, width=WIDTH, depth=2, n_heads=2)


# The last bit of PyTorch's sigmoid and convolution in float32 depends on positions in memory
LAST_BIT = {"fusion": 1e-6, "deepatt, convolution": 1e-6}


def make(name: str) -> tuple[nn.Module, nn.Module]:
    """A layer in full precision and its bfloat16 counterpart."""
    full = randomized(CONTEXTUAL[name](), scale=0.4).float()
    return full, reduce_precision(randomized(CONTEXTUAL[name](), scale=0.4).float(), "bf16")


def vectors() -> Tensor:
    return normal(len(LENGTHS), max(LENGTHS), WIDTH, seed=3, scale=0.5).float()


def test_linear_is_that_of_rounded_weights_and_inputs():
    full = randomized(nn.Linear(WIDTH, 5)).float()
    x = vectors()
    weight, bias = (p.detach().bfloat16().double() for p in (full.weight, full.bias))
    expected = x.bfloat16().double() @ weight.T + bias
    output = to_bfloat16(full)(x)
    assert output.dtype == torch.float32
    # The sum is only rounded at the end
    torch.testing.assert_close(output.double(), expected, rtol=2 * UNIT, atol=1e-5)


@pytest.mark.parametrize("name", list(CONTEXTUAL))
def test_output_is_close_to_full_precision_and_float32(name: str):
    full, reduced = make(name)
    mask, x = mask_of(LENGTHS), vectors()
    with torch.no_grad():
        expected, output = full(x, mask), reduced(x, mask)
    assert output.dtype == expected.dtype == torch.float32
    error = (output - expected)[mask.positions].abs().max()
    # Sums of a dozen products of rounded numbers, in up to four layers
    assert 0 < error < 16 * UNIT * max(1.0, float(expected.abs().max()))


@pytest.mark.parametrize("name", list(CONTEXTUAL))
@pytest.mark.parametrize("row", range(len(LENGTHS)))
def test_other_sentences_and_padding_change_nothing(name: str, row: int):
    _, reduced = make(name)
    x, n = vectors(), LENGTHS[row]
    garbage = x.masked_fill(~mask_of(LENGTHS).positions.unsqueeze(2), 7.0)
    with torch.no_grad():
        alone = reduced(x[row : row + 1, :n], mask_of([n]))[0]
        for batch in (x, garbage):
            output = reduced(batch, mask_of(LENGTHS))[row, :n]
            torch.testing.assert_close(output, alone, rtol=0.0, atol=LAST_BIT.get(name, 0.0))


@pytest.mark.parametrize("width", [7, 64, 300])
def test_additive_scores_are_the_same_in_any_batch(width: int):
    """Otherwise, they would need float64 and twice the time."""
    layer = randomized(AdditiveSelfAttention(width), scale=0.1).float()
    reduced = reduce_precision(layer, "bf16")
    lengths = [60, 41, 40, 33, 17, 16, 15, 9, 8, 7, 3, 2, 1, 1]
    x, mask = normal(len(lengths), 60, width, seed=5).float(), mask_of(lengths)
    with torch.no_grad():
        scores = reduced._scores(mask.pack(x), mask)
        for row, n in enumerate(lengths):
            alone = reduced._scores(x[row, :n], mask_of([n]))
            assert torch.equal(alone[0], scores[row, :n, :n])


@pytest.mark.parametrize("bias", [None, PSABias])
@pytest.mark.parametrize("factor", [1.0, 60.0])
def test_attention_does_not_depend_on_large_numbers_elsewhere(bias: Contextual, factor: float):
    """Large numbers are scored differently, and a single one affects all scores computed with
    it."""
    width, lengths = 64, [50, 20, 20, 7, 1]
    layer = randomized(AdditiveSelfAttention(width, bias=bias), scale=0.3).float()
    reduced, x = reduce_precision(layer, "bf16"), normal(5, 50, width, seed=6).float()
    x[1] *= factor
    with torch.no_grad():
        whole = reduced(x, mask_of(lengths))
        for row, n in enumerate(lengths):
            alone = reduced(x[row : row + 1, :n], mask_of([n]))
            assert torch.equal(alone[0], whole[row, :n])
    if factor > 1.0:
        assert layer.query(x[1, :20]).abs().max() > EXP_LIMIT


def test_bilstm_does_not_depend_on_the_size_of_the_batch():
    layer = to_bfloat16(randomized(BiLSTM(40, hidden_width=60), scale=0.2).float())
    x = normal(64, 9, 40, seed=1).float()
    with torch.no_grad():
        whole = layer(x, SequenceMask(torch.full([64], 9), 9))
        for size in (1, 2, 7, 16, 33):
            part = layer(x[:size], SequenceMask(torch.full([size], 9), 9))
            assert torch.equal(part, whole[:size])


def test_characters_are_close_and_words_do_not_depend_on_others():
    def layer() -> CharacterBiLSTM:
        return randomized(CharacterBiLSTM(8, embedding_width=3, width=6)).float()

    lengths = torch.tensor([101, 100, 51, 50, 50, 27, 26, 11, 10, 9, 7, 6, 4, 3, 3, 1])
    generator = torch.Generator().manual_seed(0)
    characters = torch.randint(1, 8, (len(lengths), int(lengths[0])), generator=generator)
    characters *= SequenceMask(lengths, characters.shape[1]).positions
    full, reduced = layer(), to_bfloat16(layer())
    with torch.no_grad():
        expected, output = full(characters, lengths), reduced(characters, lengths)
        torch.testing.assert_close(output, expected, rtol=0.0, atol=8 * UNIT)
        for row, n in enumerate(lengths.tolist()):
            alone = reduced(characters[row : row + 1, :n], lengths[row : row + 1])
            assert torch.equal(alone[0], output[row])


def test_words_are_read_on_the_device_of_the_weights():
    """As in full precision, their lengths stay on the CPU. PyTorch's device without numbers stands
    in for a GPU."""
    layer = CharacterBiLSTM(8, embedding_width=3, width=6)
    characters, lengths = torch.ones(3, 7, dtype=torch.long, device="meta"), torch.tensor([7, 2, 1])
    with torch.no_grad():
        assert layer.to("meta")(characters, lengths).is_meta
        assert to_bfloat16(layer)(characters, lengths).shape == (3, 6)


def test_words_are_read_at_a_few_lengths():
    reduced = to_bfloat16(randomized(CharacterBiLSTM(8, embedding_width=3, width=6)).float())
    shapes = []
    reduced.forwards.register_forward_hook(lambda _, args, out: shapes.append(args[0].shape[:2]))
    lengths = torch.arange(60, 0, -1)
    with torch.no_grad():
        reduced(torch.ones(60, 60, dtype=torch.long), lengths)
    assert [tuple(shape) for shape in shapes] == [
        (10, 100),
        (24, 50),
        (10, 26),
        (6, 16),
        (4, 10),
        (6, 6),
    ]


def test_words_are_rounded_and_fixed_vectors_are_not():
    full = randomized(WordEmbedding(4, 3)).float()
    rows, fixed = torch.tensor([2, -1, 0]), normal(1, 3).float()
    expected = full.weight.detach()[[2, 0]].bfloat16().float()
    output = to_bfloat16(full)(rows, fixed)
    assert torch.equal(output[[0, 2]], expected)
    assert torch.equal(output[1:2], fixed)
    assert output.shape == (3, 3)


def test_decoder_stays_in_full_precision():
    network = SequenceLabelerNetwork(BiLSTM(WIDTH, hidden_width=6), CRFDecoder(6, 3))
    before = {name: value.clone() for name, value in network.decoder.state_dict().items()}
    reduced = reduce_precision(network, "bf16")
    assert isinstance(reduced.encoder, BFloat16BiLSTM)
    after = reduced.decoder.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(value, after[name]) for name, value in before.items())


def test_layers_of_other_kinds_stay_and_their_parts_are_reduced():
    inner = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3))
    network = reduce_precision(nn.Sequential(inner, nn.ReLU()), "bf16")
    assert network[0] is inner
    assert isinstance(inner[0], BFloat16Linear)
    assert inner[1].weight.dtype == torch.float32
    assert not any(parameter.requires_grad for parameter in network.parameters())


def test_full_precision_is_the_network_itself():
    network = nn.Linear(3, 3)
    assert reduce_precision(network, "fp32") is network
    assert network.weight.dtype == torch.float32 and network.weight.requires_grad


def test_what_hooks_have_seen_stays_as_it_was() -> None:
    layer = reduce_precision(randomized(ContextFusion(WIDTH, bias=PSABias)).float(), "bf16")
    seen: dict[nn.Module, tuple[Tensor, Tensor]] = {}

    def keep(module: nn.Module, args: object, output: object) -> None:
        if isinstance(output, Tensor):
            seen[module] = output, output.clone()

    for module in layer.modules():
        module.register_forward_hook(keep)
    with torch.no_grad():
        layer(normal(1, 5, WIDTH).float(), mask_of([5]))
    assert layer.attention.query in seen
    for output, copied in seen.values():
        assert torch.equal(output, copied)


class Adapted(nn.Linear):
    """A linear layer that computes something else."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + 2.0 * x


class Renamed(BiLSTM):
    """A BiLSTM that computes something else."""

    def forward(self, x: Tensor, mask: SequenceMask) -> Tensor:
        return 2.0 * super().forward(x, mask)


@pytest.mark.parametrize(
    "layer",
    [
        Adapted(WIDTH, WIDTH),
        nn.TransformerEncoderLayer(WIDTH, 2, 16, batch_first=True),
        nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, 2, 16, batch_first=True), 1),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_layers_that_only_look_like_known_ones_come_to_the_same(layer: nn.Module) -> None:
    layer, x = layer.eval(), vectors()
    with torch.no_grad():
        expected = layer(x)
        assert_close(reduce_precision(layer, "bf16")(x), expected, 0.05)


def test_attention_of_pytorch_reads_its_own_weights() -> None:
    layer, x = nn.MultiheadAttention(WIDTH, 2, batch_first=True).eval(), vectors()
    with torch.no_grad():
        expected, _ = layer(x, x, x)
        assert_close(reduce_precision(layer, "bf16")(x, x, x)[0], expected, 0.05)


def test_a_layer_that_is_built_on_another_keeps_what_it_computes() -> None:
    layer, mask = randomized(Renamed(WIDTH, hidden_width=10)).float().eval(), mask_of(LENGTHS)
    with torch.no_grad():
        expected = layer(vectors(), mask)[mask.positions]
        reduced = reduce_precision(layer, "bf16")(vectors(), mask)[mask.positions]
    assert_close(reduced, expected, 0.05)
