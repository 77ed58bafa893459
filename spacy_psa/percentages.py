"""Percentages in the operation order of the shared tasks' scripts, so that ties round alike.

SOURCE: conlleval, by Erik Tjong Kim Sang; srl-eval.pl, by Xavier Carreras and Lluís Màrquez.
"""


def percentage(part: int, whole: int) -> float:
    """The part of the whole in percent; 0 if there is no whole."""
    return 100 * part / whole if whole else 0.0


def percentages(correct: int, predicted: int, gold: int) -> tuple[float, float, float]:
    """Compute precision, recall and F1."""
    precision, recall = percentage(correct, predicted), percentage(correct, gold)
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0
