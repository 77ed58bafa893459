"""The temperature that fits the predictions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from spacy.tokens import Span

from spacy_psa.calibration.fitting import fit, minimize
from spacy_psa.calibration.held_out import HeldOut, confidences, hold_out

from ..pipeline.conftest import gold_doc, make_docs, tagger_of, trained_nlp


def held_out() -> tuple[object, list[HeldOut]]:
    """Chunks, with one that is missing in the gold standard."""
    nlp = trained_nlp("spans")
    gold = [gold_doc(nlp, i) for i in range(3)]
    gold[1].spans["sc"] = [Span(gold[1], 0, 1, "NP"), Span(gold[1], 1, 2, "VP")]
    component = tagger_of(nlp)
    return component, [hold_out(component, make_docs(nlp), gold)]


@pytest.mark.parametrize("unit", ["spans", "tokens"])
def test_no_other_temperature_makes_predictions_more_likely(unit: str) -> None:
    component, batches = held_out()

    def loss(temperature: float) -> float:
        found = confidences(component, batches, temperature)[unit]
        right = np.where(found.correct, found.confidence, 1.0 - found.confidence)
        return float(-np.log(right.clip(min=1e-12)).mean())

    tried = []
    found = fit(component, batches, unit=unit, on_step=lambda *step: tried.append(step))
    grid = np.geomspace(0.06, 18.0, 60)
    assert loss(found.temperature) <= min(map(loss, grid)) + 1e-4
    assert min(value for _, value in tried) == pytest.approx(loss(found.temperature))


def test_sequences_are_told_of_at_the_temperature_found() -> None:
    component, batches = held_out()
    sequences, spans = fit(component, batches), fit(component, batches, unit="spans")
    assert sequences.temperature != pytest.approx(spans.temperature, rel=0.01)
    assert sequences.nll_before == pytest.approx(spans.nll_before)
    assert sequences.nll_after < spans.nll_after
    assert sequences.n_chains == spans.n_chains


def test_a_component_that_finds_nothing_is_an_error() -> None:
    component, batches = held_out()
    nothing = batches[0].labeled.potentials
    emissions = nothing.emissions.clone()
    emissions[:, component.tags.index("O")] += 1000.0
    labeled = batches[0].labeled._replace(potentials=replace(nothing, emissions=emissions))
    with pytest.raises(ValueError, match="P376"):
        fit(component, [replace(batches[0], labeled=labeled)], unit="spans")


def test_a_temperature_at_the_end_of_the_range_is_told_of() -> None:
    component = tagger_of(trained_nlp("ents"))
    docs = make_docs(component)
    gold = [doc.copy() for doc in docs]
    for doc in gold:
        doc.set_ents([])  # whatever is predicted is wrong
    batches = [hold_out(component, docs, gold)]
    assert not fit(component, batches).at_bound
    assert fit(component, batches, unit="spans").at_bound


def test_tokens_have_no_spans_to_fit() -> None:
    nlp = trained_nlp("tag")
    component = tagger_of(nlp)
    batch = hold_out(component, make_docs(nlp), [gold_doc(nlp, i) for i in range(3)])
    with pytest.raises(ValueError, match="P376"):
        fit(component, [batch], unit="spans")


@pytest.mark.parametrize("lowest", [0.06, 0.3, 1.7, 15.0])
def test_minima_are_found_wherever_they_are(lowest: float) -> None:
    found = minimize(lambda t: (np.log(t) - np.log(lowest)) ** 2, [0.05, 0.5, 1.0, 8.0, 20.0])
    assert found == pytest.approx(lowest, rel=3e-3)
