"""The reference on the documentation site has everything public with all that docstrings say."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from .documentation import ROOT
from .public import (
    FACTORIES,
    FOLDERS,
    OF_ANY_FACTORY,
    PAGE,
    arguments,
    described,
    docstring,
    members,
    public,
)


def load(name: str) -> ModuleType:
    """A module of the site, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


style = load("docstring_style")


def documented(folder: str) -> Iterator[tuple[str, Any, str]]:
    """What a folder exports, and the methods of classes, with their docstrings."""
    for name, found in public(folder).items():
        yield name, found, docstring(folder, name, found)
        for attribute, value in members(found).items() if inspect.isclass(found) else ():
            function = getattr(value, "__func__", value)
            if not attribute.startswith("_") and inspect.isfunction(function):
                yield f"{name}.{attribute}", function, inspect.getdoc(function) or ""
            elif not attribute.startswith("_") and isinstance(value, property):
                yield f"{name}.{attribute}", value, inspect.getdoc(value) or ""


def items(text: str, kind: str) -> list[Any]:
    parts = [part for part in style.parse(text) if isinstance(part, list)]
    return [item for part in parts for item in part if item.kind == kind]


def known_names(found: Any) -> set[str]:
    """What the docstring of a function or class may describe."""
    if not inspect.isclass(found):
        return set(inspect.signature(found).parameters) if inspect.isfunction(found) else set()
    names = set(re.findall(r"\w+", arguments(found))) | set(dir(found))
    return names | {name for part in found.__mro__ for name in getattr(part, "__annotations__", {})}


def test_a_docstring_becomes_sections() -> None:
    text = """\
Find it (Doe 2001).

    a + b: c

Source: Doe (2001), equation 1.

x, y (Union[int,
    str]): *Shape:* (N,). One line,
    and another.
z (Optional[Dict[str, float]]): Weights (in nats): see above.
**settings: What is passed on.
drop, losses: See `update`.
RETURNS (Tensor): *Shape:* (C,)
RAISES (ValueError): If not.
RAISES (OutputError): If full.

A last word."""
    first, parameters, returns, raises, last = style.parse(text)
    assert first == text.split("\n\nx, y")[0] and last == "A last word."
    assert [(item.name, item.type) for item in parameters] == [
        ("x", "Union[int, str]"),
        ("y", "Union[int, str]"),
        ("z", "Optional[Dict[str, float]]"),
        ("settings", ""),
        ("drop", ""),
        ("losses", ""),
    ]
    assert parameters[0].text == "*Shape:* (N,). One line,\nand another."
    assert parameters[2].text == "Weights (in nats): see above."
    assert [(item.kind, item.text) for item in returns] == [("returns", "*Shape:* (C,)")]
    assert [item.type for item in raises] == ["ValueError", "OutputError"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_all_that_docstrings_describe_is_found(folder: str) -> None:
    for name, found, text in documented(folder):
        parameters = {item.name for item in items(text, style.PARAMETERS)}
        assert parameters <= known_names(found), name  # none invented
        if inspect.isfunction(found):
            wanted = set(inspect.signature(found).parameters) - {"self", "cls"}
            if name in FACTORIES.values():
                wanted -= OF_ANY_FACTORY
            assert wanted <= parameters, name
        elif inspect.isclass(found):
            assert set(re.findall(r"\w+", arguments(found))) & described(text) <= parameters, name
        for keyword, kind in style.KINDS.items():
            lines = re.findall(rf"^{keyword} ", text, flags=re.MULTILINE)
            assert len(items(text, kind)) == len(lines), f"{name}: {keyword}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_words_are_lost(folder: str) -> None:
    for name, _, text in documented(folder):
        words = []
        for part in style.parse(text):
            for item in [part] if isinstance(part, str) else part:
                words += (item if isinstance(item, str) else f"{item.type} {item.text}").split()
        left = set(re.findall(r"\w+", text)) - set(re.findall(r"\w+", " ".join(words)))
        names = {item.name for item in items(text, style.PARAMETERS)}
        assert left <= names | set(style.KINDS), name


def test_there_is_a_page_for_each_folder_with_all_names() -> None:
    hooks = load("site_hooks")
    index = PAGE.read_text(encoding="utf8")
    pages = hooks.reference(index)
    assert list(pages) == [f"docs/api/{folder}.md" for folder in FOLDERS]
    linked = hooks.link_names(index)
    for folder in FOLDERS:
        wanted = [f"spacy_psa.{folder}.{name}" for name in public(folder)]
        assert re.findall(r"^::: (\S+)$", pages[f"docs/api/{folder}.md"], re.MULTILINE) == wanted
        # MkDocs reports a link to a name that is not on the page
        assert all(f"| [`{path.split('.')[-1]}`][{path}] |" in linked for path in wanted)
    assert hooks.adapt(linked, "docs/api.md", {"docs/configuration.md", "docs/crf.md"}) == linked
