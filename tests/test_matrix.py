"""What `make test-matrix` installs, and what setup.cfg admits."""

from __future__ import annotations

import configparser
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
MATRIX = ROOT / "tests" / "matrix"
# PyTorch's older builds for the CPU are not in the package index: it is installed as in CI.
WITHOUT_OLDEST = {"torch"}


def required() -> dict[str, Requirement]:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf8")
    lines = config["options"]["install_requires"].split("\n")
    found = [Requirement(line) for line in lines if line.strip()]
    return {requirement.name: requirement for requirement in found}


def pinned(name: str) -> dict[str, str]:
    lines = (MATRIX / f"{name}.txt").read_text(encoding="utf8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return dict(pairs)


def test_the_oldest_releases_are_the_lower_bounds() -> None:
    lowest = {
        name: specifier.version
        for name, requirement in required().items()
        for specifier in requirement.specifier
        if specifier.operator == ">=" and name not in WITHOUT_OLDEST
    }
    assert pinned("oldest") == lowest


@pytest.mark.parametrize("name", ["oldest", "newest"])
def test_what_is_installed_is_admitted(name: str) -> None:
    requirements = required()
    for package, version in pinned(name).items():
        assert version in requirements[package].specifier, package


def test_makefile_installs_each_of_them() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf8")
    for path in MATRIX.glob("*.txt"):
        assert path.stem in makefile
