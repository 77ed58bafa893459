"""What a user may import: the names that the folders of the package export.

python -m tests.public
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
import textwrap
from functools import cache
from itertools import pairwise
from typing import Any

import spacy_psa

from .documentation import ROOT

PAGE = ROOT / "docs" / "api.md"
PACKAGE = ROOT / "spacy_psa"
# What is reached from the package itself, too
FUNCTIONS = {"apply"}
FOLDERS = [name for name in spacy_psa.__all__ if not name.startswith("_") and name not in FUNCTIONS]
# The settings of a component are described where it is made
FACTORIES = {
    "PSATagger": "make_psa_tagger",
    "PSASemanticRoles": "make_psa_srl",
    "PSATok2Vec": "make_psa_tok2vec",
}
# What spaCy passes to any factory, and what comes back, needs no words
OF_ANY_FACTORY = {"nlp", "vocab", "name", "RETURNS"}
INTRODUCTION = """\
# Python interface

What may be imported from `spacy_psa`. Everything else is private and may change. Names are \
imported from the folder that lists them, e.g. `from spacy_psa.inference import LinearChain`; most \
folders import them only when they are asked for. Arguments, listed below each table, are \
described in the docstrings, which the site that `make docs` builds shows, and those that a \
config may set in [configuration.md](configuration.md). [crf.md](crf.md) shows the CRF and the \
layers without spaCy. `spacy_psa.apply` is `apply` of `spacy_psa.scale`.
"""


@cache
def sources(folder: str) -> dict[str, str]:
    """The module that defines each name that a folder imports for export."""
    tree = ast.parse((PACKAGE / folder / "__init__.py").read_text(encoding="utf8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module for node in found if node.level == 1 for alias in node.names}


def public(folder: str) -> dict[str, Any]:
    """The names and objects that a folder exports."""
    module = importlib.import_module(f"spacy_psa.{folder}")
    return {name: inspect.unwrap(getattr(module, name)) for name in sorted(module.__all__)}


def constant_docstring(folder: str, name: str) -> str | None:
    """The string below an assignment, which describes a constant or a type."""
    path = PACKAGE / folder / (sources(folder)[name].replace(".", "/") + ".py")
    body = ast.parse(path.read_text(encoding="utf8")).body
    for node, following in pairwise(body):
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            is_text = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
            return following.value.value if is_text else None
    return None


def docstring(folder: str, name: str, found: Any) -> str:
    """The docstring of something public, or nothing."""
    if inspect.isclass(found) or inspect.isfunction(found):
        return inspect.cleandoc(found.__doc__ or "")
    return inspect.cleandoc(constant_docstring(folder, name) or "")


def described(text: str) -> set[str]:
    """What a docstring in spaCy's style describes: `name (type): meaning.`"""
    lines = re.findall(r"^\s*((?:\*{0,2}\w+(?:, )?)+)(?: \(.*|:.*)$", text, flags=re.MULTILINE)
    return {name.strip("* ") for line in lines for name in line.split(",")}


def missing(name: str, function: Any, text: str) -> list[str]:
    """What the docstring of a function or class lacks."""
    if not text:
        return [name]
    signature = inspect.signature(function)
    wanted = set(signature.parameters) - {"self"}
    if signature.return_annotation not in (None, "None", inspect.Signature.empty):
        wanted.add("RETURNS")
    known = described(text)
    if re.search(r"^\s*(RETURNS|YIELDS)\b", text, flags=re.MULTILINE):
        known.add("RETURNS")
    return [f"{name}: {argument}" for argument in sorted(wanted - known)]


def members(found: Any) -> dict[str, Any]:
    """What a class has of its own, or of classes of this package."""
    ours = [kind for kind in found.__mro__ if kind.__module__.startswith("spacy_psa.")]
    return {name: value for kind in reversed(ours) for name, value in vars(kind).items()}


def undocumented(folder: str, name: str, found: Any) -> list[str]:
    """What the docstrings of something public lack."""
    text = docstring(folder, name, found)
    if inspect.isfunction(found):
        lacking = missing(name, found, text)
        if name in FACTORIES.values():
            lacking = [line for line in lacking if line.split(": ")[-1] not in OF_ANY_FACTORY]
        return lacking
    if not inspect.isclass(found):
        return [] if text else [name]
    lacking = [line for line in missing(name, found, text) if not line.endswith(": RETURNS")]
    if name in FACTORIES:
        settings = described(public(folder)[FACTORIES[name]].__doc__) | OF_ANY_FACTORY
        lacking = [line for line in lacking if line.split(": ")[-1] not in settings]
    for attribute, value in members(found).items():
        function = getattr(value, "__func__", value)
        if not attribute.startswith("_") and inspect.isfunction(function):
            text = inspect.getdoc(getattr(found, attribute)) or ""
            lacking += missing(f"{name}.{attribute}", function, text)
        elif not attribute.startswith("_") and isinstance(value, property):
            lacking += [] if value.__doc__ else [f"{name}.{attribute}"]
    return lacking


def first_sentence(text: str) -> str:
    """The first sentence of a docstring, on one line."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    sentence = re.match(r".*?[.:](?= [A-Z(]|$)", paragraph)
    return (sentence[0] if sentence else paragraph).rstrip(".:").replace("|", "\\|")


def arguments(found: Any) -> str:
    """The arguments of a function or class as in its source, on one line."""
    function = found
    if inspect.isclass(found):
        if dataclasses.is_dataclass(found):
            return ", ".join(field.name for field in dataclasses.fields(found) if field.init)
        if hasattr(found, "_fields"):
            return ", ".join(found._fields)
        function = found.__init__
    if not inspect.isfunction(function):
        return ""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(node, ast.FunctionDef)
    return re.sub(r"^self(, )?", "", ast.unparse(node.args))


def signatures(found: dict[str, Any]) -> str:
    """How the functions and classes among public names are called."""
    lines = [
        f"{name}({arguments(value)})"
        for name, value in found.items()
        if inspect.isclass(value) or inspect.isfunction(value)
    ]
    return "\n".join(["", "```text", *lines, "```"]) if lines else ""


def page() -> str:
    """The page that lists everything public."""
    parts = [INTRODUCTION]
    for folder in FOLDERS:
        text = inspect.cleandoc(importlib.import_module(f"spacy_psa.{folder}").__doc__)
        rows = [
            f"| `{name}` | {first_sentence(docstring(folder, name, found))} |"
            for name, found in public(folder).items()
        ]
        heading = f"## `spacy_psa.{folder}`\n\n{first_sentence(text)}.\n"
        table = [heading, "| name | what it is |", "| --- | --- |", *rows]
        parts.append("\n".join([*table, signatures(public(folder)), ""]))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf8")
