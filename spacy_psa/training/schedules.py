"""The papers' learning rate schedules."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import Errors


def inverse_epoch_decay(
    initial_rate: float = 0.015, decay: float = 0.05, steps_per_epoch: int = 1000
) -> Iterator[float]:
    """A learning rate that falls once an epoch: η_t = η_0 / (1 + ρ·t), t epochs completed.

    thinc's `decaying.v1` falls with every step instead.

    initial_rate (float): η_0.
    decay (float): ρ.
    steps_per_epoch (int): Updates in an epoch: sentences of the training data, divided by the
        batch size, rounded up.
    YIELDS (float): The rate of each update.
    RAISES (ValueError): If an epoch has no steps.

    Source: Wei et al. (2021), section 5.2.
    """
    if steps_per_epoch < 1:
        raise ValueError(
            Errors.P210.format(name="steps_per_epoch", value=steps_per_epoch, expected="at least 1")
        )
    return _inverse_epoch_decay(initial_rate, decay, steps_per_epoch)


def _inverse_epoch_decay(
    initial_rate: float, decay: float, steps_per_epoch: int
) -> Iterator[float]:
    epoch = 0
    while True:
        for _ in range(steps_per_epoch):
            yield initial_rate / (1.0 + decay * epoch)
        epoch += 1
