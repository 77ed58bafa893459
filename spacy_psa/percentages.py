"""Precision, recall and F1, in percent in the operation order of the shared tasks' scripts, so that
ties round alike.

SOURCE: conlleval, by Erik Tjong Kim Sang; srl-eval.pl, by Xavier Carreras and Lluís Màrquez.
"""

from abc import ABC, abstractmethod


def percentage(part: int, whole: int) -> float:
    """The part of the whole in percent; 0 if there is no whole."""
    return 100 * part / whole if whole else 0.0


def percentages(correct: int, predicted: int, gold: int) -> tuple[float, float, float]:
    """Compute precision, recall and F1."""
    precision, recall = percentage(correct, predicted), percentage(correct, gold)
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0


class PRF(ABC):
    """Precision, recall and F1 of a dataclass of counts.

    correct (int): What is both in the gold standard and in the predictions.
    """

    correct: int

    @property
    @abstractmethod
    def predicted(self) -> int:
        """RETURNS (int): The number in the predictions."""

    @property
    @abstractmethod
    def gold(self) -> int:
        """RETURNS (int): The number in the gold standard."""

    @property
    def precision(self) -> float:
        """RETURNS (float): Correct among predicted, 0 to 1; 0 if there are none."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """RETURNS (float): Correct among gold, 0 to 1; 0 if there are none."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """RETURNS (float): The harmonic mean of precision and recall, 0 to 1."""
        total = self.gold + self.predicted
        return 2 * self.correct / total if total else 0.0

    @property
    def percentages(self) -> tuple[float, float, float]:
        """RETURNS (Tuple[float, float, float]): Precision, recall and F1 as the scripts compute
        them, in percent."""
        return percentages(self.correct, self.predicted, self.gold)

    def to_dict(self) -> dict[str, float]:
        """RETURNS (Dict[str, float]): Counts and scores, JSON-serializable."""
        return {**vars(self), "precision": self.precision, "recall": self.recall, "f1": self.f1}
