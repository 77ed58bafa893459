"""The learning rate schedules of the papers."""

from collections.abc import Iterator
from itertools import count
from math import ldexp

from ..errors import check_counts, check_value


def inverse_epoch_decay(
    initial_rate: float = 0.015, decay: float = 0.05, steps_per_epoch: int = 1000
) -> Iterator[float]:
    """A learning rate that decays once per epoch: η_t = η_0 / (1 + ρ·t) after t epochs.

    In contrast, thinc's `decaying.v1` decays with every step.

    initial_rate (float): η_0.
    decay (float): ρ.
    steps_per_epoch (int): Updates per epoch: the number of training sentences divided by the batch
        size, rounded up.
    YIELDS (float): The rate of each update.
    RAISES (ValueError): If a value is out of range.

    Source: Wei et al. (2021), section 5.2.
    """
    check_value("initial_rate", initial_rate, lambda n: n >= 0.0, "at least 0")
    check_value("decay", decay, lambda n: n >= 0.0, "at least 0")
    check_counts(steps_per_epoch=steps_per_epoch)
    return (initial_rate / (1.0 + decay * (step // steps_per_epoch)) for step in count())


def halving(
    initial_rate: float = 1.0, hold: int = 400_000, every: int = 100_000
) -> Iterator[float]:
    """A learning rate that is held constant, and then halved repeatedly.

    initial_rate (float): The initial rate.
    hold (int): Number of updates with the initial rate.
    every (int): Number of updates with each halved rate.
    YIELDS (float): The rate of each update.
    RAISES (ValueError): If a value is out of range.

    Source: Tan et al. (2018), 'Learning'.
    """
    check_value("initial_rate", initial_rate, lambda n: n >= 0.0, "at least 0")
    check_value("hold", hold, lambda n: n >= 0, "at least 0")
    check_counts(every=every)
    return (ldexp(initial_rate, -max(0, (step - hold) // every + 1)) for step in count())
