"""`spacy package`: pip installs the packaged pipeline, and spaCy loads it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
import spacy
from spacy.util import get_minor_version_range

import spacy_psa

from .commands import succeed

TEXT = "Mr. Lincoln said that shares in Canada moved higher ."
SCRIPT = """
import json, spacy
doc = spacy.load("en_psa_sample")(input())
print(json.dumps([[token.text, token.tag_, token.ent_type_] for token in doc]))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, trained: Path) -> Path:
    """The package of the trained pipeline."""
    folder = tmp_path_factory.mktemp("packages")
    with pytest.MonkeyPatch.context() as patch:
        # No network: setuptools comes from this environment, not from the package index.
        patch.setenv("PIP_NO_INDEX", "1")
        succeed(
            *("package", trained / "model-best", folder, "--name", "psa_sample"),
            *("--version", "1.2.3", "--build", "wheel"),
        )
    (path,) = folder.glob("*/dist/*.whl")
    return path


def test_the_package_requires_ours(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read("en_psa_sample-1.2.3.dist-info/METADATA").decode()
    requirements = Parser().parsestr(text).get_all("Requires-Dist")
    lower, upper = get_minor_version_range(spacy_psa.__version__).split(",")
    assert any(r.startswith("spacy-psa") and lower in r and upper in r for r in requirements), (
        requirements
    )
    assert any(r.startswith("spacy<") or r.startswith("spacy>") for r in requirements)


def test_the_package_holds_no_code_but_its_loader(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        scripts = [name for name in archive.namelist() if name.endswith((".py", ".pkl"))]
    assert scripts == ["en_psa_sample/__init__.py"]


def test_the_package_is_installed_and_loaded(tmp_path: Path, wheel: Path, trained: Path) -> None:
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, "--target", str(tmp_path), str(wheel)], check=True)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=TEXT,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]]),
            "OMP_NUM_THREADS": "1",
        },
    )
    assert done.returncode == 0, done.stderr
    expected = spacy.load(trained / "model-best")(TEXT)
    assert json.loads(done.stdout) == [[t.text, t.tag_, t.ent_type_] for t in expected]
