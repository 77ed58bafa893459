"""The manifest of an output folder: what is written there, and which blocks are finished.

A line of JSON for the run, then one for each finished block, written once its shard is on disk. A
process killed between the two leaves a shard that the next run writes again, to the same name; one
killed while it writes a line leaves half of it, which the next run removes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..atomic_files import atomic_path
from ..errors import Errors
from ..locks import FolderLock
from ..output_errors import output_errors
from .shards import Entry

MANIFEST = "manifest.jsonl"
# What changes them, where the name of a setting does not say it
CAUSES = {
    "checksum": "checksum of the pipeline",
    "code": "checksum of the file with registered functions (--code)",
    "plan": "plan (the input's files and their sizes, --block-size)",
}


@dataclass
class Manifest:
    """The manifest of an output folder that this process alone writes.

    folder (Path): The folder.
    entries (Dict[int, Entry]): The finished blocks, by number.
    """

    folder: Path
    entries: dict[int, Entry]

    def add(self, entry: Entry) -> None:
        """Add a finished block."""
        path = self.folder / MANIFEST
        with output_errors(path), path.open("a", encoding="utf8") as file:
            file.write(entry.to_json() + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.entries[entry.block] = entry

    def clean(self) -> None:
        """Remove the temporary files of processes that were killed."""
        for path in self.folder.iterdir():
            if path.name.startswith(".") and path.name.endswith(".tmp"):
                path.unlink(missing_ok=True)


@contextmanager
def open_manifest(folder: Path, run: dict[str, Any]) -> Iterator[Manifest]:
    """Open the manifest of an output folder, which is created if needed."""
    path = folder / MANIFEST
    with output_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        others = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    if others and MANIFEST not in others:
        raise ValueError(Errors.P507.format(path=folder, found=others[0]))
    with FolderLock(folder) as lock:
        lock.acquire()
        entries = _read(path, run) if path.is_file() else {}
        # Also without the half of a line, and without those whose shard has been removed
        kept = {
            number: entry
            for number, entry in entries.items()
            if all((folder / name).is_file() for name in entry.files)
        }
        lines = [json.dumps(run), *(entry.to_json() for entry in kept.values())]
        with atomic_path(path, shared=False) as temporary:
            temporary.write_text("".join(line + "\n" for line in lines), encoding="utf8")
        yield Manifest(folder, kept)


def _read(path: Path, run: dict[str, Any]) -> dict[int, Entry]:
    lines = path.read_text(encoding="utf8").split("\n")
    # What follows the last line feed is empty, or half a line
    lines.pop()
    try:
        first = json.loads(lines[0])
        entries = [Entry.from_json(line) for line in lines[1:]]
        pairs = [(key, first.get(key), value) for key, value in run.items()]
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(Errors.P508.format(path=path, reason=error)) from error
    for key, old, new in pairs:
        if old != new and key != "spacy_psa":
            names = {"key": CAUSES.get(key, key), "old": old, "new": new}
            raise ValueError(Errors.P509.format(path=path.parent, **names))
    return {entry.block: entry for entry in entries}
