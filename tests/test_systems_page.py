"""The page about the systems of the papers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spacy_psa.cli._templates import names
from spacy_psa.cli.draw import draw
from spacy_psa.reproduction.papers import Listing, PaperTable, read_papers

from .documentation import ROOT

PAGE = ROOT / "docs" / "systems.md"
IMAGES = re.findall(r"images/([\w-]+)\.svg", PAGE.read_text(encoding="utf8"))
PAPERS = read_papers()
TABLES = [
    place
    for place in PAPERS.contents
    if isinstance(place, PaperTable | Listing) and not place.number.startswith("Fig.")
]
NAMES = {"PSA": "psa", "arXiv": "psa-arxiv", "LAN": "lan", "structured refinement": "refinement"}
ROMAN = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII"]
NUMBER = r"(?:\d+|[IVX]+)"
NUMBERS = rf"{NUMBER}(?: (?:to|and) {NUMBER})*"


def number(text: str) -> int:
    """The number of a table, from its printed form."""
    return ROMAN.index(text) if text in ROMAN else int(text.split()[0])


def numbers(text: str) -> set[int]:
    """The numbers in text such as '3 and 5 to 9'."""
    ranges = (list(map(number, part.split(" to "))) for part in text.split(" and "))
    return {n for ends in ranges for n in range(ends[0], ends[-1] + 1)}


def section(system: str) -> str:
    """The page's section about a system."""
    return PAGE.read_text(encoding="utf8").split(f"\n## {system}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("image", IMAGES)
def test_pictures_are_those_of_the_configs(image: str, tmp_path: Path) -> None:
    draw(ROOT / "configs" / f"{image}-spans.cfg", tmp_path / "drawn.svg")
    kept = ROOT / "docs" / "images" / f"{image}.svg"
    message = f"python -m spacy psa draw configs/{image}-spans.cfg -o docs/images/{image}.svg"
    assert (tmp_path / "drawn.svg").read_text() == kept.read_text(), message


@pytest.mark.parametrize("system", names("systems"))
def test_each_system_is_shown_with_its_configs(system: str) -> None:
    text = PAGE.read_text(encoding="utf8")
    assert f"`{system}`" in text
    for config in sorted((ROOT / "configs").glob(f"{system}-*.cfg")):
        if config.stem.removeprefix(f"{system}-") in ("ents", "spans", "tag"):
            assert f"(../configs/{config.name})" in text


@pytest.mark.parametrize("row", ["BiLSTM-CRF", "BiLSTM-softmax"])
def test_tables_with_rows_of_baselines_are_those_of_the_papers(row: str) -> None:
    text = section("bilstm-softmax and bilstm-crf")
    (said,) = re.findall(rf"the rows {row} of tables (.*?)[;.]", text)
    found = re.findall(rf"({NUMBERS}) o[fn] ({'|'.join(NAMES)})", said)
    assert {(NAMES[paper], n) for ns, paper in found for n in numbers(ns)} == {
        (table.paper, number(table.number))
        for table in TABLES
        if any(row in r.label.replace("Bi-LSTM", "BiLSTM") for r in table.rows)
    }


@pytest.mark.parametrize("system", ["psa", "vaswani", "lan", "refinement", "deepatt"])
def test_tables_of_systems_are_those_of_their_papers(system: str) -> None:
    (said,) = re.findall(rf"In the paper: [^.;]*?tables? ({NUMBERS})", section(system))
    own = {system, *(v.name for v in PAPERS.variants.values() if v.system == system)}
    # The only paper here with transformers is that of PSA.
    paper = system if system in PAPERS.papers else "psa"
    assert numbers(said) == {
        number(table.number)
        for table in TABLES
        if table.paper == paper
        # Listings describe a single model, without names of systems.
        and (isinstance(table, Listing) or own & {row.system for row in table.rows})
    }
