"""Which values the settings of a component can have, in a config as well as in a saved file."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Mapping
from math import inf
from typing import Any, NamedTuple

from ..errors import Errors

# What the settings of a component are saved as
CFG = "cfg"
# Scores divided by it are numbers of float32 still, and so they are by its reciprocal. What is
# fitted is from 0.05 to 20.
LOWEST_TEMPERATURE = 1e-3


class Setting(NamedTuple):
    """The range of a setting.

    holds (Callable[[Any], bool]): Whether a value is in it.
    expected (str): The range, in words.
    """

    holds: Callable[[Any], bool]
    expected: str


def dump_settings(values: Mapping[str, Any]) -> str:
    """Write settings for a file. spaCy's own writer keeps ten digits of a number, so that a
    temperature would be another one when it is read, and a small number zero.

    values (Mapping[str, Any]): The settings.
    RETURNS (str): JSON.
    """
    return json.dumps(dict(values))


def check_settings(values: Mapping[str, Any], settings: Mapping[str, Setting]) -> None:
    """Check the values of settings.

    values (Mapping[str, Any]): Values by name. Those without a range are not checked.
    settings (Mapping[str, Setting]): Ranges by name.
    RAISES (ValueError): If a value is out of its range.
    """
    for name, value in values.items():
        setting = settings.get(name)
        if setting is not None and not setting.holds(value):
            raise ValueError(
                Errors.P210.format(name=name, value=repr(value)[:200], expected=setting.expected)
            )


def check_saved(values: Any, known: Container[str], settings: Mapping[str, Setting]) -> None:
    """Check the settings that a file has. Those that it has not keep their defaults.

    values (Any): What was read from the file.
    known (Container[str]): The names of all settings that there are.
    settings (Mapping[str, Setting]): Their ranges.
    RAISES (ValueError): If they are no settings, not all known, or out of their ranges.
    """
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
        # JSON can express half of a character, which spaCy's strings cannot
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
OPTIONAL_TEXT = Setting(lambda value: value is None or _is_text(value), "a string, or null")
LABELS = Setting(_are_labels, "a list of strings that are all different, and not empty")
MAX_GRAD_NORM = Setting(
    lambda value: value is None or (_is_number(value) and value > 0.0), "greater than 0, or null"
)
SMOOTHING = Setting(lambda value: _is_number(value) and 0.0 <= value < 1.0, "in [0, 1)")
TEMPERATURE = Setting(
    lambda value: _is_number(value) and LOWEST_TEMPERATURE <= value <= 1.0 / LOWEST_TEMPERATURE,
    f"in [{LOWEST_TEMPERATURE}, {1.0 / LOWEST_TEMPERATURE:g}]",
)
LABEL_WEIGHTS = Setting(
    lambda value: value is None or _by_label(value, _is_weight),
    "greater than 0, and finite",
)
THRESHOLD = Setting(
    lambda value: value is None or _is_probability(value) or _by_label(value, _is_probability),
    "in [0, 1], or null",
)
