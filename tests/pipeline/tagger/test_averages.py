"""Averaged parameters: used for evaluation and saving, then swapped back."""

import numpy as np
import pytest

from spacy_psa.training.optimizers import create_sgd

from ..conftest import (
    assert_same_weights,
    initialized_nlp,
    make_adam,
    make_examples,
    make_nlp,
    weights,
)


@pytest.mark.parametrize("make", [make_adam, create_sgd])
def test_averages_take_the_place_of_all_parameters_and_give_it_back(make) -> None:
    nlp = initialized_nlp()
    optimizer = make(0.05, use_averages=True)
    for _ in range(3):
        nlp.update(make_examples(nlp), sgd=optimizer)
    before = weights(nlp)
    with nlp.use_params(optimizer.averages):
        inside = weights(nlp)
        saved = nlp.to_bytes()
    assert_same_weights(weights(nlp), before)
    assert [name for name in before if np.array_equal(before[name], inside[name])] == []
    assert len(optimizer.averages) == len(before)
    expected = sorted(float(np.abs(value).sum()) for value in optimizer.averages.values())
    found = sorted(float(np.abs(value).sum()) for value in inside.values())
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert_same_weights(weights(make_nlp().from_bytes(saved)), inside)


def test_averages_are_taken_back_after_an_error() -> None:
    nlp = initialized_nlp()
    optimizer = make_adam(use_averages=True)
    nlp.update(make_examples(nlp), sgd=optimizer)
    nlp.update(make_examples(nlp), sgd=optimizer)
    before = weights(nlp)
    with pytest.raises(RuntimeError), nlp.use_params(optimizer.averages):
        raise RuntimeError
    assert_same_weights(weights(nlp), before)


def test_averages_do_not_mind_a_component_without_weights() -> None:
    nlp = make_nlp()
    with nlp.use_params({(1, "W"): np.zeros((2, 2), dtype="f")}):
        assert weights(nlp) == {}
