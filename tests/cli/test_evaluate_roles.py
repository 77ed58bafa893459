"""`psa evaluate` and `psa compare` for pipelines and predictions of semantic roles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc

from spacy_psa.annotation.propositions import Frame, set_frames
from spacy_psa.annotation.role_scores import SRLResult
from spacy_psa.cli._predictions import System, load_system
from spacy_psa.cli.compare import compare_files
from spacy_psa.cli.evaluate import evaluate_files
from spacy_psa.cli.srl_eval import score_paths
from spacy_psa.evaluation.layers import layers_of, make_layer
from spacy_psa.evaluation.report import Report

from ..pipeline.conftest import tiny_model as tiny_tagger
from ..pipeline.srl_data import FRAMES, WORDS, gold_doc, trained_nlp
from .commands import failure, succeed
from .conftest import Save

# What the pipeline has learned, with one A0 changed to A2 and an extra proposition
OTHER_FRAMES = [
    FRAMES[0],
    FRAMES[1][:2],
    [Frame(0, "rain", None, [(0, 1, "V")])],
    [FRAMES[3][0], Frame(6, "rise", "01", [(0, 1, "A2"), (5, 6, "AM-MOD"), (6, 7, "V")])],
]


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline that has memorized the sentences, given their predicates."""
    path = tmp_path_factory.mktemp("model") / "srl"
    trained_nlp().to_disk(path)
    return path


@pytest.fixture(scope="module")
def finder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same pipeline with predicted predicates, of which it finds only one."""
    path = tmp_path_factory.mktemp("model") / "finder"
    nlp = trained_nlp(predicates={"@misc": "spacy_psa.SpanPredicates.v1"})
    ruler = nlp.add_pipe("span_ruler", config={"spans_key": "predicates"}, first=True)
    ruler.add_patterns([{"label": "V", "pattern": "borrowed"}])
    nlp.to_disk(path)
    return path


@pytest.fixture
def gold(save: Save) -> Path:
    nlp = spacy.blank("xx")
    return save("gold", *(gold_doc(nlp, i) for i in range(len(WORDS))))


@pytest.fixture
def other(save: Save) -> Path:
    """Predictions with mistakes."""
    docs = [Doc(spacy.blank("xx").vocab, words=words) for words in WORDS]
    for doc, frames in zip(docs, OTHER_FRAMES, strict=True):
        set_frames(doc, frames)
    return save("other", *docs)


def assert_same(report: Report, result: SRLResult) -> None:
    """Check that a report has the evaluator's scores."""
    total = result.arguments
    assert report.scores == pytest.approx(
        {
            "precision": total.precision,
            "recall": total.recall,
            "f1": total.f1,
            "complete": result.complete,
        }
    )
    rows = report.breakdowns["label"].rows
    assert {row.name: (row.counts.precision, row.counts.recall) for row in rows} == {
        role: (counts.precision, counts.recall) for role, counts in result.per_role.items()
    }


def test_pipeline_gets_the_predicates_of_the_gold_standard(pipeline: Path, gold: Path):
    [report] = evaluate_files(str(pipeline), [gold], n_resamples=5)
    assert (report.component, report.layer, report.total.counts.gold) == ("psa_srl", "roles", 14)
    assert report.scores == {"precision": 1, "recall": 1, "f1": 1, "complete": 1}
    assert set(report.breakdowns) == {"label", "length"}


def test_scores_of_a_pipeline_are_those_of_srl_eval(pipeline: Path, other: Path):
    [report] = evaluate_files(str(pipeline), [other], n_resamples=5)
    assert_same(report, score_paths(other, pipeline))
    assert 0 < report.scores["f1"] < 1


def test_scores_of_predictions_are_those_of_srl_eval(gold: Path, other: Path):
    [report] = evaluate_files(str(other), [gold], target="roles", n_resamples=5)
    assert_same(report, score_paths(gold, other))
    assert report.wholes is not None
    assert (report.wholes.gold, report.wholes.complete, report.wholes.skipped) == (6, 4, 1)


def test_files_of_predictions_take_no_options_of_pipelines(gold: Path, other: Path):
    ignored = r"P272.*--{} is for a pipeline.*other\.spacy"
    with pytest.raises(ValueError, match=ignored.format("given")):
        evaluate_files(str(other), [gold], target="roles", given=True)
    with pytest.raises(ValueError, match=ignored.format("given")):
        compare_files(str(other), str(gold), gold, target="roles", given=True)
    with pytest.raises(ValueError, match=ignored.format("given")):
        score_paths(gold, other, given=True)
    with pytest.raises(ValueError, match=ignored.format("component")):
        score_paths(gold, other, component="psa_srl")


def test_sentences_of_a_document_are_those_of_the_gold_standard(pipeline: Path, save: Save):
    nlp = spacy.blank("xx")
    doc = Doc.from_docs([gold_doc(nlp, 0), gold_doc(nlp, 3)])
    frames = [*FRAMES[0]]
    offset = len(WORDS[0])
    for frame in FRAMES[3]:
        arguments = [(start + offset, end + offset, role) for start, end, role in frame.arguments]
        frames.append(Frame(frame.predicate + offset, frame.lemma, frame.sense, arguments))
    set_frames(doc, frames)
    for token in doc:
        token.is_sent_start = token.i in (0, offset)
    path = save("both", doc)
    [report] = evaluate_files(str(pipeline), [path], n_resamples=5)
    assert (report.n_sentences, report.scores["f1"]) == (2, 1.0)
    assert_same(report, score_paths(path, pipeline))


@pytest.mark.parametrize("given", [False, True])
def test_a_pipeline_finds_its_own_predicates_unless_they_are_given(
    finder: Path, gold: Path, given: bool
):
    [report] = evaluate_files(str(finder), [gold], given=given, n_resamples=5)
    assert report.scores["precision"] == 1.0
    assert report.scores["recall"] == (1.0 if given else 4 / 14)
    assert_same(report, score_paths(gold, finder, given=given))


def test_what_is_given_for_roles_does_not_reach_other_components(gold: Path):
    nlp = trained_nlp()
    nlp.add_pipe("psa_tagger", config={"model": tiny_tagger(), "target": "tag"}, first=True)
    system = System("model", nlp, layers=layers_of(nlp))
    seen: list[bool] = []
    # Only the components' input matters here, not their predictions.
    nlp.pipe = lambda docs: [seen.append("frames" in doc.spans) or doc for doc in docs]  # type: ignore[method-assign]
    docs = [gold_doc(spacy.blank("xx"), 0)]
    system.predict(docs, "gold", list(system.layers.values()))
    assert seen == [False, True]


def test_the_card_says_what_roles_are_predicted_from(pipeline: Path, gold: Path, tmp_path: Path):
    path = tmp_path / "card.md"
    succeed("psa", "card", pipeline, gold, "--output", path)
    assert "Predicted from the words alone, except roles: " in path.read_text(encoding="utf8")


def test_commands_print_and_write_roles(other: Path, gold: Path, tmp_path: Path):
    outputs = [tmp_path / f"report.{ending}" for ending in ("json", "md", "html")]
    options = [word for path in outputs for word in ("--output", path)]
    given = ["--target", "roles", "--errors", 5, "--resamples", 5]
    shown = succeed("psa", "evaluate", other, gold, *given, *options)
    for part in ("complete propositions", "By role", "rise: A1 predicted as A2", "6 propositions"):
        assert part in shown
    assert "accuracy" not in shown
    [data] = json.loads(outputs[0].read_text())["reports"]
    assert (data["propositions"], data["complete_propositions"]) == (6, 4)
    assert "| complete propositions | 66.67 |" in outputs[1].read_text()
    assert "predicted role" in outputs[2].read_text()


def test_pipeline_and_predictions_are_compared(pipeline: Path, other: Path, gold: Path):
    [result] = compare_files(str(other), str(pipeline), gold, n_trials=20)
    assert (result.layer, result.score, result.values[1]) == ("roles", "f1", 1.0)
    assert (result.n_sentences, result.n_differing, result.better) == (4, 2, (0, 2))
    assert sorted(sentence.anchor for sentence in result.sentences) == [6, 7]


def test_comparison_is_printed_proposition_by_proposition(other: Path, gold: Path):
    shown = succeed(
        *("psa", "compare", other, gold, gold, "--target", "roles", "--trials", 20),
        *("--score", "complete"),
    )
    assert "roles: complete" in shown and "+33.33 %" in shown
    assert "'rise' (token 6): +2 for gold" in shown and "'sold' (token 7)" in shown


def test_data_without_frames_is_one_error(pipeline: Path, gold: Path, save: Save):
    data = save("data", *(Doc(spacy.blank("xx").vocab, words=words) for words in WORDS))
    assert "[P261]" in failure("psa", "evaluate", pipeline, data)
    shown = failure("psa", "evaluate", data, gold, "--target", "roles")
    assert "[P261]" in shown and "data.spacy" in shown
    assert "[P261]" in failure("psa", "compare", gold, data, gold, "--target", "roles")


def test_pipeline_without_the_component_is_one_error(gold: Path, tmp_path: Path):
    spacy.blank("xx").to_disk(tmp_path / "blank")
    assert "[P262]" in failure("psa", "evaluate", tmp_path / "blank", gold)
    # The pipeline is given no gold roles that could pass for its predictions.
    assert "[P261]" in failure("psa", "evaluate", tmp_path / "blank", gold, "--target", "roles")
    assert "[P331]" in failure("psa", "evaluate", tmp_path / "blank", gold, "--given")


def test_scores_that_roles_do_not_have_are_one_error(gold: Path):
    options = ["--target", "roles", "--score", "accuracy"]
    assert "[P270]" in failure("psa", "compare", gold, gold, gold, *options)


def test_predictions_are_not_changed_by_given(other: Path):
    assert load_system(str(other), given=True).layers == {}
    assert make_layer("roles", "").is_annotated(load_system(str(other)).docs[0])
