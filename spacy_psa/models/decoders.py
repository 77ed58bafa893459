"""Registered decoders. What each of them computes is documented in `spacy_psa.layers`."""

from functools import partial

from ..layers import CRFDecoder, PairwiseCRFDecoder, SoftmaxDecoder
from .types import DecoderBuilder, build_on_encoder


def build_crf() -> DecoderBuilder:
    """Configure a linear-chain conditional random field.

    RETURNS (DecoderBuilder): Builds a `CRFDecoder`.
    """
    return partial(build_on_encoder, CRFDecoder)


def build_pairwise_crf() -> DecoderBuilder:
    """Configure a conditional random field in which each token scores pairs of labels.

    RETURNS (DecoderBuilder): Builds a `PairwiseCRFDecoder`.
    """
    return partial(build_on_encoder, PairwiseCRFDecoder)


def build_softmax(bias: bool = True) -> DecoderBuilder:
    """Configure a softmax over the labels of each token: a CRF without transitions.

    bias (bool): Whether each label has a bias.
    RETURNS (DecoderBuilder): Builds a `SoftmaxDecoder`.
    """
    return partial(build_on_encoder, SoftmaxDecoder, bias=bias)
