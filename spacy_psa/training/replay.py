"""Bring spaCy's training loop to where a run was, without training.

`spacy.training.loop.train_while_improving` keeps the count of steps, the scores of all evaluations,
the schedules and its place in the stream of batches to itself. All of that follows from the batches
and the scores alone. So the loop runs again from its beginning, over the same batches, with a
pipeline that does nothing and the scores that were saved, up to the step of the checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from spacy.language import Language

Scores = tuple[float, dict[str, Any]]


class ReplayedPipeline:
    """What the training loop takes for the pipeline: it does nothing until it goes live.

    nlp (Language): The pipeline.
    evaluate (Callable[[], Tuple[float, Dict[str, Any]]]): Evaluates the pipeline.
    before_update (Optional[Callable[[Language, Dict], None]]): The callback of the config.
    scores (List[float]): The main scores of the evaluations that are not done again.
    """

    def __init__(
        self,
        nlp: Language,
        evaluate: Callable[[], Scores],
        before_update: Callable[[Language, dict[str, Any]], None] | None,
        scores: list[float],
    ) -> None:
        self._nlp = nlp
        self._evaluate = evaluate
        self._before_update = before_update
        self._scores: Iterator[float] = iter(scores)
        self.is_live = False

    @property
    def pipeline(self) -> list[tuple[str, Any]]:
        """RETURNS (List[Tuple[str, Any]]): The components that may finish an update."""
        return self._nlp.pipeline if self.is_live else []

    def update(self, examples: Any, **kwargs: Any) -> None:
        """Learn from a batch, as `Language.update` does."""
        if self.is_live:
            self._nlp.update(examples, **kwargs)

    def use_params(self, params: dict) -> AbstractContextManager:
        """Use other weights for a while, as `Language.use_params` does."""
        return self._nlp.use_params(params) if self.is_live else nullcontext()

    def evaluate(self) -> Scores:
        """RETURNS (Tuple[float, Dict[str, Any]]): The main score, and all scores."""
        return self._evaluate() if self.is_live else (next(self._scores), {})

    def before_update(self, _: Any, step: dict[str, Any]) -> None:
        """Call the callback, also for steps that are not done again: it may keep count of them."""
        if self._before_update is not None:
            self._before_update(self._nlp, step)
