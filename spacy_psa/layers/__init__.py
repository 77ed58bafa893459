"""The papers' layers in pure PyTorch, usable and testable without spaCy."""

from .characters import CharacterBiLSTM, CharacterCNN
from .decoders import CRFDecoder, PairwiseCRFDecoder, SoftmaxDecoder
from .deepatt import ConvolutionSublayer, DeepAtt, FeedForwardSublayer, RecurrentSublayer
from .fusion import AdditiveSelfAttention, ContextFusion, FeatureGate, ScalarGate
from .label_attention import (
    LabelAttention,
    LabelAttentionDecoder,
    LinearProjection,
    ReLUProjection,
)
from .label_marginals import LabelCRFDecoder, LabelMarginals
from .label_parameters import LabelEmbeddings, LabelSet, LabelTransitions
from .labeler import PredicateMask
from .mask import Chain, PackedLayer, SequenceMask, apply_packed, masked_softmax
from .multihead import MultiHeadSelfAttention
from .ops import PLAIN, Ops, ops_for, register, using
from .position_bias import (
    BiasMixture,
    GaussianBias,
    PSABias,
    TokenOffsetBias,
    TokenPositionBias,
)
from .positions import PositionEmbedding, SinusoidalPositions
from .recurrent import BiLSTM
from .refinement import Concatenation, LabelRefinement, RefiningLayer, ResidualNorm
from .transformer import TransformerEncoder, TransformerLayer
from .words import WordCharacterEmbedding, WordEmbedding

__all__ = [
    "PLAIN",
    "AdditiveSelfAttention",
    "BiLSTM",
    "BiasMixture",
    "CRFDecoder",
    "Chain",
    "CharacterBiLSTM",
    "CharacterCNN",
    "Concatenation",
    "ContextFusion",
    "ConvolutionSublayer",
    "DeepAtt",
    "FeatureGate",
    "FeedForwardSublayer",
    "GaussianBias",
    "LabelAttention",
    "LabelAttentionDecoder",
    "LabelCRFDecoder",
    "LabelEmbeddings",
    "LabelMarginals",
    "LabelRefinement",
    "LabelSet",
    "LabelTransitions",
    "LinearProjection",
    "MultiHeadSelfAttention",
    "Ops",
    "PSABias",
    "PackedLayer",
    "PairwiseCRFDecoder",
    "PositionEmbedding",
    "PredicateMask",
    "ReLUProjection",
    "RecurrentSublayer",
    "RefiningLayer",
    "ResidualNorm",
    "ScalarGate",
    "SequenceMask",
    "SinusoidalPositions",
    "SoftmaxDecoder",
    "TokenOffsetBias",
    "TokenPositionBias",
    "TransformerEncoder",
    "TransformerLayer",
    "WordCharacterEmbedding",
    "WordEmbedding",
    "apply_packed",
    "masked_softmax",
    "ops_for",
    "register",
    "using",
]
