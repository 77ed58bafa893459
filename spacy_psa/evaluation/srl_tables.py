"""Semantic role scores as tables, in the formats of the evaluator and of the papers."""

from __future__ import annotations

from collections import Counter

from ..annotation.role_scores import EXCLUDED, NO_ARGUMENT, RoleCounts, SRLResult
from ..percentages import percentage

_RULE = "-" * 60
MAX_ROLES = 10


def format_result(result: SRLResult) -> str:
    """Format scores as the evaluator does, in percent.

    result (SRLResult): The scores.
    RETURNS (str): The numbers of sentences and propositions; a line for each role, V at the end.
    """
    header = f"{'':>10}   {'corr.':>6}  {'excess':>6}  {'missed':>6}   "
    header += f"{'prec.':>6}  {'rec.':>6}  {'F1':>6}"
    lines = [
        f"Number of Sentences    :      {result.sentences:6d}",
        f"Number of Propositions :      {result.propositions:6d}",
        f"Percentage of perfect props : {percentage(result.perfect, result.propositions):6.2f}",
        "",
        header,
        _RULE,
        _line("Overall", result.arguments),
        "----------",
        *(_line(role, result.per_role[role]) for role in sorted(result.per_role)),
        _RULE,
        *(_line(role, result.excluded[role]) for role in sorted(result.excluded)),
        _RULE,
    ]
    return "\n".join(lines) + "\n"


def _line(name: str, counts: RoleCounts) -> str:
    numbers = f"{counts.correct:6d}  {counts.excess:6d}  {counts.missed:6d}"
    scores = "  ".join(f"{score:6.2f}" for score in counts.percentages)
    return f"{name:>10}   {numbers}   {scores}"


def format_confusion(result: SRLResult) -> str:
    """Format unlabeled scores, role accuracy and role confusions."""
    unlabeled = result.unlabeled
    accuracy = percentage(result.right_labels, unlabeled.correct)
    lines = [
        "Unlabeled arguments, and role accuracy for correctly identified arguments",
        f"{_line('Unlabeled', unlabeled)}  {accuracy:6.2f}",
        "",
        "Predicted roles (rows) by gold role (columns), in percent of the gold role's errors",
    ]
    frequency: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for (gold, predicted), n in result.confusion.items():
        frequency[gold] += n
        if predicted not in (gold, NO_ARGUMENT) and predicted not in EXCLUDED:
            errors[gold] += n
    known = [role for role, _ in frequency.most_common() if role not in {NO_ARGUMENT, *EXCLUDED}]
    roles = sorted(known[:MAX_ROLES])
    short = [role.removeprefix("AM-").removeprefix("ARGM-") for role in roles]
    width = max([7, *(len(name) + 1 for name in short)])
    lines.append(f"{'':>10}" + "".join(f"{name:>{width}}" for name in short))
    for predicted, name in zip(roles, short, strict=True):
        cells = [
            "-" if gold == predicted else _percent(result.confusion[gold, predicted], errors[gold])
            for gold in roles
        ]
        lines.append(f"{name:>10}" + "".join(f"{cell:>{width}}" for cell in cells))
    return "\n".join(lines) + "\n"


def _percent(n: int, total: int) -> str:
    return f"{100 * n / total:.0f}" if total else "0"
