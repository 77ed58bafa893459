"""The component `psa_tagger`, which labels tokens or spans with exact inference."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Optimizer

from ...annotation.rules import TagRules
from ...errors import Errors
from ...inference import BACKENDS, Constraints, Potentials
from ...inference.engines.backends import get_backend
from ...models.types import SequenceLabeler
from ..learner import input_errors
from ..settings import check_settings
from ..storage import Storage
from ..tagset import TagSet
from ..threads import Threads, checked, using_threads
from ..vocabulary import Vocabulary
from .decoder import TagDecoder, TagPrediction
from .learner import TagLearner
from .queries import TagQueries, asked
from .scorer import add_score_weights, tagger_score
from .settings import (
    FIXED,
    SETTINGS,
    check_same_target,
    check_threshold,
    new_cfg,
    target_of,
)


class PSATagger(TrainablePipe):
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

    def predict(self, docs: Iterable[Doc]) -> list[TagPrediction]:
        """Predict the best tags for documents, without modifying them.

        docs (Iterable[Doc]): The documents.
        RETURNS (List[TagPrediction]): The index of each token's tag in `tags`, and probabilities if
            `probabilities` or `threshold` is set.
        RAISES (ValueError): If a rule or the threshold does not fit, or a score is NaN.
        """
        with using_threads(self.threads):
            return self.decoder.predict(list(docs))

    def set_annotations(self, docs: Iterable[Doc], predictions: Sequence[TagPrediction]) -> None:
        """Write predictions to documents.

        docs (Iterable[Doc]): The documents.
        predictions (Sequence[TagPrediction]): The output of `predict` for them.
        RAISES (ValueError): If they are not for these documents or not from this component.
        """
        self.decoder.annotate([docs] if isinstance(docs, Doc) else list(docs), predictions)

    @input_errors()
    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Iterable[str] | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        """Initialize the model for training.

        get_examples (Callable[[], Iterable[Example]]): Returns all of the gold-standard training
            data, since the word embeddings take their vocabulary from it.
        nlp (Optional[Language]): The pipeline.
        labels (Optional[Iterable[str]]): The labels, e.g. from `spacy init labels`. By default, the
            labels in the examples.
        vocabulary (Optional[Dict[str, int]]): The tokens of the training data with their counts,
            from `psa vocabulary`. By default, those in the examples.
        RAISES (ValueError): If there are no examples, no tokens or no labels, an annotation has no
            label or no tokens, or a weighted label does not exist. The labels are then unchanged.
        """
        self.learner.initialize(get_examples, nlp, labels, vocabulary)
        if nlp is not None:
            add_score_weights(nlp, self)

    @input_errors()
    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Update the model with a batch of examples. Labels that are new are added.

        examples (Iterable[Example]): The batch.
        drop (float): Dropout rate of thinc's layers. This package's layers have their own settings.
        sgd (Optional[Optimizer]): The optimizer; if None, gradients are accumulated.
        losses (Optional[Dict[str, float]]): The losses so far, by component.
        RETURNS (Dict[str, float]): The losses, with this batch's added.
        RAISES (ValueError): If training diverges.
        """
        with using_threads(self.threads):
            return self.learner.update(examples, drop=drop, sgd=sgd, losses=losses)

    @input_errors()
    def rehearse(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Train the model to keep the predictions that it made when training was resumed, to
        prevent catastrophic forgetting. The loss is the KL divergence between the two distributions
        over label sequences. Labels that are newer were impossible then: choose texts without them.

        examples (Iterable[Example]): A batch; its annotation is not used.
        drop, sgd, losses: See `update`.
        RETURNS (Dict[str, float]): The losses, with this batch's added.
        RAISES (ValueError): If training diverges.
        """
        with using_threads(self.threads):
            return self.learner.rehearse(examples, drop=drop, sgd=sgd, losses=losses)

    @input_errors()
    def distill(
        self,
        teacher_pipe: TrainablePipe | None,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Train the model to agree with a teacher, with the signature of spaCy 4. The loss is the
        cross-entropy between the two distributions over label sequences, see `cross_entropy`.

        teacher_pipe (Optional[TrainablePipe]): The teacher, a `psa_tagger` with the same labels.
        examples (Iterable[Example]): A batch. The teacher reads the references, as the components
            before it have left them, the student the predicted documents; annotation is not used.
        drop, sgd, losses: See `update`.
        RETURNS (Dict[str, float]): The losses, with this batch's added.
        RAISES (ValueError): If the teacher is none of this kind or has other labels, the tokens of
            an example differ, or training diverges.
        """
        if not isinstance(teacher_pipe, PSATagger):
            found, kind = type(teacher_pipe).__name__, type(self).__name__
            names = {"teacher": found, "kind": kind, "name": self.name, "found": found}
            raise ValueError(Errors.P530.format(**names))
        with using_threads(self.threads):
            return self.learner.distill(teacher_pipe, examples, drop=drop, sgd=sgd, losses=losses)

    def get_loss(
        self, examples: Iterable[Example], potentials: Potentials
    ) -> tuple[float, Potentials]:
        """Compute the loss and its gradient, see `TagLearner.get_loss`.

        examples (Iterable[Example]): The batch.
        potentials (Potentials): The model's output for the batch.
        RETURNS (Tuple[float, Potentials]): The loss and its gradient.
        RAISES (ValueError): If an example has a label that the component does not have.
        """
        return self.learner.get_loss(examples, potentials)

    @input_errors()
    def finish_update(self, sgd: Optimizer) -> None:
        """Update the parameters with an optimizer, after clipping the gradients.

        sgd (Optimizer): The optimizer.
        RAISES (ValueError): If the parameters are no longer finite.
        """
        with using_threads(self.threads):
            self.learner.finish_update(sgd)

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Score predictions. Gold labels that the component does not have count as missed, and are
        listed in a warning.

        examples (Iterable[Example]): The examples.
        **kwargs: Further arguments of the scorer.
        RETURNS (Dict[str, Any]): The scores.
        """
        examples = list(examples)
        self.tagset.report_unknown(examples)
        scores = super().score(examples, **kwargs)
        self.learner.observe(examples, scores)
        return scores

    def add_label(self, label: str) -> int:
        """Add a label. If the model has been trained, its predictions stay exactly the same until
        it is next trained.

        label (str): The label.
        RETURNS (int): 0 if the label exists already, otherwise 1.
        RAISES (ValueError): If the label is not a string or not a valid label, or if the model has
            too few outputs for it and cannot gain more.
        """
        return self.tagset.add(label)

    @property
    def labels(self) -> tuple[str, ...]:
        """RETURNS (Tuple[str]): The labels."""
        return self.tagset.labels

    @property
    def label_data(self) -> tuple[str, ...]:
        """RETURNS (Tuple[str]): The labels, as `initialize(labels=...)` accepts them."""
        return self.tagset.labels

    @property
    def tags(self) -> list[str]:
        """RETURNS (List[str]): The model's output tags; for spans, each label has several."""
        return self.tagset.tags

    @property
    def constraints(self) -> Constraints | None:
        """RETURNS (Optional[Constraints]): Which tags may follow which in a prediction, or None for
        any."""
        return self.tagset.constraints if self.cfg["constrain_decoding"] else None

    @property
    def marginal_labels(self) -> list[str]:
        """RETURNS (List[str]): The labels of `marginals`' columns; for spans, "O" comes first."""
        return self.queries.marginal_labels

    distribution = asked(TagQueries.distribution)
    condition = asked(TagQueries.condition)
    marginals = asked(TagQueries.marginals)
    span_probs = asked(TagQueries.span_probs)
    nbest = asked(TagQueries.nbest)
    sample = asked(TagQueries.sample)
    entropy = asked(TagQueries.entropy)

    @input_errors()
    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialize the component to bytes.

        exclude (Iterable[str]): What to leave out.
        RETURNS (bytes): Settings, vocabulary, model, and the model's checksum.
        RAISES (ValueError): If the weights are not finite, a setting is out of range, or training
            has diverged after a model was saved to disk.
        """
        return self.storage.to_bytes(exclude)

    @input_errors()
    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the component to a directory. A previously saved component is left untouched until
        the new one is on disk.

        path (Union[str, Path]): The directory.
        exclude (Iterable[str]): What to leave out.
        RAISES (ValueError): As `to_bytes`; and an OutputError if the directory cannot be written.
        """
        self.storage.to_disk(Path(path), exclude)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "PSATagger":
        """Load the component from bytes.

        bytes_data (bytes): The output of `to_bytes`.
        exclude (Iterable[str]): What not to load.
        RETURNS (PSATagger): The component.
        RAISES (ValueError): If the data is damaged or belongs to another configuration. The
            component is then unchanged.
        """
        self.storage.from_bytes(bytes_data, exclude)
        return self

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "PSATagger":
        """Load the component from a directory. Settings that `spacy.load(..., config=...)` changes
        keep their new values.

        path (Union[str, Path]): The directory.
        exclude (Iterable[str]): What not to load.
        RETURNS (PSATagger): The component.
        RAISES (ValueError): As `from_bytes`, or if such a setting cannot be changed any more.
        """
        self.storage.from_disk(Path(path), exclude)
        return self

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
