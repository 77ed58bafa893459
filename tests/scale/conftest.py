"""A tiny trained pipeline, and texts for it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from spacy.language import Language
from spacy.tokens import Doc

from benchmarks import apply_memory

from ..pipeline.conftest import WORDS, trained_nlp

SENTENCES = [f"{' '.join(WORDS[i % 3])} {i}" for i in range(40)]


@Language.component("fails_for_bad")
def fails_for_bad(doc: Any) -> Any:
    """Fail for some documents."""
    if "bad" in doc.text:
        raise RuntimeError("this is bad")
    return doc


@Language.component("keeps_an_object")
def keeps_an_object(doc: Any) -> Any:
    """Put something on documents that spaCy cannot save."""
    doc.user_data["object"] = object()
    return doc


@Language.component("makes_a_new_doc")
def makes_a_new_doc(doc: Doc) -> Doc:
    """Return another Doc."""
    return Doc(doc.vocab, words=[token.text for token in doc])


@pytest.fixture(scope="session")
def nlp() -> Language:
    return trained_nlp()


@pytest.fixture(scope="session")
def model(nlp: Language, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the pipeline."""
    folder = tmp_path_factory.mktemp("model")
    nlp.to_disk(folder)
    return folder


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A text file with a document in each line, some of them empty."""
    path = tmp_path / "texts.txt"
    path.write_text("\n\n".join(SENTENCES) + "\n", encoding="utf8")
    return path


def descendants(process: int, title: bytes) -> list[int]:
    """The processes with a title that a process has started, or those that it has started."""
    return [pid for pid in apply_memory.descendants(process) if title in command_of(pid)]


def command_of(process: int) -> bytes:
    """The command of a process, and nothing once it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """The rows of all shards of JSON lines, in order."""
    paths = sorted(folder.glob("part-*.jsonl"))
    return [json.loads(line) for path in paths for line in path.open(encoding="utf8")]


def failures_of(folder: Path) -> list[dict[str, Any]]:
    """The documents that failed."""
    paths = sorted(folder.glob("errors-*.jsonl"))
    return [json.loads(line) for path in paths for line in path.open(encoding="utf8")]


def gzipped(path: Path) -> Path:
    """A compressed copy of a file."""
    target = path.with_name(path.name + ".gz")
    target.write_bytes(gzip.compress(path.read_bytes()))
    return target


def shards_of(folder: Path) -> dict[str, bytes]:
    """The contents of all shards."""
    return {path.name: path.read_bytes() for path in folder.glob("part-*")}


def n_finished(output: Path) -> int:
    """How many blocks the manifest of an output folder lists."""
    manifest = output / "manifest.jsonl"
    return manifest.read_bytes().count(b"\n") - 1 if manifest.exists() else 0
