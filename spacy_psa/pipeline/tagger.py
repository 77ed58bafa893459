"""The component `psa_tagger`, which labels tokens or spans with exact inference."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from ..annotation.rules import TagRules
from ..annotation.targets import make_target
from ..errors import Errors, suggestion
from ..inference import BACKENDS
from ..inference.engines.backends import get_backend
from ..models.types import SequenceLabeler
from . import resuming  # noqa: F401  (shows the scores of sourced components)
from .confidence import forget_scores, set_scores
from .default_model import DEFAULT_PSA_MODEL
from .overrides import created_for
from .scorer import tagger_score
from .settings import (
    FLAG,
    LABEL_WEIGHTS,
    LABELS,
    MAX_GRAD_NORM,
    OPTIONAL_TEXT,
    SMOOTHING,
    TEMPERATURE,
    TEXT,
    THRESHOLD,
    Setting,
    check_settings,
)
from .tag_prediction import TagPrediction
from .tag_queries import TagQueries, split
from .vocabulary import Vocabulary


@Language.factory(
    "psa_tagger",
    assigns=["token.tag", "token.pos", "token.morph", "doc.ents", "doc.spans"],
    default_config={
        "model": DEFAULT_PSA_MODEL,
        "target": "tag",
        "spans_key": "sc",
        "overwrite": False,
        "probabilities": False,
        "threshold": None,
        "rules": None,
        "allow_space": False,
        "constrain_training": False,
        "label_smoothing": 0.0,
        "label_weights": None,
        "set_separator": None,
        "max_grad_norm": 5.0,
        "inference_backend": None,
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
    constrain_training: bool,
    label_smoothing: float,
    label_weights: dict[str, float] | None,
    set_separator: str | None,
    max_grad_norm: float | None,
    inference_backend: str | None,
    scorer: Callable | None,
) -> "PSATagger":
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
    constrain_training (bool): Whether to rule out label sequences that are ruled out in prediction
        (those that the tag scheme does not allow and, without `allow_space`, spans that begin or
        end with white space unless annotated) in training as well.
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
        constrain_training=constrain_training,
        label_smoothing=label_smoothing,
        label_weights=label_weights,
        set_separator=set_separator,
        max_grad_norm=max_grad_norm,
        inference_backend=inference_backend,
        scorer=scorer,
    )
    return created_for(nlp, pipe)


class PSATagger(TagQueries):
    """Label sequences with a neural encoder and exact inference.

    Any model from docs to `Potentials` can be used. The default is the position-aware
    self-attention network of Wei et al. (2021).
    """

    settings: ClassVar[dict[str, Setting]] = {
        "labels": LABELS,
        "target": TEXT,
        "spans_key": TEXT,
        "overwrite": FLAG,
        "probabilities": FLAG,
        "threshold": THRESHOLD,
        "temperature": TEMPERATURE,
        "allow_space": FLAG,
        "constrain_training": FLAG,
        "label_smoothing": SMOOTHING,
        "label_weights": LABEL_WEIGHTS,
        "set_separator": OPTIONAL_TEXT,
        "max_grad_norm": MAX_GRAD_NORM,
    }
    fixed: ClassVar[tuple[str, ...]] = ("target", "spans_key", "set_separator")

    def __init__(
        self,
        vocab: Vocab,
        model: SequenceLabeler,
        name: str = "psa_tagger",
        *,
        target: str = "tag",
        spans_key: str = "sc",
        overwrite: bool = False,
        probabilities: bool = False,
        threshold: float | dict[str, float] | None = None,
        rules: TagRules | None = None,
        allow_space: bool = False,
        constrain_training: bool = False,
        label_smoothing: float = 0.0,
        label_weights: dict[str, float] | None = None,
        set_separator: str | None = None,
        max_grad_norm: float | None = 5.0,
        inference_backend: str | None = None,
        scorer: Callable | None = tagger_score,
    ) -> None:
        """Initialize the component. See `make_psa_tagger` for the other arguments.

        vocab (Vocab): The shared vocabulary.
        model (SequenceLabeler): The model.
        name (str): The component's name in the pipeline.
        RAISES (ValueError): If the target or the backend is unknown, a number is out of range,
            `label_smoothing` is combined with `constrain_training` or `set_separator`, or
            `set_separator` is invalid.
        """
        given = {
            "max_grad_norm": max_grad_norm,
            "label_smoothing": label_smoothing,
            "label_weights": label_weights,
            "threshold": threshold,
        }
        check_settings(given, self.settings)
        if label_smoothing and constrain_training:
            raise ValueError(Errors.P231.format(name=name, smoothing=label_smoothing))
        if label_smoothing and set_separator is not None:
            raise ValueError(
                Errors.P367.format(name=name, smoothing=label_smoothing, separator=set_separator)
            )
        if inference_backend is not None:
            get_backend(inference_backend, BACKENDS)
        self.vocab = vocab
        self.model = model
        self.name = name
        self.target = make_target(target, spans_key=spans_key, set_separator=set_separator)
        self.scorer = scorer
        # Not in `cfg`: the best choice depends on the machine, which may differ after loading
        self.inference_backend = inference_backend
        self.rules = rules
        self.cfg: dict[str, Any] = {
            "labels": [],
            "target": target,
            "spans_key": spans_key,
            "overwrite": overwrite,
            "probabilities": probabilities,
            "threshold": threshold,
            "temperature": 1.0,
            "allow_space": allow_space,
            "constrain_training": constrain_training,
            "label_smoothing": label_smoothing,
            "label_weights": label_weights,
            "set_separator": set_separator,
            "max_grad_norm": max_grad_norm,
        }

    def predict(self, docs: Iterable[Doc]) -> list[TagPrediction]:
        """Predict the best tags for documents, without modifying them.

        docs (Iterable[Doc]): The documents.
        RETURNS (List[TagPrediction]): For each document, the index of each token's tag in `tags`,
            and probabilities if `probabilities` or `threshold` is set.
        RAISES (ValueError): If a rule does not fit, the threshold is out of range or has an unknown
            label, or a score of the model is NaN.
        """
        docs = list(docs)
        self._check_threshold()
        if not any(len(doc) for doc in docs):
            return [TagPrediction(np.zeros(0, dtype=np.int64)) for _ in docs]
        distribution = self.distribution(docs)
        best = split(distribution.argmax.cpu().numpy(), map(len, docs))
        if self.cfg["probabilities"] or self.cfg["threshold"] is not None:
            return self._with_scores(docs, best, distribution)
        return [TagPrediction(ids) for ids in best]

    def set_annotations(self, docs: Iterable[Doc], predictions: Sequence[TagPrediction]) -> None:
        """Write predictions to documents.

        docs (Iterable[Doc]): The documents.
        predictions (Sequence[TagPrediction]): The output of `predict` for them.
        RAISES (ValueError): If the predictions are not for these documents or not from this
            component.
        """
        docs = [docs] if isinstance(docs, Doc) else list(docs)
        if len(docs) != len(predictions):
            raise ValueError(
                Errors.P312.format(name=self.name, n_docs=len(docs), n_predictions=len(predictions))
            )
        n_tags, overwrite = len(self.tags), self.cfg["overwrite"]
        for doc, prediction in zip(docs, predictions, strict=True):
            # A list, since for one sentence NumPy calls would cost more than all of this
            ids = prediction.ids.tolist()
            if len(ids) != len(doc) or (len(ids) and not 0 <= min(ids) <= max(ids) < n_tags):
                raise ValueError(
                    Errors.P310.format(
                        found=prediction.ids, text=doc.text[:60], n_tags=n_tags, name=self.name
                    )
                )
            names = prediction.tags_above(self.cfg["threshold"], self.target, self.tags)
            own = self._own(doc, names) if self.cfg["probabilities"] else None
            self.target.annotate(doc, names, overwrite=overwrite)
            if own is not None:
                set_scores(doc, self.target, *prediction.scores_of(own))
            elif overwrite and doc.user_data:
                # Scores from another component or an earlier run belong to other labels
                forget_scores(doc, self.target)

    def _own(self, doc: Doc, tags: list[str | None]) -> list[str | None]:
        """Leave out tags that will not be written because there is existing annotation."""
        existing = None if self.cfg["overwrite"] else self.target.existing_tags(doc, ())
        if existing is None:
            return tags
        pairs = zip(tags, existing, strict=True)
        return [tag if there in (None, tag) else None for tag, there in pairs]

    def initialize_model(
        self,
        get_examples: Callable[[], Iterable[Example]],
        nlp: Language | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        self._check_threshold()
        super().initialize_model(get_examples, nlp, vocabulary)

    def _check_loaded(self, before: dict[str, Any]) -> None:
        configured, found = (
            make_target(
                cfg["target"], spans_key=cfg["spans_key"], set_separator=cfg["set_separator"]
            )
            for cfg in (before, self.cfg)
        )
        if configured.score_weights != found.score_weights:
            raise ValueError(
                Errors.P308.format(
                    name=self.name,
                    configured=[name for name, w in configured.score_weights.items() if w],
                    found=[name for name, w in found.score_weights.items() if w],
                )
            )
        super()._check_loaded(before)
        self._check_threshold()
        self.target = found

    def check_cfg(self) -> None:
        """See `SavedPipe.check_cfg`."""
        super().check_cfg()
        self._check_threshold()
        target, spans_key, separator = (self.cfg[name] for name in self.fixed)
        made = make_target(target, spans_key=spans_key, set_separator=separator)
        own, sets = self.target.score_weights, self.target.sets
        if made.score_weights != own or separator != (sets and sets.separator):
            raise ValueError(Errors.P316.format(name=self.name, options=", ".join(self.fixed)))

    def _check_threshold(self) -> None:
        """Check that the threshold is in range, and that its labels are the component's."""
        threshold = self.cfg.get("threshold")
        check_settings({"threshold": threshold}, self.settings)
        if not isinstance(threshold, dict) or not self.labels:
            return
        for label in threshold:
            if label not in self.labels:
                names = {"name": self.name, "label": label, "options": ", ".join(self.labels)}
                nearest = suggestion(label, self.labels)
                raise ValueError(Errors.P343.format(**names, suggestion=nearest))
