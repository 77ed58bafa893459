"""`psa card`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import spacy
from spacy.cli.package import generate_readme
from spacy.tokens import DocBin

from spacy_psa.disk import sha256_of
from spacy_psa.evaluation.card import Card, weaknesses

from .commands import SmallCorpus, contents, failure, succeed


@pytest.fixture
def model(tmp_path: Path, trained: Path) -> Path:
    return Path(shutil.copytree(trained / "model-best", tmp_path / "model"))


def fail(*arguments: object) -> str:
    return failure("psa", "card", *arguments)


def test_the_card_has_what_evaluation_and_calibration_measure(
    tmp_path: Path, model: Path, corpus: SmallCorpus
) -> None:
    fields = tmp_path / "fields.json"
    fields.write_text(
        json.dumps(
            {
                "name": "psa_tiny",
                "license": "CC0",
                "sources": [{"name": "Sample", "url": "https://sample.example", "license": "CC0"}],
            }
        ),
        encoding="utf8",
    )
    before = contents(model)
    files = [tmp_path / "card.json", tmp_path / "card.md"]
    given = ["--meta", fields, "--data-name", "the sample", "-o", files[0], "-o", files[1]]
    succeed("psa", "card", model, corpus.dev, *given)
    report = tmp_path / "report.json"
    succeed("psa", "evaluate", model, corpus.dev, "--errors", "0", "--output", report)
    card = json.loads(files[0].read_text(encoding="utf8"))
    assert card["reports"] == json.loads(report.read_text(encoding="utf8"))["reports"]
    for trust in card["calibration"]:
        assert trust["component"] in spacy.load(model).pipe_names
        assert trust["n"] and 0 <= trust["error"] <= 1
    n_words = sum(map(len, DocBin().from_disk(corpus.dev).get_docs(spacy.blank("en").vocab)))
    assert card["speed"]["words"] == n_words
    # Only the description has changed, and spaCy's README has all of it
    after = contents(model)
    assert {name for name in after if before[name] != after[name]} == {"meta.json"}
    assert set(card["sha256"]) == set(after) - {"meta.json"}
    assert card["sha256"]["config.cfg"] == sha256_of(model / "config.cfg")
    readme = files[1].read_text(encoding="utf8")
    assert readme == generate_readme(spacy.load(model).meta) + "\n"
    for text in ("en_psa_tiny", "[Sample](https://sample.example)", "Scores on the sample", "CC0"):
        assert text in readme


def test_a_card_of_chosen_components(tmp_path: Path, model: Path, corpus: SmallCorpus) -> None:
    card = tmp_path / "card.json"
    names = set(spacy.load(model).pipe_names)
    for chosen, expected in (((), names), (("--component", "psa_ner"), {"psa_ner"})):
        succeed("psa", "card", model, corpus.dev, *chosen, "--output", card)
        found = json.loads(card.read_text(encoding="utf8"))
        assert {report["component"] for report in found["reports"]} == expected
        assert {trust["component"] for trust in found["calibration"]} == expected
    assert "[P263]" in fail(model, corpus.dev, "--component", "other")


def test_the_card_can_be_written_again(model: Path, corpus: SmallCorpus) -> None:
    for _ in range(2):
        succeed("psa", "card", model, corpus.dev)
    notes = spacy.load(model).meta["notes"]
    assert notes.count("### Known weaknesses") == 1
    assert "SHA-256" in notes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "P519"),
        ("[]", "it is no JSON object"),
        ('{"licence": "CC0"}', "it has licence"),
        ('{"name": null}', "name is null; give text"),
        ('{"name": ""}', 'name is ""; give text'),
        ('{"version": 3}', "version is 3; give text"),
        ('{"sources": "the sample"}', 'sources is "the sample"; give a list'),
    ],
)
def test_a_description_that_is_none(
    tmp_path: Path, model: Path, corpus: SmallCorpus, text: str, message: str
) -> None:
    fields = tmp_path / "fields.json"
    fields.write_text(text, encoding="utf8")
    before = contents(model)
    assert message in fail(model, corpus.dev, "--meta", fields)
    assert contents(model) == before


def test_weaknesses_are_the_groups_far_below_the_rest() -> None:
    from spacy_psa.evaluation.breakdowns import Breakdown, Row
    from spacy_psa.evaluation.conlleval import Counts
    from spacy_psa.evaluation.report import Report

    rows = [
        Row("PER", Counts(100, 100, 90), None),
        Row("LOC", Counts(100, 100, 50), None),
        Row("RARE", Counts(9, 9, 0), None),
    ]
    report = Report(
        *("ner", "ents", "entities", "label", "f1"),
        *(10, 0, 10, 500),
        *({"f1": 0.67}, {"f1": None}, 0.95),
        Row("all", Counts(209, 209, 140), None),
        breakdowns={"label": Breakdown("By label", rows)},
    )
    (found,) = weaknesses(report)
    assert "LOC 50.00" in found and "PER" not in found and "RARE" not in found
    assert "LOC 50.00" in Card("test", [report]).to_markdown()
