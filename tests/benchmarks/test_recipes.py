"""The benchmark of recipes, on a few sentences of the sample corpus."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import recipes, recipes_cell, recipes_data, recipes_figures, recipes_page
from benchmarks.recipes_cell import Cell
from benchmarks.recipes_data import (
    BROWN,
    CORPORA,
    PARTS,
    Corpus,
    cased_vectors,
    prepare,
    read,
    subset,
)
from benchmarks.recipes_peers import PEERS
from spacy_psa.figures.style import COLORS

from ..cli.commands import SAMPLE

FILES = (
    ("train", "wnut17/wnut17train.conll"),
    ("dev", "wnut17/emerging.dev.conll"),
    ("test", "wnut17/emerging.test.annotated"),
)


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    """A folder with 40 sentences of each part, in the place and format of WNUT-17."""
    (tmp_path / "corpora" / "wnut17").mkdir(parents=True)
    for part, name in FILES:
        blocks = (SAMPLE / f"{part}.conll").read_text(encoding="utf8").split("\n\n")[:40]
        lines = [line.split() for block in blocks for line in [*block.split("\n"), ""]]
        columns = [f"{line[0]}\t{line[3]}" if line else "" for line in lines]
        text = "\n".join(line for line in columns if "DOCSTART" not in line)
        (tmp_path / "corpora" / name).write_text(text + "\n", encoding="utf8")
    return tmp_path / "corpora"


def result(system: str, size: int | None, dev: float, **changes: Any) -> dict[str, Any]:
    """The result of a cell."""
    point = {"dev": dev, "test": dev - 1, "step": 90, "seconds": 12.0}
    return {
        "corpus": "wnut17",
        "size": size,
        "system": system,
        "seed": 0,
        "vectors": True,
        "score": "ents_f",
        "ended": True,
        "cut": False,
        "best": {**point, "sentences": size or 40},
        "curve": [{**point, "dev": 0.0, "step": 0, "seconds": 0.0}, point],
        "machine": {"processor": "abacus"},
        **changes,
    }


def test_the_most_valuable_cells_are_first() -> None:
    cells = list(recipes.matrix(list(CORPORA), recipes.SIZES, recipes.SYSTEMS, 3))
    assert len({cell.name for cell in cells}) == len(cells)
    first = cells[: 2 * len(recipes.SIZES) * len(recipes.SYSTEMS)]
    assert {cell.corpus for cell in first} == {"wnut17", "ncbi"}
    assert {cell.seed for cell in first} == {0}
    assert all(cell.vectors for cell in first)
    repeated = [cell for cell in cells if cell.seed]
    assert {cell.size for cell in repeated} == {None, 100}
    other = recipes.matrix(["ncbi"], [100, 300], ["psa"], 3, ends=[300])
    assert [(cell.size, cell.seed) for cell in other if cell.vectors] == [
        (100, 0),
        (300, 0),
        (300, 1),
        (300, 2),
    ]
    assert {cell.vectors for cell in cells if cell.corpus in ("fr", "cs")} == {False}


def test_a_smaller_choice_is_part_of_a_larger_one(corpora: Path, tmp_path: Path) -> None:
    folder = prepare("wnut17", corpora, tmp_path / "work")
    few, more = ([doc.text for doc in read(subset(folder, size))] for size in (5, 10))
    assert few == more[:5] and len(more) == 10
    assert len(read(subset(folder, None))) > 10


def test_a_conversion_that_is_broken_off_is_made_again(
    corpora: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held_out = Corpus("ents", "iob", FILES[0][1], None, FILES[2][1])
    monkeypatch.setitem(CORPORA, "wnut17", held_out)
    original, saved = recipes_data.save, []

    def broken_save(path: Path, docs: Any) -> None:
        saved.append(path.name)
        if saved.count("train.spacy") == 2:
            raise KeyboardInterrupt
        original(path, docs)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(recipes_data, "save", broken_save)
        prepare("wnut17", corpora, tmp_path / "work")
    folder = prepare("wnut17", corpora, tmp_path / "work")
    train, dev = ({doc.text for doc in read(folder / f"{part}.spacy")} for part in PARTS[:2])
    assert dev and not train & dev


def test_words_are_found_as_they_are_written(corpora: Path, tmp_path: Path) -> None:
    folder = prepare("wnut17", corpora, tmp_path / "work")
    (tmp_path / "vectors.txt").write_text("2 2\nthe 1 2\nharbor 3 4\n", encoding="utf8")
    path = cased_vectors(tmp_path / "vectors.txt", [folder], tmp_path / "work")
    import spacy

    vocab = spacy.load(path).vocab
    for form in ("the", "The", "THE", "Harbor"):
        assert vocab[form].has_vector
    assert vocab.vectors.shape == (2, 2)


def test_cells_are_trained_once(
    corpora: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    output = tmp_path / "results"
    options = ["--corpora", corpora, "--work", tmp_path / "work", "--output", output, "--jobs", 2]
    options += ["--only", "wnut17", "--sizes", 20, "--seeds", 1, "--seconds", 1]
    options += ["--systems", "bilstm-crf", "spacy"]

    class Here:
        """Trains a cell in this process: a new one takes longer to start than to train it."""

        returncode = 0

        def __init__(self, command: list[str], **_: Any) -> None:
            assert command[:3] == [sys.executable, "-m", "benchmarks.recipes_cell"]
            with monkeypatch.context() as patch:
                patch.setattr(sys, "argv", command[2:])
                recipes_cell.main()

        def poll(self) -> int:
            return 0

    process = SimpleNamespace(Popen=Here, STDOUT=None)
    monkeypatch.setattr(recipes, "subprocess", process)
    monkeypatch.setattr(recipes, "ProcessPoolExecutor", lambda n, **_: ThreadPoolExecutor(n))
    monkeypatch.setattr(sys, "argv", ["recipes", *map(str, options)])
    recipes.main()
    cells = [
        Cell("wnut17", 20, system, 0, vectors)
        for vectors in (True, False)
        for system in ("bilstm-crf", "spacy")
    ]
    for cell in cells:
        found = json.loads((output / f"{cell.name}.json").read_text(encoding="utf8"))
        assert found["curve"][-1]["step"] > 0 and not found["cut"]
        assert 0.0 <= found["best"]["test"] <= 100.0
        assert found["best"]["dev"] == max(point["dev"] for point in found["curve"])
    assert "WNUT-17, without vectors" in (output / "recipes.md").read_text(encoding="utf8")
    assert recipes.missing(cells, output) == []
    capfd.readouterr()
    recipes.main()
    assert capfd.readouterr().out.strip() == "0 cells left"


def test_what_a_deadline_cut_short_is_trained_again(tmp_path: Path) -> None:
    cell = Cell("wnut17", None, "psa", 0)
    assert recipes.missing([cell], tmp_path) == [cell]
    path = tmp_path / f"{cell.name}.json"
    path.write_text(json.dumps(result("psa", None, 50.0, cut=True)), encoding="utf8")
    assert recipes.missing([cell], tmp_path) == [cell]
    without_units = result("psa", None, 50.0)
    path.write_text(json.dumps(without_units), encoding="utf8")
    assert recipes.missing([cell], tmp_path) == [cell]
    without_units["best"]["units"] = ""
    path.write_text(json.dumps(without_units), encoding="utf8")
    assert recipes.missing([cell], tmp_path) == []


def test_the_page_has_what_was_measured_and_what_was_tried(tmp_path: Path) -> None:
    results = [
        result("psa", None, 51.0),
        result("psa", None, 53.0, seed=1),
        result("psa", 20, 30.0, ended=False),
        result("spacy", None, 40.0),
        result("spacy", 20, 25.0),
        result("psa", 10, 10.0),
        result("psa+rate-0.001", 10, 12.0),
        result("psa+rate-0.001", 20, 20.0),
        result("psa+rate-0.001", 20, 22.0, seed=1),
    ]
    of_comparisons = [result(system, 20, 60.0) for system in ("lan", "psa+heads-2")]
    of_comparisons.append(result("psa", 20, 60.0, corpus=BROWN))
    for i, found in enumerate([*results, *of_comparisons]):
        (tmp_path / f"{i}.json").write_text(json.dumps(found), encoding="utf8")
    assert recipes_page.read_results(tmp_path) == results
    recipes_page.write_page(results, tmp_path)
    page = (tmp_path / "recipes.md").read_text(encoding="utf8")
    assert "| psa | 29.00* | 51.00 (50.0–52.0) |" in page
    assert "| spacy | 24.00 | 39.00 |" in page
    assert "| psa | 90; 12 | 90; 12 |" in page
    # Of ten sentences, there is no other system
    assert "| the recipe | 10.00, 9.00 (1) | 30.00, 29.00 (1) |" in page
    assert "| rate 0.001 | 12.00, 11.00 (1) | 21.00, 20.00 (2) |" in page
    assert "abacus" in page
    assert {path.name for path in tmp_path.glob("*.svg")} == {
        "recipes.svg",
        "recipes-time.svg",
        "recipes-updates.svg",
    }
    assert "](recipes-updates.svg)" in page
    assert ">WNUT-17: all<" in (tmp_path / "recipes-time.svg").read_text("utf8")
    guide = tmp_path / "guide.md"
    guide.write_text(
        f"<!-- written by `{recipes_page.COMMAND}` -->\n<!-- end of what is written -->"
    )
    recipes_page.write_guide(results, guide)
    page = guide.read_text(encoding="utf8")
    assert "| WNUT-17, `psa` | 29.00* | 51.00 (50.0–52.0) |" in page and "rate" not in page
    assert "A star marks" in page


def test_each_system_has_a_color_of_its_own() -> None:
    # Vega would give another one the first color again
    assert sorted(recipes_figures.ORDER) == sorted([*recipes_cell.SYSTEMS, *PEERS])
    assert len(set(COLORS[: len(recipes_figures.ORDER)])) == len(recipes_figures.ORDER)


def test_the_guide_has_the_figures_of_the_results(tmp_path: Path) -> None:
    guide = tmp_path / "recipes.md"
    guide.write_bytes(recipes_page.GUIDE.read_bytes())
    recipes_page.write_guide(recipes_page.read_results(recipes.FOLDER), guide)
    assert guide.read_bytes() == recipes_page.GUIDE.read_bytes()
