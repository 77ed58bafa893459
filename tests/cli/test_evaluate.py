from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_psa.cli._predictions import System, choose_layers
from spacy_psa.cli.evaluate import (
    N_ERRORS,
    evaluate_files,
    find_vocabulary,
    warn_of_other_tokens,
)
from spacy_psa.evaluation.layers import layers_of

from ..evaluation.helpers import doc_with
from ..pipeline.conftest import WORDS, gold_doc, make_nlp, tiny_model, trained_nlp
from .commands import failure, run, succeed
from .conftest import Save

Reported = Callable[..., tuple[dict[str, Any], str]]


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline that has memorized the tests' documents."""
    nlp = trained_nlp("ents")
    path = tmp_path_factory.mktemp("model") / "ner"
    nlp.to_disk(path)
    return path


@pytest.fixture
def gold(save: Save) -> Path:
    nlp = spacy.blank("xx")
    return save("gold", *(gold_doc(nlp, i) for i in range(len(WORDS))))


def two_components() -> Language:
    nlp = make_nlp("tag")
    nlp.add_pipe("psa_tagger", name="ner", config={"model": tiny_model(), "target": "ents"})
    nlp.add_pipe("sentencizer")
    return nlp


def test_pipeline_is_evaluated_on_what_its_component_predicts(pipeline: Path, gold: Path):
    [report] = evaluate_files(str(pipeline), [gold], n_resamples=5)
    assert (report.component, report.layer) == ("psa_tagger", "ents")
    assert report.scores["f1"] == 1.0
    assert report.total.counts.gold == 5


def test_the_next_command_needs_no_folder(pipeline: Path, gold: Path):
    shown = succeed("psa", "evaluate", pipeline, gold)
    command = f"python -m spacy package {pipeline} . --build wheel"
    assert f"To install it elsewhere: {command}" in shown.splitlines()


def test_gold_annotation_does_not_leak_into_predictions(pipeline: Path, save: Save):
    words = ["They", "eat", "blue", "ham", "."]
    path = save("wrong", doc_with(words, ents=["B-LOC", "B-PER", "O", "O", "O"]))
    [report] = evaluate_files(str(pipeline), [path], n_resamples=5)
    assert report.total.counts.correct == 0
    assert report.total.counts.gold == 2


def test_words_of_the_model_stand_for_the_training_data(pipeline: Path, save: Save):
    words = ["Ann", "Zoe", "likes", "Berlin"]
    path = save("new", doc_with(words, ents=["B-PER", "B-PER", "O", "B-LOC"]))
    [report] = evaluate_files(str(pipeline), [path], n_resamples=5)
    found = {row.name: row.counts.gold for row in report.breakdowns["vocabulary"].rows}
    # Without vectors, every word is out of the embedding vocabulary.
    assert found == {"IV": 0, "OOTV": 0, "OOEV": 2, "OOBV": 1}
    assert "no vectors" in report.breakdowns["vocabulary"].note


def test_training_data_says_which_words_are_known(pipeline: Path, save: Save):
    data = save("data", doc_with(["Ann", "Zoe"], ents=["B-PER", "B-PER"]))
    train = save("train", doc_with(["zoe"]))
    [report] = evaluate_files(str(pipeline), [data], train=[train], n_resamples=5)
    found = {row.name: row.counts.gold for row in report.breakdowns["vocabulary"].rows}
    assert (found["OOEV"], found["OOBV"]) == (1, 1)
    # A file of predictions has no words of its own
    [report] = evaluate_files(str(data), [data], target="ents", train=[train], n_resamples=5)
    found = {row.name: row.counts.gold for row in report.breakdowns["vocabulary"].rows}
    assert (found["OOEV"], found["OOBV"]) == (1, 1)


def test_vectors_make_the_embedding_vocabulary():
    nlp = spacy.blank("en")
    nlp.vocab.set_vector("ann", np.ones(3, dtype="float32"))
    group, note = find_vocabulary(nlp.vocab, None, [doc_with(["Ann", "Bob"])])
    assert [group.embedded(w) for w in ("Ann", "Bob", "Zoe")] == [True, False, False]
    assert "no vectors" not in note


def test_nothing_known_of_the_training_data_makes_no_classes():
    assert find_vocabulary(spacy.blank("en").vocab, None, None) == (None, "")


def test_several_files_and_folders_are_taken_as_one(save: Save, tmp_path: Path):
    first, second = (save(name, doc_with(["a"], tags=["X"])) for name in ("one", "two"))
    predicted = save("predicted", *(doc_with(["a"], tags=["X"]) for _ in range(2)))
    [report] = evaluate_files(str(predicted), [first, second], target="tag", n_resamples=5)
    assert report.n_docs == 2
    folder = tmp_path / "folder"
    folder.mkdir()
    first.rename(folder / "one.spacy")
    second.rename(folder / "two.spacy")
    [again] = evaluate_files(str(predicted), [folder], target="tag", n_resamples=5)
    assert again.to_dict() == report.to_dict()


def test_command_prints_all_parts_and_writes_all_formats(save: Save, tmp_path: Path):
    data = save("data", doc_with(["a", "b", "c"], tags=["X", "Y", "X"]))
    predicted = save("predicted", doc_with(["a", "b", "c"], tags=["X", "X", "X"]))
    outputs = [tmp_path / "out" / f"report.{ending}" for ending in ("json", "md", "html")]
    options = [word for path in outputs for word in ("--output", path)]
    shown = succeed(
        "psa",
        "evaluate",
        predicted,
        data,
        "--target",
        "tag",
        "--resamples",
        20,
        "--errors",
        5,
        *options,
    )
    for part in (
        "accuracy (tokens)",
        "By label",
        "By sentence length",
        "Most frequent confusions",
        "a [b] c",
        "only 1 ",
    ):
        assert part in shown
    assert json.loads(outputs[0].read_text())["reports"][0]["accuracy"] == pytest.approx(2 / 3)
    assert "66.67" in succeed("psa", "scores", outputs[0])
    assert outputs[1].read_text().startswith("# Evaluation of ")
    assert outputs[2].read_text().count("<svg") == 3
    for path in outputs[1:]:
        assert "Warning: only 1 sentence" in path.read_text()


def test_buckets_of_length_can_be_chosen(save: Save):
    path = save("data", doc_with(["a", "b", "c"], tags=["X", "Y", "X"]))
    shown = succeed(
        "psa", "evaluate", path, path, "-t", "tag", "--lengths", "3,7", "--resamples", 5
    )
    assert "1\u20132 " in shown and "3\u20136 " in shown and "7+ " in shown


@pytest.fixture
def reported(save: Save, tmp_path: Path) -> Reported:
    """A function that evaluates flawed predictions and returns the JSON and the output."""
    data = save("data", *(doc_with(["a", "b", "c"], tags=list("XYX")) for _ in range(24)))
    found = [doc_with(["a", "b", "c"], tags=list(s)) for s in ("XYX", "XXX", "YXX", "YYX") * 6]
    predicted, path = save("predicted", *found), tmp_path / "report.json"

    def reported(*options: object) -> tuple[dict[str, Any], str]:
        settings = ("--target", "tag", "--resamples", 50, "--output", path)
        shown = succeed("psa", "evaluate", predicted, data, *settings, *options)
        return json.loads(path.read_text(encoding="utf8"))["reports"][0], shown

    return reported


def widths(report: dict[str, Any]) -> list[float]:
    """The widths of the intervals, over all tokens and for each label."""
    rows = [row["f1_interval"] for row in report["by_label"]]
    return [high - low for low, high in (report["intervals"]["accuracy"], *rows)]


def test_confidence_makes_intervals_wide_or_narrow(reported: Reported) -> None:
    narrow, shown = reported("--confidence", 0.5)
    wide, _ = reported()
    assert (narrow["confidence"], wide["confidence"]) == (0.5, 0.95)
    assert "50% interval" in shown and "95% interval" not in shown
    for one, other in zip(widths(narrow), widths(wide), strict=True):
        assert 0 < one < 0.7 * other


def test_draws_depend_on_the_seed(reported: Reported) -> None:
    (first, _), (second, _), (third, _) = reported(), reported("--seed", 0), reported("--seed", 1)
    assert first == second
    for one, other in zip(widths(first), widths(third), strict=True):
        assert one != other


@pytest.mark.parametrize(("options", "n"), [((), 0), (("--errors", 3), 3), (("--errors", 0), 0)])
def test_number_of_worst_sentences_can_be_chosen(
    reported: Reported, options: tuple[object, ...], n: int
) -> None:
    report, shown = reported(*options)
    assert len(report["worst_sentences"]) == (n if options else N_ERRORS)
    assert shown.count("\nDocument ") == n
    assert ("Worst sentences" in shown) == (n > 0)


def test_components_are_all_ours_or_those_chosen():
    nlp = two_components()
    system = System("model", nlp, layers=layers_of(nlp))
    assert list(choose_layers(system, [], None, None)) == ["psa_tagger", "ner"]
    assert choose_layers(system, ["ner"], None, None)["ner"].name == "ents"
    assert choose_layers(system, [], "spans", "np")[""].name == "spans['np']"


def test_unknown_component_is_an_error_that_names_ours():
    nlp = two_components()
    with pytest.raises(ValueError, match=r"\[P263\].*'sentencizer'.*: psa_tagger, ner\."):
        choose_layers(System("model", nlp, layers=layers_of(nlp)), ["sentencizer"], None, None)


def test_target_and_component_together_are_an_error():
    nlp = two_components()
    with pytest.raises(ValueError, match=r"\[P267\]"):
        choose_layers(System("model", nlp, layers=layers_of(nlp)), ["ner"], "tag", None)


@pytest.mark.parametrize("target", ["tag", None])
def test_a_key_of_spans_is_for_spans(target: str | None):
    nlp = two_components()
    with pytest.raises(ValueError, match=r"P272.*--spans-key is for --target spans"):
        choose_layers(System("model", nlp, layers=layers_of(nlp)), [], target, "np")


def test_a_tokenizer_with_other_words_is_warned_of(
    pipeline: Path, gold: Path, save: Save, tmp_path: Path, recwarn: pytest.WarningsRecorder
):
    words, ents = ["(Ann)", "[Zoe]", "Berlin"], ["B-PER", "O", "O"]
    known = Doc(Vocab(), words=words, spaces=[True, True, False], ents=ents)
    others = save("others", known)
    with pytest.warns(UserWarning, match=r"W454.*67% of the words of .*others.*'\(Ann\)'"):
        evaluate_files(str(pipeline), [others], n_resamples=5)
    nlp = spacy.load(pipeline)
    nlp.config["corpora"]["train"]["gold_preproc"] = True
    nlp.config["corpora"]["dev"]["gold_preproc"] = True
    nlp.to_disk(tmp_path / "of words")
    evaluate_files(str(tmp_path / "of words"), [others], n_resamples=5)
    # Where the text is not known, training has no other tokens either
    evaluate_files(str(pipeline), [save("words", doc_with(words, ents=ents))], n_resamples=5)
    evaluate_files(str(pipeline), [gold], n_resamples=5)
    assert not [warning for warning in recwarn if "W454" in str(warning.message)]


def test_the_text_of_which_words_are_compared_may_be_long() -> None:
    nlp = spacy.blank("en")
    nlp.max_length = 10
    doc = Doc(nlp.vocab, words=["(Ann)"] * 20, spaces=[True] * 20)
    with pytest.warns(UserWarning, match="W454"):
        warn_of_other_tokens(nlp, [doc], "model", "data")


def fail(*arguments: object) -> str:
    return failure("psa", "evaluate", *arguments)


def test_pipeline_without_our_components_is_one_error(gold: Path, tmp_path: Path):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path / "other")
    shown = fail(tmp_path / "other", gold)
    assert "[P262]" in shown and "sentencizer" in shown


def test_data_without_the_target_is_one_error(pipeline: Path, save: Save):
    data = save("data", doc_with(["a"], tags=["X"]))
    shown = fail(pipeline, data)
    assert "[P261]" in shown and "ents" in shown


def test_predictions_for_other_texts_are_one_error(save: Save, gold: Path):
    predicted = save("predicted", *(doc_with(["a"], tags=["X"]) for _ in WORDS))
    assert "[P125]" in fail(predicted, gold, "--target", "tag")


def test_predictions_without_a_target_are_one_error(gold: Path):
    assert "[P264]" in fail(gold, gold)


def test_predictions_without_the_target_are_one_error(save: Save, gold: Path):
    predicted = save("predicted", *(doc_with(list(words)) for words in WORDS))
    shown = fail(predicted, gold, "--target", "tag")
    assert "[P261]" in shown and "predicted.spacy" in shown


def test_a_threshold_that_leaves_no_label_is_named(save: Save, tmp_path: Path):
    nlp = trained_nlp("tag")
    nlp.to_disk(tmp_path / "without")
    nlp.get_pipe("psa_tagger").cfg["threshold"] = 1.0
    nlp.to_disk(tmp_path / "with")
    gold = save("tags", doc_with(["Ann", "Zoe"], tags=["NNP", "NNP"]))
    for arguments in ([], ["--target", "tag"]):
        shown = fail(tmp_path / "with", gold, *arguments)
        assert "[P261]" in shown and "threshold of 'psa_tagger'" in shown
        assert "in the output of" in " ".join(shown.split())
    shown = failure("psa", "compare", tmp_path / "without", tmp_path / "with", gold)
    assert "[P261]" in shown and "threshold of 'psa_tagger'" in shown
    assert "Lower the threshold" not in fail(tmp_path / "with", gold, "--target", "pos")


def test_missing_model_is_one_error(gold: Path, tmp_path: Path):
    assert "[P266]" in fail(tmp_path / "none", gold)
    (tmp_path / "trained" / "model-best").mkdir(parents=True)
    for command in (["evaluate", tmp_path / "trained", gold], ["tag", tmp_path / "trained", "Ann"]):
        result = run("psa", *command)
        assert result.exit_code == 1 and "[P269]" in result.output
        assert "model-best" in result.output


def test_what_is_no_pipeline_is_one_error(gold: Path, tmp_path: Path):
    for path in (gold, tmp_path):
        result = run("psa", "tag", path, "Ann")
        assert result.exit_code == 1 and "[P271]" in result.output
        assert path.name in result.output


def test_missing_data_is_one_error(pipeline: Path, tmp_path: Path):
    assert "[P109]" in fail(pipeline, tmp_path / "none.spacy")
    assert "[P266]" in fail(pipeline, tmp_path)


def test_unknown_output_is_an_error_before_the_work_begins(tmp_path: Path):
    # Neither the model nor the data exists: the output is checked first.
    assert "[P265]" in fail(tmp_path / "none", tmp_path / "none", "-o", tmp_path / "a.txt")


@pytest.mark.parametrize("lengths", ["5,five", "", "10,5", "1,5"])
def test_bad_buckets_are_one_error(gold: Path, lengths: str):
    assert "[P260]" in fail(gold, gold, "--target", "tag", "--lengths", lengths)
