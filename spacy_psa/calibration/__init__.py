"""Calibration of the probabilities of a `psa_tagger` on held-out data.

`held_out` reads scores and gold standard, `fitting` finds the temperature, for chains with
`temperature`; `reliability` measures probabilities and draws them. This folder knows the type of
the component, but components know nothing of this folder: to apply a temperature is to divide
scores by it (`Potentials.tempered`).
"""

from typing import TYPE_CHECKING

from ..exports import exports

if TYPE_CHECKING:
    from .fitting import Calibration as Calibration
    from .fitting import fit as fit
    from .held_out import HeldOut as HeldOut
    from .held_out import hold_out as hold_out
    from .reliability import brier_score as brier_score
    from .reliability import expected_calibration_error as expected_calibration_error
    from .temperature import LabeledBatch as LabeledBatch
    from .temperature import TemperatureFit as TemperatureFit
    from .temperature import fit_temperature as fit_temperature

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "fitting": ["Calibration", "fit"],
        "held_out": ["HeldOut", "hold_out"],
        "reliability": ["brier_score", "expected_calibration_error"],
        "temperature": ["LabeledBatch", "TemperatureFit", "fit_temperature"],
    },
)
