"""Each equation of the papers is computed somewhere, tested, and listed in docs/equations.md."""

from __future__ import annotations

import ast
import re

import pytest

from .documentation import ROOT, entry_points
from .equations import (
    PAGE,
    PAPERS,
    Place,
    citations,
    computed_by,
    differences,
    page,
    places,
    sorted_places,
)

# How many equations of each paper have a number
COUNTS = {
    "Wei et al. (2021)": 14,
    "Wei et al. (2019)": 15,
    "Cui and Zhang (2019)": 1,
    "Wang et al. (2021)": 14,
    "Tan et al. (2018)": 15,
}
EQUATIONS = [(citation, e) for citation, paper in PAPERS.items() for e in paper["equations"]]
# Not of the papers, but of what they build on; or described where they are used
WITHOUT_DIFFERENCES = {"LinearChain", "inverse_epoch_decay", "Ops.additive_scores"}


def test_the_page_is_made_from_the_docstrings() -> None:
    assert PAGE.read_text(encoding="utf8") == page(), "run `python -m tests.equations`"


@pytest.mark.parametrize("citation", COUNTS)
def test_no_equation_with_a_number_is_missing(citation: str) -> None:
    listed = [int(e[0]) for paper, e in EQUATIONS if paper == citation and e[0].isdigit()]
    assert listed == list(range(1, COUNTS[citation] + 1))


@pytest.mark.parametrize(("citation", "equation"), EQUATIONS, ids=lambda value: str(value)[:30])
def test_an_equation_is_computed_tested_and_configured(citation: str, equation: list[str]) -> None:
    found = computed_by(citation, equation)
    assert found, "no docstring has it as its source"
    blocks = {place.block for place in found if place.block}
    assert blocks <= {name for _, name, _ in entry_points()}
    path, _, test = equation[2].partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf8"))
    assert test in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for place in found:
        assert (ROOT / place.file).exists()


@pytest.mark.parametrize("place", places(), ids=lambda place: place.name)
def test_docstrings_cite_equations_that_there_are(place: Place) -> None:
    known = {(citation, equation[0]) for citation, equation in EQUATIONS}
    assert set(citations(place)) <= known


@pytest.mark.parametrize("place", sorted_places(), ids=lambda place: place.name)
def test_every_class_of_the_papers_says_where_they_are_silent(place: Place) -> None:
    source = place.docstring.rpartition("Source:")[2]
    of_the_papers = any(citation in " ".join(source.split()) for citation in PAPERS)
    if of_the_papers and place.name not in WITHOUT_DIFFERENCES:
        found = differences(place)
        assert found is not None
        for name in re.findall(r"see `(\w+)`", found[1]):
            assert name in {other.name for other in places() if differences(other)}
