"""The documentation site, the citation, and the files for a public repository."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import srsly

import spacy_psa

from .documentation import ROOT

SITE = srsly.read_yaml(ROOT / "mkdocs.yml")


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "docs" / "site_hooks.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pages(nav: Any) -> Iterator[str]:
    """The pages in the navigation of the site."""
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from pages(part)


def test_the_navigation_has_each_page_once(hooks: ModuleType) -> None:
    found = list(pages(SITE["nav"]))
    docs = {f"docs/{path.relative_to(ROOT / 'docs')}" for path in (ROOT / "docs").glob("**/*.md")}
    below = {name for name in docs if name.count("/") > 1}  # reached from the pages above them
    top = {path.name for path in ROOT.glob("*.md")}
    assert len(found) == len(set(found))
    assert docs - below | top <= set(found)
    made = hooks.reference((ROOT / hooks.INDEX).read_text(encoding="utf8"))
    assert {name for name in found if not (ROOT / name).is_file()} == set(made)


def test_the_site_has_what_its_pages_show(hooks: ModuleType) -> None:
    files = hooks.site_files()
    made = hooks.reference((ROOT / hooks.INDEX).read_text(encoding="utf8"))
    assert set(pages(SITE["nav"])) <= {*files, *made}
    images = [
        (ROOT / name).parent / target
        for name in files
        if name.endswith(".md")
        for target in re.findall(
            r"!\[[^\]]*\]\(([^)\s]+)\)", (ROOT / name).read_text(encoding="utf8")
        )
        if ":" not in target
    ]
    assert images
    assert [str(p) for p in images if p.resolve().relative_to(ROOT).as_posix() not in files] == []


def test_links_to_what_the_site_does_not_have_are_text(hooks: ModuleType) -> None:
    markdown = "[a](api.md#x) [`s`](../setup.cfg) `[c](../setup.cfg)` [w](https://x.org) [n](no.md)"
    found = hooks.adapt(markdown, "docs/page.md", {"docs/api.md"})
    wanted = "[a](api.md#x) `s` `[c](../setup.cfg)` [w](https://x.org) [n](no.md)"
    assert found == wanted


def test_lists_are_nested_for_mkdocs(hooks: ModuleType) -> None:
    code = "```\n  - x\n```"
    assert hooks.adapt(f"- a\n  - b\n{code}", "a.md", set()) == f"- a\n    - b\n{code}"


def test_nothing_comes_from_other_sites() -> None:
    assert SITE["theme"]["font"] is False and SITE["strict"] is True
    assert {"search", "offline"} <= {name for name in SITE["plugins"] if isinstance(name, str)}
    assert "extra_javascript" not in SITE
    assert [path for path in SITE["extra_css"] if not (ROOT / path).is_file()] == []
    assert "url(" not in (ROOT / "docs" / "assets" / "site.css").read_text(encoding="utf8")


def test_the_citation_has_the_five_papers() -> None:
    citation = srsly.read_yaml(ROOT / "CITATION.cff")
    assert citation["cff-version"] == "1.2.0" and citation["message"] and citation["authors"]
    assert citation["version"] == spacy_psa.__version__
    papers = citation["references"]
    assert len(papers) == 5
    readme = (ROOT / "docs" / "equations.md").read_text(encoding="utf8")
    for paper in papers:
        assert paper["title"] and paper["type"] and paper["year"] in (2018, 2019, 2021)
        assert all(author["family-names"] and author["given-names"] for author in paper["authors"])
        assert paper["authors"][0]["family-names"] in readme
    systems = [re.match(r"System ([\w-]+)", paper["notes"])[1] for paper in papers]
    folder = ROOT / "spacy_psa" / "cli" / "templates"
    known = {path.stem for path in folder.glob("**/*.cfg")}
    assert set(systems) <= known


def test_the_workflow_tests_each_python() -> None:
    workflow = srsly.read_yaml(ROOT / ".github" / "workflows" / "ci.yml")
    assert set(workflow["jobs"]) == {"lint", "test", "curated", "build", "docs"}
    matrix = workflow["jobs"]["test"]["strategy"]["matrix"]
    classifiers = (ROOT / "setup.cfg").read_text(encoding="utf8")
    assert matrix["python"] == re.findall(r"Python :: (3\.\d+)$", classifiers, flags=re.MULTILINE)
    assert all((ROOT / path).is_file() for path in matrix["versions"])
    left_out = {(row["python"], row["versions"]) for row in matrix["exclude"]}
    assert not {python for python, path in left_out if path == "constraints.txt"}
    makefile = (ROOT / "Makefile").read_text(encoding="utf8")
    steps = [step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"]]
    targets = {line.split()[1] for line in steps if line.startswith("make ")}
    assert targets == {"lint", "test", "test-curated", "docs"}
    assert all(re.search(rf"^{target}:", makefile, flags=re.MULTILINE) for target in targets)


@pytest.mark.parametrize("name", ["bug", "feature"])
def test_issue_templates_are_forms(name: str) -> None:
    form = srsly.read_yaml(ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml")
    assert form["name"] and form["description"]
    identifiers = [field["id"] for field in form["body"]]
    assert len(set(identifiers)) == len(identifiers) >= 2
