"""Calibration of the probabilities of a `psa_tagger` on held-out data.

`held_out` reads scores and gold standard, `fitting` finds the temperature, for chains with
`temperature`; `reliability` measures probabilities, and `plots` draws them. This folder knows the
type of the component, but components know nothing of this folder: to apply a temperature is to
divide scores by it (`Potentials.tempered`).
"""
