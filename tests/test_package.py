"""What is published: the metadata, the source distribution, and what a trained pipeline needs."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest
import spacy
from packaging.licenses import canonicalize_license_expression
from packaging.requirements import Requirement
from setuptools.command.egg_info import FileList
from spacy.training import Example

from .documentation import ROOT

if sys.version_info >= (3, 11):
    import tomllib

# What spaCy itself imports is not in the list: jinja2, typer, weasel, requests, …
UNNEEDED = {
    "altair",
    "huggingface_hub",
    "pyarrow",
    "ray",
    "scipy",
    "sklearn",
    "spacy_transformers",
    "sympy",
    "torch._dynamo",
    "torch._inductor",
    "transformers",
    "triton",
    "vl_convert",
    *(f"spacy_psa.{name}" for name in ("analysis", "calibration", "cli", "corpora", "evaluation")),
    *(f"spacy_psa.{name}" for name in ("figures", "reproduction", "scale")),
}
MOST_MODULES = 155
# spaCy imports all installed plugins, so others are hidden
LOAD = """
import catalogue, sys
found = catalogue.Registry._get_entry_points
catalogue.Registry._get_entry_points = lambda self: [
    point for point in found(self) if not point.value.startswith("spacy_transformers")
]
import spacy
print(spacy.load(sys.argv[1])("Alice lives in Paris.")[0].text, *sys.modules, sep="\\n")
"""


def setup() -> ConfigParser:
    parser = ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg", encoding="utf8")
    return parser


def test_prediction_imports_no_more_than_it_needs(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("psa_tagger", config={"target": "ents"})
    doc = nlp.make_doc("Alice lives in Paris.")
    nlp.initialize(lambda: [Example.from_dict(doc, {"entities": [(0, 5, "PERSON")]})])
    nlp.to_disk(tmp_path)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LOAD, str(tmp_path)], capture_output=True, text=True
    )
    first, *modules = done.stdout.splitlines() or [done.stderr]
    assert first == "Alice", done.stderr
    assert UNNEEDED.isdisjoint(modules), sorted(UNNEEDED & set(modules))
    ours = [name for name in modules if name.split(".")[0] == "spacy_psa"]
    assert 50 < len(ours) <= MOST_MODULES


def test_the_description_has_no_link_that_leads_nowhere_on_a_package_index() -> None:
    spec = importlib.util.spec_from_file_location("package_setup", ROOT / "setup.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    readme = (ROOT / "README.md").read_text(encoding="utf8")
    text = module.description(readme)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    assert targets and all(target.startswith("https://") for target in targets)
    # What the links say is still there
    assert text.count("semantic roles") == readme.count("semantic roles")


def test_the_licence_is_an_expression() -> None:
    licence = setup()["metadata"]["license_expression"]
    assert canonicalize_license_expression(licence) == licence
    assert not [
        line for line in setup()["metadata"]["classifiers"].split("\n") if "License" in line
    ]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is new in Python 3.11")
def test_what_developers_need_is_not_published() -> None:
    extras = set(setup()["options.extras_require"])
    assert extras == {"cuda", "plots", "scale", "ray", "transformers"}
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))[
        "dependency-groups"
    ]
    assert groups.keys() == {"dev", "docs", "mutation", "peers"}
    assert all(Requirement(line).name for lines in groups.values() for line in lines)
    assert "--group dev " in (ROOT / "Makefile").read_text(encoding="utf8")


def test_a_wheel_has_all_files() -> None:
    options = setup()
    # With it, setuptools warns of each folder without modules, such as those of the templates
    assert not options["options"].getboolean("include_package_data")
    package = ROOT / "spacy_psa"
    patterns = options["options.package_data"]["spacy_psa"].split(",")
    found = {path for pattern in patterns for path in package.glob(pattern.strip())}
    files = {path for path in package.rglob("*") if path.is_file()}
    assert found == {path for path in files if path.suffix not in (".py", ".pyc")}


def test_a_source_distribution_has_all_files(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    tracked = {path for path in listed.stdout.split("\0") if path}
    monkeypatch.chdir(ROOT)
    files = FileList()
    for line in (ROOT / "MANIFEST.in").read_text(encoding="utf8").splitlines():
        if line and not line.startswith("#"):
            files.process_template_line(line)
    assert caplog.messages == []
    found = {os.path.normpath(path) for path in files.files}
    # setuptools adds these itself
    automatic = {"LICENSE", "README.md", "pyproject.toml", "setup.cfg", "setup.py", "MANIFEST.in"}
    missing = {path for path in tracked - found - automatic if not path.startswith("spacy_psa/")}
    assert missing == {".gitignore"}
    assert not [path for path in found if path.endswith(".pyc") or ".venv" in path]
