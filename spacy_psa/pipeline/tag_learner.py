"""The training of `psa_tagger`."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate

import numpy as np
import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from thinc.api import Optimizer

from ..annotation.base import Target
from ..errors import Errors, suggestion
from ..inference import UNKNOWN, Constraints, LinearChain, Potentials
from ..inference.costs import cost_augmented, error_costs
from ..inference.divergence import kl_divergence
from ..inference.label_sets import log_prob_of_sets
from ..inference.smoothing import smoothed_log_prob
from ..models.growth import padded
from ..models.labeler import sentence_lengths
from ..models.types import SequenceLabeler
from .common import LabelSequencePipe, loss_and_gradient
from .conditioning import condition
from .input_errors import input_errors
from .scorer import tagger_score
from .vocabulary import Vocabulary

logger = logging.getLogger("spacy")


class TagLearner(LabelSequencePipe):
    """The training part of `psa_tagger`: converts annotation to labels, loss and gradient.

    target (Target): The annotation layer that is read and written.
    """

    target: Target
    inference_backend: str | None = None
    _rehearsal_model: SequenceLabeler | None = None
    _constrained: tuple[list[str] | None, Constraints | None] = (None, None)
    _costs: tuple[list[str], dict[str, float], torch.Tensor] | None = None

    def tags_of(self, labels: Sequence[str]) -> list[str]:
        """List the model's output tags. For spans, each label has several.

        labels (Sequence[str]): The labels.
        RETURNS (List[str]): The tags.
        RAISES (ValueError): If a label is a set of labels.
        """
        sets = self.target.sets
        if sets is not None:
            for label in filter(sets.is_set, labels):
                separator = sets.separator
                parts = label.split(separator)
                raise ValueError(
                    Errors.P371.format(
                        name=self.name, label=label, separator=separator, parts=parts
                    )
                )
        return self.target.tags(labels)

    def label_problem(self, label: str) -> str | None:
        """Check whether a string can be a label.

        label (str): The string.
        RETURNS (Optional[str]): The reason why it cannot; None if it can.
        """
        return self.target.label_problem(label)

    def normal_form(self, label: str) -> str:
        """See `LabelSequencePipe.normal_form`."""
        return self.target.normal_form(label)

    def gold_labels(self, doc: Doc) -> Iterable[str]:
        """Find the annotated labels.

        doc (Doc): A gold-standard document.
        YIELDS (str): Its labels, with repetitions; each label of a set separately.
        """
        return self.target.labels_of(doc)

    def is_annotated(self, example: Example) -> bool:
        """Check whether there is anything to learn from an example.

        example (Example): The example.
        RETURNS (bool): Whether any predicted token has gold annotation.
        """
        tags = self.target.gold_tags(example, _boundaries(example.predicted))
        return any(tag is not None for tag in tags)

    @property
    def constraints(self) -> Constraints | None:
        """RETURNS (Optional[Constraints]): Which tags may follow which, or None for any."""
        tags = self.tags
        if self._constrained[0] is not tags:
            self._constrained = (tags, self.target.constraints(tags) if tags else None)
        return self._constrained[1]

    @property
    def costs(self) -> torch.Tensor | None:
        """The costs of errors in training, derived from the setting `label_weights`.

        RETURNS (Optional[Tensor]): See `cost_augmented`. *Shape:* (L, L). None if there are no
            weights.
        RAISES (ValueError): If a weighted label is not one of the component's labels.
        """
        weights, tags = self.cfg["label_weights"], self.tags
        if not weights:
            return None
        if self._costs is None or self._costs[0] is not tags or self._costs[1] is not weights:
            self._check_label_weights()
            missed = [weights.get(self.target.label_of(tag), 1.0) for tag in tags]
            costs = error_costs(missed=torch.tensor(missed, dtype=torch.float64))
            self._costs = (tags, weights, costs)
        return self._costs[2]

    def _check_label_weights(self) -> None:
        options = dict.fromkeys(self.target.label_of(tag) for tag in self.tags)
        for label in self.cfg["label_weights"] or ():
            if label not in options:
                names = {"name": self.name, "label": label, "options": ", ".join(options)}
                nearest = suggestion(label, options)
                raise ValueError(Errors.P372.format(**names, suggestion=nearest))

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
        if callable(get_examples) and next(iter(get_examples()), None) is None:
            raise ValueError(Errors.P306.format(name=self.name))
        validate_get_examples(get_examples, "PSATagger.initialize")
        with self.restore_labels_on_error():
            for label in self._annotated_labels(get_examples) if labels is None else labels:
                self.add_label(label)
            if not self.labels:
                target = self.cfg["target"]
                key = f", key '{self.cfg['spans_key']}'" if target == "spans" else ""
                raise ValueError(Errors.P305.format(name=self.name, target=target, key=key))
            self._check_label_weights()
            self.initialize_model(get_examples, nlp, vocabulary)
        if nlp is not None:
            self.add_score_weights(nlp)

    def _annotated_labels(self, get_examples: Callable[[], Iterable[Example]]) -> list[str]:
        found: set[str] = set()
        for eg in get_examples():
            self.target.check(eg.reference)
            found.update(self.gold_labels(eg.reference))
        return sorted(found)

    def add_score_weights(self, nlp: Language) -> None:
        """Add the default weights of this target's scores, unless the config weights any of them,
        even with zero or null, or the component has a custom scorer.

        All components get equal shares, as when spaCy combines the default weights of factories.
        The factory cannot have default weights, because they depend on the target.

        Called by `initialize`, and by `Language.resume_training` for components from another
        pipeline, which spaCy does not initialize.

        nlp (Language): The pipeline, whose `[training.score_weights]` are modified.
        """
        if self.scorer is not tagger_score:
            return
        weights = nlp.config["training"]["score_weights"]
        own = self.target.score_weights
        if any(score in weights for score, weight in own.items() if weight is not None):
            return
        others = [name for name in nlp.pipe_names if any(map(weights.get, _scores_of(nlp, name)))]
        share = sum(filter(None, weights.values())) / len(others) if others else 1.0
        weights.update({score: weight and weight * share for score, weight in own.items()})
        logger.info("Added to [training.score_weights] for %r: %s", self.name, own)

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
        examples = list(examples)
        validate_examples(examples, "PSATagger.update")
        self.add_new_labels(examples)
        docs = [eg.predicted for eg in examples]
        get_loss = partial(self.get_loss, examples)
        return self.learn(docs, docs, get_loss, drop=drop, sgd=sgd, losses=losses)

    def get_loss(
        self, examples: Iterable[Example], potentials: Potentials
    ) -> tuple[float, Potentials]:
        """Compute the loss and its gradient.

        The loss is the negative log of the total probability of all tag sequences that agree with
        the annotation (equation 3 of Wei et al. 2021, if everything is annotated), averaged over
        the sentences of the batch.

        - Label sets: a sequence agrees if it has any label of the set; for spans, the same label on
          all tokens.
        - Label smoothing: the loss is the cross-entropy between the smoothed labels and the model's
          distribution instead, see `smoothed_log_prob`.
        - Label weights: the model's distribution is replaced by one in which errors are the more
          probable the higher their weight, see `cost_augmented`.

        examples (Iterable[Example]): The batch.
        potentials (Potentials): The model's output for the batch.
        RETURNS (Tuple[float, Potentials]): The loss and its gradient.
        RAISES (ValueError): If an example has a label that the component does not have.
        """
        examples = list(examples)
        validate_examples(examples, "PSATagger.get_loss")
        ids = {tag: i for i, tag in enumerate(self.tags)}
        gold = [self.target.gold_sets(eg, _boundaries(eg.predicted), ids) for eg in examples]
        labels = torch.from_numpy(np.concatenate([known for known, _ in gold]))
        starts = np.cumsum([0, *(len(known) for known, _ in gold)])
        sets = {
            int(start) + i: options
            for start, (_, of_doc) in zip(starts[:-1], gold, strict=True)
            for i, options in of_doc.items()
        }
        constraints = self.constraints if self.cfg["constrain_training"] else None
        possible = None if constraints is None else self._possible(examples, labels, sets)
        within_sets = self.constraints if constraints is None else None
        costs = self.costs

        def negative_log_likelihood(leaf: Potentials) -> torch.Tensor:
            # Tokens with label sets count as unknown here: it is unclear which label is an error
            scores = leaf if costs is None else cost_augmented(leaf, labels, costs)
            scores = scores if possible is None else scores.within(possible)
            chain = LinearChain(scores, constraints=constraints, backend=self.inference_backend)
            if sets:
                return -log_prob_of_sets(chain, labels, sets, within_sets).mean()
            return -smoothed_log_prob(chain, labels, self.cfg["label_smoothing"]).mean()

        return loss_and_gradient(negative_log_likelihood, potentials)

    def _possible(
        self, examples: Sequence[Example], labels: torch.Tensor, sets: Mapping[int, list[int]]
    ) -> torch.Tensor | None:
        """Find the tags of each token that `allow_space` leaves, or that are annotated. *Shape:*
        (N, L), booleans; None if it leaves all of them.
        """
        docs = [eg.predicted for eg in examples]
        zeros = Potentials(torch.zeros(len(labels), len(self.tags)), [len(doc) for doc in docs])
        given = condition(
            zeros,
            docs,
            self.target,
            self.tags,
            rules=None,
            keep_existing=False,
            allow_space=self.cfg["allow_space"],
        )
        if given is zeros:
            return None
        possible = given.emissions == 0.0
        known = (labels != UNKNOWN).nonzero().squeeze(1)
        possible[known, labels[known]] = True
        for token, options in sets.items():
            possible[token, options] = True
        return possible

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
        drop (float): Dropout rate of thinc's layers.
        sgd (Optional[Optimizer]): The optimizer; if None, gradients are accumulated.
        losses (Optional[Dict[str, float]]): The losses so far, by component.
        RETURNS (Dict[str, float]): The losses, with this batch's added.
        RAISES (ValueError): If training diverges.
        """
        examples = list(examples)
        validate_examples(examples, "PSATagger.rehearse")
        teacher, backend = self._rehearsal_model, self.inference_backend
        docs = [eg.predicted for eg in examples] if teacher is not None else []

        def get_loss(potentials: Potentials) -> tuple[float, Potentials]:
            assert teacher is not None  # without one, there are no documents
            known = padded(teacher.predict(docs), potentials.n_labels)
            before = LinearChain(known, backend=backend)
            return loss_and_gradient(
                lambda leaf: kl_divergence(before, LinearChain(leaf, backend=backend)), potentials
            )

        return self.learn(docs, docs, get_loss, drop=drop, sgd=sgd, losses=losses)


def _scores_of(nlp: Language, name: str) -> Iterable[str]:
    """List the scores that are weighted by default for a component."""
    pipe = nlp.get_pipe(name)
    if isinstance(pipe, TagLearner):
        return pipe.target.score_weights
    return nlp.get_pipe_meta(name).default_score_weights or ()


def _boundaries(doc: Doc) -> list[int]:
    """Find the boundaries of a document's sequences, including its end."""
    return [0, *accumulate(sentence_lengths(doc))]
