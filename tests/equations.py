"""Where each equation of the papers is computed, from the docstrings and a list of all equations.

python -m tests.equations
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from .documentation import ROOT

PAGE = ROOT / "docs" / "equations.md"
PACKAGE = ROOT / "spacy_psa"
PAPERS = json.loads((ROOT / "tests" / "equations.json").read_text(encoding="utf8"))
MODULES = [
    *sorted(f"layers.{path.stem}" for path in (PACKAGE / "layers").glob("[a-z]*.py")),
    "inference.linear_chain",
]
# The block of a class that has another name, or that is part of another block
BLOCK_OF = {
    "AdditiveSelfAttention": "ContextFusion",
    "CRFDecoder": "CRF",
    "LabelCRFDecoder": "LabelCRF",
    "LabelEmbeddings": "LabelSet",
    "LabelTransitions": "LabelSet",
    "MultiHeadSelfAttention": "DeepAtt",
    "PairwiseCRFDecoder": "PairwiseCRF",
    "PredicateMask": "RoleLabeler",
    "ResidualSublayer": "DeepAtt",
    "SoftmaxDecoder": "Softmax",
    "WordCharacterEmbedding": "WordCharEmbed",
}
WITHOUT_BLOCK = {"LinearChain", "Ops.additive_scores"}
DIFFERENCES = re.compile(
    r"^Where the papers? (?:is|are) silent or we differ(.*?):"
    r"(?: (.*)|\n\n((?:- .*(?:\n  .*)*\n?)+))",
    re.MULTILINE,
)
INTRODUCTION = """\
# Equations

Each equation of the five papers: the class that computes it, its file, the block that a config \
names, and the test that compares it with loops, with enumeration or with the formula. Then, class \
by class, where the papers are silent and where we differ from them. Equations without a number \
are listed by section. The tests compare with the definitions, and everything faster is compared \
with those (`using(PLAIN)`).
"""


class Place(NamedTuple):
    """A class, method or function that computes an equation."""

    name: str
    module: str
    docstring: str

    @property
    def file(self) -> str:
        """Its file, from the root of the repository."""
        return f"spacy_psa/{self.module.replace('.', '/')}.py"

    @property
    def block(self) -> str | None:
        """The block that a config names."""
        name = f"spacy_psa.{BLOCK_OF.get(self.name, self.name)}.v1"
        return name if self.name not in WITHOUT_BLOCK else None


@cache
def places() -> list[Place]:
    """Everything in the layers and the distribution that names its source."""
    found = []
    for module in MODULES:
        for name, value in vars(importlib.import_module(f"spacy_psa.{module}")).items():
            if inspect.isclass(value) and value.__module__ == f"spacy_psa.{module}":
                methods = {
                    f"{name}.{n}": v for n, v in vars(value).items() if inspect.isfunction(v)
                }
                for place, documented in {name: value, **methods}.items():
                    text = inspect.cleandoc(documented.__doc__ or "")
                    if "Source:" in text:
                        found.append(Place(place, module, text))
    return found


def numbers(text: str) -> list[str]:
    """The numbers in a list such as '4 to 7 and 9'."""
    found = []
    for first, last in re.findall(r"(\d+)(?: to (\d+))?", text):
        found += [str(n) for n in range(int(first), int(last or first) + 1)]
    return found


def citations(place: Place) -> Iterator[tuple[str, str]]:
    """The papers and the numbers of the equations that a docstring names as its source."""
    source = " ".join(place.docstring.rpartition("Source:")[2].split())
    for part in source.split(";"):
        found = re.search(r"\bequations? ((?:\d+(?:, | and | to )?)+)", part)
        for citation in PAPERS:
            if citation in part and found:
                yield from ((citation, number) for number in numbers(found[1]))


def computed_by(citation: str, equation: list[str]) -> list[Place]:
    """What computes an equation: as listed, or all that cite its number."""
    if len(equation) > 3:
        module, _, name = equation[3].partition(":")
        value: Any = getattr(importlib.import_module(f"spacy_psa.{module}"), name)
        return [Place(name, module, inspect.cleandoc(value.__doc__))]
    return [place for place in places() if (citation, equation[0]) in set(citations(place))]


def sorted_places() -> list[Place]:
    """All that compute an equation, in the order of the papers, and then all others."""
    equations = [(c, equation) for c, paper in PAPERS.items() for equation in paper["equations"]]
    found = [place for citation, equation in equations for place in computed_by(citation, equation)]
    return list({place.name: place for place in [*found, *places()]}.values())


def differences(place: Place) -> tuple[str, str] | None:
    """What a docstring says about where the paper is silent or we differ: a remark and a list."""
    found = DIFFERENCES.search(place.docstring)
    return None if found is None else (found[1].strip(), (found[2] or found[3]).strip())


def row(citation: str, equation: list[str]) -> str:
    """A row of the table of a paper."""
    found = computed_by(citation, equation)
    number = f"({equation[0]})" if equation[0].isdigit() else equation[0]
    path, _, test = equation[2].partition("::")
    cells = [
        number,
        f"`{equation[1]}`".replace("|", "\\|"),
        ", ".join(f"`{place.name}`" for place in found),
        ", ".join(dict.fromkeys(f"[{p.file[10:]}](../{p.file})" for p in found)),
        ", ".join(dict.fromkeys(f"`{place.block}`" for place in found if place.block)) or "–",
        f"[{test}](../{path})",
    ]
    return f"| {' | '.join(cells)} |"


def page() -> str:
    """The page of all equations."""
    parts = [INTRODUCTION]
    header = "| equation | | class | file | block | test |\n| --- | --- | --- | --- | --- | --- |"
    for citation, paper in PAPERS.items():
        rows = [row(citation, equation) for equation in paper["equations"]]
        parts.append("\n".join([f"## {citation}\n\n{paper['title']}.\n", header, *rows, ""]))
    parts.append("## Where the papers are silent or we differ\n")
    nowhere = []
    for place in sorted_places():
        found = differences(place)
        if found is None:
            continue
        remark, text = found
        if not text.startswith("- "):
            nowhere.append(f"`{place.name}` ({text.rstrip('.')})")
            continue
        heading = f"`{place.name}` {remark}".strip()
        parts.append(f"{heading}:\n\n{text}\n")
    parts.append(f"Without a list: {', '.join(nowhere)}.\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf8")
