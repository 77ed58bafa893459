"""The benchmark of pipelines in reduced precision."""

from __future__ import annotations

from benchmarks import quantization
from spacy_psa.models.network_shim import reduce_pipeline

from ..pipeline.conftest import WORDS, gold_doc, trained_nlp


def test_a_pipeline_is_compared_with_itself(monkeypatch):
    monkeypatch.setattr(quantization, "SPANS_KEY", "sc")
    pipelines = {side: trained_nlp("spans") for side in quantization.SIDES}
    reduce_pipeline(pipelines["reduced"], "bf16")
    gold = [gold_doc(pipelines["full"], i) for i in range(len(WORDS))]
    found = quantization.compare(pipelines, gold, gold, repeat=1)
    assert found["F1"] == {"full": 100.0, "reduced": 100.0}
    assert found["changed sentences"] == 0
    assert found["model bytes"]["reduced"] < found["model bytes"]["full"]
    assert all(0 <= difference < 1e-5 for difference in found["batch"].values())
    assert found["speed"] > 0 and found["speed one by one"] > 0


def test_the_page_gives_ratios_and_the_change():
    row = {
        "speed": 1.5,
        "speed one by one": 1.25,
        "F1": {"full": 93.46, "reduced": 93.45},
        "changed sentences": 4,
        "model bytes": {"full": 8_500_000, "reduced": 4_300_000},
        "batch": {"full": 2e-6, "reduced": 1e-6},
    }
    page = quantization.to_markdown(
        {
            "machine": {"processor": "P", "threads": 1, "torch": "2"},
            "precision": "bf16",
            "repetitions": 3,
            "timed": 5,
            "sentences": 6,
            "systems": {"psa": row},
        }
    )
    expected = "| psa | 1.50 | 1.25 | 93.46 | 93.45 | -0.010 | 4 | 8.5 → 4.3 | 2.0e-06 | 1.0e-06 |"
    assert expected in page
