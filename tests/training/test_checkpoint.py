"""Checkpoints on disk: complete at any moment, and checked when read."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from spacy_psa import atomic_files
from spacy_psa.training import checkpoint as module
from spacy_psa.training.checkpoint import (
    Checkpoint,
    read_checkpoint,
    read_tensors,
    write_checkpoint,
)

FIRST = Checkpoint(
    config={"training": {"seed": 0, "dropout": 0.1}},
    step=3,
    epoch=0,
    finished=False,
    words=40,
    seconds=1.5,
    scores=[0.1, 1 / 3],
    losses={"tagger": 0.1 + 0.2},
)
SECOND = replace(FIRST, step=6)


def tensors(value: float) -> dict[str, torch.Tensor]:
    return {"weights/tagger/0/W": torch.full((2, 3), value), "mom1/tagger/0/W": torch.ones(2, 3).T}


def state_of(folder: Path) -> tuple[int, float]:
    """The step of the checkpoint, and a number from its tensors."""
    return read_checkpoint(folder).step, float(read_tensors(folder)["weights/tagger/0/W"][0, 0])


def test_a_checkpoint_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "checkpoint", FIRST, tensors(0.1))
    assert read_checkpoint(tmp_path / "checkpoint") == FIRST
    found = read_tensors(tmp_path / "checkpoint")
    assert all(torch.equal(found[name], tensor) for name, tensor in tensors(0.1).items())
    assert found.keys() == tensors(0.1).keys()


def test_a_folder_without_a_checkpoint_has_none(tmp_path: Path) -> None:
    assert read_checkpoint(tmp_path / "none") is None


def test_a_new_checkpoint_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    for i, checkpoint in enumerate([FIRST, SECOND, replace(FIRST, step=9)]):
        write_checkpoint(tmp_path, checkpoint, tensors(float(i)))
        assert state_of(tmp_path) == (checkpoint.step, float(i))
        assert len(list(tmp_path.glob("*.safetensors"))) == 1


@pytest.mark.parametrize("broken", ["save_file", "sync", "sha256_of", "os.replace"])
def test_a_write_that_is_broken_off_leaves_the_checkpoint_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    write_checkpoint(tmp_path, FIRST, tensors(1.0))

    def kill(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        owner = {"os.replace": os, "sync": atomic_files}.get(broken, module)
        patch.setattr(owner, broken.split(".")[-1], kill)
        write_checkpoint(tmp_path, SECOND, tensors(2.0))
    assert state_of(tmp_path) == (3, 1.0)
    write_checkpoint(tmp_path, SECOND, tensors(2.0))
    assert state_of(tmp_path) == (6, 2.0)


def test_a_write_that_is_broken_off_in_the_middle_of_a_file_leaves_the_checkpoint_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_checkpoint(tmp_path, FIRST, tensors(1.0))

    def save_half(_: object, path: Path) -> None:
        path.write_bytes(b"half a file")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(module, "save_file", save_half)
        write_checkpoint(tmp_path, SECOND, tensors(2.0))
    assert state_of(tmp_path) == (3, 1.0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("next_tensors", [{}, {"weight": torch.ones(2)}])
def test_what_safetensors_leaves_when_killed_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, next_tensors: dict[str, torch.Tensor]
) -> None:
    def leave(_: object, path: Path) -> None:
        path.with_name(".tmpAbCdEf").write_bytes(b"half a file")
        os._exit(9)

    write_checkpoint(tmp_path, FIRST, tensors(1.0))
    process = os.fork()
    if not process:
        monkeypatch.setattr(module, "save_file", leave)
        write_checkpoint(tmp_path, SECOND, tensors(2.0))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 9
    assert [*tmp_path.rglob(".tmpAbCdEf")]
    assert state_of(tmp_path) == (3, 1.0)
    write_checkpoint(tmp_path, SECOND, next_tensors)
    assert not [*tmp_path.rglob(".*")]


def test_a_checkpoint_without_tensors_takes_little_room(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, FIRST, tensors(1.0))
    write_checkpoint(tmp_path, replace(FIRST, finished=True), {})
    assert read_checkpoint(tmp_path).finished
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def test_changed_tensors_are_an_error(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, FIRST, tensors(1.0))
    (path,) = tmp_path.glob("*.safetensors")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"\[P285\].*{path.name} has changed"):
        read_tensors(tmp_path)


def test_missing_tensors_are_an_error(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, FIRST, tensors(1.0))
    (path,) = tmp_path.glob("*.safetensors")
    path.unlink()
    with pytest.raises(ValueError, match=rf"\[P285\].*{path.name} is missing"):
        read_tensors(tmp_path)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"format": 1, "sta', "state.json"),
        ("[]", "does not have format 1"),
        ('{"format": 2, "state": {}, "tensors": null}', "does not have format 1"),
        ('{"format": 1, "state": {}}', "no 'tensors'"),
        ('{"format": 1, "state": {"step": 1}, "tensors": null}', "config"),
        ('{"format": 1, "state": {"step": 1, "code": "x"}, "tensors": null}', "code"),
    ],
)
def test_a_damaged_state_is_an_error(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / "state.json").write_text(content, encoding="utf8")
    with pytest.raises(ValueError, match=rf"\[P285\].*{problem}"):
        read_checkpoint(tmp_path)


def test_a_checkpoint_is_numbers_and_json(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, FIRST, tensors(1.0))
    names = sorted(path.suffix for path in tmp_path.iterdir())
    assert names == [".json", ".safetensors"]
    assert (
        json.loads((tmp_path / "state.json").read_text())["state"]["losses"]["tagger"] == 0.1 + 0.2
    )
