"""The model card: its description of the processor tells generations apart."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from spacy_psa.evaluation.card import describe_processor

LINUX = """processor\t: 0
cpu family\t: 25
model\t\t: 17
model name\t: AMD EPYC
flags\t\t: fpu vme

processor\t: 1
cpu family\t: 25
model\t\t: 17
model name\t: AMD EPYC
"""
NAME_ONLY = "processor\t: 0\nmodel name\t: ARMv8 Processor: rev 1\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [(LINUX, "AMD EPYC (family 25, model 17)"), (NAME_ONLY, "ARMv8 Processor: rev 1")],
)
def test_the_processor_is_described(tmp_path: Path, text: str, expected: str) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(text, encoding="utf8")
    assert describe_processor(cpuinfo) == expected


def test_without_a_description_by_linux_it_is_python_s(tmp_path: Path) -> None:
    expected = platform.processor() or platform.machine()
    assert describe_processor(tmp_path / "none") == expected
