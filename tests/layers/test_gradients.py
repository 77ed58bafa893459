"""Gradients of every module for its input and parameters, against finite differences."""

import functools
import re
from collections.abc import Callable

import pytest
import torch
from torch import nn

from spacy_psa.layers import (
    AdditiveSelfAttention,
    BiasMixture,
    BiLSTM,
    Chain,
    CharacterBiLSTM,
    CharacterCNN,
    ContextFusion,
    ConvolutionSublayer,
    CRFDecoder,
    DeepAtt,
    FeatureGate,
    FeedForwardSublayer,
    GaussianBias,
    LabelEmbeddings,
    LabelMarginals,
    LabelTransitions,
    MultiHeadSelfAttention,
    PositionEmbedding,
    PSABias,
    RecurrentSublayer,
    ScalarGate,
    SinusoidalPositions,
    SoftmaxDecoder,
    TokenOffsetBias,
    TokenPositionBias,
    TransformerEncoder,
)

from .helpers import batch_of, mask_of, normal, randomized

# Includes padding and a sentence of one token.
LENGTHS, WIDTH = [3, 1], 2
PSA = functools.partial(PSABias, window=4, max_distance=2)
PARTS = [
    functools.partial(TokenOffsetBias, max_distance=2),
    lambda width: GaussianBias(4),
]
MIXTURE = functools.partial(BiasMixture, biases=PARTS)
TRANSFORMER = {"width": 4, "n_heads": 2, "key_width": 1, "hidden_width": 3}
DEEPATT = functools.partial(
    DeepAtt,
    WIDTH,
    positions=SinusoidalPositions,
    width=4,
    depth=2,
    n_heads=2,
    attention_dropout=0.0,
)
ENCODERS: dict[str, Callable[[], nn.Module]] = {
    "attention": lambda: AdditiveSelfAttention(WIDTH),
    "position-aware attention": lambda: AdditiveSelfAttention(WIDTH, bias=PSA),
    "fusion": lambda: ContextFusion(WIDTH, bias=PSA),
    "bilstm": lambda: BiLSTM(WIDTH, hidden_width=3, depth=2),
    "chain": lambda: Chain(WIDTH, [ContextFusion(WIDTH, bias=PSA), BiLSTM(WIDTH, hidden_width=2)]),
    "first version": lambda: ContextFusion(WIDTH, bias=MIXTURE, gate=ScalarGate),
    "heads": lambda: MultiHeadSelfAttention(WIDTH, 2),
    "position-aware heads": lambda: MultiHeadSelfAttention(WIDTH, 2, key_width=2, bias=PSA),
    "heads of one bias": lambda: MultiHeadSelfAttention(WIDTH, 2, bias=PSA, share_bias=True),
    "transformer": lambda: TransformerEncoder(
        WIDTH, depth=2, positions=SinusoidalPositions, **TRANSFORMER
    ),
    "transformer with embedded positions": lambda: TransformerEncoder(
        WIDTH, positions=functools.partial(PositionEmbedding, max_length=2), **TRANSFORMER
    ),
    "position-aware transformer": lambda: TransformerEncoder(
        WIDTH, bias=PSA, pre_norm=True, **TRANSFORMER
    ),
    "deepatt": lambda: DEEPATT(sublayer=functools.partial(FeedForwardSublayer, hidden_width=3)),
    "recurrent deepatt": lambda: DEEPATT(sublayer=RecurrentSublayer),
    "convolutional deepatt": lambda: DEEPATT(sublayer=ConvolutionSublayer),
    "deepatt of attention alone": lambda: DEEPATT(sublayer=None),
    "softmax decoder": lambda: SoftmaxDecoder(WIDTH, 3),
    "crf decoder": lambda: CRFDecoder(WIDTH, 3),
}
# Their parts are checked in all directions as well
COMPOSED = {name for name in ENCODERS if re.search("chain|transformer|deepatt|first", name)}
BIASES: dict[str, Callable[[], nn.Module]] = {
    "token position": lambda: TokenPositionBias(WIDTH, max_distance=2),
    "token offset": lambda: TokenOffsetBias(WIDTH, max_distance=2),
    "mixture": lambda: MIXTURE(WIDTH),
    "mixture without mask": lambda: MIXTURE(WIDTH, self_mask=False),
    "psa": lambda: PSA(WIDTH),
    "psa without gaussian": lambda: PSA(WIDTH, gaussian=False),
    "psa without token position": lambda: PSA(WIDTH, token_position=False),
}


def gradcheck(
    module: nn.Module, function: Callable, *inputs: torch.Tensor, fast: bool = False
) -> bool:
    """Check gradients, if `fast` in two random directions instead of all.

    Differences are applied in place, so the module sees those of parameters.
    """
    tensors = [*(x.requires_grad_() for x in inputs), *module.parameters()]
    return torch.autograd.gradcheck(
        lambda *given: function(*given[: len(inputs)]), tensors, fast_mode=fast
    )


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_and_decoders_pass_gradcheck(name):
    module, mask = randomized(ENCODERS[name]()), mask_of(LENGTHS)
    # Scores that do not depend on tokens are also outputs.
    scores = getattr(module, "transition_scores", dict)
    assert gradcheck(
        module,
        lambda x: (module(x, mask), *(score * 1 for score in scores().values())),
        batch_of(LENGTHS, WIDTH),
        fast=name in COMPOSED,
    )


TWICE = {"refinement": lambda: LabelMarginals(LabelEmbeddings(3, WIDTH), LabelTransitions(3))}


@pytest.mark.parametrize("name", [*ENCODERS, *TWICE])
def test_the_definitions_can_be_differentiated_twice(name):
    module, mask = randomized((ENCODERS | TWICE)[name]()).eval(), mask_of(LENGTHS)
    read = module.distributions if name in TWICE else module
    x = batch_of(LENGTHS, WIDTH).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x: read(x, mask), x, fast_mode=True)


@pytest.mark.parametrize("name", BIASES)
def test_biases_pass_gradcheck(name):
    module = randomized(BIASES[name]())
    assert gradcheck(module, module, normal(2, 4, WIDTH))


@pytest.mark.parametrize("gate", [FeatureGate, ScalarGate])
def test_gates_pass_gradcheck(gate):
    module = randomized(gate(WIDTH))
    assert gradcheck(module, module, normal(3, WIDTH, seed=1), normal(3, WIDTH, seed=2))


@pytest.mark.parametrize("layer", [CharacterBiLSTM, CharacterCNN])
def test_characters_pass_gradcheck(layer):
    module = randomized(layer(4, embedding_width=2, width=3))
    characters, lengths = torch.tensor([[1, 2, 3], [3, 0, 0]]), torch.tensor([3, 1])
    assert gradcheck(module, lambda: module(characters, lengths))
