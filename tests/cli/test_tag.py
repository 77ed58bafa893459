"""`spacy psa tag`."""

from __future__ import annotations

from pathlib import Path

import pytest
import spacy
from spacy.cli._util import app
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab
from typer.testing import CliRunner

from spacy_psa.cli.annotate import format_doc

from .commands import plain, run, succeed


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rule-based pipeline, whose output is known."""
    nlp = spacy.blank("en")
    names = [
        {"label": "PER", "pattern": "Ann Lee"},
        {"label": "LOC", "pattern": "Berlin"},
    ]
    nlp.add_pipe("entity_ruler").add_patterns(names)
    nlp.add_pipe("span_ruler", config={"spans_key": "chunks"}).add_patterns(
        [{"label": "NP", "pattern": "green tea"}]
    )
    path = tmp_path_factory.mktemp("rules") / "pipeline"
    nlp.to_disk(path)
    return path


def rows(output: str) -> list[list[str]]:
    """The cells of each nonempty line of output."""
    return [line.split() for line in plain(output).splitlines() if line.strip()]


def test_texts_from_the_command_line(pipeline: Path) -> None:
    found = rows(succeed("psa", "tag", pipeline, "Ann Lee likes Berlin", "no names"))
    assert ["Ann", "PER"] in found
    assert ["Lee", "└"] in found
    assert ["likes"] in found
    assert ["Berlin", "LOC"] in found
    assert ["names"] in found


def test_texts_from_a_file(tmp_path: Path, pipeline: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("Berlin calls\n\n  green tea  \n", encoding="utf8")
    found = rows(succeed("psa", "tag", pipeline, "--file", path))
    assert ["Berlin", "LOC"] in found
    assert ["green", "NP"] in found and ["tea", "└"] in found
    titles = [" ".join(row[1:-1]) for row in found if len(row) > 2 and set(row[0]) == {"="}]
    assert titles == ["Berlin calls", "green tea"], "one table for each line that is not empty"


def test_texts_from_both_come_in_order(tmp_path: Path, pipeline: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("second\n", encoding="utf8")
    found = rows(succeed("psa", "tag", pipeline, "first", "--file", path))
    assert found.index(["first"]) < found.index(["second"])


@pytest.mark.parametrize("content", [None, "", "\n  \n"])
def test_nothing_to_tag_is_an_error(tmp_path: Path, pipeline: Path, content: str | None) -> None:
    arguments = []
    if content is not None:
        (tmp_path / "texts.txt").write_text(content, encoding="utf8")
        arguments = ["--file", tmp_path / "texts.txt"]
    result = run("psa", "tag", pipeline, "", " ", *arguments)
    assert result.exit_code == 1
    assert "[P140]" in result.output


def test_a_file_that_is_missing_is_an_error(tmp_path: Path, pipeline: Path) -> None:
    result = run("psa", "tag", pipeline, "--file", tmp_path / "absent.txt")
    assert result.exit_code == 1
    assert "[P109]" in result.output and "absent.txt" in result.output


def test_a_file_that_is_not_utf8_is_an_error(tmp_path: Path, pipeline: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_bytes("first\nZürich\n".encode("latin1"))
    result = run("psa", "tag", pipeline, "--file", path)
    assert result.exit_code == 1
    assert "[P113]" in result.output and "line 2" in " ".join(result.output.split())


def test_a_pipeline_that_is_missing_is_an_error() -> None:
    result = run("psa", "tag", "no_such_pipeline", "text")
    assert result.exit_code == 1
    assert "no_such_pipeline" in result.output
    assert isinstance(result.exception, SystemExit), "a message, no traceback"


def test_a_trained_pipeline_shows_tags_and_entities(trained: Path) -> None:
    nlp = spacy.load(trained / "model-best")
    text = "Mr. Lincoln said that shares in Canada moved higher ."
    expected = nlp(text)
    found = rows(succeed("psa", "tag", trained / "model-best", text))
    assert (["TAG", "ENTITY"] if expected.ents else ["TAG"]) in found
    assert [row[:2] for row in found[-len(expected) :]] == [[t.text, t.tag_] for t in expected]


def test_table_has_the_columns_that_are_annotated() -> None:
    doc = Doc(
        Vocab(),
        words=["Ann", "Lee", "likes", "green", "tea"],
        tags=["NNP", "NNP", "VBZ", "JJ", "NN"],
        morphs=["Number=Sing", "", "", "", ""],
        ents=["B-PER", "I-PER", "O", "O", "O"],
    )
    doc.spans["chunks"] = [Span(doc, 0, 2, "NP"), Span(doc, 2, 3, "VP"), Span(doc, 3, 5, "NP")]
    doc.spans["empty"] = []
    found = rows(format_doc(doc))
    assert found[0] == ["TAG", "MORPH", "ENTITY", "CHUNKS"]
    assert found[2:] == [
        ["Ann", "NNP", "Number=Sing", "PER", "NP"],
        ["Lee", "NNP", "└", "└"],
        ["likes", "VBZ", "VP"],
        ["green", "JJ", "NP"],
        ["tea", "NN", "└"],
    ]


def test_long_spans_have_a_bar_down_to_their_end() -> None:
    doc = Doc(Vocab(), words=["New", "York", "City", "calls"])
    doc.set_ents([Span(doc, 0, 3, "LOC")])
    found = rows(format_doc(doc))
    assert found[2:] == [["New", "LOC"], ["York", "│"], ["City", "└"], ["calls"]]


def test_spans_that_overlap_are_all_shown() -> None:
    doc = Doc(Vocab(), words=["New", "York", "City", "calls"])
    doc.spans["chunks"] = [Span(doc, 1, 2, "IN"), Span(doc, 0, 3, "OUT"), Span(doc, 0, 1, "ADJ")]
    found = rows(format_doc(doc))
    assert found[2:] == [["New", "ADJ+OUT"], ["York", "IN"], ["City", "└"], ["calls"]]


def test_words_alone_if_nothing_is_annotated() -> None:
    assert rows(format_doc(Doc(Vocab(), words=["a", "b"])))[-2:] == [["a"], ["b"]]


def test_bytes_that_are_no_text_are_replaced(pipeline: Path) -> None:
    assert ["\ufffd"] in rows(succeed("psa", "tag", pipeline, "Berlin \udcff"))


def test_what_a_terminal_cannot_show_is_a_question_mark(pipeline: Path) -> None:
    arguments = ["psa", "tag", str(pipeline), "東 Ann Lee"]
    result = CliRunner(charset="cp1252").invoke(app, arguments)
    assert result.exit_code == 0, result.exception
    found = rows(result.stdout_bytes.decode("cp1252"))
    assert ["?"] in found and ["Ann", "PER"] in found and ["Lee", "?"] in found


def test_long_words_leave_columns_where_they_are(pipeline: Path) -> None:
    nlp = spacy.load(pipeline)
    doc = nlp("See https://www.example.com/a/very/long/path/that/goes/on.html in Berlin")
    lines = [line.rstrip() for line in format_doc(doc).splitlines() if line]
    place = lines[0].index("ENTITY")
    assert lines[-1].index("LOC") == place
    assert not any(line[place - 3 : place].strip() for line in lines)


def test_roles_need_predicates(monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("psa_srl")
    monkeypatch.setattr("spacy_psa.cli.annotate.load_pipeline", lambda path: nlp)
    assert "no predicates" in plain(succeed("psa", "tag", ".", "Ann ran"))
