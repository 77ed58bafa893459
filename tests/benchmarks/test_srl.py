"""The benchmark of semantic role labelers, on a trained and an untrained pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from spacy.tokens import DocBin

from benchmarks import srl

from ..pipeline.srl_data import WORDS, gold_doc, initialized_nlp, trained_nlp


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("srl")
    for system, nlp in (("bilstm-crf", initialized_nlp()), ("other", trained_nlp())):
        run = folder / "runs" / f"{system}-srl"
        run.mkdir(parents=True)
        nlp.to_disk(run / "model-best")
    (folder / "data").mkdir()
    for part in ("dev", "test"):
        docs = [gold_doc(nlp, i) for i in range(len(WORDS))]
        DocBin(docs=docs).to_disk(folder / "data" / f"{part}.spacy")
    return folder


@pytest.fixture(scope="module")
def results(folder: Path) -> dict[str, Any]:
    runs = srl.find_runs(folder / "runs", "srl")
    return srl.measure(runs, folder / "data", repeat=1)


def test_scores_are_percentages(results: dict[str, Any]) -> None:
    for decoding in srl.DECODINGS:
        scores = results["other"]["test"][decoding]
        assert scores == results["other"]["dev"][decoding]
        assert scores["f"] == scores["complete"] == 100.0
        assert results["bilstm-crf"]["test"][decoding]["f"] < 50.0


def test_each_way_of_decoding_has_a_speed(results: dict[str, Any]) -> None:
    n_labeled, n_tokens = 9 + 3 * 10 + 2 * 8, 9 + 10 + 2 + 8
    for system in results.values():
        assert list(system["speed"]) == ["argmax", "Viterbi", "constrained"]
        for speed in system["speed"].values():
            assert speed["labeled"] / speed["tokens"] == pytest.approx(n_labeled / n_tokens, 0.01)


def test_the_page_has_rows_for_each_way_of_decoding(results: dict[str, Any]) -> None:
    machine = {"processor": "P", "torch": "2"}
    content = {"machine": machine, "repetitions": 1, "data": "data", "systems": results}
    lines = srl.to_markdown(content).splitlines()
    assert sum(line.startswith("| [other]") for line in lines) == len(srl.DECODINGS)
    assert sum(line.startswith("| other ") for line in lines) == 1
    assert sum("100.00" in line for line in lines) == len(srl.DECODINGS)


def test_decodings_are_made_as_a_config_makes_them() -> None:
    for block in srl.DECODINGS.values():
        assert type(srl.make_decoding(block)).__name__ == f"{block}Decoding"
