"""Checkpoints of training runs on disk, written so that a complete one exists at any moment.

A folder holds `state.json` and the tensor file that it names. A new checkpoint first writes its
tensors under another name. It takes effect when `state.json` is replaced, which is atomic. Files
left behind by an interrupted write are overwritten or removed by the next one.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from ..atomic_files import atomic_files, atomic_path
from ..disk import sha256_of
from ..errors import Errors
from ..output_errors import output_errors

STATE = "state.json"
SLOTS = ("a.safetensors", "b.safetensors")
FORMAT = 1


@dataclass(frozen=True)
class Checkpoint:
    """The progress of a training run, without its tensors.

    config (Dict[str, Any]): The config of the run.
    step (int): The last completed step, counted from 0.
    epoch (int): The epoch of that step, counted from 0.
    finished (bool): Whether the run is complete.
    words (int): The number of words seen.
    seconds (float): The duration so far.
    scores (List[float]): The main scores of all evaluations.
    losses (Dict[str, float]): Losses since the last evaluation, by component.
    stream (Dict[str, Any]): The random state at the start of the stream of batches.
    random (Dict[str, Any]): The random state after the step.
    device (Dict[str, Any]): The random state of the GPU after the step.
    optimizer (Dict[str, Any]): The optimizer's state apart from tensors, e.g. its counters.
    others (List[Dict[str, Any]]): The random states of the other ranks, `random` and `device`, in
        their order.
    """

    config: dict[str, Any]
    step: int
    epoch: int
    finished: bool
    words: int
    seconds: float
    scores: list[float] = field(default_factory=list)
    losses: dict[str, float] = field(default_factory=dict)
    stream: dict[str, Any] = field(default_factory=dict)
    random: dict[str, Any] = field(default_factory=dict)
    device: dict[str, Any] = field(default_factory=dict)
    optimizer: dict[str, Any] = field(default_factory=dict)
    others: list[dict[str, Any]] = field(default_factory=list)


def write_checkpoint(folder: Path, checkpoint: Checkpoint, tensors: dict[str, Tensor]) -> None:
    """Write a checkpoint, replacing the previous one, which stays if that fails. Without tensors,
    no tensor file is kept."""
    # The tensor file of the previous checkpoint must stay intact until the new one is complete.
    slot = SLOTS[_slot_in_use(folder) == SLOTS[0]]
    record: dict[str, Any] = {"format": FORMAT, "state": vars(checkpoint), "tensors": None}
    with output_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    # In a folder of its own, since safetensors leaves a temporary file if the process is killed.
    # What an earlier process left is removed even if there are no tensors.
    with atomic_files(folder) as temporary:
        temporary.mkdir()
        if tensors:
            with output_errors(folder / slot, temporary):
                _save_tensors(tensors, temporary / slot)
    if tensors:
        record["tensors"] = {"file": slot, "sha256": sha256_of(folder / slot)}
    try:
        with atomic_path(folder / STATE, shared=False) as temporary:
            temporary.write_text(json.dumps(record), encoding="utf8")
    except OSError:
        (folder / slot).unlink(missing_ok=True)
        raise
    for other in SLOTS:
        if not tensors or other != slot:
            (folder / other).unlink(missing_ok=True)


def remove_checkpoint(folder: Path) -> None:
    """Remove a checkpoint, if there is one, keeping its folder and any other files in it."""
    with output_errors(folder):
        # The state first: without it there is no checkpoint
        for name in (STATE, *SLOTS):
            (folder / name).unlink(missing_ok=True)


def read_checkpoint(folder: Path) -> Checkpoint | None:
    """Read a checkpoint, if there is one, without its tensors."""
    record = _record(folder)
    if record is None:
        return None
    try:
        return Checkpoint(**record["state"])
    except TypeError as error:
        raise ValueError(Errors.P285.format(path=folder, problem=f"{STATE}: {error}")) from error


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Read the tensors of a checkpoint."""
    record = _record(folder)
    described = record and record["tensors"]
    if not described:
        return {}
    path = folder / described["file"]
    if not path.is_file():
        raise ValueError(Errors.P285.format(path=folder, problem=f"{path.name} is missing"))
    if sha256_of(path) != described["sha256"]:
        raise ValueError(Errors.P285.format(path=folder, problem=f"{path.name} has changed"))
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ValueError(Errors.P285.format(path=folder, problem=error)) from error


def _record(folder: Path) -> dict[str, Any] | None:
    try:
        record = json.loads((folder / STATE).read_text(encoding="utf8"))
    except (FileNotFoundError, NotADirectoryError):
        # If a file is in the way, writing will report it
        return None
    except ValueError as error:
        raise ValueError(Errors.P285.format(path=folder, problem=f"{STATE}: {error}")) from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        problem = f"{STATE} does not have format {FORMAT}"
        raise ValueError(Errors.P285.format(path=folder, problem=problem))
    missing = {"state", "tensors"} - set(record)
    if missing:
        problem = f"{STATE} has no '{sorted(missing)[0]}'"
        raise ValueError(Errors.P285.format(path=folder, problem=problem))
    return record


def _slot_in_use(folder: Path) -> str | None:
    record = _record(folder)
    described = record and record["tensors"]
    return described["file"] if described else None


def _save_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    try:
        save_file({k: t.cpu().contiguous() for k, t in tensors.items()}, path)
    except SafetensorError as error:
        # The system's error code is only in the message, and older releases format it differently
        match = re.search(r"(?:os error |\bcode: )(\d+)", str(error))
        if match is None:
            raise
        code = int(match[1])
        raise OSError(code, os.strerror(code), str(path)) from error
