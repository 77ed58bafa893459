"""The factory of `psa_srl`: what a config says about the component, and its defaults."""

from collections.abc import Callable

from spacy.language import Language

from ...models.types import RoleLabeler
from ..storage import created_for
from ..threads import Threads
from .component import PSASemanticRoles
from .decoding import RoleDecoding
from .predicates import PredicateFinder
from .settings import DEFAULT_SRL_MODEL


@Language.factory(
    "psa_srl",
    assigns=["doc.spans", "doc._.frames"],
    default_config={
        "model": DEFAULT_SRL_MODEL,
        "predicates": {"@misc": "spacy_psa.GivenPredicates.v1"},
        "decoding": {"@misc": "spacy_psa.GreedyDecoding.v1"},
        "probabilities": False,
        "allow_space": False,
        "label_smoothing": 0.1,
        "max_grad_norm": 1.0,
        "threads": "auto",
        "scorer": {"@scorers": "spacy_psa.srl_scorer.v1"},
    },
    default_score_weights={"srl_f": 1.0, "srl_p": 0.0, "srl_r": 0.0, "srl_complete": 0.0},
)
def make_psa_srl(
    nlp: Language,
    name: str,
    model: RoleLabeler,
    predicates: PredicateFinder,
    decoding: RoleDecoding,
    probabilities: bool,
    allow_space: bool,
    label_smoothing: float,
    max_grad_norm: float | None,
    threads: Threads,
    scorer: Callable | None,
) -> PSASemanticRoles:
    """Create a `psa_srl`.

    model (RoleLabeler): The model.
    predicates (PredicateFinder): Finds the predicates of a Doc, e.g.
        `spacy_psa.VerbPredicates.v1`. In training, the annotated predicates are used.
    decoding (RoleDecoding): Chooses label sequences, e.g. `spacy_psa.ViterbiDecoding.v1`.
    probabilities (bool): Whether to compute the probabilities of frames and arguments.
    allow_space (bool): Whether predicted arguments may begin or end with white space, such as line
        breaks.
    label_smoothing (float): The assumed probability that an annotated label is wrong.
    max_grad_norm (Optional[float]): The global norm to which gradients are clipped, or None.
    threads (Union[Literal["auto"], int, None]): How many threads to compute with, see `psa_tagger`.
    scorer (Optional[Callable]): The scoring method.
    """
    pipe = PSASemanticRoles(
        nlp.vocab,
        model,
        name,
        predicates=predicates,
        decoding=decoding,
        probabilities=probabilities,
        allow_space=allow_space,
        label_smoothing=label_smoothing,
        max_grad_norm=max_grad_norm,
        threads=threads,
        scorer=scorer,
    )
    return created_for(nlp, pipe)
