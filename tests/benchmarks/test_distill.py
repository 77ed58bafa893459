"""The benchmark of students: what is trained, and the page of its results."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

from benchmarks.distill import cells, name_of, teachers_of
from benchmarks.distill_page import write_page

RESULT = {"dev": 50.0, "test": 40.0, "megabytes": 5.0, "words_per_second": 20_000}


def test_the_page_has_a_row_for_each_way_of_training(tmp_path: Path) -> None:
    arguments = Namespace(
        seeds=2,
        corpora=["wnut17"],
        students=["psa"],
        widths=[150],
        amounts=["gold", "5000"],
        gold_share=0.5,
        temperature=1.0,
        updates=800,
        teacher="ensemble",
        runs=tmp_path,
        best=None,
        select=None,
    )
    planned = list(cells(arguments))
    assert [name_of(cell) for cell in planned] == [
        "wnut17-psa-150-gold-800-0",
        "wnut17-psa-150-5000-0.5x1-ensemble-800-0",
        "wnut17-psa-150-gold-800-1",
        "wnut17-psa-150-5000-0.5x1-ensemble-800-1",
        "wnut17-teacher-ensemble",
    ]
    other = list(cells(Namespace(**{**vars(arguments), "best": 10, "select": 300})))[1]
    assert name_of(other) == "wnut17-psa-150-5000-0.5x1-ensemble-best10-select300-800-0"
    planned.append(other)
    members = teachers_of(arguments, planned[1])
    assert len({*members}) == 5
    assert members[0] == tmp_path / "wnut17-psa-300-gold-800-0" / "model-best"
    for n, cell in enumerate(planned):
        result = {**cell, **RESULT, "test": 40.0 + n}
        if cell.get("texts") == "5000":
            result["sentences"] = 6000
        (tmp_path / f"{name_of(cell)}.json").write_text(json.dumps(result))
    speeds = {"a": {"words_per_second": 9000, "megabytes": 5.0}}
    speeds["b"] = {"words_per_second": 1000, "megabytes": 90.0}
    speed = {"corpus": "wnut17", "words": 10, "pipelines": speeds, "machine": {"processor": "X"}}
    (tmp_path / "speed-wnut17.json").write_text(json.dumps(speed))
    write_page(tmp_path)
    assert "psa 150, ensemble" in (tmp_path / "distill.svg").read_text(encoding="utf8")
    page = (tmp_path / "README.md").read_text(encoding="utf8")
    assert (
        "| wnut17 | psa | 150 | gold |  |  |  |  |  | 800 | 2 | 50.00 ± 0.00 | 41.00 ± 1.41 |"
        in page
    )
    taught = "| wnut17 | psa | 150 | 5000 | ensemble | 0.5 | 1 |  |  | 800 | 2 | 50.00 ± 0.00 | "
    assert f"{taught}42.00 ± 1.41 | +1.00 |" in page
    assert "| ensemble | 0.5 | 1 | 10 | 300 | 800 | 1 | 50.00 | 45.00 | +5.00 |" in page
    assert (
        "| wnut17 | teacher |  |  | ensemble |  |  |  |  |  | 1 | 50.00 | 44.00 |  | 5.0 | 20,000 |"
        in page
    )
    assert "| a | 9,000 | 9.0 | 5.0 |" in page
