"""The machine that a benchmark runs on."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

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


def describe_processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Describe the processor. Virtual machines give generations that differ twofold in speed the
    same name, so its numbers are added.

    cpuinfo (Path): The description by Linux; need not exist.
    RETURNS (str): The name and, if known, the family and model numbers.
    """
    fields = {}
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf8").splitlines():
            key, _, value = line.partition(":")
            fields[key.strip()] = value.strip()
    name = fields.get("model name") or platform.processor() or platform.machine()
    if "cpu family" in fields and "model" in fields:
        name += f" (family {fields['cpu family']}, model {fields['model']})"
    return name


def commit_of(folder: Path) -> str:
    """RETURNS (str): The commit of a checkout; "unknown" if it is none."""
    command = ["git", "-C", str(folder), "describe", "--always", "--abbrev=10", "--dirty"]
    found = subprocess.run(command, capture_output=True, text=True)
    return found.stdout.strip() or "unknown"
