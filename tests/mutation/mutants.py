"""List and apply the small code changes that cosmic-ray can make, type hints excluded."""

from __future__ import annotations

import ast
import difflib
import random
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cosmic_ray.commands.init import init
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec

Place = tuple[int, int]
"""Line, counted from 1, and column, counted from 0."""


@dataclass(frozen=True)
class Mutant:
    """A module with one change.

    module (str): The path of the module, relative to the project root.
    function (str): The function or class that contains the change; "" for the module itself.
    operator (str): cosmic-ray's name for the kind of change.
    occurrence (int): Which of the places that the operator can change.
    before (str): The original lines.
    after (str): The lines that replace them.
    """

    module: str
    function: str
    operator: str
    occurrence: int
    before: str
    after: str

    def as_dict(self) -> dict[str, Any]:
        """The fields, for JSON."""
        return asdict(self)

    def code(self, root: Path) -> str:
        """Apply the change."""
        source = (root / self.module).read_text(encoding="utf8")
        changed = apply(source, self.operator, self.occurrence)
        if difference(source, changed) != (self.before, self.after):
            raise ValueError(f"{self.module} is another than that of '{self.before}': sample anew")
        return changed


def find(paths: Iterable[Path]) -> list[MutationSpec]:
    """List all changes that cosmic-ray can make."""
    with use_db(":memory:", WorkDB.Mode.create) as database:
        init(sorted(paths), database, {})
        found = [change for item in database.work_items for change in item.mutations]
    return sorted(found, key=lambda c: (str(c.module_path), c.operator_name, c.occurrence))


def is_code(change: MutationSpec, hints: Iterable[tuple[Place, Place]]) -> bool:
    """Check whether a change can make a difference at run time."""
    return not any(start <= tuple(change.start_pos) < end for start, end in hints)


def type_hints(source: str) -> Iterator[tuple[Place, Place]]:
    """Find the type hints of a module."""
    lines = source.splitlines()

    def place(line: int, offset: int) -> Place:
        # `ast` counts UTF-8 bytes, cosmic-ray counts characters
        return line, len(lines[line - 1].encode()[:offset].decode())

    for node in ast.walk(ast.parse(source)):
        for hint in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(hint, ast.expr):
                assert hint.end_lineno is not None and hint.end_col_offset is not None
                start = place(hint.lineno, hint.col_offset)
                yield start, place(hint.end_lineno, hint.end_col_offset)


def code_mutants(paths: Iterable[Path]) -> tuple[list[MutationSpec], int]:
    """List the possible changes, without those to type hints."""
    changes = find(paths)
    hints = {
        path: list(type_hints(path.read_text(encoding="utf8")))
        for path in {change.module_path for change in changes}
    }
    kept = [change for change in changes if is_code(change, hints[change.module_path])]
    return kept, len(changes) - len(kept)


def draw(changes: list[MutationSpec], seed: int, root: Path) -> Iterator[Mutant]:
    """Make mutants in random order. Invalid Python is left out: cosmic-ray takes the `*` before
    keyword-only arguments for a multiplication.
    """
    shuffled = list(changes)
    random.Random(seed).shuffle(shuffled)
    for change in shuffled:
        source = change.module_path.read_text(encoding="utf8")
        mutated = apply(source, change.operator_name, change.occurrence)
        try:
            ast.parse(mutated)
        except SyntaxError:
            continue
        yield Mutant(
            change.module_path.relative_to(root).as_posix(),
            change.definition_name or "",
            change.operator_name,
            change.occurrence,
            *difference(source, mutated),
        )


def apply(source: str, operator: str, occurrence: int) -> str:
    """Change source code."""
    return mutate_code(source, get_operator(operator)(), occurrence) or source


def difference(before: str, after: str) -> tuple[str, str]:
    """Find the lines in which two versions of source code differ."""
    lines = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    removed, added = (
        [line[2:].strip() for line in lines if line.startswith(sign)] for sign in ("- ", "+ ")
    )
    return "\n".join(filter(None, removed)), "\n".join(filter(None, added))
