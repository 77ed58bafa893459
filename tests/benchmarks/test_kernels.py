"""Layers and their usual implementations: they agree, and all are measured."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch

from benchmarks import kernels, kernels_attention, timing
from benchmarks.kernels_characters import characters

CPU = torch.device("cpu")
KINDS = ("attention", "bilstm", "characters")


def test_both_ways_to_score_pairs_find_the_same_scores_and_gradients() -> None:
    sides = kernels_attention.attention(2, 5, 4, CPU)
    for found, expected in zip(sides["ours"](), sides["broadcasting"](), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_graphs_score_pairs_alike() -> None:
    sides = kernels_attention.attention(2, 5, 4, torch.device("cuda"))
    graphs = timing.in_graphs({name: sides[name] for name in ("ours", "broadcasting")})
    for name, graph in graphs.items():
        for found, expected in zip(graph(), sides[name](), strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


def test_our_bilstm_finds_what_the_packed_one_finds() -> None:
    sides = kernels.bilstms(6, [[4, 1, 2], [3, 3]], CPU)
    for ours, theirs in zip(sides["ours"](), sides["packed"](), strict=True):
        real = ours[2].unsqueeze(2)
        for found, expected in zip(ours[:2], theirs[:2], strict=True):
            torch.testing.assert_close(found * real, expected * real, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n_words", [1, 4, 70])
def test_our_characters_come_to_what_those_of_the_packed_one_come_to(n_words: int) -> None:
    sides = characters(n_words, CPU, 6)
    ours, theirs = sides["ours"](), sides["packed"]()
    assert len(ours) == len(theirs) > 1
    for found, expected in zip(ours, theirs, strict=True):
        assert found.shape == (n_words, 6)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_results_have_all_cases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    options = "--widths 4 6 --lengths 3 5 --batches 2 3 --hidden 4 --words 1 3 --repeat 1"
    options += " --clock processor"
    monkeypatch.setattr(sys, "argv", ["kernels", *options.split(), "--output", str(tmp_path)])
    kernels.main()
    results = json.loads((tmp_path / "kernels.json").read_text(encoding="utf8"))
    sizes = [(case["width"], case["tokens"]) for case in results["attention"]]
    assert sizes == [(4, 3), (4, 5), (6, 3), (6, 5)]
    for case in (case for name in KINDS for case in results[name]):
        assert all(time > 0 for time in case["milliseconds"].values())
    assert [case["sentences"] for case in results["bilstm"]] == [2, 3]
    assert set(results["bilstm"][0]["speed"]) == {"packed", "padded"}
    assert [case["words"] for case in results["characters"]] == [1, 3]
    assert "d = 6" in (tmp_path / "kernels.svg").read_text(encoding="utf8")


def test_the_page_gives_ratios() -> None:
    page = "\n".join(
        kernels.tables(
            {
                "attention": [{"width": 200, "tokens": 25, "speed": 6.44, "speed in graphs": 3.21}],
                "bilstm": [
                    {
                        "hidden": 300,
                        "sentences": 10,
                        "padding": 0.4,
                        "speed": {"packed": 1.5, "padded": 2.0},
                    }
                ],
                "characters": [{"words": 1, "speed": 2.32}, {"words": 64, "speed": 1.16}],
            }
        )
    )
    assert page.index("| d = 200 | 6.4 |") < page.index("CUDA") < page.index("| d = 200 | 3.2 |")
    assert "| 300 | 10 | 40% | 1.50 | 2.00 |" in page
    assert "| words | 1 | 64 |" in page and "| times as fast | 2.3 | 1.2 |" in page
