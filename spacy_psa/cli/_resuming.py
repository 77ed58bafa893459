"""The checkpoint of the run to resume, which must have had the same config."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Errors
from ..terminal import msg

if TYPE_CHECKING:
    from ..training.checkpoint import Checkpoint


def read_saved(settings: dict[str, Any], output_path: Path, resume: bool) -> Checkpoint | None:
    """Read the checkpoint of the run to resume, if there is one."""
    from ..training.checkpoint import read_checkpoint
    from ..training.run import CHECKPOINT
    from ..training.saving import learning_settings

    folder = output_path / CHECKPOINT
    saved = read_checkpoint(folder)
    if not resume and saved is not None:
        if not saved.finished:
            raise ValueError(
                Errors.P283.format(path=output_path, step=saved.step, checkpoint=folder)
            )
        saved = None
    if saved is not None:
        before, now = map(learning_settings, (saved.config, settings))
        difference = _first_difference(before, now)
        if difference is not None:
            name, expected, found = difference
            names = {"path": output_path, "name": name}
            raise ValueError(Errors.P284.format(**names, found=found, expected=expected))
        if not saved.finished:
            msg.info(f"Resuming the run in {output_path} after step {saved.step}")
    elif resume:
        msg.info(f"There is no checkpoint in {output_path}: starting a new run")
    return saved


def _first_difference(expected: Any, found: Any, name: str = "") -> tuple[str, str, str] | None:
    """The first setting in which two configs differ, and its two values as text."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in [*expected, *(key for key in found if key not in expected)]:
            place = f"{name}.{key}" if name else key
            if key not in expected or key not in found:
                values = [json.dumps(d[key]) if key in d else "not set" for d in (expected, found)]
                return place, values[0], values[1]
            difference = _first_difference(expected[key], found[key], place)
            if difference is not None:
                return difference
        return None
    # As text, so that 1, 1.0 and true differ: settings are typed.
    before, now = json.dumps(expected), json.dumps(found)
    return None if before == now else (name, before, now)
