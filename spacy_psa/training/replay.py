"""spaCy's training loop, fast-forwarded to a checkpoint without training.

`spacy.training.loop.train_while_improving` does not expose its step count, the scores of its
evaluations, the state of the schedules, or its position in the stream of batches. All of them
follow from the batches and scores alone. So the loop is rerun from the start over the same batches,
with a `ReplayedPipeline` in place of `nlp` and the callbacks. It goes live at the step of the
checkpoint, and is then what they are in `spacy train`. Until then, the loop's calls in a step do
this:

1. `before_update` calls the callback of the config, which may count the steps;
2. `nlp.update`, for each part of the batch, does nothing;
3. `finish_update` is called for each of `nlp.pipeline`, which is empty;
4. `optimizer.step_schedules` does what it always does;
5. `evaluate`, after some steps and within `nlp.use_params`, returns the saved score.

The loop evaluates after updates 0, E, 2E, …, and ends without evaluating what was learned since
then, typically during the last epoch. Here, the last update is evaluated as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

from spacy.language import Language
from spacy.training import Example
from spacy.training.loop import create_train_batches, train_while_improving

from .random_state import RandomState, isolated

Scores = tuple[float, dict[str, Any]]
Info = dict[str, Any]


class ReplayedPipeline:
    """What the training loop gets for the pipeline, see above. It does nothing until it goes live.

    nlp (Language): The pipeline.
    evaluate (Callable[[], Tuple[float, Dict[str, Any]]]): Evaluates the pipeline.
    before_update (Optional[Callable[[Language, Dict], None]]): The callback from the config.
    scores (List[float]): The main scores of the evaluations that are not repeated.
    """

    def __init__(
        self,
        nlp: Language,
        evaluate: Callable[[], Scores],
        before_update: Callable[[Language, dict[str, Any]], None] | None,
        scores: list[float],
    ) -> None:
        self._nlp, self._evaluate, self._before_update = nlp, evaluate, before_update
        self.n_known = len(scores)
        self._scores: Iterator[float] = iter(scores)
        self.is_live = False

    @property
    def pipeline(self) -> list[tuple[str, Any]]:
        """RETURNS (List[Tuple[str, Any]]): The components whose `finish_update` the loop calls."""
        return self._nlp.pipeline if self.is_live else []

    def update(self, examples: Any, **kwargs: Any) -> None:
        """Update the pipeline with a batch, see `Language.update`."""
        if self.is_live:
            self._nlp.update(examples, **kwargs)

    def use_params(self, params: dict) -> AbstractContextManager:
        """Temporarily use other weights, see `Language.use_params`."""
        return self._nlp.use_params(params) if self.is_live else nullcontext()

    def evaluate(self) -> Scores:
        """RETURNS (Tuple[float, Dict[str, Any]]): The main score, and all scores."""
        return self._evaluate() if self.is_live else (next(self._scores), {})

    def before_update(self, _: Any, step: dict[str, Any]) -> None:
        """Call the callback even for steps that are not repeated, since it may count them."""
        if self._before_update is not None:
            self._before_update(self._nlp, step)


def training_steps(
    nlp: Language,
    pipeline: ReplayedPipeline,
    T: dict[str, Any],
    corpus: Callable[[Language], Iterable[Example]],
    start: RandomState,
) -> Iterator[tuple[Info, bool | None]]:
    """Run spaCy's loop as `spacy.training.loop.train` does; yield the last step again if it was not
    evaluated in the loop. `T` is the resolved block `[training]`, and `start` the random state of
    the stream of batches."""
    n_seen, n_in_corpus, optimizer = 0, 0, T["optimizer"]

    def counted(nlp: Language) -> Iterator[Example]:
        nonlocal n_in_corpus
        n = 0
        for n, example in enumerate(corpus(nlp), 1):  # noqa: B007
            yield example
        n_in_corpus = n

    batches = isolated(create_train_batches(nlp, counted, T["batcher"], T["max_epochs"]), start)
    info: Info | None = None
    is_best: bool | None = None
    for batch, info, is_best in train_while_improving(
        cast(Language, pipeline),
        optimizer,
        batches,
        pipeline.evaluate,
        dropout=float(T["dropout"]),  # the loop takes an integer for a schedule
        accumulate_gradient=T["accumulate_gradient"],
        patience=T["patience"],
        max_steps=T["max_steps"],
        eval_frequency=T["eval_frequency"],
        exclude=T["frozen_components"],
        annotating_components=T["annotating_components"],
        before_update=pipeline.before_update,
    ):
        n_seen += len(batch)
        if n_in_corpus:
            info["epochs"] = max(info["epoch"], n_seen / n_in_corpus)
        yield info, is_best
    if info is None or is_best is not None or not pipeline.is_live:
        return
    results = info["checkpoints"]
    if pipeline.n_known > len(results):
        # The last step was evaluated before the run was resumed
        return
    if T["max_epochs"] > 0 and next(batches, None) is None:
        # Even if the batcher has skipped examples
        info["epochs"] = float(info["epoch"] + 1)
    # As the loop does after other updates
    with pipeline.use_params(optimizer.averages):
        info["score"], info["other_scores"] = pipeline.evaluate()
    results.append((info["score"], info["step"]))
    yield info, bool(info["score"] == max(results)[0])
