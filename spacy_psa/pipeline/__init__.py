"""The components, and what their configs may name."""

from typing import TYPE_CHECKING

from ..exports import exports

if TYPE_CHECKING:
    from .shared_embedding import PSATok2Vec as PSATok2Vec
    from .shared_embedding import make_psa_tok2vec as make_psa_tok2vec
    from .srl import PSASemanticRoles as PSASemanticRoles
    from .srl.decoding import RoleDecoding as RoleDecoding
    from .srl.decoding import create_greedy_decoding as create_greedy_decoding
    from .srl.decoding import create_viterbi_decoding as create_viterbi_decoding
    from .srl.factory import make_psa_srl as make_psa_srl
    from .srl.frames import PredicateFrame as PredicateFrame
    from .srl.frames import RoleArgument as RoleArgument
    from .srl.frames import format_frames as format_frames
    from .srl.frames import frames_of as frames_of
    from .srl.predicates import Predicate as Predicate
    from .srl.predicates import create_given_predicates as create_given_predicates
    from .srl.predicates import create_span_predicates as create_span_predicates
    from .srl.predicates import create_verb_predicates as create_verb_predicates
    from .srl.predicates import set_predicates as set_predicates
    from .srl.role_rules import create_constrained_decoding as create_constrained_decoding
    from .srl.scorer import make_srl_scorer as make_srl_scorer
    from .tagger import PSATagger as PSATagger
    from .tagger.factory import make_psa_tagger as make_psa_tagger
    from .tagger.rule_sources import create_all_rules as create_all_rules
    from .tagger.rule_sources import create_span_rules as create_span_rules
    from .tagger.scorer import make_tagger_scorer as make_tagger_scorer
    from .workers import guard_workers as guard_workers

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "srl.decoding": ["RoleDecoding", "create_greedy_decoding", "create_viterbi_decoding"],
        "srl.frames": ["PredicateFrame", "RoleArgument", "format_frames", "frames_of"],
        "srl.predicates": [
            "Predicate",
            "create_given_predicates",
            "create_span_predicates",
            "create_verb_predicates",
            "set_predicates",
        ],
        "srl.role_rules": ["create_constrained_decoding"],
        "tagger.rule_sources": ["create_all_rules", "create_span_rules"],
        "tagger.scorer": ["make_tagger_scorer"],
        "srl": ["PSASemanticRoles", "make_psa_srl"],
        "srl.scorer": ["make_srl_scorer"],
        "tagger": ["PSATagger", "make_psa_tagger"],
        "shared_embedding": ["PSATok2Vec", "make_psa_tok2vec"],
        "workers": ["guard_workers"],
    },
)
