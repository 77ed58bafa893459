"""The component `psa_tagger`: labels for tokens or spans, decoded exactly."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Config, Optimizer, set_dropout_rate

from ..annotation.targets import make_target
from ..errors import Errors
from ..inference import BACKENDS, Constraints, LinearChain, Potentials
from ..inference.backends import get_backend
from ..inference.divergence import kl_divergence
from ..inference.smoothing import smoothed_log_prob
from ..models.labeler import sentence_lengths
from ..models.types import SequenceLabeler
from .common import LabelSequencePipe, loss_and_gradient
from .scorer import tagger_score

logger = logging.getLogger("spacy")

default_model_config = """
[model]
@architectures = "spacy_psa.SequenceLabeler.v1"
max_length = 512
overlap = 64

[model.tok2vec]
@architectures = "spacy_psa.WordCharEmbed.v1"
width = null
attr = "NORM"
min_freq = 2
max_characters = 50
dropout = 0.0
digits = false
character_initialization = null

[model.tok2vec.characters]
@architectures = "spacy_psa.CharacterBiLSTM.v1"
embedding_width = 30
width = 100

[model.encoder]
@architectures = "spacy_psa.PSAEncoder.v1"

[model.encoder.first_fusion]
@architectures = "spacy_psa.ContextFusion.v1"
dropout = 0.2

[model.encoder.first_fusion.bias]
@architectures = "spacy_psa.PSABias.v1"
window = 10
max_distance = 10
self_mask = true
gaussian = true
token_position = true

[model.encoder.first_fusion.gate]
@architectures = "spacy_psa.FeatureGate.v1"

[model.encoder.recurrent]
@architectures = "spacy_psa.BiLSTM.v1"
hidden_width = 300
depth = 1
input_dropout = 0.55
output_dropout = 0.55

[model.encoder.second_fusion]
@architectures = "spacy_psa.ContextFusion.v1"
dropout = 0.2

[model.encoder.second_fusion.bias]
@architectures = "spacy_psa.PSABias.v1"
window = 10
max_distance = 10
self_mask = true
gaussian = true
token_position = true

[model.encoder.second_fusion.gate]
@architectures = "spacy_psa.FeatureGate.v1"

[model.decoder]
@architectures = "spacy_psa.CRF.v1"
"""
DEFAULT_PSA_MODEL = Config().from_str(default_model_config)["model"]


@Language.factory(
    "psa_tagger",
    assigns=["token.tag", "token.pos", "token.morph", "doc.ents", "doc.spans"],
    default_config={
        "model": DEFAULT_PSA_MODEL,
        "target": "tag",
        "spans_key": "sc",
        "overwrite": False,
        "constrain_training": False,
        "label_smoothing": 0.0,
        "max_grad_norm": 5.0,
        "inference_backend": None,
        "scorer": {"@scorers": "spacy_psa.tagger_scorer.v1"},
    },
    default_score_weights={"tag_acc": 1.0},
)
def make_psa_tagger(
    nlp: Language,
    name: str,
    model: SequenceLabeler,
    target: str,
    spans_key: str,
    overwrite: bool,
    constrain_training: bool,
    label_smoothing: float,
    max_grad_norm: float | None,
    inference_backend: str | None,
    scorer: Callable | None,
) -> PSATagger:
    """Make a `psa_tagger`.

    model (SequenceLabeler): The model.
    target (str): What the component reads and writes: "tag", "pos", "morph", "ents" or "spans".
    spans_key (str): The key in `doc.spans`, for the target "spans".
    overwrite (bool): Whether to replace annotation that is there already.
    constrain_training (bool): Whether label sequences that the tag scheme does not allow are ruled
        out in training, too. In prediction they always are.
    label_smoothing (float): The probability with which an annotated label is taken to be wrong.
    max_grad_norm (Optional[float]): The global norm to which gradients are clipped, or None. Set
        `grad_clip = 0.0` in thinc's optimizers, which clip each tensor on its own.
    inference_backend (Optional[str]): What sums over label sequences in training, see
        `LinearChain`; None for the default.
    scorer (Optional[Callable]): The scoring method.
    """
    return PSATagger(
        nlp.vocab,
        model,
        name,
        target=target,
        spans_key=spans_key,
        overwrite=overwrite,
        constrain_training=constrain_training,
        label_smoothing=label_smoothing,
        max_grad_norm=max_grad_norm,
        inference_backend=inference_backend,
        scorer=scorer,
    )


class PSATagger(LabelSequencePipe):
    """Label sequences with a neural encoder and exact inference.

    Any model from docs to `Potentials` will do; the default is the position-aware self-attention
    network of Wei et al. (2021).
    """

    def __init__(
        self,
        vocab: Vocab,
        model: SequenceLabeler,
        name: str = "psa_tagger",
        *,
        target: str = "tag",
        spans_key: str = "sc",
        overwrite: bool = False,
        constrain_training: bool = False,
        label_smoothing: float = 0.0,
        max_grad_norm: float | None = 5.0,
        inference_backend: str | None = None,
        scorer: Callable | None = tagger_score,
    ) -> None:
        """Initialize the component. The arguments are those of `make_psa_tagger`.

        vocab (Vocab): The shared vocabulary.
        model (SequenceLabeler): The model.
        name (str): The component's name in the pipeline.
        RAISES (ValueError): If the target is unknown, `max_grad_norm` is not positive, or
            `label_smoothing` is not in [0, 1) or is to go with `constrain_training`, or the
            backend is unknown.
        """
        if max_grad_norm is not None and max_grad_norm <= 0.0:
            raise ValueError(
                Errors.P210.format(
                    name="max_grad_norm", value=max_grad_norm, expected="greater than 0, or null"
                )
            )
        if not 0.0 <= label_smoothing < 1.0:
            raise ValueError(
                Errors.P210.format(
                    name="label_smoothing", value=label_smoothing, expected="in [0, 1)"
                )
            )
        if label_smoothing and constrain_training:
            raise ValueError(Errors.P231.format(name=name, smoothing=label_smoothing))
        if inference_backend is not None:
            get_backend(inference_backend, BACKENDS)
        self.vocab = vocab
        self.model = model
        self.name = name
        self.target = make_target(target, spans_key=spans_key)
        self.scorer = scorer
        # Not in `cfg`: what is best here says nothing about where the component is loaded
        self.inference_backend = inference_backend
        self._rehearsal_model: SequenceLabeler | None = None
        self._constraints: Constraints | None = None
        self._constrained_tags: list[str] = []
        self.cfg: dict[str, Any] = {
            "labels": [],
            "target": target,
            "spans_key": spans_key,
            "overwrite": overwrite,
            "constrain_training": constrain_training,
            "label_smoothing": label_smoothing,
            "max_grad_norm": max_grad_norm,
        }

    def tags_of(self, labels: Sequence[str]) -> list[str]:
        """List the model's outputs: for spans, several tags a label.

        labels (Sequence[str]): The labels.
        RETURNS (List[str]): The tags.
        """
        return self.target.tags(labels)

    @property
    def constraints(self) -> Constraints | None:
        """RETURNS (Optional[Constraints]): Which tags may follow which, or None for any."""
        tags = self.tags
        if self._constrained_tags is not tags:
            self._constraints = self.target.constraints(tags) if tags else None
            self._constrained_tags = tags
        return self._constraints

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Iterable[str] | None = None,
    ) -> None:
        """Initialize the model for training.

        get_examples (Callable[[], Iterable[Example]]): Returns gold-standard examples: all of the
            training data, since the word embeddings take their words from it.
        nlp (Optional[Language]): The pipeline.
        labels (Optional[Iterable[str]]): The labels, e.g. from `spacy init labels`. By default,
            those that stand in the examples.
        RAISES (ValueError): If there are no examples or no labels.
        """
        if next(iter(get_examples()), None) is None:
            raise ValueError(Errors.P306.format(name=self.name))
        validate_get_examples(get_examples, "PSATagger.initialize")
        if labels is None:
            found = {
                label for eg in get_examples() for label in self.target.labels_of(eg.reference)
            }
            labels = sorted(found)
        for label in labels:
            self.add_label(label)
        if not self.labels:
            key = f", key '{self.cfg['spans_key']}'" if self.cfg["target"] == "spans" else ""
            raise ValueError(Errors.P305.format(name=self.name, target=self.cfg["target"], key=key))
        self.initialize_model(get_examples)
        if nlp is not None:
            self._add_score_weights(nlp)

    def _add_score_weights(self, nlp: Language) -> None:
        """Let this target's scores decide which model is the best, unless some of them do already.

        A factory has one set of weights, which is that of its default target.
        """
        if self.scorer is None:
            return
        weights = nlp.config["training"]["score_weights"]
        own = self.target.score_weights
        if not any(weights.get(score) for score in own):
            weights.update(own)
            logger.info("Added to [training.score_weights] for '%s': %s", self.name, own)
        if not any(self._is_scored_by(nlp, other, "tag_acc") for other in nlp.pipe_names):
            weights["tag_acc"] = None

    @staticmethod
    def _is_scored_by(nlp: Language, pipe_name: str, score: str) -> bool:
        pipe = nlp.get_pipe(pipe_name)
        if isinstance(pipe, PSATagger):
            return score in pipe.target.score_weights
        return score in (nlp.get_pipe_meta(pipe_name).default_score_weights or {})

    def predict(self, docs: Iterable[Doc]) -> list[NDArray[np.int64]]:
        """Find the best tags for documents, without modifying them.

        docs (Iterable[Doc]): The documents.
        RETURNS (List[NDArray]): For each document, the index of each token's tag in `tags`.
            Shape: (tokens,), int64.
        """
        docs = list(docs)
        lengths = [len(doc) for doc in docs]
        if not any(lengths):
            return [np.zeros(0, dtype=np.int64) for _ in docs]
        potentials = self.model.predict(docs)
        best = LinearChain(potentials, constraints=self.constraints).argmax
        return np.split(best.cpu().numpy(), np.cumsum(lengths)[:-1])

    def set_annotations(self, docs: Iterable[Doc], predictions: Sequence[NDArray]) -> None:
        """Write predictions to documents.

        docs (Iterable[Doc]): The documents.
        predictions (Sequence[NDArray]): The output of `predict` for them.
        RAISES (ValueError): If the predictions are not for these documents, or not by this
            component.
        """
        docs = [docs] if isinstance(docs, Doc) else list(docs)
        if len(docs) != len(predictions):
            raise ValueError(
                Errors.P312.format(name=self.name, n_docs=len(docs), n_predictions=len(predictions))
            )
        tags, overwrite = self.tags, self.cfg["overwrite"]
        for doc, ids in zip(docs, predictions, strict=True):
            if len(ids) != len(doc) or (len(ids) and not 0 <= ids.min() <= ids.max() < len(tags)):
                raise ValueError(
                    Errors.P310.format(
                        found=ids, text=doc.text[:60], n_tags=len(tags), name=self.name
                    )
                )
            self.target.annotate(doc, [tags[i] for i in ids], overwrite=overwrite)

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from a batch of examples.

        examples (Iterable[Example]): The batch.
        drop (float): Dropout rate of thinc's layers. Ours have theirs in their config.
        sgd (Optional[Optimizer]): The optimizer; without it gradients add up.
        losses (Optional[Dict[str, float]]): The losses so far, by component.
        RETURNS (Dict[str, float]): The losses, with this batch's added.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, "PSATagger.update")
        if not any(len(eg.predicted) for eg in examples):
            return losses
        set_dropout_rate(self.model, drop)
        potentials, backprop = self.model.begin_update([eg.predicted for eg in examples])
        loss, d_potentials = self.get_loss(examples, potentials)
        backprop(d_potentials)
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += loss
        return losses

    def get_loss(
        self, examples: Iterable[Example], potentials: Potentials
    ) -> tuple[float, Potentials]:
        """Find the loss and its gradient.

        The loss is the negative log of the total probability of all tag sequences that agree with
        the annotation (equation 3 of Wei et al. 2021, if all is annotated), as a mean over the
        sentences of the batch. With label smoothing, it is the cross-entropy of the smoothed labels
        and the model instead, see `smoothed_log_prob`.

        examples (Iterable[Example]): The batch.
        potentials (Potentials): The model's output for it.
        RETURNS (Tuple[float, Potentials]): The loss, and its gradient.
        RAISES (ValueError): If an example has a label that the component has not, or the loss is
            not finite.
        """
        examples = list(examples)
        validate_examples(examples, "PSATagger.get_loss")
        ids = {tag: i for i, tag in enumerate(self.tags)}
        gold = [self.target.gold_ids(eg, _boundaries(eg.predicted), ids) for eg in examples]
        labels = torch.from_numpy(np.concatenate(gold))

        def negative_log_likelihood(leaf: Potentials) -> torch.Tensor:
            constraints = self.constraints if self.cfg["constrain_training"] else None
            chain = LinearChain(leaf, constraints=constraints, backend=self.inference_backend)
            return -smoothed_log_prob(chain, labels, self.cfg["label_smoothing"]).mean()

        loss, gradient = loss_and_gradient(negative_log_likelihood, potentials)
        if not np.isfinite(loss):
            text = next(eg.reference.text for eg in examples)
            raise ValueError(Errors.P307.format(name=self.name, loss=loss, text=text[:60]))
        return loss, gradient

    def rehearse(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn to predict what the model predicted when training was resumed, so that it does not
        forget: the divergence of the two distributions over label sequences.

        examples (Iterable[Example]): A batch; its annotation is not used.
        drop (float): Dropout rate of thinc's layers.
        sgd (Optional[Optimizer]): The optimizer.
        losses (Optional[Dict[str, float]]): The losses so far, by component.
        RETURNS (Dict[str, float]): The losses, with this batch's added.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, "PSATagger.rehearse")
        docs = [eg.predicted for eg in examples]
        if self._rehearsal_model is None or not any(len(doc) for doc in docs):
            return losses
        set_dropout_rate(self.model, drop)
        backend = self.inference_backend
        teacher = LinearChain(self._rehearsal_model.predict(docs), backend=backend)
        potentials, backprop = self.model.begin_update(docs)
        loss, d_potentials = loss_and_gradient(
            lambda leaf: kl_divergence(teacher, LinearChain(leaf, backend=backend)), potentials
        )
        backprop(d_potentials)
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += loss
        return losses

    def _check_loaded(self, before: dict[str, Any]) -> None:
        configured, found = (
            make_target(cfg["target"], spans_key=cfg["spans_key"]) for cfg in (before, self.cfg)
        )
        if configured.score_weights != found.score_weights:
            raise ValueError(
                Errors.P308.format(
                    name=self.name,
                    configured=list(configured.score_weights),
                    found=list(found.score_weights),
                )
            )
        super()._check_loaded(before)


def _boundaries(doc: Doc) -> NDArray[np.int64]:
    """Where the sequences of a document begin."""
    return np.cumsum([0, *sentence_lengths(doc)])
