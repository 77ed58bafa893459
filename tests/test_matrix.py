"""What `make test-matrix` installs, and what setup.cfg allows."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]
MATRIX = ROOT / "tests" / "matrix"
# PyTorch's older CPU builds are not in the package index: it is installed as in CI.
WITHOUT_OLDEST = {"torch"}


def required() -> dict[str, Requirement]:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf8")
    lines = config["options"]["install_requires"].split("\n")
    found = [Requirement(line) for line in lines if line.strip()]
    return {requirement.name: requirement for requirement in found}


def pinned(name: str, python: str) -> dict[str, str]:
    """The only version of each package that is installed for a Python version such as 3.10."""
    lines = (MATRIX / f"{name}.txt").read_text(encoding="utf8").splitlines()
    found = [Requirement(line) for line in lines if line and not line.startswith("#")]
    asked = [r for r in found if r.marker is None or r.marker.evaluate({"python_version": python})]
    assert len({r.name for r in asked}) == len(asked)
    return {r.name: str(r.specifier).removeprefix("==") for r in asked}


def pythons() -> list[str]:
    """The Python versions that the package declares."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf8")
    names = [line.rpartition(" :: ")[2] for line in config["metadata"]["classifiers"].split("\n")]
    return [name for name in names if name.startswith("3.")]


def test_the_oldest_releases_are_the_lower_bounds() -> None:
    lowest = {
        name: specifier.version
        for name, requirement in required().items()
        for specifier in requirement.specifier
        if specifier.operator == ">=" and name not in WITHOUT_OLDEST
    }
    for python in pythons():
        versions = pinned("oldest", python)
        # The last of NumPy 1, where there are builds of it
        assert versions.pop("numpy", None) == ("1.26.4" if int(python[2:]) < 13 else None)
        assert versions.keys() == lowest.keys()
        assert python != pythons()[0] or versions == lowest


def test_no_pytorch_is_admitted_that_was_not_tested() -> None:
    line = re.search(r"^torch==(\d+)\.(\d+)", (ROOT / "constraints.txt").read_text(), re.M)
    major, minor = map(int, line.groups())
    torch = required()["torch"].specifier
    assert f"{major}.{minor}.99" in torch and f"{major}.{minor + 1}.0" not in torch


@pytest.mark.parametrize("python", pythons())
@pytest.mark.parametrize("name", ["oldest", "newest"])
def test_what_is_installed_is_admitted(name: str, python: str) -> None:
    requirements = required()
    for package, version in pinned(name, python).items():
        assert package == "numpy" or version in requirements[package].specifier, package


def test_the_same_versions_of_python_are_named_everywhere() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf8")
    admitted = SpecifierSet(config["options"]["python_requires"])
    found = [f"3.{minor}" for minor in range(30) if f"3.{minor}.1" in admitted]
    assert pythons() == found
    makefile = (ROOT / "Makefile").read_text(encoding="utf8")
    assert f"PYTHONS ?= {' '.join(f'python{version}' for version in found)}\n" in makefile
    for name in ("README.md", "docs/limits.md"):
        assert f"Python {found[0]} to {found[-1]}" in (ROOT / name).read_text(encoding="utf8")


def test_the_curated_transformers_are_those_of_the_documentation() -> None:
    text = (ROOT / "docs" / "transformers.md").read_text(encoding="utf8")
    version = pinned("curated", pythons()[-1])["spacy-curated-transformers"]
    assert re.search(rf"spacy-curated-transformers.*releases [\d. and]*{version} load", text)
    for name in ("Makefile", ".github/workflows/ci.yml"):
        assert "test-curated" in (ROOT / name).read_text(encoding="utf8")


def test_makefile_installs_each_of_them() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf8")
    for path in MATRIX.glob("*.txt"):
        assert path.stem in makefile
