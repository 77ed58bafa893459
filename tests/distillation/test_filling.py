"""What teachers say, as it is asked for and kept."""

from __future__ import annotations

import warnings

import pytest

from spacy_psa.distillation.filling import Settings, warn_of_uncertainty


def test_texts_of_which_a_teacher_is_less_certain_are_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"W530.*certain of a\.txt than of dev\.spacy"):
        warn_of_uncertainty(0.31, 0.1, "a.txt", "dev.spacy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_uncertainty(0.29, 0.1, "a.txt", "dev.spacy")


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan"), float("inf")])
def test_temperatures_are_positive_numbers(temperature: float) -> None:
    with pytest.raises(ValueError, match="P019"):
        Settings(temperature=temperature)
