"""Which processors MKL is fast on."""

from pathlib import Path

import pytest
import torch

from spacy_psa.layers import processor

LINUX = """processor	: 0
vendor_id	: {}
cpu family	: 6
flags		: fpu vme
"""


@pytest.fixture(autouse=True)
def forget() -> None:
    processor.has_fast_mkl.cache_clear()


@pytest.mark.parametrize("name", ["GenuineIntel", "AuthenticAMD"])
def test_the_vendor_is_read_on_linux(name: str, tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(LINUX.format(name), encoding="utf8")
    assert processor.vendor(tmp_path / "cpuinfo") == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Intel64 Family 6 Model 167 Stepping 1, GenuineIntel", "GenuineIntel"),
        ("AMD64 Family 25 Model 33 Stepping 0, AuthenticAMD", "AuthenticAMD"),
        ("arm", "arm"),
        ("", ""),
    ],
)
def test_elsewhere_the_vendor_is_part_of_the_name(
    text: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processor.platform, "processor", lambda: text)
    (tmp_path / "cpuinfo").write_text("Processor : ARMv7\n", encoding="utf8")
    assert processor.vendor(tmp_path / "missing") == name
    assert processor.vendor(tmp_path / "cpuinfo") == name


@pytest.mark.parametrize("is_available", [False, True])
@pytest.mark.parametrize("name", ["GenuineIntel", "AuthenticAMD", ""])
def test_mkl_is_fast_on_intels_if_it_is_there(
    name: str, is_available: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processor, "vendor", lambda: name)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: is_available)
    assert processor.has_fast_mkl() == (is_available and name == "GenuineIntel")
    processor.has_fast_mkl.cache_clear()
