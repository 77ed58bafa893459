"""The machine that a benchmark runs on."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

from spacy_psa.evaluation.card import describe_processor

PACKAGES = ("spacy", "thinc", "torch", "numpy")


def describe_machine() -> dict[str, Any]:
    """RETURNS (Dict[str, Any]): Processor, number of cores, operating system and versions."""
    return {
        "processor": describe_processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }


def commit_of(folder: Path) -> str:
    """RETURNS (str): The commit of a checkout; "unknown" if it is none."""
    command = ["git", "-C", str(folder), "describe", "--always", "--abbrev=10", "--dirty"]
    found = subprocess.run(command, capture_output=True, text=True)
    return found.stdout.strip() or "unknown"
