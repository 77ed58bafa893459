"""The component `psa_tagger`: labels for tokens or spans, decoded exactly."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from spacy.language import Language
from spacy.pipeline import TrainablePipe
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
from ..training.clipping import clip_global_norm
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


class PSATagger(TrainablePipe):
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
        self._tags: list[str] = []
        self._constraints: Constraints | None = None
        self.cfg: dict[str, Any] = {
            "labels": [],
            "target": target,
            "spans_key": spans_key,
            "overwrite": overwrite,
            "constrain_training": constrain_training,
            "label_smoothing": label_smoothing,
            "max_grad_norm": max_grad_norm,
        }

    @property
    def labels(self) -> tuple[str, ...]:
        """RETURNS (Tuple[str]): The labels: parts of speech, types of entities or spans."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> tuple[str, ...]:
        """RETURNS (Tuple[str]): What `initialize(labels=...)` accepts."""
        return self.labels

    @property
    def tags(self) -> list[str]:
        """RETURNS (List[str]): The model's outputs: for spans, several tags a label."""
        if not self._tags and self.cfg["labels"]:
            self._tags = self.target.tags(self.labels)
            self._constraints = self.target.constraints(self._tags)
        return self._tags

    @property
    def constraints(self) -> Constraints | None:
        """RETURNS (Optional[Constraints]): Which tags may follow which, or None for any."""
        return self._constraints if self.tags else None

    def add_label(self, label: str) -> int:
        """Add a label, before the model is initialized.

        label (str): The label.
        RETURNS (int): 0 if it is there already, otherwise 1.
        RAISES (ValueError): If it is no string, or the model has no room for it.
        """
        if not isinstance(label, str):
            raise ValueError(Errors.P313.format(label=label, type=type(label).__name__))
        if label in self.cfg["labels"]:
            return 0
        tags = self.target.tags([*self.labels, label])
        if self.model.has_dim("nO") and len(tags) > self.model.get_dim("nO"):
            raise ValueError(
                Errors.P304.format(name=self.name, label=label, n_tags=self.model.get_dim("nO"))
            )
        self.cfg["labels"].append(label)
        self.vocab.strings.add(label)
        self._tags = []
        return 1

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
        for node in self.model.walk():
            if "observe" in node.attrs:
                node.attrs["observe"](node, (eg.predicted for eg in get_examples()))
        self.model.set_dim("nO", len(self.tags))
        self.model.initialize(X=[eg.predicted for eg in islice(get_examples(), 10)])
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

    def finish_update(self, sgd: Optimizer) -> None:
        """Clip the gradients and update the parameters.

        sgd (Optimizer): The optimizer.
        """
        max_norm = self.cfg["max_grad_norm"]
        if max_norm is not None:
            clip_global_norm(self.model, max_norm)
        super().finish_update(sgd)

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

        loss, gradient = _gradient(negative_log_likelihood, potentials)
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
        loss, d_potentials = _gradient(
            lambda leaf: kl_divergence(teacher, LinearChain(leaf, backend=backend)), potentials
        )
        backprop(d_potentials)
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += loss
        return losses

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> PSATagger:
        """Load the component from bytes.

        bytes_data (bytes): The output of `to_bytes`.
        exclude (Iterable[str]): What not to load.
        RETURNS (PSATagger): The component.
        RAISES (ValueError): If the data is damaged or of another configuration.
        """
        return self._load(super().from_bytes, bytes_data, exclude, "bytes")

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> PSATagger:
        """Load the component from a directory.

        path (Union[str, Path]): The directory.
        exclude (Iterable[str]): What not to load.
        RETURNS (PSATagger): The component.
        RAISES (ValueError): If the data is damaged or of another configuration.
        """
        return self._load(super().from_disk, path, exclude, path)

    def _load(
        self, load: Callable[..., Any], data: Any, exclude: Iterable[str], source: Any
    ) -> PSATagger:
        # A model that has no weights yet costs next to nothing to keep.
        before, weights = deepcopy(self.cfg), self.model.to_bytes()
        dims = [
            (node, {d: node.maybe_get_dim(d) for d in node.dim_names}) for node in self.model.walk()
        ]
        try:
            load(data, exclude=exclude)
            self._check_loaded(before)
        except Exception as error:
            self.cfg = before
            self._tags = []
            self.model.from_bytes(weights)
            for node, sizes in dims:
                for name, size in sizes.items():
                    node.set_dim(name, size, force=True)
            known = isinstance(error, ValueError | OSError)
            problem = error if known else Errors.P202.format(problem=repr(error))
            raise ValueError(
                Errors.P311.format(name=self.name, path=source, problem=problem)
            ) from error
        return self

    def _check_loaded(self, before: dict[str, Any]) -> None:
        self._tags = []
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
        if self.labels and self.model.has_dim("nO") and len(self.tags) != self.model.get_dim("nO"):
            raise ValueError(
                Errors.P309.format(
                    name=self.name, n_tags=len(self.tags), nO=self.model.get_dim("nO")
                )
            )


def _boundaries(doc: Doc) -> NDArray[np.int64]:
    """Where the sequences of a document begin."""
    return np.cumsum([0, *sentence_lengths(doc)])


def _gradient(
    function: Callable[[Potentials], torch.Tensor], potentials: Potentials
) -> tuple[float, Potentials]:
    """Evaluate a function of potentials, and its gradient."""
    leaf = potentials.detach().requires_grad_()
    loss = function(leaf)
    tensors = leaf.tensors()
    gradients = torch.autograd.grad(loss, list(tensors.values()), allow_unused=True)
    zeros = {
        name: torch.zeros_like(tensor) if gradient is None else gradient
        for (name, tensor), gradient in zip(tensors.items(), gradients, strict=True)
    }
    return float(loss.detach()), Potentials(lengths=leaf.lengths, **zeros)
