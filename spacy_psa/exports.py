"""Names that a folder exports, and imports only when they are asked for (PEP 562).

spaCy loads our commands for any command of its own, so importing a folder must cost nothing. The
folders that consist of PyTorch alone, `layers` and `inference`, import their names at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def exports(
    folder: str, names: Mapping[str, Sequence[str]]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Make `__all__`, `__getattr__` and `__dir__` of a folder.

    folder (str): The full name of the package.
    names (Mapping[str, Sequence[str]]): The names to export, by the module that defines them.
    RETURNS (Tuple[List[str], Callable, Callable]): The three.
    """
    modules = {name: module for module, exported in names.items() for name in exported}

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {folder!r} has no attribute {name!r}")
        return getattr(import_module(f".{modules[name]}", folder), name)

    return sorted(modules), get, lambda: sorted(modules)
