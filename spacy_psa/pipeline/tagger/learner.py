"""The training of `psa_tagger`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from thinc.api import Optimizer

from ...annotation.targets import list_targets
from ...errors import Errors, suggestion
from ...inference import UNKNOWN, LinearChain, Potentials
from ...inference.costs import cost_augmented, error_costs
from ...inference.losses import kl_divergence, log_prob_of_sets, smoothed_log_prob
from ...models.growth import padded, trained_outputs
from ...models.labeler import sentence_lengths
from ...models.network_shim import networks
from ..learner import Learner, Losses, loss_and_gradient
from ..pretrained import check_rehearsal
from ..tagset import TagSet
from ..teaching import Lessons, teaching_of, teachings
from .conditioning import condition
from .scorer import add_score_weights
from .settings import check_threshold

if TYPE_CHECKING:
    from .component import PSATagger


class TagLearner(Learner):
    """Converts annotation to labels, loss and gradient.

    pipe (PSATagger): The component.
    tagset (TagSet): Its labels.
    """

    def __init__(self, pipe: PSATagger, tagset: TagSet) -> None:
        super().__init__(pipe, tagset)
        self._costs: tuple[list[str], dict[str, float], torch.Tensor] | None = None

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        **settings: Any,
    ) -> None:
        """See `Learner`. The weights of the component's scores are added to the config."""
        super().initialize(get_examples, nlp=nlp, **settings)
        if nlp is not None:
            add_score_weights(nlp, self.pipe)

    def is_annotated(self, example: Example) -> bool:
        """See `Learner`."""
        tags = self.pipe.target.gold_tags(example, _boundaries(example.predicted))
        return any(tag is not None for tag in tags)

    def inputs(self, examples: Sequence[Example]) -> list[Doc]:
        """See `Learner`."""
        return [eg.predicted for eg in examples]

    def n_averaged(self, examples: Sequence[Example]) -> int:
        """See `Learner`: the number of sentences."""
        return sum(len(sentence_lengths(eg.predicted)) for eg in examples)

    def check_labels(self, examples: Iterable[Example] = ()) -> None:
        """See `Learner`. There must be labels, also those with a weight or a threshold."""
        name, cfg = self.pipe.name, self.pipe.cfg
        if not self.tagset.labels:
            key = f", key '{cfg['spans_key']}'" if cfg["target"] == "spans" else ""
            found = list_targets(eg.reference for eg in examples)
            raise ValueError(
                Errors.P305.format(name=name, target=cfg["target"], key=key, found=found)
            )
        check_threshold(name, cfg["threshold"], self.tagset.labels)
        options = dict.fromkeys(map(self.pipe.target.label_of, self.tagset.tags))
        for label in cfg["label_weights"] or ():
            if label not in options:
                names = {"name": name, "label": label, "options": ", ".join(options)}
                raise ValueError(Errors.P372.format(**names, suggestion=suggestion(label, options)))

    @property
    def costs(self) -> torch.Tensor | None:
        """The costs of errors that follow from the setting `label_weights`: see `cost_augmented`.
        *Shape:* (L, L). None if there are no weights."""
        weights, tags = self.pipe.cfg["label_weights"], self.tagset.tags
        if not weights:
            return None
        if self._costs is None or self._costs[0] is not tags or self._costs[1] != weights:
            self.check_labels()
            missed = [weights.get(self.pipe.target.label_of(tag), 1.0) for tag in tags]
            costs = error_costs(missed=torch.tensor(missed, dtype=torch.float64))
            self._costs = (tags, dict(weights), costs)
        return self._costs[2]

    def get_loss(
        self, examples: Iterable[Example], potentials: Potentials
    ) -> tuple[float, Potentials]:
        """The negative log of the total probability of all tag sequences that agree with the
        annotation (equation 3 of Wei et al. 2021, if everything is annotated), averaged over the
        sentences of the batch, or their sum by `loss_reduction`.

        - Label sets: a sequence agrees if it has any label of the set; for spans, the same label on
          all tokens.
        - Label smoothing: the loss is the cross-entropy between the smoothed labels and the model's
          distribution instead, see `smoothed_log_prob`.
        - Label weights: the model's distribution is replaced by one in which errors are the more
          probable the higher their weight, see `cost_augmented`.
        - Teachers: the loss of examples with a teacher's probabilities is mixed with the
          cross-entropy between its distribution and the model's, see `Lessons`.
        """
        examples = list(examples)
        validate_examples(examples, "PSATagger.get_loss")
        cfg, target = self.pipe.cfg, self.pipe.target
        ids = {tag: i for i, tag in enumerate(self.tagset.tags)}
        gold = [target.gold_sets(eg, _boundaries(eg.predicted), ids) for eg in examples]
        labels = torch.from_numpy(np.concatenate([known for known, _ in gold]))
        starts = np.cumsum([0, *(len(known) for known, _ in gold)])
        sets = {
            int(start) + i: options
            for start, (_, of_doc) in zip(starts[:-1], gold, strict=True)
            for i, options in of_doc.items()
        }
        constraints = self.tagset.constraints if cfg["constrain_training"] else None
        possible = None if constraints is None else self._possible(examples, labels, sets)
        within_sets = self.tagset.constraints if constraints is None else None
        costs, backend = self.costs, self.pipe.inference_backend
        lessons = self._lessons(examples, ids, labels, sets)

        def likelihood(leaf: Potentials) -> torch.Tensor:
            # Tokens with label sets count as unknown here: it is unclear which label is an error
            scores = leaf if costs is None else cost_augmented(leaf, labels, costs)
            scores = scores if possible is None else scores.within(possible)
            chain = LinearChain(scores, constraints=constraints, backend=backend)
            if sets:
                return -log_prob_of_sets(chain, labels, sets, within_sets)
            if cfg["label_smoothing"]:
                return -smoothed_log_prob(chain, labels, cfg["label_smoothing"])
            return -chain.log_prob(labels)

        def loss(leaf: Potentials) -> torch.Tensor:
            if lessons is None:
                return self._reduced(likelihood(leaf))
            both = lessons.losses(likelihood(leaf), leaf, constraints=constraints, backend=backend)
            return self._reduced(both)

        return loss_and_gradient(loss, potentials)

    def _reduced(self, losses: torch.Tensor) -> torch.Tensor:
        """The loss of a batch, from those of its sentences."""
        return losses.sum() if self.is_sum else losses.mean()

    def _lessons(
        self,
        examples: Sequence[Example],
        ids: dict[str, int],
        labels: torch.Tensor,
        sets: Mapping[int, list[int]],
    ) -> Lessons | None:
        """What teachers say of the examples; None if nothing."""
        said = [teaching_of(eg.reference, self.pipe.name) for eg in examples]
        if not any(said):
            return None
        lengths = [sentence_lengths(eg.predicted) for eg in examples]
        known = labels != UNKNOWN
        known[list(sets)] = True
        parts = known.split([n for own in lengths for n in own])
        is_annotated = torch.tensor([bool(part.any()) for part in parts], dtype=torch.bool)
        return Lessons(self.pipe.name, said, lengths, ids, is_annotated)

    def lesson(
        self, teacher: PSATagger, examples: Sequence[Example]
    ) -> tuple[list[Doc], list[Doc], Callable[[Potentials], tuple[float, Potentials]]]:
        """See `Learner`."""
        filled = [eg for eg in examples if len(eg.reference)]
        docs = [eg.predicted for eg in filled]
        if not docs:
            return [], [], lambda p: (0.0, p)
        references = [eg.reference for eg in filled]
        chain = teacher.queries.as_teacher(references)
        n_chains = [len(sentence_lengths(doc)) for doc in references]
        said = list(teachings(chain, teacher.tags, n_chains, mass=1.0, most=None))
        lengths = [sentence_lengths(doc) for doc in docs]
        nothing = torch.zeros(sum(map(len, lengths)), dtype=torch.bool)
        ids = {tag: i for i, tag in enumerate(self.tagset.tags)}
        lessons = Lessons(self.pipe.name, said, lengths, ids, nothing)
        backend = self.pipe.inference_backend
        constraints = self.tagset.constraints if self.pipe.cfg["constrain_training"] else None

        def loss(leaf: Potentials) -> torch.Tensor:
            zeros = torch.zeros(len(leaf.lengths), dtype=torch.float64, device=leaf.device)
            return self._reduced(
                lessons.losses(zeros, leaf, constraints=constraints, backend=backend)
            )

        return docs, docs, partial(loss_and_gradient, loss)

    def _possible(
        self, examples: Sequence[Example], labels: torch.Tensor, sets: Mapping[int, list[int]]
    ) -> torch.Tensor | None:
        """Find the tags of each token that `allow_space` leaves, or that are annotated. *Shape:*
        (N, L), booleans; None if it leaves all of them."""
        docs, tags = [eg.predicted for eg in examples], self.tagset.tags
        zeros = Potentials(torch.zeros(len(labels), len(tags)), [len(doc) for doc in docs])
        given = condition(
            zeros,
            docs,
            self.pipe.target,
            tags,
            rules=None,
            keep_existing=False,
            allow_space=self.pipe.cfg["allow_space"],
        )
        if given is zeros:
            return None
        possible = given.emissions == 0.0
        known = (labels != UNKNOWN).nonzero().squeeze(1)
        possible[known, labels[known]] = True
        for token, options in sets.items():
            possible[token, options] = True
        return possible

    def rehearse(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: Losses | None = None,
    ) -> Losses:
        """Train the model to keep the predictions that it made when training was resumed, to
        prevent catastrophic forgetting. The loss is the KL divergence between the two distributions
        over label sequences. Labels that are newer were impossible then: choose texts without them.

        examples (Iterable[Example]): A batch; its annotation is not used.
        drop, sgd, losses: See `update`.
        RETURNS (Dict[str, float]): The losses, with this batch's added.
        RAISES (ValueError): If training diverges, or the component listens to one that is trained.
        """
        examples = list(examples)
        validate_examples(examples, "PSATagger.rehearse")
        self.check_trainable()
        teacher, backend = self.pipe._rehearsal_model, self.pipe.inference_backend
        docs = self.inputs(examples) if teacher is not None else []
        if docs:
            check_rehearsal(self.pipe, docs)
            self._drop_state_if_collected(sgd)

        def get_loss(potentials: Potentials) -> tuple[float, Potentials]:
            assert teacher is not None  # without one, there are no documents
            known = padded(teacher.predict(docs), potentials.n_labels)
            before = LinearChain(known, backend=backend)
            return loss_and_gradient(
                lambda leaf: kl_divergence(before, LinearChain(leaf, backend=backend)), potentials
            )

        return self.step(docs, docs, get_loss, drop=drop, sgd=sgd, losses=losses)

    def _drop_state_if_collected(self, sgd: object) -> None:
        """Let optimizers start anew with a network that is about to grow, if `nlp.rehearse` only
        collects gradients, for an optimizer whose state cannot grow with it here."""
        model = self.pipe.model
        is_collector = callable(sgd) and not isinstance(sgd, Optimizer)
        n_labels = model.maybe_get_dim("nO")
        if is_collector and n_labels is not None and trained_outputs(model) < n_labels:
            for shim in networks(model.get_ref("network")):
                shim.forget_optimizers()


def _boundaries(doc: Doc) -> list[int]:
    """Find the boundaries of a document's sequences, including its end."""
    return [0, *accumulate(sentence_lengths(doc))]
