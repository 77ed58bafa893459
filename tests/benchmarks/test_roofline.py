"""Operation counts, and how close components come to the hardware's limits."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from benchmarks import roofline
from benchmarks.counting import Counting
from spacy_psa.acceleration.packed_lstm import packed_bilstm


def test_products_are_counted_with_their_gradients() -> None:
    layer, x = nn.Linear(5, 7, bias=False), torch.randn(3, 5, requires_grad=True)
    with Counting() as counting:
        y = layer(x)
    assert counting.products == 2 * 3 * 5 * 7
    with Counting() as counting:
        y.sum().backward()
    assert counting.products == 2 * (2 * 3 * 5 * 7)


@pytest.mark.parametrize("training", [False, True])
def test_an_lstm_is_counted_whoever_computes_it(training: bool) -> None:
    d, h, n, size = 3, 4, 6, 2
    directions = [nn.LSTM(d, h, batch_first=True) for _ in range(2)]
    x = torch.randn(size, n, d, requires_grad=True)
    expected = 2 * n * size * 2 * 4 * h * (d + h)  # both directions

    def padded() -> torch.Tensor:
        return sum(direction(x)[0].sum() for direction in directions)

    def packed() -> torch.Tensor:
        return packed_bilstm(x.reshape(1, -1, d).repeat(2, 1, 1), [size] * n, *directions).sum()

    for compute in (padded, packed):
        with torch.set_grad_enabled(training), Counting() as counting:
            loss = compute()
            if training:
                loss.backward()
        found = counting.products / (3 if training else 1)
        # Packed sequences skip the recurrent product at the first step, which has no state yet
        assert expected * (1 - 1 / n) <= found <= expected


def test_bytes_are_those_of_all_operands_but_of_views_and_of_unread_rows() -> None:
    x, table = torch.zeros(10, 10), torch.zeros(1_000, 10)
    with Counting() as counting:
        x.view(-1)[:5].unsqueeze(0)
    assert (counting.bytes, counting.others) == (0, 0)
    with Counting() as counting:
        torch.add(x, x)
    assert (counting.bytes, counting.others) == (3 * 400, 100)
    with Counting() as counting:
        x.add_(1)
        torch.add(x, x, out=x.clone())
    assert counting.bytes == 2 * 400 + 2 * 400 + 3 * 400
    rows = torch.zeros(5, dtype=torch.long)
    with Counting() as counting:
        table.index_select(0, rows)
    assert counting.bytes == 2 * 200


def test_results_have_all_systems(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(roofline, "COPIED", 1 << 12)
    monkeypatch.setattr(roofline, "LEAST", 0.0)
    options = "--systems bilstm-crf psa --sentences 4 --hidden 8 --repeat 1"
    monkeypatch.setattr(sys, "argv", ["roofline", *options.split(), "--output", str(tmp_path)])
    roofline.main()
    results = json.loads((tmp_path / "roofline.json").read_text(encoding="utf8"))
    for ways in results["systems"].values():
        assert ways["training"]["products"] > ways["tagging"]["products"] > 0
        for found in ways.values():
            assert found["share"] == pytest.approx(found["floor"] / found["seconds"])
    psa, bilstm = results["systems"]["psa"], results["systems"]["bilstm-crf"]
    assert psa["tagging"]["others"] > bilstm["tagging"]["others"]
    page = (tmp_path / "roofline.md").read_text(encoding="utf8")
    assert "| bilstm-crf |" in page and "GFLOP/s" in page
    assert "bilstm-crf" in (tmp_path / "roofline.svg").read_text(encoding="utf8")
