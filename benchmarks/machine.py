"""The machine that a benchmark runs on."""

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = ("spacy", "thinc", "torch", "numpy")


def describe_machine() -> dict[str, Any]:
    """RETURNS (Dict[str, Any]): Processor, number of cores, operating system and versions."""
    models = [platform.processor() or platform.machine()]
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        lines = cpuinfo.read_text(encoding="utf8").splitlines()
        models += [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": models[-1],
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }
