"""The pipeline in the training loop of one rank.

In each step, spaCy's `train_while_improving` calls:

1. `nlp.update`, for each part of the batch: a rank learns from its share of the part;
2. `finish_update` of each of `nlp.pipeline`: the first calls `sum_over_ranks`, which adds up the
   gradients, so that the pipeline's components then take the same step on all ranks;
3. `evaluate`, after some steps, which calls `Language.evaluate`: each rank annotates its share of
   the documents, and rank 0 scores them all (`evaluated_together`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import partial
from timeit import default_timer
from types import SimpleNamespace
from typing import Any, cast

import srsly
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.tokens import Doc
from spacy.training import Example

from ...errors import Errors, Warnings, warn
from ..replay import ReplayedPipeline, Scores
from .gradients import sum_gradients
from .group import Group
from .shares import digest, shares

# What spacy-transformers keeps of its output: large, and nothing that is scored
TRANSFORMER_OUTPUT = ("._.", "trf_data", None, None)


class RankedPipeline(ReplayedPipeline):
    """What the training loop of a rank gets for the pipeline, see above. From now on, `nlp.update`
    itself learns from shares.

    nlp (Language): The pipeline.
    evaluate (Callable[[], Tuple[float, Dict[str, Any]]]): Evaluates the pipeline.
    before_update (Optional[Callable[[Language, Dict], None]]): The callback from the config.
    scores (List[float]): The main scores of the evaluations that are not repeated.
    frozen (Sequence[str]): Components that are not trained.
    group (Group): The ranks.
    """

    def __init__(
        self,
        nlp: Language,
        evaluate: Callable[[], Scores],
        before_update: Callable[[Language, dict[str, Any]], None] | None,
        scores: list[float],
        *,
        frozen: Sequence[str],
        group: Group,
    ) -> None:
        super().__init__(nlp, evaluate, before_update, scores)
        self._frozen, self._group = frozen, group
        self._digest = 0  # of the batches since the last sum
        self._own_losses: dict[str, float] = {}  # of this rank, since the last sum
        self._loop_losses: dict[str, float] = {}  # of all ranks, which the loop keeps
        for learner in self._learners():
            learner.begin_sum = group.begin_sum
        # Of the pipeline, so that a logger that wraps it counts the sentences of all ranks
        self._learn, nlp.update = nlp.update, self._learn_from_share  # type: ignore[method-assign, assignment]

    @property
    def pipeline(self) -> list[tuple[str, Any]]:
        """RETURNS (List[Tuple[str, Any]]): The components whose `finish_update` the loop calls, one
        after the other, after a first one for the sum over all ranks."""
        first = SimpleNamespace(
            is_trainable=True, model=self, finish_update=lambda optimizer: self.sum_over_ranks()
        )
        return [("(sum over ranks)", first), *super().pipeline] if self.is_live else []

    def _learn_from_share(self, examples: Sequence[Example], **kwargs: Any) -> None:
        """Learn from this rank's share of a batch, see `Language.update`."""
        place = self._group.place
        self._digest = digest(examples, self._digest)
        for learner in self._learners():
            # Labels that are new to the pipeline may be in the share of any rank
            learner.tagset.take_new(examples)
        divided = shares([len(eg.predicted) for eg in examples], place.size)
        share = [examples[i] for i in divided[place.rank]]
        self._loop_losses = kwargs.pop("losses")
        if share:
            self._learn(share, losses=self._own_losses, **kwargs)
        else:
            for learner in self._learners():
                learner.begin_sum(0.0)
        if not divided[-1]:
            # Some ranks drew nothing here, and spaCy's parsers expect all to draw alike
            random.setstate(self._group.share(random.getstate()))

    def _learners(self) -> list[Any]:
        """What trains this package's components."""
        pipes = [(name, pipe) for name, pipe in self._nlp.pipeline if name not in self._frozen]
        return [pipe.learner for _, pipe in pipes if hasattr(pipe, "learner")]

    def sum_over_ranks(self) -> None:
        """Add up the gradients and the losses of all ranks since the last sum.

        RAISES (ValueError): If the ranks had different batches.
        """
        # In the pipeline's order, which is the same on all ranks
        names = self._nlp.pipe_names
        losses = [float(self._own_losses.pop(name, 0.0)) for name in names]
        numbers = [float(self._digest), *losses]
        digests, *sums = sum_gradients(self._nlp, self._frozen, self._group, numbers)
        if digests != self._digest * self._group.place.size:
            raise ValueError(Errors.P523.format(what="batches"))
        for name, loss in zip(names, sums, strict=True):
            if name not in self._frozen:
                self._loop_losses[name] = self._loop_losses.get(name, 0.0) + loss
        # What a component of others calls by another name may not be there on all ranks: the log
        # has the share of its own
        for name, loss in self._own_losses.items():
            self._loop_losses[name] = self._loop_losses.get(name, 0.0) + float(loss)
        self._own_losses, self._digest = {}, 0


def evaluated_together(nlp: Language, group: Group) -> Language:
    """Make the ranks share out the documents when a pipeline is evaluated.

    nlp (Language): The pipeline, which is not modified.
    group (Group): The ranks.
    RETURNS (Language): A shallow copy of the pipeline with another `evaluate`.
    """
    result = copy(nlp)
    result.evaluate = partial(_evaluate, nlp, group)  # type: ignore[method-assign]
    return result


def _evaluate(nlp: Language, group: Group, examples: Iterable[Example]) -> dict[str, Any]:
    """Each rank annotates its share; rank 0 scores all documents as one corpus."""
    start = default_timer()
    rows = [Example(eg.predicted.copy(), eg.reference) for eg in examples]
    place = group.place
    divided = shares([len(eg.predicted) for eg in rows], place.size)
    docs = nlp.pipe(rows[i].predicted for i in divided[place.rank])
    own = digest(rows)
    found = group.collect((own, [_to_bytes(doc) for doc in docs]))
    if any(other != own for other, _ in found):
        raise ValueError(Errors.P523.format(what="development data"))
    parts = [part for _, part in found]
    seconds = default_timer() - start
    return group.share(_score(nlp, rows, divided, parts, seconds) if group.is_first else {})


def _score(
    nlp: Language,
    rows: Sequence[Example],
    divided: Sequence[Sequence[int]],
    parts: Sequence[Sequence[bytes]],
    seconds: float,
) -> dict[str, Any]:
    """As `Language.evaluate` does."""
    for indices, part in zip(divided, parts, strict=True):
        for i, data in zip(indices, part, strict=True):
            rows[i].predicted = Doc(nlp.vocab).from_bytes(data)
    scores = Scorer(nlp=nlp).score(rows)
    scores["speed"] = sum(len(eg.predicted) for eg in rows) / seconds
    return cast(dict[str, Any], _plain(scores))


def _to_bytes(doc: Doc) -> bytes:
    user_data: dict[Any, Any] = doc.user_data
    user_data.pop(TRANSFORMER_OUTPUT, None)
    try:
        return doc.to_bytes(exclude=["tensor"])
    except (TypeError, ValueError, OverflowError):
        unwritable = [key for key, value in user_data.items() if not _is_writable((key, value))]
        if not unwritable:
            raise
        for key in unwritable:
            del user_data[key]
        # A custom attribute is called by a tuple, whose second part is its name
        names = {str(key[1] if isinstance(key, tuple) else key) for key in unwritable}
        warn(Warnings.W451.format(names=", ".join(sorted(names))))
        return doc.to_bytes(exclude=["tensor"])


def _is_writable(value: Any) -> bool:
    """Whether spaCy can write a value to bytes."""
    try:
        srsly.msgpack_dumps(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _plain(value: Any) -> Any:
    """Replace numbers of NumPy or CuPy by Python's."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value.item() if hasattr(value, "item") else value
