"""Locate published corpora for the tests that need them."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def shared_folder(name: str) -> Path:
    """Get a folder of shared data, or skip the test if there is none."""
    folder = Path(os.environ.get("PSA_SHARED", ROOT.parent / "shared")) / name
    if not folder.is_dir():
        pytest.skip(f"needs the folder {name} in $PSA_SHARED or ../shared")
    return folder


def shared_corpus(name: str) -> Path:
    """Get the folder of a corpus, or skip the test if there is none."""
    return shared_folder(f"corpora/{name}")
