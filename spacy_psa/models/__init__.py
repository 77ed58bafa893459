"""Networks as configs describe them: blocks, and the model that is built from them."""

from typing import TYPE_CHECKING

from ..exports import exports

if TYPE_CHECKING:
    from .character_initialization import (
        build_projected_word_vectors as build_projected_word_vectors,
    )
    from .concat import build_concat_tok2vec as build_concat_tok2vec
    from .decoders import build_crf as build_crf
    from .decoders import build_pairwise_crf as build_pairwise_crf
    from .decoders import build_softmax as build_softmax
    from .deepatt import build_convolution_sublayer as build_convolution_sublayer
    from .deepatt import build_deepatt as build_deepatt
    from .deepatt import build_feed_forward_sublayer as build_feed_forward_sublayer
    from .deepatt import build_recurrent_sublayer as build_recurrent_sublayer
    from .encoders import build_bilstm as build_bilstm
    from .encoders import build_chain as build_chain
    from .encoders import build_context_fusion as build_context_fusion
    from .encoders import build_position_embedding as build_position_embedding
    from .encoders import build_psa_encoder as build_psa_encoder
    from .encoders import build_sinusoidal_positions as build_sinusoidal_positions
    from .encoders import build_vaswani as build_vaswani
    from .label_refinement import build_concatenation as build_concatenation
    from .label_refinement import build_label_attention as build_label_attention
    from .label_refinement import build_label_attention_decoder as build_label_attention_decoder
    from .label_refinement import build_label_crf as build_label_crf
    from .label_refinement import build_label_marginals as build_label_marginals
    from .label_refinement import build_label_refinement as build_label_refinement
    from .label_refinement import build_label_set as build_label_set
    from .label_refinement import build_linear_projection as build_linear_projection
    from .label_refinement import build_relu_projection as build_relu_projection
    from .label_refinement import build_residual_norm as build_residual_norm
    from .labeler import build_sequence_labeler as build_sequence_labeler
    from .last_layers import build_last_layers as build_last_layers
    from .marked_srl import build_marked_role_labeler as build_marked_role_labeler
    from .network_shim import reduce_pipeline as reduce_pipeline
    from .parts import build_bias_mixture as build_bias_mixture
    from .parts import build_feature_gate as build_feature_gate
    from .parts import build_gaussian_bias as build_gaussian_bias
    from .parts import build_psa_bias as build_psa_bias
    from .parts import build_scalar_gate as build_scalar_gate
    from .parts import build_token_offset_bias as build_token_offset_bias
    from .parts import build_token_position_bias as build_token_position_bias
    from .srl import build_role_labeler as build_role_labeler
    from .srl_ensemble import build_role_ensemble as build_role_ensemble
    from .tok2vec import build_character_bilstm as build_character_bilstm
    from .tok2vec import build_character_cnn as build_character_cnn
    from .tok2vec import build_word_char_embed as build_word_char_embed
    from .types import CharacterBuilder as CharacterBuilder
    from .types import CharacterInitializer as CharacterInitializer
    from .types import DecoderBuilder as DecoderBuilder
    from .types import EncoderBuilder as EncoderBuilder
    from .types import PartBuilder as PartBuilder
    from .types import RoleLabeler as RoleLabeler
    from .types import SequenceLabeler as SequenceLabeler
    from .types import Tok2Vec as Tok2Vec
    from .types import build_layer as build_layer
    from .types import build_on_encoder as build_on_encoder

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "character_initialization": ["build_projected_word_vectors"],
        "concat": ["build_concat_tok2vec"],
        "decoders": ["build_crf", "build_pairwise_crf", "build_softmax"],
        "deepatt": [
            "build_convolution_sublayer",
            "build_deepatt",
            "build_feed_forward_sublayer",
            "build_recurrent_sublayer",
        ],
        "encoders": [
            "build_bilstm",
            "build_chain",
            "build_context_fusion",
            "build_position_embedding",
            "build_psa_encoder",
            "build_sinusoidal_positions",
            "build_vaswani",
        ],
        "label_refinement": [
            "build_concatenation",
            "build_label_attention",
            "build_label_attention_decoder",
            "build_label_crf",
            "build_label_marginals",
            "build_label_refinement",
            "build_label_set",
            "build_linear_projection",
            "build_relu_projection",
            "build_residual_norm",
        ],
        "labeler": ["build_sequence_labeler"],
        "last_layers": ["build_last_layers"],
        "marked_srl": ["build_marked_role_labeler"],
        "parts": [
            "build_bias_mixture",
            "build_feature_gate",
            "build_gaussian_bias",
            "build_psa_bias",
            "build_scalar_gate",
            "build_token_offset_bias",
            "build_token_position_bias",
        ],
        "network_shim": ["reduce_pipeline"],
        "srl": ["build_role_labeler"],
        "srl_ensemble": ["build_role_ensemble"],
        "tok2vec": ["build_character_bilstm", "build_character_cnn", "build_word_char_embed"],
        "types": [
            "CharacterBuilder",
            "CharacterInitializer",
            "DecoderBuilder",
            "EncoderBuilder",
            "PartBuilder",
            "RoleLabeler",
            "SequenceLabeler",
            "Tok2Vec",
            "build_layer",
            "build_on_encoder",
        ],
    },
)
