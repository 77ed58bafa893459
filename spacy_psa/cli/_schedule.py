"""The schedule of the recipe `best`: updates and evaluations by the size of the corpus."""

from dataclasses import dataclass
from typing import Any

# Updates for a corpus of n sentences: UPDATES · n^GROWTH, so that a corpus that is ten times as
# large gets 5.6 times as many updates. benchmarks/results/recipes has what it was chosen by.
UPDATES, GROWTH = 5.0, 0.75
FEWEST = 300
EVALUATIONS = 10
# Sentences in a batch, and from which size of a corpus on it is doubled
BATCH, DOUBLED_FROM = 16, 50_000
# Sentences of the corpus if there is none
MIDDLE = 3_000


@dataclass(frozen=True)
class Schedule:
    """The length of a training, in updates, and the size of its batches.

    sentences (int): The size of the corpus.
    """

    sentences: int

    @property
    def every(self) -> int:
        """RETURNS (int): The number of updates between evaluations."""
        return max(FEWEST, round(UPDATES * self.sentences**GROWTH)) // EVALUATIONS

    @property
    def updates(self) -> int:
        """RETURNS (int): The number of updates, which ends with an evaluation."""
        return EVALUATIONS * self.every

    @property
    def batch(self) -> int:
        """RETURNS (int): The number of sentences in a batch."""
        return BATCH * (2 if self.sentences >= DOUBLED_FROM else 1)

    def settings(self, *, in_sentences: bool = True) -> dict[str, Any]:
        """Describe the schedule as settings of a config.

        in_sentences (bool): Whether batches are of a number of sentences.
        RETURNS (Dict[str, Any]): The settings by their paths.
        """
        rate = "training.optimizer.learn_rate"
        return {
            "training.max_steps": self.updates,
            "training.eval_frequency": self.every,
            "training.patience": self.updates // 2,
            f"{rate}.warmup_steps": self.updates // 10,
            f"{rate}.total_steps": self.updates,
            **({"training.batcher.size": self.batch} if in_sentences else {}),
        }
