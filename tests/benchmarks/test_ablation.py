"""The benchmark of speed devices: each can be switched off, and the results stay the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import spacy
import torch
from spacy.tokens import Doc, DocBin, Span
from thinc.api import Model
from torch import nn

from benchmarks import ablation, chunks
from benchmarks.ablation_switches import CPU_SWITCHES, CUDA_SWITCHES, switched_off
from benchmarks.components import make_pipeline
from benchmarks.pipelines import Trainer
from spacy_psa.models.network_shim import NetworkShim

SENTENCES = ["We can fish in the old town", "The man sleeps", "Fish", "The old can the fish"]


@pytest.fixture(scope="module")
def docs() -> list[Doc]:
    nlp, made = spacy.blank("en"), []
    for text in SENTENCES * 2:
        doc = Doc(nlp.vocab, words=text.split())
        doc.spans["chunks"] = [Span(doc, 0, 1, "NP")]
        chunks.tag_chunks(doc)
        made.append(doc)
    return made


def shims(model: Model) -> list[NetworkShim]:
    return [shim for node in model.walk() for shim in node.shims]


def results(docs: list[Doc]) -> list[torch.Tensor]:
    """The weights after an update without dropout, and the scores of all labels."""
    nlp = make_pipeline("psa", docs, None, hidden=24)
    pipe = nlp.get_pipe("psa_tagger")
    for shim in shims(pipe.model):
        for layer in shim.network.modules():
            if isinstance(layer, nn.Dropout):
                layer.p = 0.0
    Trainer(nlp, docs).train(len(docs), len(docs))
    weights = [p.detach() for s in shims(pipe.model) for p in s.network.parameters()]
    potentials = pipe.model.predict([nlp.make_doc(text) for text in SENTENCES])
    return [*weights, potentials.emissions]


@pytest.fixture(scope="module")
def expected(docs: list[Doc]) -> list[torch.Tensor]:
    return results(docs)


@pytest.mark.parametrize("name", [name for name, s in CPU_SWITCHES.items() if s.precision is None])
def test_without_a_device_the_results_are_the_same(
    name: str, docs: list[Doc], expected: list[torch.Tensor]
) -> None:
    off = CPU_SWITCHES[name].off
    before = [(owner, name, getattr(owner, name, None)) for owner, name, _ in off]
    with switched_off(CPU_SWITCHES[name]):
        found = results(docs)
    for tensor, other in zip(found, expected, strict=True):
        torch.testing.assert_close(tensor, other, atol=2e-5, rtol=1e-4)
    assert all(getattr(owner, name, None) is value for owner, name, value in before)


@pytest.mark.parametrize("name", CUDA_SWITCHES)
def test_devices_of_a_gpu_are_switched_off_and_on_again(name: str) -> None:
    off = CUDA_SWITCHES[name].off
    before = [getattr(owner, attribute) for owner, attribute, _ in off]
    with switched_off(CUDA_SWITCHES[name]):
        assert all(getattr(owner, attribute) is value for owner, attribute, value in off)
        assert all(value is not old for (_, _, value), old in zip(off, before, strict=True))
    assert [getattr(owner, attribute) for owner, attribute, _ in off] == before


def test_the_page_shows_the_smaller_of_two_runs(
    docs: list[Doc], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "train.spacy")
    for figure, (_, size) in ablation.SLICES.items():
        monkeypatch.setitem(ablation.SLICES, figure, (2, min(size, 2)))
    options = ["--repeat", "1", "--systems", "psa", "--threads", "1", "--devices"]
    devices = ["padding removal", "nothing (noise)"]
    paths = ["--data", str(tmp_path), "--output", str(tmp_path)]
    for more in (["--hidden", "8"], ["--hidden", "10", "--add"]):
        monkeypatch.setattr("sys.argv", ["ablation", *paths, *options, *devices, *more])
        ablation.main()
    found = json.loads((tmp_path / "ablation.json").read_text(encoding="utf8"))
    assert len(found["ratios"]) == 2 * len(ablation.SLICES)
    figure = "psa 10, 1 thread(s): pipe"
    assert list(found["ratios"][figure]) == devices
    found["ratios"][figure]["padding removal"] = [9.99, 7.77]
    assert ablation.smallest(found)["padding removal"][figure] == 7.77
    assert f"7.77 ({figure})" in "\n".join(ablation.tables(found))
    assert "<svg" in (tmp_path / "ablation.svg").read_text(encoding="utf8")
