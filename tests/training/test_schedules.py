"""Learning rates of the papers."""

from itertools import islice

import pytest

from spacy_psa.training.schedules import inverse_epoch_decay


@pytest.mark.parametrize("steps_per_epoch", [1, 3, 10])
def test_the_rate_falls_once_an_epoch(steps_per_epoch: int) -> None:
    rates = list(islice(inverse_epoch_decay(0.015, 0.05, steps_per_epoch), 4 * steps_per_epoch))
    expected = [0.015 / (1 + 0.05 * epoch) for epoch in range(4) for _ in range(steps_per_epoch)]
    assert rates == pytest.approx(expected)


def test_without_decay_the_rate_stays() -> None:
    assert set(islice(inverse_epoch_decay(0.3, 0.0, 2), 10)) == {0.3}


@pytest.mark.parametrize("steps", [0, -1])
def test_an_epoch_without_steps_is_an_error(steps: int) -> None:
    with pytest.raises(ValueError, match=r"P210.*steps_per_epoch"):
        inverse_epoch_decay(steps_per_epoch=steps)
