"""What users may import is listed, documented and importable, and the docs import nothing else."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

import spacy_psa

from .documentation import DOCUMENTS, ROOT, code_blocks
from .public import FOLDERS, FUNCTIONS, PACKAGE, PAGE, page, public, sources, undocumented


def test_the_page_lists_what_is_public() -> None:
    assert PAGE.read_text(encoding="utf8") == page(), "run `python -m tests.public`"


@pytest.mark.parametrize("folder", FOLDERS)
def test_everything_public_is_there_and_documented(folder: str) -> None:
    found = public(folder)
    assert found
    lacking = [undocumented(folder, name, value) for name, value in found.items()]
    assert [line for lines in lacking for line in lines] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_type_checkers_see_what_is_exported(folder: str) -> None:
    assert sorted(sources(folder)) == sorted(public(folder))


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_name_is_that_of_a_module(folder: str) -> None:
    # Importing the module would replace what is exported
    modules = {path.stem for path in (PACKAGE / folder).iterdir()}
    assert modules & set(public(folder)) == set()


@pytest.mark.parametrize("name", ["spacy_psa", *(f"spacy_psa.{name}" for name in FOLDERS)])
def test_names_that_are_not_there_are_reported(name: str) -> None:
    module = importlib.import_module(name)
    assert set(module.__all__) <= {*dir(module)}
    with pytest.raises(AttributeError, match="'unheard_of'"):
        module.unheard_of  # noqa: B018


# What it imports does not import spaCy: see `test_repository`
def test_the_page_about_pytorch_runs() -> None:
    blocks = "\n".join(code_blocks(ROOT / "docs" / "crf.md", "python"))
    modules = set(re.findall(r"^(?:from|import) (\S+)", blocks, re.MULTILINE))
    assert modules <= {"torch", "functools", "spacy_psa.inference", "spacy_psa.layers"}
    exec(blocks, {"__name__": "page"})


def test_the_folders_are_reached_from_the_package() -> None:
    assert all(getattr(spacy_psa, name).__name__ == f"spacy_psa.{name}" for name in FOLDERS)


# Who contributes uses what is private
def test_documents_name_only_what_is_public() -> None:
    for path in DOCUMENTS:
        assert path.name == "CONTRIBUTING.md" or private_names(path) == [], path


def private_names(path: Path) -> list[str]:
    """The names in a document that are not public."""
    private = []
    for block in code_blocks(path, "python"):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.Import):
                private += [a.name for a in node.names if a.name.startswith("spacy_psa.")]
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("spacy_psa"):
                _, _, folder = node.module.partition(".")
                known = public(folder) if folder in FOLDERS else []
                private += [f"{node.module}.{a.name}" for a in node.names if a.name not in known]
    prose = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf8"), flags=re.DOTALL | re.M)
    for name in re.findall(r"`spacy_psa\.([a-z]\w*(?:\.[A-Za-z]\w*)*)`", prose):
        folder, _, rest = name.partition(".")
        is_registered = re.search(r"\.v\d+$", name)
        is_public = name in FUNCTIONS or (
            folder in FOLDERS and (not rest or rest in public(folder))
        )
        private += [] if is_registered or is_public else [name]
    return private
