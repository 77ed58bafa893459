"""The papers' learning rate schedules."""

from itertools import islice

import pytest

from spacy_psa.training.schedules import halving, inverse_epoch_decay


@pytest.mark.parametrize("steps_per_epoch", [1, 3, 10])
def test_the_rate_falls_once_an_epoch(steps_per_epoch: int) -> None:
    rates = list(islice(inverse_epoch_decay(0.015, 0.05, steps_per_epoch), 4 * steps_per_epoch))
    expected = [0.015 / (1 + 0.05 * epoch) for epoch in range(4) for _ in range(steps_per_epoch)]
    assert rates == pytest.approx(expected)


def test_without_decay_the_rate_stays() -> None:
    assert set(islice(inverse_epoch_decay(0.3, 0.0, 2), 10)) == {0.3}


@pytest.mark.parametrize(("hold", "every"), [(4, 2), (1, 1), (0, 3)])
def test_the_rate_stays_and_is_then_halved(hold: int, every: int) -> None:
    rates = list(islice(halving(0.8, hold, every), hold + 3 * every))
    expected = [0.8] * hold + [0.4] * every + [0.2] * every + [0.1] * every
    assert rates == pytest.approx(expected)


def test_halving_is_the_papers_by_default() -> None:
    rates = list(islice(halving(), 600_000))
    assert set(rates[:400_000]) == {1.0}
    assert set(rates[400_000:500_000]) == {0.5}
    assert set(rates[500_000:]) == {0.25}
