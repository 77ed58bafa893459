"""`psa train --workers`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spacy_psa.training.ranks import launch
from spacy_psa.training.ranks.place import NUMBERS

from ...cli.commands import succeed


def test_workers_get_the_arguments_of_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in NUMBERS:
        monkeypatch.delenv(name, raising=False)
    launched: list[Any] = []
    monkeypatch.setattr(launch, "launch", lambda *arguments: launched.append(arguments))
    config, output = str(tmp_path / "config.cfg"), str(tmp_path / "run")
    Path(config).write_text("", encoding="utf8")
    given = ["--resume", "--checkpoint-every", "5", "--gpu-id", "0", "--training.max_steps", "3"]
    succeed("psa", "train", config, "--output", output, "--workers", "2", *given)
    [(n, arguments)] = launched
    assert n == 2
    assert arguments[:6] == ["-m", "spacy", "psa", "train", config, "--training.max_steps"]
    assert set(given) <= set(arguments) and "--workers" not in arguments
    assert arguments[arguments.index("--gpu-id") + 1] == "0"
    assert arguments[arguments.index("--output") + 1] == output
