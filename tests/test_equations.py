"""Each equation of the papers is computed somewhere, tested, and listed in docs/equations.md."""

from __future__ import annotations

import ast
import re

import pytest

from .documentation import ROOT, entry_points
from .equations import (
    PAGE,
    PAPERS,
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


@pytest.mark.parametrize("citation", PAPERS)
def test_equations_are_computed_tested_and_configured(citation: str) -> None:
    registered = {name for _, name, _ in entry_points()}
    for equation in (equation for paper, equation in EQUATIONS if paper == citation):
        found = computed_by(citation, equation)
        assert found, f"no docstring has {equation[0]} as its source"
        assert {place.block for place in found if place.block} <= registered
        path, _, test = equation[2].partition("::")
        tree = ast.parse((ROOT / path).read_text(encoding="utf8"))
        names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert test in names, equation[2]
        assert all((ROOT / place.file).exists() for place in found), equation[0]


def test_docstrings_cite_equations_that_there_are() -> None:
    known = {(citation, equation[0]) for citation, equation in EQUATIONS}
    for place in places():
        assert set(citations(place)) <= known, place.name


def test_every_class_of_the_papers_says_where_they_are_silent() -> None:
    described = {other.name for other in places() if differences(other)}
    for place in sorted_places():
        source = place.docstring.rpartition("Source:")[2]
        of_the_papers = any(citation in " ".join(source.split()) for citation in PAPERS)
        if of_the_papers and place.name not in WITHOUT_DIFFERENCES:
            found = differences(place)
            assert found is not None, place.name
            assert set(re.findall(r"see `(\w+)`", found[1])) <= described, place.name
