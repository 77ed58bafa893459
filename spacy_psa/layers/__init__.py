"""The layers of the papers, in pure PyTorch: usable and testable without spaCy."""

from .additive import additive_scores
from .chain import Chain
from .characters import CharacterBiLSTM
from .decoders import CRFDecoder, SoftmaxDecoder
from .fusion import AdditiveSelfAttention, ContextFusion, FeatureGate
from .mask import SequenceMask, masked_softmax
from .position_bias import GaussianBias, PSABias, TokenPositionBias
from .recurrent import BiLSTM
from .words import WordCharacterEmbedding, WordEmbedding

__all__ = [
    "AdditiveSelfAttention",
    "BiLSTM",
    "CRFDecoder",
    "Chain",
    "CharacterBiLSTM",
    "ContextFusion",
    "FeatureGate",
    "GaussianBias",
    "PSABias",
    "SequenceMask",
    "SoftmaxDecoder",
    "TokenPositionBias",
    "WordCharacterEmbedding",
    "WordEmbedding",
    "additive_scores",
    "masked_softmax",
]
