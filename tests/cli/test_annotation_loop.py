"""The loop of an annotation project: annotate, correct, convert, train, annotate again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from thinc.api import Config

from ..pipeline.conftest import trained_nlp
from ..training.runs import CONFIG
from .commands import run, succeed

TEXTS = ["Ann Lee likes green Berlin.", "Zoe 😀 met Kim\nin Oslo.", "They eat blue ham."]
# What the annotator says of the second text.
CORRECTED = [("Zoe", "PER"), ("Kim", "PER"), ("Oslo", "LOC")]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "ents"
    trained_nlp("ents").to_disk(path)
    return path


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.jsonl"
    path.write_text("\n".join(json.dumps({"text": text}) for text in TEXTS), encoding="utf8")
    return path


def corrected(task: dict[str, Any]) -> dict[str, Any]:
    """What Prodigy saves, which knows the words from the task."""
    text = task["text"]
    if text == TEXTS[2]:
        return {**task, "answer": "ignore"}
    if text == TEXTS[1]:
        places = [(text.index(word), word, label) for word, label in CORRECTED]
        spans = [{"start": at, "end": at + len(word), "label": x} for at, word, x in places]
        return {**task, "spans": spans, "answer": "accept"}
    return {**task, "answer": "accept"}


def docs(path: Path) -> list[Doc]:
    return list(DocBin().from_disk(path).get_docs(spacy.blank("en").vocab))


def found(doc: Doc) -> list[tuple[str, str]]:
    return [(ent.text, ent.label_) for ent in doc.ents]


def test_corrected_suggestions_train_the_next_model(
    tmp_path: Path, model: Path, texts: Path
) -> None:
    suggested, saved, train = (tmp_path / x for x in ("tasks.jsonl", "saved.jsonl", "train.spacy"))
    succeed("psa", "annotate", model, texts, "--output", suggested)
    tasks = [json.loads(line) for line in suggested.read_text(encoding="utf8").splitlines()]
    lines = (json.dumps(corrected(task), ensure_ascii=False) for task in tasks)
    saved.write_text("\n\n".join(lines), encoding="utf8")
    output = succeed("psa", "convert", saved, train)
    assert "texts in the layout of Prodigy: 3" in output
    assert "texts with the answer 'ignore', skipped: 1" in output
    first, second = docs(train)
    assert found(first) == found(spacy.load(model)(TEXTS[0])) != []
    assert (second.text, found(second)) == (TEXTS[1], CORRECTED)
    # The next model learns from the converted file, and is evaluated on the tool's own.
    config = Config().from_str(CONFIG)
    config["components"]["labels"]["target"] = "ents"
    config["components"]["labels"]["model"]["tok2vec"]["dropout"] = 0.0
    config["corpora"]["train"]["path"] = str(train)
    config["corpora"]["dev"] = {"@readers": "spacy_psa.Offsets.v1", "path": str(saved)}
    optimizer = {"@optimizers": "Adam.v1", "learn_rate": 0.05}
    config["training"].update(max_epochs=40, eval_frequency=40, optimizer=optimizer)
    config["training"]["dropout"] = 0.0
    config.to_disk(tmp_path / "config.cfg")
    with pytest.warns(UserWarning, match=r"W111.*saved\.jsonl.*'ignore', skipped: 1"):
        succeed("psa", "train", tmp_path / "config.cfg", "--output", tmp_path / "next")
    again = succeed("psa", "annotate", tmp_path / "next" / "model-last", texts)
    task = json.loads(again.splitlines()[1])
    assert [task["text"][x["start"] : x["end"]] for x in task["spans"]] == ["Zoe", "Kim", "Oslo"]


def test_suggestions_for_label_studio_wait_for_an_annotator(
    tmp_path: Path, model: Path, texts: Path
) -> None:
    path, output = tmp_path / "tasks.json", tmp_path / "a.spacy"
    succeed("psa", "annotate", model, texts, "--format", "label-studio", "--output", path)
    result = run("psa", "convert", path, output)
    assert result.exit_code == 1 and "predictions=true" in " ".join(result.output.split())
    assert not output.exists()
    tasks = json.loads(path.read_text(encoding="utf8"))
    for task in tasks:
        task["annotations"] = [{"result": task["predictions"][0]["result"]}]
    path.write_text(json.dumps(tasks), encoding="utf8")
    succeed("psa", "convert", path, output)
    nlp = spacy.load(model)
    assert [found(doc) for doc in docs(output)] == [found(nlp(text)) for text in TEXTS]


def test_suggestions_for_doccano_replace_an_annotation(
    tmp_path: Path, model: Path, texts: Path
) -> None:
    path, output = tmp_path / "tasks.jsonl", tmp_path / "a.spacy"
    lines = ({"text": text, "spans": [], "annotation_id": 1} for text in TEXTS)
    texts.write_text("\n".join(map(json.dumps, lines)), encoding="utf8")
    succeed("psa", "annotate", model, texts, "--format", "doccano", "--output", path)
    printed = succeed("psa", "convert", path, output)
    assert "texts in the layout of doccano or spaCy: 3" in printed
    nlp = spacy.load(model)
    assert [found(doc) for doc in docs(output)] == [found(nlp(text)) for text in TEXTS]


@pytest.mark.parametrize("form", ["prodigy", "doccano"])
def test_suggested_tags_become_tags_of_tokens(tmp_path: Path, texts: Path, form: str) -> None:
    nlp = trained_nlp("tag")
    nlp.to_disk(tmp_path / "model")
    options = ("--format", form, "--output", tmp_path / "a.jsonl")
    succeed("psa", "annotate", tmp_path / "model", texts, *options)
    succeed("psa", "convert", tmp_path / "a.jsonl", tmp_path / "a.spacy", "--target", "tag")
    expected = [[token.tag_ for token in nlp(text)] for text in TEXTS]
    assert [[token.tag_ for token in doc] for doc in docs(tmp_path / "a.spacy")] == expected


def test_spans_that_overlap_go_to_doc_spans_by_the_command(tmp_path: Path) -> None:
    path, output, stats = (tmp_path / name for name in ("a.jsonl", "a.spacy", "stats.json"))
    spans = [[0, 8, "ORG"], [9, 15, "LOC"], [0, 22, "ORG"], [1, 15, "X"]]
    path.write_text(json.dumps({"text": "Ann's 😀 Office Berlin", "label": spans}), encoding="utf8")
    options = ("-O", "units=utf16", "-O", "alignment_mode=contract", "--stats", stats)
    result = run("psa", "convert", path, output, *options)
    assert result.exit_code == 1 and "--target spans" in " ".join(result.output.split())
    assert not output.exists()
    printed = succeed("psa", "convert", path, output, "--target", "spans", *options)
    assert "in the layout of doccano or spaCy: 1" in printed
    assert "not aligned with tokens" in printed
    (doc,) = docs(output)
    found = sorted((span.text, span.label_) for span in doc.spans["chunks"])
    expected = [("'s 😀 Office", "X"), ("Ann's 😀", "ORG"), (doc.text, "ORG"), ("Office", "LOC")]
    assert found == sorted(expected)
    (note,) = json.loads(stats.read_text())["notes"].items()
    assert note[0].startswith("spans not aligned with tokens (alignment_mode=contract) (the first ")
    assert note[1] == 1
