"""Which changes to the code are tried, and with what outcome."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..documentation import ROOT

pytest.importorskip("cosmic_ray", reason="needs cosmic-ray (pip install --group mutation)")

from .mutants import Mutant, apply, code_mutants, draw, find, type_hints

SOURCE = '''
"""A | B - 1"""
from typing import ClassVar


class Thing:
    names: ClassVar[list[str | None]] = ["ä" + "b"]  # 1 + 2

    def first(self, ö: "int | None", x: int | str = 1 + 2, *rest: int | str) -> (
        list[int | None]
        | None
    ):
        y: int | None = x + 3; z = not y
        return [z] if x < 1 else None

    def second(self, *, x: int) -> int:
        return 2 * x
'''


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "module.py"
    path.write_text(SOURCE, encoding="utf8")
    return path


class WithoutHints(ast.NodeTransformer):
    """Removes type hints."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.returns = None
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.Assign:
        return ast.Assign(targets=[node.target], value=node.value)


def is_python(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def bare(source: str) -> str:
    return ast.dump(WithoutHints().visit(ast.parse(source)))


def test_what_is_left_out_are_changes_of_type_hints_and_only_these(module: Path) -> None:
    kept, left_out = code_mutants([module])
    everything = find([module])
    assert left_out == len(everything) - len(kept) > 0
    for change in everything:
        mutated = apply(SOURCE, change.operator_name, change.occurrence)
        assert mutated != SOURCE
        if is_python(mutated):
            assert (bare(mutated) != bare(SOURCE)) == (change in kept)


def test_type_hints_are_found_by_character() -> None:
    lines = SOURCE.splitlines()
    hints = {
        lines[line - 1][column:end]
        for (line, column), (last, end) in type_hints(SOURCE)
        if line == last
    }
    assert hints == {"ClassVar[list[str | None]]", '"int | None"', "int | str", "int | None", "int"}


def test_what_is_drawn_is_random_and_can_be_read(module: Path) -> None:
    changes, _ = code_mutants([module])
    drawn = list(draw(changes, 1, module.parent))
    assert drawn == list(draw(changes, 1, module.parent))
    others = list(draw(changes, 2, module.parent))
    assert drawn != others and set(drawn) == set(others)
    # `*rest` is not a multiplication. Nor is `*,`, but `/,` is valid syntax.
    assert all(is_python(mutant.code(module.parent)) for mutant in drawn)
    stars = sum("_Mul_" in change.operator_name for change in changes)
    kept = [mutant for mutant in drawn if "_Mul_" in mutant.operator]
    assert len(changes) - len(drawn) == stars - len(kept) > 0
    assert {m.before for m in kept} == {"return 2 * x", "def second(self, *, x: int) -> int:"}


def test_a_mutant_knows_its_lines_and_its_function(module: Path) -> None:
    mutants = draw(code_mutants([module])[0], 0, module.parent)
    found = {(m.function, m.before, m.after) for m in mutants}
    line = "y: int | None = x + 3; z = not y"
    assert ("first", line, line.replace("x + 3", "x - 3")) in found
    assert ("first", line, line.replace("not y", " y")) in found


def test_a_mutant_of_other_code_is_refused(module: Path) -> None:
    mutant = next(draw(code_mutants([module])[0], 0, module.parent))
    assert Mutant(**mutant.as_dict()).code(module.parent) != SOURCE
    longer = f"{SOURCE}\nx = 1\n"
    module.write_text(longer, encoding="utf8")
    assert mutant.code(module.parent) == apply(longer, mutant.operator, mutant.occurrence)
    module.write_text("x = 1 < 2\n", encoding="utf8")
    with pytest.raises(ValueError, match="sample anew"):
        mutant.code(module.parent)


# In a separate process, because this one has imported the package.
OUTCOMES = """
import sys
from pathlib import Path
from tests.mutation.run import run_tests
tree = Path(sys.argv[1])
for test in ("passes", "fails", "loops", "fills_memory"):
    print(run_tests(tree, [f"tests/test_{test}.py"], seconds=3)[0])
"""
TESTED = {
    "passes": "import spacy_psa\ndef test(): assert spacy_psa.here",
    "fails": "import spacy_psa\ndef test(): assert not spacy_psa.here",
    "loops": "def test():\n    while True: pass",
    "fills_memory": "def test(): bytearray(1 << 36)",
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_what_becomes_of_tests_in_another_tree(tmp_path: Path) -> None:
    for package in ("spacy_psa", "tests"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("here = True", encoding="utf8")
    for name, code in TESTED.items():
        (tmp_path / "tests" / f"test_{name}.py").write_text(code, encoding="utf8")
    done = subprocess.run(
        [sys.executable, "-c", OUTCOMES, str(tmp_path)], capture_output=True, text=True, cwd=ROOT
    )
    assert done.stdout.split() == ["survived", "killed", "stopped", "killed"], done.stderr
