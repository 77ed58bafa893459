"""Scores as the shared tasks compute them, their intervals, and comparisons."""

from typing import TYPE_CHECKING

from ..exports import exports

if TYPE_CHECKING:
    from .card import Card as Card
    from .card import Speed as Speed
    from .card import Trust as Trust
    from .comparison import Comparison as Comparison
    from .comparison import compare as compare
    from .conlleval import ConllevalResult as ConllevalResult
    from .conlleval import score_tags as score_tags
    from .layers import LAYERS as LAYERS
    from .layers import LAYERS_OF_FACTORIES as LAYERS_OF_FACTORIES
    from .layers import layers_of as layers_of
    from .layers import make_layer as make_layer
    from .report import Report as Report
    from .report import evaluate as evaluate
    from .sentences import ScoredSentence as ScoredSentence
    from .sentences import pair_sentences as pair_sentences
    from .srl_tables import format_result as format_result
    from .units import Layer as Layer
    from .units import Pairing as Pairing
    from .units import Unit as Unit

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "card": ["Card", "Speed", "Trust"],
        "comparison": ["Comparison", "compare"],
        "conlleval": ["ConllevalResult", "score_tags"],
        "layers": ["LAYERS", "LAYERS_OF_FACTORIES", "layers_of", "make_layer"],
        "report": ["Report", "evaluate"],
        "sentences": ["ScoredSentence", "pair_sentences"],
        "srl_tables": ["format_result"],
        "units": ["Layer", "Pairing", "Unit"],
    },
)
