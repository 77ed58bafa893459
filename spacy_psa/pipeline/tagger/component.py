"""The component `psa_tagger`, which labels tokens or spans with exact inference."""

from collections.abc import Callable
from typing import Any

from spacy.vocab import Vocab

from ...annotation.rules import TagRules
from ...errors import Errors
from ...inference import BACKENDS, Constraints
from ...inference.engines.backends import get_backend
from ...models.types import SequenceLabeler
from ..delegation import provided
from ..labeling_pipe import LabelingPipe
from ..settings import check_settings
from ..storage import Storage
from ..tagset import TagSet
from ..threads import Threads, checked
from .decoder import TagDecoder
from .learner import TagLearner
from .queries import TagQueries
from .scorer import tagger_score
from .settings import FIXED, SETTINGS, check_same_target, check_threshold, new_cfg, target_of


class PSATagger(LabelingPipe):
    """Label sequences with a neural encoder and exact inference.

    Any model from docs to `Potentials` can be used. The default is the position-aware
    self-attention network of Wei et al. (2021).

    vocab (Vocab): The shared vocabulary.
    model (SequenceLabeler): The model.
    name (str): The component's name in the pipeline.
    rules, inference_backend, threads, scorer, **settings: See `make_psa_tagger`.
    RAISES (ValueError): If a setting is unknown or out of range, or excludes another one.
    """

    settings, fixed = SETTINGS, FIXED

    def __init__(
        self,
        vocab: Vocab,
        model: SequenceLabeler,
        name: str = "psa_tagger",
        *,
        rules: TagRules | None = None,
        inference_backend: str | None = None,
        threads: Threads = "auto",
        scorer: Callable | None = tagger_score,
        **settings: Any,
    ) -> None:
        self.vocab, self.model, self.name = vocab, model, name
        self.rules, self.scorer = rules, scorer
        self.cfg: dict[str, Any] = new_cfg(name, settings)
        if inference_backend is not None:
            get_backend(inference_backend, BACKENDS)
        # Not in `cfg`: the best choice depends on the machine, which may differ after loading
        self.inference_backend, self.threads = inference_backend, checked(threads)
        self.target = target_of(self.cfg)
        self.tagset = TagSet(self)
        self.queries = TagQueries(self)
        self.decoder = TagDecoder(self, self.queries)
        self.learner = TagLearner(self, self.tagset)
        self.storage = Storage(self, self.learner)
        self._rehearsal_model: SequenceLabeler | None = None  # set by spaCy

    predict = provided("decoder", TagDecoder.predict)
    set_annotations = provided("decoder", TagDecoder.set_annotations)
    rehearse = provided("learner", TagLearner.rehearse)
    distribution = provided("queries", TagQueries.distribution)
    condition = provided("queries", TagQueries.condition)
    marginals = provided("queries", TagQueries.marginals)
    span_probs = provided("queries", TagQueries.span_probs)
    nbest = provided("queries", TagQueries.nbest)
    sample = provided("queries", TagQueries.sample)
    entropy = provided("queries", TagQueries.entropy)

    @property
    def constraints(self) -> Constraints | None:
        """RETURNS (Optional[Constraints]): Which tags may follow which in a prediction, or None for
        any."""
        return self.tagset.constraints if self.cfg["constrain_decoding"] else None

    @property
    def marginal_labels(self) -> list[str]:
        """RETURNS (List[str]): The labels of `marginals`' columns; for spans, "O" comes first."""
        return self.queries.marginal_labels

    def check_cfg(self) -> None:
        """Check that the settings, which the user may have changed, can be saved and loaded."""
        check_settings(self.cfg, self.settings)
        check_threshold(self.name, self.cfg.get("threshold"), self.labels)
        made, own = target_of(self.cfg), self.target
        has_other_sets = self.cfg["set_separator"] != (own.sets and own.sets.separator)
        if has_other_sets or made.score_weights != own.score_weights:
            raise ValueError(Errors.P316.format(name=self.name, options=", ".join(self.fixed)))

    def check_loaded(self, before: dict[str, Any]) -> None:
        """Check what has been loaded, and adopt its target.

        before (Dict[str, Any]): The previous `cfg`.
        """
        found = target_of(self.cfg)
        check_same_target(self.name, target_of(before), found)
        self.tagset.check_loaded()
        check_threshold(self.name, self.cfg.get("threshold"), self.labels)
        self.target = found
