"""Statistics of fusion layers, checked against those of each document alone."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
import spacy
import torch
from spacy.language import Language
from spacy.tokens import DocBin

from benchmarks import fusion
from spacy_psa.analysis.activations import inspecting
from spacy_psa.layers.position_bias import PSABias

from ..analysis.inside import layers_with, look, make_doc, network_of, ours, system_nlp

SENTENCES = (["Ann", "likes", "new", "ham", "."], ["Go"], ["The", "old", "man"])


@pytest.fixture(scope="module")
def psa() -> Language:
    return system_nlp("psa")


def gates_of(nlp: Language, words: list[str], layer: int) -> list[float]:
    """λ of a fusion layer for each token and feature of a document."""
    with inspecting(network_of(nlp)) as shown:
        ours(nlp).predict([make_doc(nlp, words)])
    gates = [inspection.values["gate"] for inspection in shown if "gate" in inspection.values]
    return gates[layer].flatten().tolist()


def test_figures_are_means_over_the_tokens(psa: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion, "BATCH", 2)  # two batches, one of them with padding
    biases = [part for part in network_of(psa).modules() if isinstance(part, PSABias)]
    with torch.no_grad():
        for bias, value in zip(biases, (-1.0, 2.0), strict=True):
            assert bias.trade_off is not None
            bias.trade_off.fill_(value)
    found = fusion.look(ours(psa), [make_doc(psa, words) for words in SENTENCES])
    alphas = [round(1 / (1 + math.exp(-value)), 3) for value in (-1.0, 2.0)]
    assert [figures["alpha"] for figures in found.values()] == alphas
    n_tokens = sum(map(len, SENTENCES))
    for number, figures in enumerate(found.values()):
        gates, distance, spread = 0.0, 0.0, 0.0
        every: list[float] = []
        for words in SENTENCES:
            view = layers_with(look(psa, words), "gate")[number].view
            gates += sum(view.values["gate"])
            every += gates_of(psa, words, number)
            for i, row in enumerate(view.values["attention"][0]):
                distance += sum(weight * abs(i - j) for j, weight in enumerate(row))
                spread += math.exp(-sum(w * math.log(w) for w in row if w > 0))
        assert figures["gate"] == pytest.approx(gates / n_tokens, abs=1e-3)
        assert figures["distance"] == pytest.approx(distance / n_tokens, abs=1e-2)
        assert figures["spread"] == pytest.approx(spread / n_tokens, abs=1e-2)
        assert figures["gate deviation"] == pytest.approx(np.std(every), abs=1e-3)


def test_the_page_has_a_row_for_each_layer(
    psa: Language, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = tmp_path / "run" / "model-best"
    run.parent.mkdir()
    psa.to_disk(run)
    data = tmp_path / "dev.spacy"
    DocBin(docs=[make_doc(spacy.blank("en"), SENTENCES[0])]).to_disk(data)
    arguments = [str(run), "--data", str(data), "--output", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["fusion", *arguments])
    fusion.main()
    layers = json.loads((tmp_path / "fusion.json").read_text(encoding="utf8"))["pipelines"]["run"]
    page = (tmp_path / "fusion.md").read_text(encoding="utf8")
    for name, figures in layers.items():
        cells = " | ".join(f"{figures[key]:{form}}" for key, (_, form) in fusion.COLUMNS.items())
        assert f"| run | {name} | {cells} |" in page
    assert len(layers) == 2
