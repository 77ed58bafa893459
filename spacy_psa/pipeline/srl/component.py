"""The component `psa_srl`, a semantic role labeler: who did what to whom."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Optimizer

from ...errors import Errors
from ...inference import Potentials
from ...models.types import RoleLabeler
from ..learner import input_errors
from ..settings import check_settings
from ..storage import Storage
from ..tagset import TagSet
from ..threads import Threads, checked, using_threads
from ..vocabulary import Vocabulary
from .decoder import RoleDecoder
from .decoding import RoleDecoding, create_greedy_decoding
from .frames import FramePrediction
from .learner import RoleLearner
from .predicates import PredicateFinder, create_given_predicates
from .roles import Roles
from .scorer import srl_score
from .settings import SETTINGS


class PSASemanticRoles(TrainablePipe):
    """Label the semantic roles of each predicate in its sentence with BIO tags.

    The default model is DeepAtt, the deep attentional neural network of Tan et al. (2018).

    vocab (Vocab): The shared vocabulary.
    model (RoleLabeler): The model.
    name (str): The component's name in the pipeline.
    predicates (Optional[PredicateFinder]): None for the predicates already set on the Doc.
    decoding (Optional[RoleDecoding]): None for the paper's greedy decoding.
    probabilities, allow_space, label_smoothing, max_grad_norm, threads, scorer: See `make_psa_srl`.
    RAISES (ValueError): If `max_grad_norm` is not positive, or `label_smoothing` not in [0, 1).
    """

    settings = SETTINGS
    fixed: tuple[str, ...] = ()

    def __init__(
        self,
        vocab: Vocab,
        model: RoleLabeler,
        name: str = "psa_srl",
        *,
        predicates: PredicateFinder | None = None,
        decoding: RoleDecoding | None = None,
        probabilities: bool = False,
        allow_space: bool = False,
        label_smoothing: float = 0.1,
        max_grad_norm: float | None = 1.0,
        threads: Threads = "auto",
        scorer: Callable | None = srl_score,
    ) -> None:
        self.vocab, self.model, self.name = vocab, model, name
        self.predicates = predicates or create_given_predicates()
        self.decoding = decoding or create_greedy_decoding()
        self.probabilities = probabilities
        self.scorer, self.threads = scorer, checked(threads)
        self.cfg: dict[str, Any] = {
            "labels": [],
            "allow_space": allow_space,
            "label_smoothing": label_smoothing,
            "max_grad_norm": max_grad_norm,
        }
        check_settings(self.cfg, self.settings)
        self.target = Roles()
        self.tagset = TagSet(self)
        self.decoder = RoleDecoder(self)
        self.learner = RoleLearner(self, self.tagset)
        self.storage = Storage(self, self.learner)

    def predict(self, docs: Iterable[Doc]) -> list[list[FramePrediction]]:
        """Predict predicates and their arguments, without modifying the documents.

        docs (Iterable[Doc]): The documents.
        RETURNS (List[List[FramePrediction]]): The frames of each document, in the order of their
            predicates.
        RAISES (ValueError): If a predicate is not a token of its document or occurs twice, or if a
            score of the model is NaN.
        """
        with using_threads(self.threads):
            return self.decoder.predict(list(docs))

    def set_annotations(
        self, docs: Iterable[Doc], predictions: Sequence[Sequence[FramePrediction]]
    ) -> None:
        """Write predictions to documents, replacing their frames.

        docs (Iterable[Doc]): The documents.
        predictions (Sequence[Sequence[FramePrediction]]): The output of `predict` for them.
        RAISES (ValueError): If the predictions are not for these documents.
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
        labels (Optional[Iterable[str]]): The roles, e.g. from `spacy init labels`. By default, the
            roles in the examples.
        vocabulary (Optional[Dict[str, int]]): The tokens of the training data with their counts,
            from `psa vocabulary`. By default, those in the examples.
        RAISES (ValueError): If there are no examples, no tokens or no frames, or an argument has no
            role or no tokens. The labels are then unchanged.
        """
        self.learner.initialize(get_examples, nlp, labels, vocabulary)

    @input_errors()
    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Update the model with the annotated predicates and arguments of a batch. Roles that are
        new are added.

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

        teacher_pipe (Optional[TrainablePipe]): The teacher, a `psa_srl` with the same roles.
        examples (Iterable[Example]): A batch. The teacher reads the references, as the components
            before it have left them, the student the predicted documents; annotation is not used.
        drop, sgd, losses: See `update`.
        RETURNS (Dict[str, float]): The losses, with this batch's added.
        RAISES (ValueError): If the teacher is none of this kind or has other labels, the tokens of
            an example differ, or training diverges.
        """
        if not isinstance(teacher_pipe, PSASemanticRoles):
            found, kind = type(teacher_pipe).__name__, type(self).__name__
            names = {"teacher": found, "kind": kind, "name": self.name, "found": found}
            raise ValueError(Errors.P530.format(**names))
        with using_threads(self.threads):
            return self.learner.distill(teacher_pipe, examples, drop=drop, sgd=sgd, losses=losses)

    def get_loss(
        self, examples: Iterable[Example], potentials: Potentials
    ) -> tuple[float, Potentials]:
        """Compute the loss and its gradient, see `RoleLearner.get_loss`.

        examples (Iterable[Example]): The batch.
        potentials (Potentials): The model's output for the batch.
        RETURNS (Tuple[float, Potentials]): The loss and its gradient.
        RAISES (ValueError): If an example has a role that the component does not have.
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
        """Score predictions. Gold roles that the component does not have count as missed, and are
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
        """Add a role. If the model has been trained, its predictions stay exactly the same until
        it is next trained.

        label (str): The role.
        RETURNS (int): 0 if the role exists already, otherwise 1.
        RAISES (ValueError): If the label is not a string or not a valid label, or if the model has
            too few outputs for it and cannot gain more.
        """
        return self.tagset.add(label)

    @property
    def labels(self) -> tuple[str, ...]:
        """RETURNS (Tuple[str]): The roles, and V for predicates."""
        return self.tagset.labels

    @property
    def label_data(self) -> tuple[str, ...]:
        """RETURNS (Tuple[str]): The labels, as `initialize(labels=...)` accepts them."""
        return self.tagset.labels

    @property
    def tags(self) -> list[str]:
        """RETURNS (List[str]): The model's output tags: O, and B and I for each label."""
        return self.tagset.tags

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
        RAISES (OutputError): If the directory cannot be written.
        RAISES (ValueError): As `to_bytes`.
        """
        self.storage.to_disk(Path(path), exclude)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "PSASemanticRoles":
        """Load the component from bytes.

        bytes_data (bytes): The output of `to_bytes`.
        exclude (Iterable[str]): What not to load.
        RETURNS (PSASemanticRoles): The component.
        RAISES (ValueError): If the data is damaged or belongs to another configuration.
        """
        self.storage.from_bytes(bytes_data, exclude)
        return self

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "PSASemanticRoles":
        """Load the component from a directory. Settings that `spacy.load(..., config=...)` changes
        keep their new values.

        path (Union[str, Path]): The directory.
        exclude (Iterable[str]): What not to load.
        RETURNS (PSASemanticRoles): The component.
        RAISES (ValueError): If the data is damaged or belongs to another configuration.
        """
        self.storage.from_disk(Path(path), exclude)
        return self

    def check_cfg(self) -> None:
        """Check that the settings, which the user may have changed, can be saved and loaded.

        RAISES (ValueError): If a setting is out of range.
        """
        check_settings(self.cfg, self.settings)

    def check_loaded(self, before: dict[str, Any]) -> None:
        """Check what has been loaded.

        before (Dict[str, Any]): The previous `cfg`.
        """
        self.tagset.check_loaded()
