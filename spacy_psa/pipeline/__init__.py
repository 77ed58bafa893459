"""The components, and what their configs may name."""

from typing import TYPE_CHECKING

from ..exports import exports

if TYPE_CHECKING:
    from .decoding import RoleDecoding as RoleDecoding
    from .decoding import create_greedy_decoding as create_greedy_decoding
    from .decoding import create_viterbi_decoding as create_viterbi_decoding
    from .frames import PredicateFrame as PredicateFrame
    from .frames import RoleArgument as RoleArgument
    from .frames import format_frames as format_frames
    from .frames import frames_of as frames_of
    from .predicates import Predicate as Predicate
    from .predicates import create_given_predicates as create_given_predicates
    from .predicates import create_span_predicates as create_span_predicates
    from .predicates import create_verb_predicates as create_verb_predicates
    from .predicates import set_predicates as set_predicates
    from .quantization import reduce_pipeline as reduce_pipeline
    from .role_rules import create_constrained_decoding as create_constrained_decoding
    from .role_scores import SRLResult as SRLResult
    from .role_scores import srl_eval as srl_eval
    from .rule_sources import create_all_rules as create_all_rules
    from .rule_sources import create_span_rules as create_span_rules
    from .scorer import make_tagger_scorer as make_tagger_scorer
    from .srl import PSASemanticRoles as PSASemanticRoles
    from .srl import make_psa_srl as make_psa_srl
    from .srl_scorer import make_srl_scorer as make_srl_scorer
    from .tagger import PSATagger as PSATagger
    from .tagger import make_psa_tagger as make_psa_tagger
    from .workers import guard_workers as guard_workers

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "decoding": ["RoleDecoding", "create_greedy_decoding", "create_viterbi_decoding"],
        "frames": ["PredicateFrame", "RoleArgument", "format_frames", "frames_of"],
        "predicates": [
            "Predicate",
            "create_given_predicates",
            "create_span_predicates",
            "create_verb_predicates",
            "set_predicates",
        ],
        "quantization": ["reduce_pipeline"],
        "role_rules": ["create_constrained_decoding"],
        "role_scores": ["SRLResult", "srl_eval"],
        "rule_sources": ["create_all_rules", "create_span_rules"],
        "scorer": ["make_tagger_scorer"],
        "srl": ["PSASemanticRoles", "make_psa_srl"],
        "srl_scorer": ["make_srl_scorer"],
        "tagger": ["PSATagger", "make_psa_tagger"],
        "workers": ["guard_workers"],
    },
)
