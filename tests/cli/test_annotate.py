"""`psa annotate`."""

from __future__ import annotations

import gzip
import importlib
import json
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.cli._util import app
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from typer.testing import CliRunner

from spacy_psa.cli._tasks import FORMATS, Suggestion
from spacy_psa.cli.annotate import annotate, annotate_cli
from spacy_psa.pipeline.tagger import PSATagger

from ..pipeline.conftest import NAME, WORDS, initialized_nlp, trained_nlp
from .commands import contents, failure, run, succeed

annotate_module = importlib.import_module("spacy_psa.cli.annotate")

TEXTS = [" ".join(words) for words in WORDS]


@pytest.fixture(scope="module")
def nlp() -> Language:
    return trained_nlp("ents")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, nlp: Language) -> Path:
    path = tmp_path_factory.mktemp("model") / "ents"
    nlp.to_disk(path)
    return path


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS) + "\n\n  \n", encoding="utf8")
    return path


def tagger(nlp: Language) -> PSATagger:
    return nlp.get_pipe(NAME)


def tasks(*arguments: object) -> list[dict[str, Any]]:
    """The tasks that the command prints, one per line."""
    result = run("psa", "annotate", *arguments)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_prodigy_tasks(nlp: Language, model: Path, texts: Path) -> None:
    found = tasks(model, texts)
    assert [task["text"] for task in found] == TEXTS
    for task, doc in zip(found, nlp.pipe(TEXTS), strict=True):
        text = task["text"]
        assert [text[t["start"] : t["end"]] for t in task["tokens"]] == [t.text for t in doc]
        assert [t["id"] for t in task["tokens"]] == list(range(len(doc)))
        assert [t["ws"] for t in task["tokens"]] == [bool(t.whitespace_) for t in doc]
        assert [
            (text[s["start"] : s["end"]], s["label"], s["token_start"], s["token_end"] + 1)
            for s in task["spans"]
        ] == [(ent.text, ent.label_, ent.start, ent.end) for ent in doc.ents]


def test_scores_are_those_of_the_component(nlp: Language, model: Path, texts: Path) -> None:
    docs = [nlp.make_doc(text) for text in TEXTS]
    best, entropies = tagger(nlp).nbest(docs, 1), tagger(nlp).entropy(docs)
    spans = tagger(nlp).span_probs(docs, [labelings[0].spans for labelings in best])
    for i, task in enumerate(tasks(model, texts)):
        assert [span["score"] for span in task["spans"]] == pytest.approx(spans[i], abs=1e-5)
        assert task["meta"] == {
            "score": pytest.approx(best[i][0].probability, abs=1e-5),
            "uncertainty": pytest.approx(entropies[i] / len(docs[i]), abs=1e-5),
        }


def test_label_studio_tasks(nlp: Language, model: Path, texts: Path) -> None:
    output = succeed("psa", "annotate", model, texts, "--format", "label-studio", "--nbest", 2)
    found = json.loads(output)
    assert [task["data"]["text"] for task in found] == TEXTS
    for task, doc in zip(found, nlp.pipe(TEXTS), strict=True):
        first, second = task["predictions"]
        assert (first["model_version"], second["model_version"]) == (NAME, f"{NAME} #2")
        assert 1.0 >= first["score"] >= second["score"] > 0.0
        values = [region["value"] for region in first["result"]]
        assert [(v["text"], v["labels"]) for v in values] == [
            (ent.text, [ent.label_]) for ent in doc.ents
        ]
        assert all(doc.text[v["start"] : v["end"]] == v["text"] for v in values)
        for region in first["result"]:
            assert 0.0 < region["score"] <= 1.0
            assert (region["from_name"], region["to_name"], region["type"]) == (
                "label",
                "text",
                "labels",
            )
        ids = [region["id"] for p in task["predictions"] for region in p["result"]]
        assert len(set(ids)) == len(ids)


def test_doccano_tasks(nlp: Language, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    lines = ({"text": text, "id": 7, "meta": {"source": "a"}} for text in TEXTS)
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf8")
    found = tasks(model, path, "--format", "doccano", "--nbest", 2)
    for task, same in zip(found, tasks(model, path, "--nbest", 2), strict=True):
        assert (task["text"], task["id"], task["meta"]) == (same["text"], 7, same["meta"])
        assert task["meta"].keys() == {"source", "score", "uncertainty"}
        doc = nlp(task["text"])
        assert task["label"] == [[x.start_char, x.end_char, x.label_] for x in doc.ents]
        (one,), (other,) = task["alternatives"], same["alternatives"]
        assert one["score"] == other["score"]
        assert one["label"] == [[x["start"], x["end"], x["label"]] for x in other["spans"]]
        assert task.keys() == {"text", "id", "meta", "label", "alternatives"}
    assert any(task["label"] for task in found)


def test_what_is_not_a_span_under_the_key_of_spans_is_counted(tmp_path: Path, model: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text(json.dumps({"text": "Ann", "label": "NEWS"}), encoding="utf8")
    result = run("psa", "annotate", model, path, "--format", "doccano")
    assert "1 of 1 texts had an annotation" in " ".join(result.stderr.split())
    assert tasks(model, path)[0]["label"] == "NEWS"


@pytest.mark.parametrize("target", ["tag", "pos", "morph"])
def test_tokens_have_a_span_each(target: str, tmp_path: Path, texts: Path) -> None:
    nlp = initialized_nlp(target)
    found = annotate(nlp, NAME, str(texts))
    assert [len(suggestion.labelings[0][1]) for suggestion in found] == list(map(len, WORDS))
    for suggestion, doc in zip(found, nlp.pipe(TEXTS), strict=True):
        rows = tagger(nlp).marginals([suggestion.doc])[0]
        columns = tagger(nlp).marginal_labels
        for i, span in enumerate(suggestion.labelings[0][1]):
            assert (span.start, span.end) == (i, i + 1)
            assert span.label == tagger(nlp).target.read(doc[i])
            assert span.score == pytest.approx(rows[i, columns.index(span.label)], abs=1e-5)


def test_the_most_uncertain_texts_come_first(model: Path, texts: Path) -> None:
    plain, found = tasks(model, texts), tasks(model, texts, "--sort-by-uncertainty")
    expected = sorted(plain, key=lambda task: task["meta"]["uncertainty"], reverse=True)
    assert found == expected != plain
    assert tasks(model, texts, "-s", "--limit", 2) == expected[:2]


def test_of_many_texts_only_those_to_write_stay_in_memory(
    nlp: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "many.txt"
    path.write_text("\n".join(TEXTS * 20), encoding="utf8")
    made, alive = list[weakref.ref](), list[int]()
    suggestions = annotate_module.suggestions

    def counted(*args: Any) -> Iterator[Suggestion]:
        for suggestion in suggestions(*args):
            made.append(weakref.ref(suggestion))
            alive.append(sum(found() is not None for found in made))
            yield suggestion

    monkeypatch.setattr(annotate_module, "suggestions", counted)
    monkeypatch.setattr(nlp, "batch_size", 4)
    found = annotate(nlp, NAME, str(path), sort=True, limit=3)
    assert len(found) == 3
    assert len(made) == 20 * len(TEXTS)
    assert max(alive) <= 3 + 3


def test_limit(model: Path, texts: Path) -> None:
    assert [task["text"] for task in tasks(model, texts, "--limit", 2)] == TEXTS[:2]


def test_alternatives_are_less_probable(model: Path, texts: Path) -> None:
    for task in tasks(model, texts, "--nbest", 3):
        scores = [task["meta"]["score"], *(other["score"] for other in task["alternatives"])]
        assert len(scores) == 3
        assert scores == sorted(scores, reverse=True)
        assert all(other["spans"] != task["spans"] for other in task["alternatives"])
    assert "alternatives" not in tasks(model, texts)[0]


def test_thresholds_hold_nothing_back(texts: Path) -> None:
    nlp = trained_nlp("ents")
    expected = annotate(nlp, NAME, str(texts))
    tagger(nlp).cfg["threshold"] = 1.0
    found = annotate(nlp, NAME, str(texts))
    assert [one.labelings for one in found] == [one.labelings for one in expected]


def test_earlier_components_are_heard(texts: Path) -> None:
    nlp = trained_nlp("ents")
    nlp.add_pipe("entity_ruler", first=True).add_patterns([{"label": "LOC", "pattern": "Ann Lee"}])
    spans = annotate(nlp, NAME, str(texts))[0].labelings[0][1]
    assert (spans[0].start, spans[0].end, spans[0].label) == (0, 2, "LOC")
    assert spans[0].score == pytest.approx(1.0, abs=1e-6)


def test_json_lines_keep_what_came_with_the_text(tmp_path: Path, model: Path) -> None:
    path = tmp_path / "texts.jsonl"
    records = [
        {"text": "Ann \u00e9  saw\nBerlin", "meta": {"source": "a"}, "id": 7},
        {"text": " "},
        {"text": "Bob", "spans": [{"label": "old"}], "meta": None},
        {"text": "Ulm", "meta": "b"},
    ]
    path.write_text("\n".join(map(json.dumps, records)) + "\n\n", encoding="utf8")
    first, second, third = tasks(model, path)
    assert (first["text"], first["id"], first["meta"]["source"]) == (records[0]["text"], 7, "a")
    assert second["text"] == "Bob" and {"label": "old"} not in second["spans"]
    assert "meta" not in second["meta"] and third["meta"]["meta"] == "b"
    studio = json.loads(run("psa", "annotate", model, path, "-f", "label-studio").stdout)
    assert studio[0]["data"]["id"] == 7


SPAN = [0, 3, "OLD"]
VALUE = {"start": 0, "end": 3, "labels": ["OLD"]}
STUDIO = {"id": 1, "result": [{"type": "labels", "value": VALUE}]}
ANNOTATED: list[dict[str, Any]] = [
    {"text": "Ann ran", "label": [SPAN], "relations": [{"id": 0}]},
    {"text": "Ann ran", "labels": []},
    {"text": "Ann ran", "entities": [{"start_offset": 0, "end_offset": 3, "label": "OLD"}]},
    {"text": "Ann ran", "spans": [{"start": 0, "end": 3, "label": "OLD"}], "answer": "reject"},
    {"text": "Ann ran", "answer": "ignore"},
    {"text": "Ann ran", "ner": [VALUE], "label": [VALUE], "annotation_id": 3},
    {"data": {"text": "Ann ran"}, "annotations": [STUDIO], "predictions": [STUDIO]},
    {"data": {"text": "Ann ran"}, "completions": [STUDIO], "drafts": []},
    {"data": "Ann ran", "label": [SPAN]},
]
OTHER = {
    "text": "Bob ran",
    "labels": ["a"],
    "entities": [{"id": "Q42"}],
    "answer": "Rome",
    "relations": "x",
}


@pytest.mark.parametrize("form", FORMATS)
def test_suggestions_replace_the_annotation_of_texts(
    tmp_path: Path, model: Path, form: str
) -> None:
    path, output = tmp_path / "texts.jsonl", tmp_path / "tasks.jsonl"
    lines = [{"id": i, **record} for i, record in enumerate([*ANNOTATED, OTHER])]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf8")
    message = succeed("psa", "annotate", model, path, "--format", form, "--output", output)
    assert "9 of 10 texts had an annotation" in " ".join(message.split())
    written = output.read_text(encoding="utf8")
    assert "OLD" not in written
    found = json.loads(written if form == "label-studio" else f"[{','.join(written.splitlines())}]")
    *replaced, other = [task.get("data", task) for task in found]
    added = {"text", "tokens", "spans", "meta", "uncertainty", "label"}
    assert [data.keys() - added for data in replaced] == [{"id"}] * len(ANNOTATED)
    assert all("label" not in data for data in replaced) or form == "doccano"
    assert {key: other.get(key) for key in OTHER} == OTHER


@pytest.mark.parametrize("form", FORMATS)
def test_tasks_exported_by_label_studio(tmp_path: Path, model: Path, form: str) -> None:
    path = tmp_path / "export.json"
    others = {"source": "a", "file_upload": "b.txt", "id": 5}
    task = {
        **{"id": 5, "file_upload": "b.txt", "data": {"text": TEXTS[0], "source": "a"}},
        **{"annotations": [], "drafts": [], "predictions": [STUDIO]},
    }
    path.write_text(json.dumps([task, {**task, "annotations": [STUDIO]}], indent=1), "utf8")
    output = tmp_path / "tasks.jsonl"
    message = succeed("psa", "annotate", model, path, "--format", form, "--output", output)
    assert "1 of 2 texts had an annotation" in " ".join(message.split())
    written = output.read_text(encoding="utf8")
    found = json.loads(written if form == "label-studio" else f"[{','.join(written.splitlines())}]")
    first, second = (task.get("data", task) for task in found)
    assert first == second and first["text"] == TEXTS[0] and "OLD" not in written
    assert {key: first.get(key) for key in others} == others
    assert not first.keys() & {"annotations", "drafts", "predictions"}


def test_a_task_without_a_text_names_its_keys(tmp_path: Path, model: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps([{"id": 1, "data": {"body": "Ann"}}]), encoding="utf8")
    message = failure("psa", "annotate", model, path)
    assert "[P352]" in message and "task 1 (id 1)" in message and "its keys: id, body" in message


@pytest.mark.parametrize("form", FORMATS)
def test_alternatives_of_an_earlier_run_are_replaced(
    tmp_path: Path, model: Path, texts: Path, form: str
) -> None:
    path = tmp_path / "tasks.jsonl"
    for first in ("prodigy", "doccano"):
        succeed("psa", "annotate", model, texts, "-f", first, "--nbest", 2, "--output", path)
        assert "alternatives" in path.read_text(encoding="utf8")
        assert "alternatives" not in succeed("psa", "annotate", model, path, "--format", form)
    path.write_text(json.dumps({"text": "Ann", "alternatives": ["Anne"]}), encoding="utf8")
    assert '"Anne"' in succeed("psa", "annotate", model, path, "--format", form)


def test_standard_output_has_the_tasks_alone(tmp_path: Path, model: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text(json.dumps(ANNOTATED[0]), encoding="utf8")
    result = run("psa", "annotate", model, path)
    assert json.loads(result.stdout)["text"] == "Ann ran"
    assert "1 of 1 texts had an annotation" in " ".join(result.stderr.split())


@pytest.mark.parametrize("name", ["texts.txt.gz", "texts.jsonl.gz"])
def test_compressed_files(tmp_path: Path, model: Path, name: str) -> None:
    lines = [json.dumps({"text": text}) for text in TEXTS] if "json" in name else TEXTS
    (tmp_path / name).write_bytes(gzip.compress("\n".join(lines).encode("utf8")))
    assert [task["text"] for task in tasks(model, tmp_path / name)] == TEXTS


def test_docbins_keep_their_tokens_and_nothing_else(tmp_path: Path, model: Path) -> None:
    vocab, words = spacy.blank("en").vocab, ["Ann-Lee", "saw", "."]
    docs = [Doc(vocab, words=words, spaces=[True, False, False]) for _ in range(2)]
    docs[1].set_ents([Span(docs[1], 0, 3, "LOC")])
    DocBin(docs=docs).to_disk(tmp_path / "texts.spacy")
    plain, annotated = tasks(model, tmp_path / "texts.spacy")
    assert [token["text"] for token in plain["tokens"]] == words
    assert annotated == plain


def test_standard_input(model: Path) -> None:
    words = ["psa", "annotate", str(model), "-"]
    result = CliRunner().invoke(app, words, input="Ann saw Bob .\n\rBerlin\rUlm\r\n")
    found = [json.loads(line) for line in result.output.splitlines()]
    assert [task["text"] for task in found] == ["Ann saw Bob .", "Berlin", "Ulm"]
    result = CliRunner().invoke(app, words, input="\ufeffAnn\n".encode())
    assert json.loads(result.output)["text"] == "Ann"
    for bad, code in ((b"\xff\n", "P113"), ("Ann".encode("utf-16-le"), "P114")):
        result = CliRunner().invoke(app, words, input=b"Ann\n" + bad)
        assert result.exit_code == 1
        assert f"[{code}]" in result.output and "standard input, line 2" in result.output


def test_standard_output_has_a_name(
    texts: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    named = run("psa", "annotate", model, texts, "--output", "-")
    assert named.stdout == run("psa", "annotate", model, texts).stdout
    assert contents(tmp_path) == before


def test_output_is_written_whole_or_not_at_all(tmp_path: Path, model: Path) -> None:
    path, output = tmp_path / "texts.jsonl", tmp_path / "new" / "tasks.jsonl"
    path.write_text('{"text": "Ann"}\n{"text": "Bob"}\n', encoding="utf8")
    message = succeed("psa", "annotate", model, path, "--output", output)
    assert "2 texts" in message
    before = output.read_bytes()
    assert [json.loads(line)["text"] for line in before.splitlines()] == ["Ann", "Bob"]
    path.write_text('{"text": "Ann"}\n{"text": \n', encoding="utf8")
    assert run("psa", "annotate", model, path, "--output", output).exit_code == 1
    assert output.read_bytes() == before
    assert [file.name for file in output.parent.iterdir()] == ["tasks.jsonl"]


@pytest.mark.parametrize(
    "line",
    [
        '{"text": ',
        "[1]",
        '{"txt": "a"}',
        '{"text": 1}',
        '{"text": "\\ud800"}',
        "[" * 9999,
        '{"text": "a", "x": NaN}',
        '{"text": "a", "x": [-1e999]}',
    ],
)
def test_malformed_lines_are_an_error_that_tells_where(
    tmp_path: Path, model: Path, line: str
) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text(f'{{"text": "Ann"}}\n\n{line}\n', encoding="utf8")
    result = run("psa", "annotate", model, path)
    assert result.exit_code == 1
    output = " ".join(result.output.split())
    assert "[P352]" in output and "texts.jsonl, line 3" in output


def test_the_keys_are_named_where_none_is_that_of_the_text(tmp_path: Path, model: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text('{"id": 1, "body": "Ann"}\n', encoding="utf8")
    message = failure("psa", "annotate", model, path)
    assert "[P352]" in message and 'the key "text" (its keys: id, body)' in message
    assert "line 1" in message


@pytest.mark.parametrize("content", ["", "\n  \n"])
@pytest.mark.parametrize("name", ["texts.txt", "texts.jsonl"])
def test_nothing_to_annotate_is_an_error(
    tmp_path: Path, model: Path, name: str, content: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf8")
    result = run("psa", "annotate", model, tmp_path / name)
    assert result.exit_code == 1 and "[P353]" in result.output


@pytest.mark.parametrize("name", ["texts.csv", "texts", "texts.spacy.gz"])
def test_other_files_are_an_error(model: Path, name: str) -> None:
    result = run("psa", "annotate", model, name)
    assert result.exit_code == 1 and "[P354]" in result.output


@pytest.mark.parametrize("name", ["none.txt", "none.jsonl", "none.spacy"])
def test_missing_files_are_an_error(tmp_path: Path, model: Path, name: str) -> None:
    result = run("psa", "annotate", model, tmp_path / name)
    assert result.exit_code == 1 and "[P109]" in result.output


def test_unknown_formats_are_an_error(model: Path, texts: Path) -> None:
    result = run("psa", "annotate", model, texts, "--format", "brat")
    assert result.exit_code == 1 and "[P100]" in result.output


def test_an_output_that_is_a_folder_is_told_first(texts: Path, tmp_path: Path) -> None:
    result = run("psa", "annotate", "no-such-pipeline", texts, "--output", tmp_path)
    assert result.exit_code == 1 and "[P412]" in result.output


def test_errors_are_no_part_of_the_tasks(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        annotate_cli(str(model), str(tmp_path / "none.txt"))
    printed = capsys.readouterr()
    assert printed.out == "" and "[P109]" in printed.err


def test_tasks_are_written_in_utf8_whatever_the_terminal_has(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("東 Ann\n", encoding="utf8")
    arguments = ["psa", "annotate", str(model), str(path)]
    result = CliRunner(charset="cp1252").invoke(app, arguments)
    assert result.exit_code == 0, result.exception
    assert json.loads(result.stdout_bytes.decode("utf8"))["text"] == "東 Ann"
