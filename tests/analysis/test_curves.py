"""Training curves from logs."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from spacy_psa.analysis.curves import draw_curves, make_page, training_curves
from spacy_psa.analysis.training_logs import Evaluation, Run, read_run
from spacy_psa.figures.charts import _looks

CONSOLE = """\
ℹ Pipeline: ['psa_tagger']
E    #       LOSS PSA_T...  SPANS_CHUN...  SPANS_CHUN...  SPEED   SCORE \n\
---  ------  -------------  -------------  -------------  ------  ------
  0       0          90.56           3.08           2.78  500.00    0.03
  1      10        1000.00          88.20          87.88  501.00    0.88
  2      20         450.00          91.00          90.69  502.00    0.91
✔ Saved pipeline to output directory
"""


def entry(step: int, **changes: Any) -> dict[str, Any]:
    """A log entry of a run with ten steps per epoch."""
    line = {
        "step": step,
        "epoch": step // 10,
        "words": 100 * (step + 1),
        "seconds": step,
        "losses": {"tagger": 5.0 * (step or 1)},
        "score": 0.8 + 0.001 * step,
        "scores": {"tag_acc": 0.9, "ents_f": 0.7},
        "learn_rate": 0.1,
        "sentences_per_second": 10.0,
    }
    return {**line, **changes}


def write_log(path: Path, *entries: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(e) + "\n" for e in entries), encoding="utf8")
    return path


def run(name: str = "run", *, components: tuple[str, ...] = ("tagger",), n: int = 4) -> Run:
    """A run with scores from 80 %, evaluated at the first step of each ten-step epoch."""
    return Run(
        name,
        [
            Evaluation(10 * i, i, 0.8 + 0.01 * i, {"tag_acc": 0.9}, dict.fromkeys(components, 20.0))
            for i in range(n)
        ],
    )


def test_lines_of_json_are_read(tmp_path: Path) -> None:
    write_log(tmp_path / "my-run" / "train.jsonl", entry(0), entry(10))
    found = read_run(tmp_path / "my-run")
    assert found.name == "my-run"
    assert [e.step for e in found.evaluations] == [0, 10]
    assert found.evaluations[1] == Evaluation(
        10, 1, 0.81, {"tag_acc": 0.9, "ents_f": 0.7}, {"tagger": 50.0}
    )


def test_the_files_of_spacys_logger_are_read(tmp_path: Path) -> None:
    line = {"epoch": 1, "step": 10, "losses": {"tagger": 2.0}, "score": 0.8}
    write_log(tmp_path / "console.jsonl", {**line, "scores": {"tag_acc": 80.0, "speed": 900.0}})
    found = read_run(tmp_path / "console.jsonl")
    assert found.name == "console"
    assert found.evaluations[0].scores == {"tag_acc": 0.8, "speed": 900.0}


def test_what_spacy_prints_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(CONSOLE, encoding="utf8")
    found = read_run(tmp_path / "a.log")
    assert [(e.epoch, e.step) for e in found.evaluations] == [(0, 0), (1, 10), (2, 20)]
    assert [e.losses for e in found.evaluations][2] == {"psa_t...": 450.0}
    assert found.evaluations[1].scores["spans_chun... (2)"] == pytest.approx(0.8788)


def test_a_column_that_agrees_with_the_rounded_score_is_more_precise(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(CONSOLE, encoding="utf8")
    assert [e.score for e in read_run(tmp_path / "a.log").evaluations] == [0.0308, 0.8820, 0.9100]
    (tmp_path / "b.log").write_text(CONSOLE.replace("0.91\n", "0.50\n"), encoding="utf8")
    assert [e.score for e in read_run(tmp_path / "b.log").evaluations] == [0.03, 0.88, 0.5]


def test_colours_and_progress_bars_do_not_disturb(tmp_path: Path) -> None:
    noisy = CONSOLE.replace("  1      10", "\r 40%|####  | 4/10 [00:01<00:02]\r\x1b[0m  1      10")
    (tmp_path / "a.log").write_text(noisy, encoding="utf8")
    assert [e.step for e in read_run(tmp_path / "a.log").evaluations] == [0, 10, 20]


def test_the_last_of_repeated_steps_count(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(CONSOLE + CONSOLE.replace("0  0", "5  5"), encoding="utf8")
    assert [e.step for e in read_run(tmp_path / "a.log").evaluations] == [0, 10, 20]
    again = [entry(0), entry(10), entry(20), entry(10, score=0.5)]
    found = read_run(write_log(tmp_path / "b.jsonl", *again))
    assert [(e.step, e.score) for e in found.evaluations] == [(0, 0.8), (10, 0.5)]


def test_scores_and_losses_without_a_number_are_not_known(tmp_path: Path) -> None:
    unknown = {"score": None, "scores": {"tag_acc": None}, "losses": {"tagger": None}}
    for changes in (unknown, {**unknown, "losses": {"tagger": math.nan}}):
        found = read_run(write_log(tmp_path / "a.jsonl", entry(0), entry(10, **changes)))
        last = found.evaluations[1]
        for value in (last.score, last.scores["tag_acc"], last.losses["tagger"]):
            assert math.isnan(value)


def test_half_a_line_is_left_out(tmp_path: Path) -> None:
    path = write_log(tmp_path / "a.jsonl", entry(0), entry(10))
    path.write_text(path.read_text()[:-20], encoding="utf8")
    assert [e.step for e in read_run(path).evaluations] == [0]


def test_damaged_lines_in_the_middle_are_counted(tmp_path: Path) -> None:
    path = write_log(tmp_path / "a.jsonl", entry(0), entry(10), entry(20), entry(30))
    first, second, third, last = path.read_text(encoding="utf8").splitlines()
    path.write_text(f"{first}\n{second[:-9]}\n\n{third[:-9]}\n{last}\n", encoding="utf8")
    with pytest.warns(UserWarning, match=r"W453.*2 line\(s\).*line 2"):
        assert [e.step for e in read_run(path).evaluations] == [0, 30]


@pytest.mark.parametrize(
    "changes",
    [
        *({"scores": None}, {"losses": [1.0]}, {"step": None}, {"step": "a"}, {"epoch": "a"}),
        *({"epochs": "a"}, {"step": math.nan}, {"score": 10**400}),
    ],
)
def test_lines_that_are_no_evaluation_are_an_error_that_names_them(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    path = write_log(tmp_path / "a.jsonl", entry(0), {**entry(10), **changes}, entry(20))
    path.write_text(path.read_text().replace("\n", "\r\n"), encoding="utf8", newline="")
    with pytest.raises(ValueError, match=r"\[P145\].*a\.jsonl, line 2: "):
        read_run(path)


@pytest.mark.parametrize("content", ["", "no table\n", "{}\n", "E    #   SCORE\n"])
def test_files_without_evaluations_are_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.log").write_text(content, encoding="utf8")
    with pytest.raises(ValueError, match=r"\[P293\].*a\.log"):
        read_run(tmp_path / "a.log")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_logs_that_windows_has_written_are_read(tmp_path: Path, encoding: str) -> None:
    texts = {"a.log": CONSOLE, "b.jsonl": "\n".join(json.dumps(entry(step)) for step in (0, 10))}
    for name, text in texts.items():
        (tmp_path / name).write_text(text.replace("\n", "\r\n"), encoding=encoding, newline="")
    assert [e.step for e in read_run(tmp_path / "a.log").evaluations] == [0, 10, 20]
    assert [e.step for e in read_run(tmp_path / "b.jsonl").evaluations] == [0, 10]


def test_missing_logs_are_an_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(ValueError, match=r"\[P292\]"):
            read_run(path)


def test_scores_are_drawn_by_epoch_in_percent() -> None:
    scores, _ = training_curves([run()])
    assert scores.x_label == "epochs"
    xs, ys = zip(*scores.series["run"], strict=True)
    assert xs == pytest.approx((1.1, 2.1, 3.1))
    assert ys == pytest.approx((81.0, 82.0, 83.0))


def test_losses_are_those_of_one_update() -> None:
    _, losses = training_curves([run()])
    assert [y for _, y in losses.series["run"]] == [2.0, 2.0, 2.0]


def test_epochs_that_were_logged_are_taken_as_they_are(tmp_path: Path) -> None:
    path = write_log(tmp_path / "a.jsonl", entry(0, epochs=0.1), entry(40, epochs=3.5))
    assert read_run(path).epochs == [0.1, 3.5]


def test_steps_are_the_axis_if_they_are_asked_for_or_all_that_is_known() -> None:
    asked, _ = training_curves([run()], by="step")
    assert [x for x, _ in asked.series["run"]] == [10, 20, 30]
    early = Run("early", [Evaluation(s, 0, 0.5, {}, {"tagger": 1.0}) for s in (0, 4, 8)])
    known, _ = training_curves([run(), early])
    assert known.x_label.startswith("steps")
    assert [x for x, _ in known.series["early"]] == [4, 8]


def test_curves_can_begin_later() -> None:
    scores, losses = training_curves([run()], start=2.0)
    assert len(scores.series["run"]) == len(losses.series["run"]) == 2


def test_a_start_after_the_end_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"\[P298\].*'run'.*9"):
        training_curves([run()], start=9.0)


def test_the_only_evaluation_is_drawn() -> None:
    scores, _ = training_curves([run(n=1)])
    assert len(scores.series["run"]) == 1


def test_losses_of_several_components_have_a_curve_each() -> None:
    _, losses = training_curves([run("a", components=("tok2vec", "ner")), run("b")])
    assert set(losses.series) == {"a: tok2vec", "a: ner", "b: tagger"}


def test_a_score_can_be_chosen() -> None:
    scores, _ = training_curves([run()], score="tag_acc")
    assert {y for _, y in scores.series["run"]} == {90.0}
    assert scores.y_label == "tag_acc on dev (%)"


def test_a_score_is_found_by_the_name_that_spacy_has_shortened() -> None:
    evaluation = Evaluation(0, 0, 0.1, {"ents_per_t...": 0.2, "x...": 0.3, "x... (2)": 0.4}, {})
    assert evaluation.score_of("ents_per_type") == 0.2
    assert evaluation.score_of("x... (2)") == 0.4
    assert evaluation.score_of("xyz") is None


def diverged(*, score: float) -> Run:
    """A run whose loss is a number at the first step only."""
    losses = [20.0, math.nan, math.nan, math.nan]
    evaluations = [Evaluation(10 * i, i, score, {}, {"t": loss}) for i, loss in enumerate(losses)]
    return Run("run", evaluations)


def test_a_plot_without_a_number_is_left_out_with_a_warning() -> None:
    run = diverged(score=0.5)
    with pytest.warns(UserWarning, match=r"\[P280\].*'Training loss by epoch'"):
        plots = training_curves([run])
    assert [plot.title for plot in plots] == ["Score by epoch"]
    assert make_page(plots, [run]).count("<svg") == 1


def test_nothing_to_draw_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"\[P280\].*'Score by epoch'"):
        training_curves([diverged(score=math.nan)])


def test_the_table_leaves_out_scores_that_are_not_known() -> None:
    page = make_page([], [run(), diverged(score=math.nan)])
    assert "run</th><td>4</td><td>83.00</td><td>30</td><td>83.00</td>" in page
    assert "run</th><td>4</td><td>-</td><td>-</td><td>-</td>" in page


def test_unknown_scores_are_an_error_that_names_the_others() -> None:
    with pytest.raises(ValueError, match=r"\[P296\].*'run' has no score 'las'.*tag_acc"):
        training_curves([run()], score="las")


def test_unknown_axes_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"\[P294\].*'hour'"):
        training_curves([run()], by="hour")


def test_both_plots_are_in_the_image() -> None:
    svg = draw_curves(training_curves([run("PSA"), run("LAN")]))
    found = [node.text for node in ElementTree.fromstring(svg).iter() if node.text]
    assert {"Score by epoch", "Training loss by epoch", "PSA", "LAN", "epochs"} <= set(found)


def test_the_page_has_the_best_scores_and_loads_nothing() -> None:
    runs = [run("PSA & <friends>"), run("LAN")]
    page = make_page(training_curves(runs), runs)
    assert 'name="viewport"' in page and page.count("<table") == page.count('<div class="wide"')
    assert "PSA &amp; &lt;friends&gt;</th><td>4</td><td>83.00</td><td>30</td>" in page
    assert "<p>The best score of 2 runs is 83.00 %, by PSA &amp; &lt;friends&gt; at step" in page
    assert page.count("<svg") == 2
    assert not re.search(r"<script|<link|src=|@import|url\(", page)


def test_a_run_has_one_look_in_all_plots() -> None:
    runs = [run("a"), run("b", components=("tok2vec", "ner")), run("c")]
    scores, losses = training_curves(runs)
    looks = [_looks(plot.series, plot.owners) for plot in (scores, losses)]
    for name, (color, _, mark) in looks[1].items():
        expected = looks[0][losses.owners[name]]
        assert (color, mark) == (expected[0], expected[2]), name
    assert len({looks[0][name][0] for name in "abc"}) == 3
    assert len({str(look) for look in looks[1].values()}) == len(looks[1])


@pytest.mark.parametrize("steps", [(0, 10), (30, 40), (5, 15)])
def test_losses_are_divided_by_their_own_updates_if_a_log_begins_later(
    steps: tuple[int, ...],
) -> None:
    evaluations = [Evaluation(step, 0, 0.5, {}, {"tagger": 10.0}) for step in steps]
    loss = training_curves([Run("run", evaluations)], by="step")[-1]
    begun = {0: [], 30: [(30, 1.0)], 5: [(5, 10 / 6)]}[steps[0]]
    assert loss.series["run"] == [*begun, (steps[1], 1.0)]


def test_a_single_loss_of_a_training_that_went_on_has_no_mean() -> None:
    run = Run("run", [Evaluation(30, 0, 0.5, {}, {"tagger": 10.0})])
    with pytest.warns(UserWarning, match="P280"):
        assert len(training_curves([run], by="step")) == 1
