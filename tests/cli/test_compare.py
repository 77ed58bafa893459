from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc

from spacy_psa.cli._predictions import System
from spacy_psa.cli.compare import Score, Test, choose_common_layers, compare_files, short_names
from spacy_psa.evaluation.layers import layers_of
from spacy_psa.evaluation.sentences import SCORES
from spacy_psa.evaluation.significance import TESTS

from ..evaluation.helpers import doc_with
from ..pipeline.conftest import WORDS, gold_doc, make_nlp, trained_nlp
from .commands import failure, succeed
from .conftest import Save

Compared = Callable[..., tuple[dict[str, Any], str]]


def tags(*sentences: str) -> list[Doc]:
    """Documents of equal words with the given tags."""
    return [doc_with(["a"] * len(s), tags=list(s)) for s in sentences]


def system(name: str, target: str) -> System:
    nlp = make_nlp(target)
    return System(name, nlp, layers=layers_of(nlp))


def test_files_of_predictions_are_compared(save: Save):
    gold = save("gold", *tags("XY", "X", "YY"))
    first, second = save("old", *tags("XX", "Y", "YY")), save("new", *tags("XY", "X", "YY"))
    [result] = compare_files(str(first), str(second), gold, target="tag", n_trials=50)
    assert result.names == ("old", "new")
    assert result.values == (pytest.approx(3 / 5), 1.0)
    assert result.tests[1].p_value == 2 / 2**2


def test_a_pipeline_is_compared_with_a_file(save: Save, tmp_path: Path):
    trained_nlp("ents").to_disk(tmp_path / "model")
    nlp = spacy.blank("xx")
    gold = save("gold", *(gold_doc(nlp, i) for i in range(len(WORDS))))
    nothing = save("nothing", *(doc_with(words, ents=["O"] * len(words)) for words in WORDS))
    [result] = compare_files(str(tmp_path / "model"), str(nothing), gold, n_trials=50)
    assert result.layer == "ents"
    assert result.values == (1.0, 0.0)
    assert result.better == (2, 0)


def test_identical_predictions_have_p_values_of_one(save: Save):
    gold, found = save("gold", *tags("XY", "XX")), save("found", *tags("XX", "XX"))
    [result] = compare_files(str(found), str(found), gold, target="tag", n_trials=50)
    assert [test.p_value for test in result.tests] == [1.0, 1.0]
    assert result.names == ("A", "B")


def test_command_prints_and_writes_the_comparison(save: Save, tmp_path: Path):
    gold = save("gold", *tags("XY", "X", "YY"))
    first, second = save("old", *tags("XX", "Y", "YY")), save("new", *tags("XY", "X", "YY"))
    outputs = tmp_path / "out.json", tmp_path / "out.md"
    shown = succeed(
        *("psa", "compare", first, second, gold, "--target", "tag", "--trials", 50),
        *("--limit", 1, "--output", outputs[0], "--output", outputs[1]),
    )
    assert (
        "+40.00 %" in shown
        and "p (bootstrap)" in shown
        and "p (randomization, exact: all 4" in shown
    )
    assert shown.count("Document ") == 1
    [data] = json.loads(outputs[0].read_text())["comparisons"]
    assert (data["difference"], len(data["differences"])) == (pytest.approx(0.4), 1)
    assert "| new | 100.00 % |" in outputs[1].read_text()
    assert "Warning: only 3 sentences" in shown


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_one_test_can_be_chosen(save: Save, test: str):
    path = save("gold", *tags("XY"))
    options = ["--target", "tag", "--test", test, "--trials", 5]
    shown = succeed("psa", "compare", path, path, path, *options)
    assert shown.count("p (") == 1 and f"p ({test}" in shown


def guesses(seed: int) -> list[Doc]:
    """Documents of equal words with random tags."""
    rng = random.Random(seed)
    return tags(*("".join(rng.choices("XY", k=4)) for _ in range(30)))


@pytest.fixture
def compared(save: Save, tmp_path: Path) -> Compared:
    """A function that compares two guessing systems and returns the JSON and the output."""
    files = [save(name, *guesses(seed)) for seed, name in enumerate(("old", "new", "gold"), 2)]
    path = tmp_path / "out.json"

    def compared(*options: object) -> tuple[dict[str, Any], str]:
        settings = ("--target", "tag", "--trials", 100, "--output", path)
        shown = succeed("psa", "compare", *files, *settings, *options)
        return json.loads(path.read_text(encoding="utf8"))["comparisons"][0], shown

    return compared


def test_confidence_makes_the_interval_wide_or_narrow(compared: Compared) -> None:
    narrow, shown = compared("--confidence", 0.5)
    wide, _ = compared()
    assert (narrow["confidence"], wide["confidence"]) == (0.5, 0.95)
    assert "50% interval" in shown
    widths = [high - low for low, high in (narrow["interval"], wide["interval"])]
    assert 0 < widths[0] < 0.7 * widths[1]


def test_draws_and_swaps_depend_on_the_seed(compared: Compared) -> None:
    (first, _), (second, _), (third, _) = compared(), compared("--seed", 0), compared("--seed", 1)
    assert first == second
    assert first["interval"] != third["interval"]
    for one, other in zip(first["tests"], third["tests"], strict=True):
        assert not one["exact"] and one["p_value"] != other["p_value"]


def test_options_are_the_tests_and_scores_that_there_are():
    assert {test.value for test in Test} == {*TESTS, "both"}
    assert {score.value for score in Score} == set(SCORES)


def test_score_can_be_chosen(save: Save):
    gold = save("gold", doc_with(["a", "b"], chunks=[(0, 2, "NP")]))
    found = save("found", doc_with(["a", "b"], chunks=[(0, 2, "NP")]))
    other = save("other", doc_with(["a", "b"], chunks=[(0, 1, "X"), (0, 2, "NP")]))
    settings = {"target": "spans", "n_trials": 5}
    [by_recall] = compare_files(str(found), str(other), gold, score="recall", **settings)
    [by_f1] = compare_files(str(found), str(other), gold, **settings)
    assert (by_recall.difference, by_f1.score) == (0.0, "f1")
    assert by_f1.difference < 0


def test_components_are_compared_if_they_predict_the_same():
    pair = system("a", "ents"), system("b", "ents")
    assert [layer.name for layer in choose_common_layers(pair, None, None, None)] == ["ents"]


def test_other_components_are_expected_to_predict_what_ours_do():
    other = System("b", spacy.blank("xx"))
    for pair in ((system("a", "ents"), other), (other, system("a", "ents"))):
        assert [layer.name for layer in choose_common_layers(pair, None, None, None)] == ["ents"]


def test_components_that_predict_different_things_are_an_error():
    with pytest.raises(ValueError, match=r"\[P268\].*tag and ents"):
        choose_common_layers((system("a", "tag"), system("b", "ents")), None, None, None)


def test_two_pipelines_without_our_components_are_an_error():
    pair = System("a", spacy.blank("xx")), System("b", spacy.blank("xx"))
    with pytest.raises(ValueError, match=r"\[P262\]"):
        choose_common_layers(pair, None, None, None)


def test_unknown_component_is_an_error():
    with pytest.raises(ValueError, match=r"\[P263\].*'ner'"):
        choose_common_layers((system("a", "tag"), system("b", "tag")), "ner", None, None)


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ("training/psa/model-best", "training/lan/model-best", ("psa", "lan")),
        ("old.spacy", "new.spacy", ("old", "new")),
        ("model", "model", ("A", "B")),
        ("en_psa", "other/en_lan", ("en_psa", "en_lan")),
        ("a/model-best", "model-best", ("A", "B")),
        ("runs/v1.0", "runs/v1.5", ("v1.0", "v1.5")),
        ("psa-0.1.spacy", "psa-0.2.spacy", ("psa-0.1", "psa-0.2")),
        ("caf\udce9.spacy", "bar.spacy", ("caf\ufffd", "bar")),
    ],
)
def test_systems_are_named_by_what_is_different(first: str, second: str, names: tuple[str, str]):
    assert short_names(first, second) == names


FILES = {
    "gold": tags("XY"),
    "longer": tags("XYX"),
    "more": tags("XY", "XY"),
    "bare": [doc_with(["a", "a"])],
}


@pytest.mark.parametrize(
    ("other", "options", "message"),
    [
        ("longer", ["-t", "tag"], r"\[P125\]"),
        ("more", ["-t", "tag"], r"\[P124\]"),
        ("bare", ["-t", "tag"], r"\[P261\].*bare\.spacy"),
        ("gold", ["-t", "ents"], r"\[P261\]"),
        ("gold", [], r"\[P264\]"),
        ("gold", ["-t", "tag", "-o", "a.html"], r"\[P265\]"),
    ],
)
def test_what_cannot_be_compared_is_one_error(
    save: Save, other: str, options: list[str], message: str
) -> None:
    gold, second = (save(name, *FILES[name]) for name in ("gold", other))
    assert re.search(message, failure("psa", "compare", gold, second, gold, *options))
