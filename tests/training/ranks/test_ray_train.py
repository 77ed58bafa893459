"""The example for Ray Train, run with two workers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spacy_psa.cli.train import train

from ...documentation import ROOT, code_blocks
from .test_runs import difference


@pytest.mark.nightly
def test_ray_train_starts_ranks(
    configs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    pytest.importorskip("ray.train.torch", reason="Ray Train needs packages that are missing")
    config = configs["bilstm-crf"]
    train(config, tmp_path / "alone")
    [example] = (
        text for text in code_blocks(ROOT / "docs" / "distributed.md", "py") if "ray" in text
    )
    changes = {
        "/shared/chunks.cfg": str(config),
        "/shared/training/psa": str(tmp_path / "run"),
        "num_workers=8": "num_workers=2",
    }
    for old, new in changes.items():
        assert old in example
        example = example.replace(old, new)
    assert not re.search(r"\s", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))  # for the folder ray_results
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    ray.init(num_cpus=2, **quiet)
    try:
        exec(example, {"__name__": "__main__"})
    finally:
        ray.shutdown()
    assert difference(tmp_path / "alone", tmp_path / "run") < 1e-5
