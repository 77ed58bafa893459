"""The component's life cycle: factory, labels, initialization, learning."""

import json
import math
from pathlib import Path

import pytest
import spacy
from spacy.cli.init_pipeline import _init_labels
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.training.initialize import init_nlp

from spacy_psa.pipeline.tagger import PSATagger

from ..conftest import (
    LABELS,
    NAME,
    SCORES,
    TARGETS,
    WORDS,
    annotation,
    assert_same_weights,
    gold_doc,
    initialized_nlp,
    make_docs,
    make_examples,
    make_nlp,
    tagger_of,
    tiny_model,
    train,
    trained_nlp,
    weights,
)


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    """Each of the targets, which are read and written in ways of their own."""
    return request.param


@pytest.mark.parametrize("lang", ["en", "de", "xx"])
def test_the_defaults_work_on_any_pipeline(lang: str) -> None:
    nlp = spacy.blank(lang)
    nlp.add_pipe("psa_tagger")
    nlp.initialize(lambda: make_examples(nlp))
    doc = nlp("Ann likes Berlin .")
    assert all(token.tag_ in LABELS["tag"] for token in doc)


def test_overfits(target: str) -> None:
    nlp = trained_nlp(target)
    assert nlp.evaluate(make_examples(nlp))[SCORES[target]] == 1.0


def test_no_label_is_an_error() -> None:
    nlp = make_nlp()
    with pytest.raises(ValueError, match=r"P305.*Annotated in them: nothing\. If that is nothing"):
        nlp.initialize(lambda: [Example.from_dict(nlp.make_doc("a b"), {})])
    annotated = {
        "entities": [(0, 1, "PER")],
        "spans": {"sc": [(0, 1, "X")], "document": [(0, 1, "")]},
        "pos": ["NOUN"] * 2,
    }
    with pytest.raises(ValueError, match=r"P305.*them: ents, pos, spans \(spans_key 'sc'\)\."):
        nlp.initialize(lambda: [Example.from_dict(nlp.make_doc("a b"), annotated)])


def test_an_uninitialized_component_says_so() -> None:
    nlp = initialized_nlp()
    nlp.add_pipe("psa_tagger", "second")
    problem = pytest.raises(ValueError, match=r"P201.*The model of 'second' has no weights")
    with problem:
        nlp("Ann likes Berlin .")
    with problem:
        nlp.update(make_examples(nlp))
    for text in ("Ann", ""):
        with problem:
            nlp.get_pipe("second").marginals([nlp.make_doc(text)])


def test_an_uninitialized_component_has_nothing_to_say_of_an_empty_doc() -> None:
    assert len(make_nlp()("")) == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("label_smoothing", value) for value in (-0.1, 1.0)),
        *(("label_weights", {"NN": value}) for value in (0.0, -1.0, math.inf, math.nan)),
        ("loss_reduction", "max"),
        *(("max_grad_norm", value) for value in (0.0, -1.0)),
        *(("threshold", value) for value in (-0.1, 1.1, {"NN": 2.0})),
    ],
)
def test_a_setting_out_of_range_is_an_error(name: str, value: object) -> None:
    nlp = make_nlp()
    with pytest.raises(ValueError, match=rf"P210.*'{name}'"):
        PSATagger(nlp.vocab, tagger_of(nlp).model, **{name: value})


@pytest.mark.parametrize("label", [9, None, b"NN"])
def test_a_label_that_is_no_string_is_an_error(label: object) -> None:
    with pytest.raises(ValueError, match="P313"):
        tagger_of(make_nlp()).add_label(label)


@pytest.mark.parametrize("labels", ["NNP", {"0": {"NNP": 1}, "1": {"VB": 1}}])
def test_labels_that_are_no_list_are_one_error(labels: object) -> None:
    nlp = make_nlp()
    with pytest.raises(ValueError, match=r"P335.*'psa_tagger' must be a list.*type (str|dict)"):
        tagger_of(nlp).initialize(lambda: make_examples(nlp), nlp=nlp, labels=labels)
    assert tagger_of(nlp).labels == ()


@pytest.mark.parametrize(
    ("labels", "code"), [("labels/psa_tagger.json", "P335"), ({"NNP": 1}, "P335"), ([1], "P313")]
)
def test_labels_of_the_config_that_are_no_list_are_one_error(labels: object, code: str) -> None:
    nlp = make_nlp()
    nlp.config["initialize"]["components"][NAME] = {"labels": labels}
    with pytest.raises(ValueError, match=code):
        nlp.initialize(lambda: make_examples(nlp))
    assert tagger_of(nlp).labels == ()


def test_morphology_is_added_as_spacy_writes_it() -> None:
    tagger = tagger_of(make_nlp("morph"))
    added = [tagger.add_label(label) for label in ("Number=Sing|Case=Nom", "Case=Nom|Number=Sing")]
    assert added == [1, 0]
    assert tagger.labels == ("Case=Nom|Number=Sing",)
    nlp = make_nlp("morph")
    labels = ["_", "Number=Sing|Case=Nom"]
    tagger_of(nlp).initialize(lambda: make_examples(nlp), nlp=nlp, labels=labels)
    assert set(tagger_of(nlp).labels) == {"_", "Case=Nom|Number=Sing"}


def test_add_label_says_whether_it_is_new() -> None:
    tagger = tagger_of(make_nlp())
    assert [tagger.add_label(label) for label in ("A", "B", "A")] == [1, 1, 0]
    assert tagger.labels == ("A", "B")


def test_a_label_beyond_the_configured_outputs_is_an_error_and_changes_nothing() -> None:
    tagger = tagger_of(make_nlp(model=tiny_model(nO=1)))
    tagger.add_label("ADP")
    with pytest.raises(ValueError, match="P304"):
        tagger.add_label("NOUN")
    assert tagger.labels == ("ADP",)


def test_an_initialization_that_fails_leaves_no_labels_behind() -> None:
    nlp = make_nlp(label_weights={"XX": 2.0})
    tagger = tagger_of(nlp)
    tagger.add_label("ADP")
    with pytest.raises(ValueError, match="P372"):
        nlp.initialize(lambda: make_examples(nlp))
    assert tagger.labels == ("ADP",)


def test_a_number_of_outputs_that_does_not_fit_the_labels_is_an_error() -> None:
    nlp = make_nlp(model=tiny_model(nO=40))
    with pytest.raises(ValueError, match=r"P315.*nO = 40.*psa_tagger"):
        nlp.initialize(lambda: make_examples(nlp))


def test_pos_takes_universal_parts_of_speech_only() -> None:
    tagger = tagger_of(make_nlp("pos"))
    with pytest.raises(ValueError, match="P302"):
        tagger.add_label("NNP")
    assert tagger.labels == ()


def test_an_added_label_can_be_predicted_and_is_in_the_strings() -> None:
    nlp = make_nlp()
    tagger_of(nlp).add_label("EXTRA")
    nlp.initialize(lambda: make_examples(nlp))
    assert tagger_of(nlp).model.get_dim("nO") == len(LABELS["tag"]) + 1
    assert "EXTRA" in nlp.vocab.strings


def test_labels_do_not_depend_on_the_order_of_the_examples(target: str) -> None:
    nlp = make_nlp(target)
    nlp.initialize(lambda: make_examples(nlp)[::-1])
    assert list(tagger_of(nlp).labels) == LABELS[target]


def test_given_labels_replace_those_of_the_examples() -> None:
    nlp = make_nlp()
    given = ["X", *reversed(LABELS["tag"])]
    tagger_of(nlp).initialize(lambda: make_examples(nlp), nlp=nlp, labels=given)
    assert list(tagger_of(nlp).labels) == given


def test_label_data_is_what_initialize_takes(target: str) -> None:
    first = tagger_of(initialized_nlp(target))
    labels = json.loads(json.dumps(first.label_data))
    nlp = make_nlp(target)
    nlp.config["initialize"]["components"][NAME] = {"labels": labels}
    nlp.initialize(lambda: make_examples(nlp))
    assert tagger_of(nlp).labels == first.labels
    assert tagger_of(nlp).tags == first.tags


def test_init_labels_writes_what_initialize_reads(tmp_path: Path, target: str) -> None:
    nlp = make_nlp(target)
    corpus = tmp_path / "train.spacy"
    DocBin(docs=[gold_doc(nlp, i) for i in range(len(WORDS))]).to_disk(corpus)
    nlp.config["paths"] = {**nlp.config["paths"], "train": str(corpus), "dev": str(corpus)}
    _init_labels(init_nlp(nlp.config), tmp_path)
    written = json.loads((tmp_path / f"{NAME}.json").read_text("utf8"))
    assert written == LABELS[target]


def test_initialize_without_examples_is_an_error() -> None:
    nlp = make_nlp()
    with pytest.raises(ValueError, match="P306"):
        tagger_of(nlp).initialize(lambda: [])


def test_what_gives_no_examples_is_spacys_error() -> None:
    with pytest.raises(TypeError, match="E930"):
        tagger_of(make_nlp()).initialize([])  # type: ignore[arg-type]


def test_initialize_twice_starts_again() -> None:
    nlp = trained_nlp("ents")
    nlp.initialize(lambda: make_examples(nlp))
    assert tagger_of(nlp).labels == ("LOC", "PER")
    trained, again = weights(trained_nlp("ents")), weights(nlp)
    assert any((trained[name] != again[name]).any() for name in trained)


def test_the_same_seed_gives_the_same_weights(target: str) -> None:
    found = []
    for _ in range(2):
        nlp = initialized_nlp(target, seed=7)
        train(nlp, make_examples(nlp), steps=3)
        found.append(weights(nlp))
    assert_same_weights(*found)


def test_another_seed_gives_other_weights() -> None:
    one, other = (weights(initialized_nlp(seed=seed)) for seed in (1, 2))
    assert any((one[name] != other[name]).any() for name in one)


def test_two_components_learn_side_by_side() -> None:
    nlp = make_nlp("pos")
    nlp.add_pipe("psa_tagger", "second", config={"target": "ents", "model": _model_of(nlp)})
    nlp.initialize(lambda: make_examples(nlp))
    examples = make_examples(nlp)
    train(nlp, examples)
    scores = nlp.evaluate(examples)
    assert (scores["pos_acc"], scores["ents_f"]) == (1.0, 1.0)


def _model_of(nlp: spacy.Language) -> dict:
    return nlp.get_pipe_config(NAME)["model"]


def test_predict_leaves_the_docs_alone(target: str) -> None:
    nlp = trained_nlp(target)
    docs = make_docs(nlp)
    before = [doc.to_bytes() for doc in docs]
    tagger_of(nlp).predict(docs)
    assert [doc.to_bytes() for doc in docs] == before


def test_update_leaves_the_docs_alone(target: str) -> None:
    nlp = initialized_nlp(target)
    examples = make_examples(nlp)
    before = [annotation(eg.predicted) for eg in examples]
    nlp.update(examples)
    assert [annotation(eg.predicted) for eg in examples] == before


def test_predictions_for_one_doc_can_be_set() -> None:
    nlp = trained_nlp()
    doc = make_docs(nlp)[0]
    tagger_of(nlp).set_annotations(doc, tagger_of(nlp).predict([doc]))
    assert doc[0].tag_ == "NNP"


def test_works_on_words_only_in_the_predicted_docs() -> None:
    nlp = trained_nlp()
    doc = Doc(nlp.vocab, words=["Zyx", "likes", "quuxes"])
    assert all(token.tag_ for token in tagger_of(nlp)(doc))
