"""The ranges of component settings, in configs and saved files."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from math import inf
from typing import Any, NamedTuple

from ..errors import Errors, invalid

# Dividing scores by this number or by its reciprocal stays within the range of float32. Fitted
# temperatures lie between 0.05 and 20.
LOWEST_TEMPERATURE = 1e-3


class Setting(NamedTuple):
    """The range of a setting.

    holds (Callable[[Any], bool]): Whether a value is in range.
    expected (str): The range, in words.
    """

    holds: Callable[[Any], bool]
    expected: str


def check_settings(values: Mapping[str, Any], settings: Mapping[str, Setting]) -> None:
    """Check the values of settings that have a range."""
    for name, value in values.items():
        setting = settings.get(name)
        if setting is not None and not setting.holds(value):
            raise invalid(name, value, setting.expected)


def check_saved(values: Any, known: Container[str], settings: Mapping[str, Setting]) -> None:
    """Check the settings in a file. Missing ones keep their defaults."""
    if not isinstance(values, dict):
        problem = f"the settings are of type {type(values).__name__}"
        raise ValueError(Errors.P202.format(problem=problem))
    unknown = [name for name in values if name not in known]
    if unknown:
        raise ValueError(Errors.P423.format(name=unknown[0][:60]))
    check_settings(values, settings)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        # JSON can contain lone surrogates, which spaCy's strings cannot
        value.encode("utf8")
    except UnicodeEncodeError:
        return False
    return True


def _are_labels(value: Any) -> bool:
    is_list = isinstance(value, list) and all(map(_is_text, value))
    return is_list and all(value) and len({*value}) == len(value)


def _is_probability(value: Any) -> bool:
    return _is_number(value) and 0.0 <= value <= 1.0


def _is_weight(value: Any) -> bool:
    return _is_number(value) and 0.0 < value < inf


def _by_label(value: Any, holds: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value)) and all(map(holds, value.values()))


FLAG = Setting(lambda value: isinstance(value, bool), "true or false")
TEXT = Setting(_is_text, "a string")
OPTIONAL_TEXT = Setting(lambda value: value is None or _is_text(value), "a string or null")
REDUCTION = Setting(lambda value: value in ("mean", "sum"), "'mean' or 'sum'")
LABELS = Setting(_are_labels, "a list of distinct strings that are not empty")
MAX_GRAD_NORM = Setting(
    lambda value: value is None or (_is_number(value) and value > 0.0), "greater than 0 or null"
)
SMOOTHING = Setting(lambda value: _is_number(value) and 0.0 <= value < 1.0, "in [0, 1)")
TEMPERATURE = Setting(
    lambda value: _is_number(value) and LOWEST_TEMPERATURE <= value <= 1.0 / LOWEST_TEMPERATURE,
    f"in [{LOWEST_TEMPERATURE}, {1.0 / LOWEST_TEMPERATURE:g}]",
)
LABEL_WEIGHTS = Setting(
    lambda value: value is None or _by_label(value, _is_weight),
    "greater than 0 and finite",
)
THRESHOLD = Setting(
    lambda value: value is None or _is_probability(value) or _by_label(value, _is_probability),
    "in [0, 1] or null",
)
