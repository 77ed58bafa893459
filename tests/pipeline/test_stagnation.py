"""A training that goes nowhere says so, once."""

from __future__ import annotations

import warnings

import pytest
from thinc.api import Adam, warmup_linear

from spacy_psa.pipeline.monitors import StagnationMonitor

from .conftest import make_examples, trained_nlp

CORRECT, NONE = {"ents_f": 0.5}, {"ents_f": 0.0, "ents_per_type": {}}


def messages(*evaluations: tuple[int, list[str], dict]) -> list[str]:
    """The warnings after some evaluations of ten tokens: updates, predicted labels, and scores."""
    monitor = StagnationMonitor()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for updates, predicted, scores in evaluations:
            monitor.observe("ner", updates, predicted, 10, scores)
    return [str(warning.message) for warning in caught]


def test_nothing_predicted_three_times() -> None:
    (message,) = messages(*((n, [], NONE) for n in (10, 20, 30, 40)))
    assert "[W435]" in message and "goes nowhere: 3 evaluations in a row" in message
    assert "nothing at all" in message


def test_all_tokens_have_the_same_tag() -> None:
    (message,) = messages(*((n, ["NN"] * 10, {"tag_acc": 0.2}) for n in (10, 20, 30)))
    assert "the same label, 'NN', for all tokens" in message


def test_nothing_correct_three_times() -> None:
    (message,) = messages(*((n, ["PER", "LOC"], NONE) for n in (10, 20, 30)))
    assert "nothing that is correct" in message


def test_updates_without_a_learning_rate_are_named_once() -> None:
    nlp = trained_nlp("tag")
    example = make_examples(nlp)[0]
    optimizer = Adam(warmup_linear(0.1, 9, 90))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nlp.update([example], sgd=optimizer)
        optimizer.step_schedules()  # as spaCy's training loop does
        nlp.update([example], sgd=optimizer)
        assert not caught
        optimizer.learn_rate = 0.0
        for _ in range(4):
            nlp.update([example], sgd=optimizer)
    (message,) = caught
    assert "[W438]" in str(message.message) and "step_schedules" in str(message.message)


@pytest.mark.parametrize(
    "evaluations",
    [
        [(10, [], NONE), (20, [], NONE)],
        # The evaluation after the first update says nothing
        [(1, [], NONE), (20, [], NONE), (40, [], NONE)],
        # Nor do several without training in between
        [(10, [], NONE), (10, [], NONE), (10, [], NONE), (20, [], NONE)],
        [(10, [], NONE), (20, [], NONE), (30, ["PER"], CORRECT), (40, [], NONE), (50, [], NONE)],
        # One type of entity, and a corpus with one tag
        [(n, ["PER"], CORRECT) for n in (10, 20, 30)],
        [(n, ["NN"] * 10, {"tag_acc": 1.0}) for n in (10, 20, 30)],
    ],
)
def test_no_warning(evaluations: list[tuple[int, list[str], dict]]) -> None:
    assert messages(*evaluations) == []
