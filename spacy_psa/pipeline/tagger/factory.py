"""The factory of `psa_tagger`: what a config says about the component, and its defaults."""

from collections.abc import Callable

from spacy.language import Language

from ...annotation.rules import TagRules
from ...models.types import SequenceLabeler
from ..storage import created_for
from ..threads import Threads
from .component import PSATagger
from .settings import DEFAULT_PSA_MODEL, DEFAULTS


@Language.factory(
    "psa_tagger",
    assigns=["token.tag", "token.pos", "token.morph", "doc.ents", "doc.spans"],
    default_config={
        "model": DEFAULT_PSA_MODEL,
        **DEFAULTS,
        "rules": None,
        "inference_backend": None,
        "threads": "auto",
        "scorer": {"@scorers": "spacy_psa.tagger_scorer.v1"},
    },
    # They depend on the target, which is unknown here: `initialize` adds them
    default_score_weights={},
)
def make_psa_tagger(
    nlp: Language,
    name: str,
    model: SequenceLabeler,
    target: str,
    spans_key: str,
    overwrite: bool,
    probabilities: bool,
    threshold: float | dict[str, float] | None,
    rules: TagRules | None,
    allow_space: bool,
    constrain_decoding: bool,
    constrain_training: bool,
    loss_reduction: str,
    label_smoothing: float,
    label_weights: dict[str, float] | None,
    set_separator: str | None,
    max_grad_norm: float | None,
    inference_backend: str | None,
    threads: Threads,
    scorer: Callable | None,
) -> PSATagger:
    """Create a `psa_tagger`.

    model (SequenceLabeler): The model.
    target (str): What the component reads and writes: "tag", "pos", "morph", "ents" or "spans".
    spans_key (str): The key in `doc.spans`, for the target "spans".
    overwrite (bool): Whether to replace existing annotation. If not, it is taken to be correct, and
        the rest is predicted given it.
    probabilities (bool): Whether to compute probabilities, for `span._.psa_score` and
        `token._.psa_score`.
    threshold (Optional[Union[float, Dict[str, float]]]): Drop predictions with a lower probability,
        for all labels or by label; None to drop nothing.
    rules (Optional[TagRules]): Forbids, requires or favors labels, e.g. `spacy_psa.SpanRules.v1`.
    allow_space (bool): Whether predicted spans may begin or end with white space, such as line
        breaks.
    constrain_decoding (bool): Whether to predict only tag sequences that the scheme allows. If not,
        the most probable one of all is predicted, and read as conlleval reads it.
    constrain_training (bool): Whether to rule out label sequences that are ruled out in prediction
        (those that the tag scheme does not allow and, without `allow_space`, spans that begin or
        end with white space unless annotated) in training as well.
    loss_reduction (str): The loss of a batch: the "mean" of its sentences' or their "sum".
    label_smoothing (float): The assumed probability that an annotated label is wrong.
    label_weights (Optional[Dict[str, float]]): Weights of labels in training. Weights above 1 raise
        a label's recall, weights below 1 its precision. For spans, "O" stands for tokens outside.
    set_separator (Optional[str]): The separator in label sets in training and evaluation data, e.g.
        "|" if "NN|JJ" means either of the two; None if there are no label sets.
    max_grad_norm (Optional[float]): The global norm to which gradients are clipped, or None. If you
        use one of thinc's optimizers, set its `grad_clip = 0.0`, since it clips each tensor
        separately.
    inference_backend (Optional[str]): The backend that sums over label sequences in training, see
        `LinearChain`; None for the default.
    threads (Union[Literal["auto"], int, None]): How many threads to compute with, restored after
        each call: "auto" for PyTorch's number, but fewer while other processes compete for the
        cores; None for PyTorch's number.
    scorer (Optional[Callable]): The scoring method.
    """
    pipe = PSATagger(
        nlp.vocab,
        model,
        name,
        target=target,
        spans_key=spans_key,
        overwrite=overwrite,
        probabilities=probabilities,
        threshold=threshold,
        rules=rules,
        allow_space=allow_space,
        constrain_decoding=constrain_decoding,
        constrain_training=constrain_training,
        loss_reduction=loss_reduction,
        label_smoothing=label_smoothing,
        label_weights=label_weights,
        set_separator=set_separator,
        max_grad_norm=max_grad_norm,
        inference_backend=inference_backend,
        threads=threads,
        scorer=scorer,
    )
    return created_for(nlp, pipe)
