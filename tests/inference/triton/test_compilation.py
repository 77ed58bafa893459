"""Compile the kernels for GPUs, even on a machine without one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ...documentation import ROOT

pytest.importorskip("triton", reason="Triton is not installed")
FOLDERS = [ROOT / "spacy_psa/inference/engines/triton", ROOT / "spacy_psa/acceleration/cuda"]


def test_all_kernels_compile(tmp_path: Path) -> None:
    capability = 90
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path)}
    environment.pop("TRITON_INTERPRET", None)
    done = subprocess.run(
        [sys.executable, "-m", "tests.inference.triton.compile_all", str(capability)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    compiled = {line.split()[0] for line in done.stdout.splitlines() if f" {capability} " in line}
    sources = [
        path.read_text(encoding="utf8") for folder in FOLDERS for path in folder.glob("*.py")
    ]
    launched = {name for text in sources for name in re.findall(r"def (\w+_kernel)\(", text)}
    assert compiled == launched
