"""`spacy psa apply`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..pipeline.conftest import trained_nlp
from .commands import plain, run, succeed

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    trained_nlp().to_disk(folder)
    return folder


def test_the_command_says_what_is_in_the_folder(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_bytes(b"Ann saw Berlin .\n\xff\n")
    for name in "abcd":
        (folder / f"{name}.md").write_text("nothing")
    out = tmp_path / "out"
    output = succeed("psa", "apply", model, folder, "--output", out, "--format", "jsonl")
    names = ", ".join(str(folder / f"{name}.md") for name in "abc")
    expected = f"Files of no known kind in the input folders: 4, {names}, …"
    assert "".join(expected.split()) in "".join(output.split())
    assert "Documents that failed: 1" in output
    assert "Documents: 1, words: 4, shards: 1" in output
    assert json.loads((out / "part-000000.jsonl").read_text())["text"] == "Ann saw Berlin ."
    again = succeed("psa", "apply", model, folder, "--output", out, "--format", "jsonl")
    assert "Of the shards, 1 were there before" in again


def test_errors_are_messages(model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff\nAnn\n")
    result = run(
        "psa", "apply", model, tmp_path / "a.txt", "-o", tmp_path / "out", "--max-errors", "0"
    )
    assert result.exit_code == 1
    assert "[P511]" in plain(result.output)
    result = run("psa", "apply", "no_such_model", tmp_path / "a.txt", "-o", tmp_path / "other")
    assert result.exit_code == 1
    assert "no_such_model" in plain(result.output)
    assert not (tmp_path / "other").exists()


def test_a_cluster_is_rays(model: Path, tmp_path: Path) -> None:
    result = run("psa", "apply", model, tmp_path, "-o", tmp_path / "out", "--address", "auto")
    assert result.exit_code == 2 and "--engine ray" in plain(result.output)
