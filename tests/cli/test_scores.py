import json

import pytest

from spacy_psa.cli.scores import read_metrics, score_tables

from .commands import run as run_spacy

PSA = {
    "token_acc": 1.0,
    "speed": 12345.6,
    "spans_chunks_f": 0.9509,
    "spans_chunks_p": 0.95,
    "spans_chunks_r": 0.9518,
    "tag_acc": 0.9759,
    "spans_chunks_per_type": {
        "VP": {"p": 0.9, "r": 0.8, "f": 0.85},
        "NP": {"p": 0.96, "r": 0.95, "f": 0.955},
    },
}
CRF = {
    "tag_acc": None,
    "spans_chunks_p": 0.94,
    "spans_chunks_r": 0.93,
    "spans_chunks_f": 0.935,
    "spans_chunks_per_type": {"NP": {"p": 0.96, "r": 0.95, "f": 0.95}},
    "cats_auc_per_type": {"A": 0.5},
}


@pytest.fixture
def write(tmp_path):
    def write(data, name="psa.json"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf8")
        return path

    return write


def run(*arguments):
    return run_spacy("psa", "scores", *arguments)


def test_main_scores_come_in_a_fixed_order_in_percent():
    main, _ = score_tables({"psa": PSA})
    header = ["", "tag_acc", "spans_chunks_p", "spans_chunks_r", "spans_chunks_f", "speed"]
    assert main.header == header
    assert main.rows == [["psa", "97.59", "95.00", "95.18", "95.09", "12,346"]]


def test_scores_that_one_evaluation_is_without_are_dashes():
    main, _ = score_tables({"psa": PSA, "crf": CRF})
    assert main.rows[1] == ["crf", "-", "94.00", "93.00", "93.50", "-"]


def test_scores_per_type_of_one_evaluation():
    _, table = score_tables({"psa": PSA})
    assert (table.title, table.header) == ("spans_chunks per type", ["", "P", "R", "F"])
    assert table.rows == [["NP", "96.00", "95.00", "95.50"], ["VP", "90.00", "80.00", "85.00"]]


def test_scores_per_type_of_several_evaluations():
    _, table = score_tables({"psa": PSA, "crf": CRF})
    assert (table.title, table.header) == ("spans_chunks per type (F)", ["", "psa", "crf"])
    assert table.rows == [["NP", "95.50", "95.00"], ["VP", "85.00", "-"]]


def test_markdown():
    main, _ = score_tables({"a|b": {"tag_acc": 0.5}, "c": PSA})
    lines = main.to_markdown().splitlines()
    assert lines[:2] == ["### Scores", ""]
    assert lines[3] == "| --- | ---: | ---: | ---: | ---: | ---: |"
    assert lines[4] == "| a\\|b | 50.00 | - | - | - | - |"


def test_command_prints_tables_and_writes_markdown(write, tmp_path):
    output = tmp_path / "scores.md"
    result = run(write(PSA), write(CRF, "crf.json"), "--output", output)
    assert result.exit_code == 0
    assert "95.09" in result.output and "spans_chunks per type (F)" in result.output
    text = output.read_text(encoding="utf8")
    assert "| psa | 97.59 | 95.00 | 95.18 | 95.09 | 12,346 |\n" in text
    assert "\n\n### spans_chunks per type (F)\n" in text


def test_files_of_the_same_name_are_told_apart_by_their_paths(write):
    first, second = write(PSA, "one/metrics.json"), write(CRF, "two/metrics.json")
    output = first.with_name("scores.md")
    assert run(first, second, "--output", output).exit_code == 0
    text = output.read_text(encoding="utf8")
    assert f"| {first} |" in text and f"| {second} |" in text


def test_scores_per_component_are_put_together(write):
    path = write({"tagger": {"tag_acc": 0.5}, "ner": {"ents_f": 0.25, "ents_per_type": {}}})
    main, *others = score_tables({"x": read_metrics(path)})
    assert main.rows == [["x", "50.00", "25.00"]]
    assert others == []


@pytest.mark.parametrize("key", ["genes", "roles"])
def test_reports_of_our_own_evaluation_are_read(write, key):
    figures = {"precision": 0.5, "recall": 0.25, "f1": 1 / 3}
    report = {"layer": f"spans['{key}']", **figures, "by_label": [{"name": "G", **figures}]}
    path = write({"title": "Evaluation", "reports": [report]})
    main, per_type = score_tables({"x": read_metrics(path)})
    assert main.header == ["", f"spans_{key}_p", f"spans_{key}_r", f"spans_{key}_f"]
    assert main.rows == [["x", "50.00", "25.00", "33.33"]]
    assert per_type.rows == [["G", "50.00", "25.00", "33.33"]]


def test_what_the_evaluators_of_the_shared_tasks_write_is_read(write):
    figures = {"precision": 0.5, "recall": 0.25, "f1": 0.25}
    conll = {**figures, "accuracy": 0.75, "per_type": {"NP": figures}}
    main, per_type = score_tables({"x": read_metrics(write(conll))})
    assert main.header == ["", "conll_p", "conll_r", "conll_f", "conll_acc"]
    assert main.rows == [["x", "50.00", "25.00", "25.00", "75.00"]]
    assert per_type.rows == [["NP", "50.00", "25.00", "25.00"]]
    roles = [
        {**figures, "complete": 0.5, "per_role": {"A0": figures}},
        {"srl_p": 0.5, "srl_r": 0.25, "srl_f": 0.25, "srl_per_role": {"A0": {"f": 0.25}}},
        {"reports": [{"layer": "roles", **figures, "by_label": [{"name": "A0", **figures}]}]},
    ]
    for data in roles:
        main, per_role = score_tables({"x": read_metrics(write(data))})
        assert main.header == ["", "srl_p", "srl_r", "srl_f"]
        assert main.rows == [["x", "50.00", "25.00", "25.00"]]
        assert (per_role.title, per_role.rows[0][-1]) == ("srl per type", "25.00")


def test_scores_per_type_that_are_none_are_left_out():
    main, *others = score_tables({"x": {"tag_acc": 0.5, "ents_per_type": [1]}})
    assert main.rows == [["x", "50.00"]]
    assert others == []


@pytest.mark.parametrize(
    "data",
    [
        *("no JSON", [1], {}, {"loss": 1.0}, {"tag_acc": None}, {"reports": [1, {}]}),
        *({"reports": 1}, {"reports": [{"layer": "ents", "by_label": None}]}),
        *({"reports": [{"layer": x, "by_label": [{"n": 1}]}]} for x in ("ents", 3)),
        {"precision": 1.0, "recall": 1.0, "f1": 1.0, "per_type": [1]},
    ],
)
def test_files_without_scores_are_errors(write, data):
    with pytest.raises(ValueError, match=r"P128.*psa\.json"):
        read_metrics(write(data))


def test_missing_files_are_errors(tmp_path):
    result = run(tmp_path / "nowhere.json")
    assert result.exit_code == 1
    assert "P109" in result.output
