"""`psa reproduce` for semantic roles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from spacy.tokens import DocBin
from thinc.api import Config

from spacy_psa.cli._reproduction_runs import Plan, find_component, make_system, parse_systems
from spacy_psa.cli.srl_eval import score_paths
from spacy_psa.reproduction.paper_tables import to_pages
from spacy_psa.reproduction.papers import read_papers
from spacy_psa.reproduction.results import Result, read_results

from ..pipeline.srl_data import WORDS, gold_doc, make_nlp, tiny_model
from .commands import ROOT, succeed


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with a second test set."""
    folder, nlp = tmp_path_factory.mktemp("roles"), make_nlp()
    docs = [gold_doc(nlp, i) for i in range(len(WORDS))]
    for part in ("train", "dev", "test"):
        DocBin(docs=docs, store_user_data=True).to_disk(folder / f"{part}.spacy")
    DocBin(docs=docs[:1], store_user_data=True).to_disk(folder / "brown.spacy")
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    """The output of training a small system."""
    home = tmp_path_factory.mktemp("finished")
    config = Config().from_disk(ROOT / "configs" / "bilstm-crf-small-roles.cfg", interpolate=False)
    config["components"]["psa_srl"]["model"] = tiny_model()
    config.to_disk(home / "tiny.cfg")
    home.joinpath("output.txt").write_text(
        succeed(
            *(
                "psa",
                "reproduce",
                "--corpus-name",
                "conll2005",
                "--target",
                "roles",
                "--data",
                corpus,
            ),
            *("--systems", f"tiny={home / 'tiny.cfg'}", "--epochs", 60),
            *("--options", "--training.optimizer.learn_rate 0.02 --training.eval_frequency 20"),
            *("--runs", home / "runs", "--output", home / "results.json"),
        ),
        encoding="utf8",
    )
    return home


def result_of(home: Path) -> Result:
    (result,) = read_results(home / "results.json")
    return result


def test_scores_are_those_of_the_evaluator(finished: Path, corpus: Path) -> None:
    result = result_of(finished)
    assert (result.target, result.system) == ("roles", "tiny")
    (model,) = finished.glob("runs/*/*/model-best")
    for part in ("dev", "test", "brown"):
        expected = score_paths(corpus / f"{part}.spacy", model, given=True)
        found = getattr(result, part)
        assert found["f1"] == expected.arguments.f1 and found["accuracy"] == expected.complete
        assert result.score(part) == 100.0 * expected.arguments.f1
    assert result.dev["f1"] > 0.5
    assert set(result.data) == {"train", "dev", "test", "brown"}


def test_the_second_test_set_stands_in_the_tables(finished: Path) -> None:
    result = Result(**{**vars(result_of(finished)), "system": "deepatt"})
    for part, label in (("brown", "Brown test"), ("combined", "combined")):
        row = row_of(result, label)
        assert f"| {result.score(part):.2f} |" in row
        without = Result(**{**vars(result), part: None})
        assert "needs brown.spacy" in row_of(without, label)


def row_of(result: Result, label: str) -> str:
    """DeepAtt's row on the results page for a part of CoNLL-2005."""
    page = to_pages(read_papers(), [result], "results")["deepatt"]
    (row,) = (row for row in page.splitlines() if row.startswith(f"| {label}: DeepAtt (FFN) |"))
    return row


def test_both_test_sets_together_are_scored_as_one(finished: Path, corpus: Path) -> None:
    (model,) = finished.glob("runs/*/*/model-best")
    parts = [score_paths(corpus / f"{part}.spacy", model, given=True) for part in ("test", "brown")]
    correct = sum(part.arguments.correct for part in parts)
    wrong = sum(part.arguments.excess + part.arguments.missed for part in parts)
    found = result_of(finished).combined
    assert found is not None
    assert found["f1"] == pytest.approx(2 * correct / (2 * correct + wrong))
    perfect = sum(part.perfect for part in parts)
    propositions = sum(part.propositions for part in parts)
    assert found["accuracy"] == pytest.approx(perfect / propositions)


def test_results_without_it_can_be_read(finished: Path, tmp_path: Path) -> None:
    data = json.loads((finished / "results.json").read_text(encoding="utf8"))
    del data["results"][0]["brown"], data["results"][0]["combined"]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(data), encoding="utf8")
    (result,) = read_results(path)
    assert not result.has("brown") and not result.has("combined") and result.has("test")


def test_nothing_is_trained_twice(finished: Path, corpus: Path) -> None:
    output = succeed(
        *("psa", "reproduce", "--corpus-name", "conll2005", "--target", "roles", "--data", corpus),
        *("--systems", f"tiny={finished / 'tiny.cfg'}", "--epochs", 60),
        *("--options", "--training.optimizer.learn_rate 0.02 --training.eval_frequency 20"),
        *("--runs", finished / "runs", "--output", finished / "results.json"),
    )
    assert "already finished" in output


def test_systems_and_variants_are_made_with_roles(corpus: Path, tmp_path: Path) -> None:
    plan = Plan("conll2005", "roles", corpus, tmp_path)
    encoder = make_system(plan, "deepatt-4-layers")["components"]["psa_srl"]["model"]["encoder"]
    assert encoder["depth"] == 4
    encoder = make_system(plan, "deepatt-cnn")["components"]["psa_srl"]["model"]["encoder"]
    assert encoder["sublayer"]["@architectures"] == "spacy_psa.ConvolutionSublayer.v1"
    for table in read_papers().tables:
        if table.target == "roles":
            for row in table.rows:
                assert row.system in parse_systems(row.system, "roles")
                make_system(plan, row.system)


def test_systems_of_other_targets_are_refused(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"P391.*deepatt"):
        parse_systems("psa", "roles")
    with pytest.raises(ValueError, match="P391"):
        parse_systems("deepatt-small", "tag")
    tagger = Config().from_disk(ROOT / "configs" / "psa-tag.cfg")
    plan = Plan("conll2005", "roles", corpus, tmp_path)
    with pytest.raises(ValueError, match="P398"):
        find_component(plan, "mine", tagger)
