"""Fast-forward spaCy's training loop to a checkpoint, without training.

`spacy.training.loop.train_while_improving` does not expose its step count, the scores of its
evaluations, the state of the schedules, or its position in the stream of batches. All of them
follow from the batches and scores alone. So the loop is rerun from the start over the same batches,
with a pipeline that does nothing and with the saved scores, up to the step of the checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from spacy.language import Language

Scores = tuple[float, dict[str, Any]]


class ReplayedPipeline:
    """A stand-in for the pipeline in the training loop, which does nothing until it goes live.

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
        self._nlp = nlp
        self._evaluate = evaluate
        self._before_update = before_update
        self._scores: Iterator[float] = iter(scores)
        self.is_live = False

    @property
    def pipeline(self) -> list[tuple[str, Any]]:
        """RETURNS (List[Tuple[str, Any]]): The components whose `finish_update` may be called."""
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
