"""The ranges of the numbers in [training], which spaCy's loop and thinc do not check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import check_value

Range = tuple[Callable[[Any], bool], str]


def _whole(least: int) -> Range:
    return lambda n: isinstance(n, int) and n >= least, f"a whole number of at least {least}"


POSITIVE: Range = (lambda n: n > 0, "greater than 0")
NOT_NEGATIVE: Range = (lambda n: n >= 0, "at least 0")
BELOW_ONE: Range = (lambda n: 0 <= n < 1, "at least 0 and less than 1")
SETTINGS: dict[str, Range] = {
    "dropout": BELOW_ONE,
    "seed": (lambda n: isinstance(n, int), "a whole number"),
    "max_epochs": _whole(-1),
    **dict.fromkeys(("patience", "max_steps"), _whole(0)),
    # The loop divides by these
    **dict.fromkeys(("eval_frequency", "accumulate_gradient"), _whole(1)),
}
# Of spaCy's batchers, and of thinc's optimizers and schedules
ARGUMENTS: dict[str, Range] = {
    **dict.fromkeys(("size", "buffer", "start", "stop"), (lambda n: n >= 1, "at least 1")),
    **dict.fromkeys(("num_steps", "total_steps", "period"), _whole(1)),
    **dict.fromkeys(("beta1", "beta2"), (lambda n: 0 < n < 1, "greater than 0 and less than 1")),
    **dict.fromkeys(("eps", "compound"), POSITIVE),
    **dict.fromkeys(("tolerance", "learn_rate", "L2", "grad_clip", "warmup_steps"), NOT_NEGATIVE),
    **dict.fromkeys(("initial_rate", "base_rate", "rate", "max_rate"), NOT_NEGATIVE),
}


def check_numbers(training: Mapping[str, Any]) -> None:
    """Check the numbers of the training loop, its batcher and its optimizer."""
    _check(training, SETTINGS, "training")
    for name in ("batcher", "optimizer"):
        _check(training.get(name), ARGUMENTS, f"training.{name}")


def _check(settings: Any, ranges: Mapping[str, Range], section: str) -> None:
    for name, value in settings.items() if isinstance(settings, Mapping) else ():
        if ranges is ARGUMENTS:
            _check(value, ranges, f"{section}.{name}")
        # Schedules are sections or lists
        for number in value if isinstance(value, list) else [value]:
            if name in ranges and number is not None and not isinstance(number, Mapping):
                check_value(f"{section}.{name}", number, *ranges[name])
