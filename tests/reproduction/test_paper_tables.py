"""The tables of the papers with our results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spacy_psa.reproduction.paper_tables import Notes, needs, to_pages
from spacy_psa.reproduction.papers import read_papers
from spacy_psa.reproduction.results import Result, TrainingSettings

from .helpers import make_result

PAPERS = read_papers()


def to_page(results: Sequence[Result]) -> str:
    """All pages, one below the other."""
    return "\n".join(to_pages(PAPERS, results, "results").values())


def lines(results: Sequence[Result], start: str, title: str = "## Table 4. Overall") -> list[str]:
    """The lines of a table that begin with `start`."""
    _, _, text = to_page(results).partition(title)
    part, _, _ = text.partition("\n## ")
    return [line for line in part.splitlines() if line.startswith(start)]


def test_every_table_has_its_rows() -> None:
    page = to_page([])
    for place in PAPERS.contents:
        assert f"## {place.name}. {place.caption}\n" in page
    for table in PAPERS.tables:
        for row in table.rows:
            figure = "-" if row.figure is None else row.figure
            title = f"## {table.name}. {table.caption}"
            (line,) = lines([], f"| {row.label} | `{row.system}` |", title)
            assert str(figure) in line


def test_a_row_that_the_paper_has_in_a_plot_alone_has_no_difference() -> None:
    result = make_result("psa-window-2", 0, 0.9, corpus="conll2003", target="ents")
    (line,) = lines([result], "| k = 2 ", "## Fig. 5")
    assert line.startswith("| k = 2 | `psa-window-2` | - | - | ") and line.endswith(" | - | a |")


def test_cells_without_results_say_what_they_need() -> None:
    assert needs("conll2003", PAPERS.corpora) == "needs CoNLL-2003"
    assert needs("conll2000", PAPERS.corpora) == "not trained yet"
    (line,) = lines([], "| Our model")
    assert line == (
        "| Our model | `psa` | 95.09 ± 0.04 | 95.15 | not trained yet | - | - | - | - |"
    )
    (line,) = lines([], "| Our model", "## Table 2. Overall")
    assert "| needs CoNLL-2003 | - |" in line


def test_results_stand_beside_the_figures() -> None:
    results = [make_result("psa", seed, f1) for seed, f1 in enumerate((0.94, 0.95, 0.96))]
    (line,) = lines(results, "| Our model")
    assert line == (
        "| Our model | `psa` | 95.09 ± 0.04 | 95.15 | 95.00 ± 1.00 | 96.00 | 3 | \u22120.09 | a |"
    )
    assert lines(results, "Ours:") == ["Ours: a: 20 epochs, vectors mini (9 of width 3)."]
    assert str(TrainingSettings(1, "", "")).startswith("1 epoch,")
    (line,) = lines(results, "| Bi-LSTM-CRF")
    assert "not trained yet" in line


def test_other_trainings_have_lines_of_their_own() -> None:
    results = [
        make_result("psa", 0, 0.94),
        make_result("psa", 0, 0.96, max_epochs=40, vectors="", options="--a.b 1"),
    ]
    first, second = lines(results, "| Our model")
    assert first.endswith("| 94.00 | 94.00 | 1 | \u22121.09 | a |")
    assert second.endswith("| 96.00 | 96.00 | 1 | +0.91 | b |")
    (note,) = lines(results, "Ours:")
    assert note.endswith("b: 40 epochs, no pretrained vectors, `--a.b 1`.")


def test_a_result_counts_once_and_the_last_one_at_that() -> None:
    results = [make_result("psa", 0, 0.9), make_result("psa", 0, 0.95, config="newer")]
    (line,) = lines(results, "| Our model")
    assert "| 95.00 | 95.00 | 1 |" in line


def test_tags_of_another_kind_are_not_compared() -> None:
    title = "## Table 7. Multilingual"
    more = {"corpus": "ud-en"}
    results = [make_result("lan", 0, 0.95, target="pos", **more)]
    (line,) = lines(results, "| en: BiLSTM-LAN", title)
    assert "not trained yet" in line
    results = [make_result("lan", 0, 0.95, target="tag", **more)]
    (line,) = lines(results, "| en: BiLSTM-LAN", title)
    # Only the paper reports seconds
    assert line == (
        "| en: BiLSTM-LAN | `lan` | 95.59 ± 0.13 / 33.04 | - | 95.00 | 95.00 | 1 | \u22120.59 | a |"
    )


def test_every_figure_of_a_row_stands_beside_the_papers() -> None:
    scores = {"precision": 0.8, "recall": 0.9, "f1": 0.85, "accuracy": 0.7}
    more = {"corpus": "conll2005", "target": "roles"}
    results = [
        replace(make_result("deepatt", seed, 0.5, **more), test=scores, brown=scores)
        for seed in (0, 1)
    ]
    title = "## Table 1. Comparison"
    (line,) = lines(results, "| Brown test: DeepAtt (FFN)", title)
    ours = "80.00 ± 0.00 / 90.00 ± 0.00 / 85.00 ± 0.00 / 70.00 ± 0.00"
    assert f"| 73.5 / 74.6 / 74.1 / 48.4 | - | {ours} | 85.00 | 2 | +10.90 | a |" in line
    (head,) = lines(results, "| row", title)
    assert "paper: P / R / F1 / complete" in head and "ours: P / R / F1 / complete" in head
    (line,) = lines(results, "| combined: DeepAtt (FFN)", title)
    assert "needs brown.spacy" in line
    (line,) = lines(results, "| combined: DeepAtt (RNN)", title)
    assert "needs CoNLL-2005" in line


def test_parameters_are_told_in_millions() -> None:
    more = {"corpus": "ontonotes", "target": "ents"}
    results = [make_result("refinement", 0, 0.88, parameters={"all": 8_206_385}, **more)]
    (line,) = lines(results, "| L 1, d 600", "## Table 9. Influence of parameter size")
    assert "| 8.206385 / 88.65 | - | 8.21 / 88.00 | 88.00 | 1 | \u22120.65 | a |" in line


def test_scores_by_length_are_means_over_seeds() -> None:
    title = "## Fig. 4."
    results = [
        make_result("psa", seed, 0.95, lengths={"5–9": {"f1": f1}, "40+": {"f1": 0.9}})
        for seed, f1 in enumerate((0.8, 0.9))
    ]
    (line,) = lines(results, "| CoNLL-2000 | `psa`", title)
    expected = "| CoNLL-2000 | `psa` | - | 85.00 ± 7.07 | - | - | 90.00 ± 0.00 | 2 | a |"
    assert line == expected
    (line,) = lines([make_result("psa", 0, 0.95)], "| CoNLL-2000 | `psa`", title)
    assert line.startswith("| CoNLL-2000 | `psa` | trained, not scored by length |")
    (line,) = lines(results, "| CoNLL-2003 | `psa`", title)
    assert line.startswith("| CoNLL-2003 | `psa` | needs CoNLL-2003 |")


def test_what_other_commands_tell_has_its_commands() -> None:
    title = "## Table 6. Identifying"
    (line,) = lines([], "| DeepAtt", title)
    assert line == "| DeepAtt | 91.92 | 88.88 | needs CoNLL-2005 |"
    (command,) = lines([], "python", title)
    assert command.startswith("python -m spacy psa srl-eval corpus/conll2005/dev.spacy ")


def test_ablations_on_other_corpora_follow_their_table() -> None:
    results = [make_result("psa", 0, 0.94), make_result("psa-no-gaussian", 0, 0.93)]
    title = "## Table 7. Ablating"
    (line,) = lines(results, "The systems of this table", title)
    assert line == "The systems of this table on conll2000 spans:"
    rows = lines(results, "| `psa", title)
    assert rows == [
        "| `psa-no-gaussian` | 93.00 | 93.00 | 1 | a |",
        "| `psa` | 94.00 | 94.00 | 1 | a |",
    ]
    # A single system is no comparison.
    assert lines(results[:1], "The systems of this table", title) == []


def test_results_of_no_table_stand_at_the_end() -> None:
    page = to_page([make_result("mine", 0, 0.5, dev=0.6, corpus="wnut17", target="ents")])
    _, _, end = page.partition("# Other results")
    assert "## wnut17 ents" in end
    assert "| `mine` | 60.00 | 60.00 | 50.00 | 50.00 | 1 | a |" in end
    assert "# Other results" not in to_page([make_result("psa", 0, 0.5)])


def test_commands_name_corpus_language_and_target() -> None:
    page = to_page([])
    assert (
        "python -m spacy psa reproduce --corpus-name ud-no --target pos --lang nb "
        '--data corpus/ud/no --systems "lan-bilstm-crf lan-bilstm-softmax lan" '
        '--seeds "0 1 2 3 4" --vectors vectors/polyglot-64-nb '
        "--output metrics/reproduce.json"
    ) in page
    assert "--corpus-name conll2005 --target roles --data corpus/conll2005" in page


def test_each_training_has_letters_of_its_own() -> None:
    notes = Notes()
    letters = [notes.letter(TrainingSettings(epochs, "", "")) for epochs in range(60)]
    assert letters[:2] == ["a", "b"] and letters[25:28] == ["z", "aa", "bb"]
    assert len(set(letters)) == 60
    assert notes.letter(TrainingSettings(26, "", "")) == "aa"


def test_what_no_command_reproduces_is_listed_with_its_reason() -> None:
    _, _, text = to_page([]).partition("# What no command reproduces")
    assert "| Wang et al. (2021) | rows [E] of tables 2 to 6 | They need ELMo." in text
    assert {missing.paper for missing in PAPERS.missing} == set(PAPERS.papers)
