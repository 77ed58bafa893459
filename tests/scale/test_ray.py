"""Annotation with Ray, where it is installed."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import spacy

import spacy_psa

from .conftest import SENTENCES, descendants, failures_of, shards_of


@pytest.fixture(scope="module", autouse=True)
def ray() -> Iterator[Any]:
    """Ray on this machine, once for all tests. Importing it takes a second."""
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    for package in ("pandas", "pyarrow"):
        pytest.importorskip(package, reason=f"Ray Data needs {package}, which is not installed")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield ray
    ray.shutdown()


def test_ray_writes_the_same_bytes_even_if_an_actor_is_killed(
    model: Path, texts: Path, tmp_path: Path
) -> None:
    texts.write_bytes(texts.read_bytes() * 8 + b"\xff\n")
    settings = {"format": "jsonl", "block_size": 200}
    spacy_psa.apply(model, texts, tmp_path / "local", **settings)
    out = tmp_path / "ray"
    killed: list[int] = []

    def kill() -> None:
        manifest = out / "manifest.jsonl"
        while not manifest.exists() or manifest.read_bytes().count(b"\n") < 3:
            time.sleep(0.01)
        killed.extend(descendants(os.getpid(), b"BlockWorker"))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    found = spacy_psa.apply(model, texts, out, engine="ray", n_process=1, **settings)
    killer.join(10)
    assert killed
    assert (found.documents, found.failed) == (8 * len(SENTENCES), 1)
    assert shards_of(out) == shards_of(tmp_path / "local")
    assert failures_of(out) == failures_of(tmp_path / "local")
    assert spacy_psa.apply(model, texts, out, engine="ray", **settings).resumed == found.shards


def test_an_error_in_an_actor_is_that_of_the_command(
    model: Path, texts: Path, tmp_path: Path
) -> None:
    texts.write_bytes(b"\xff\n" + texts.read_bytes())
    settings = {"engine": "ray", "n_process": 1, "max_errors": 0}
    with pytest.raises(ValueError, match=r"^\[P511\].*Not UTF-8"):
        spacy_psa.apply(model, texts, tmp_path / "out", **settings)


def test_a_pipeline_that_actors_cannot_see_is_an_error(
    model: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nlp = spacy.load(model)
    nlp.to_disk(tmp_path / "copy")
    changed = spacy.load(model, config={"components": {"psa_tagger": {"threshold": 0.5}}})
    monkeypatch.setattr(spacy, "load", lambda path, **_: changed)
    with pytest.raises(ValueError, match=r"^\[P514\].*other contents"):
        spacy_psa.apply(tmp_path / "copy", texts, tmp_path / "out", engine="ray", n_process=1)


def test_a_dataset_is_annotated_in_actors(model: Path, ray: Any) -> None:
    import pyarrow

    dataset = ray.data.from_items([{"text": text} for text in SENTENCES])
    rows = spacy_psa.apply(model, dataset, n_process=1).take_all()
    expected = spacy_psa.apply(model, pyarrow.table({"text": SENTENCES})).to_pylist()
    key = "text"
    tokens = {row[key]: [t["tag"] for t in row["tokens"]] for row in rows}
    assert tokens == {row[key]: [t["tag"] for t in row["tokens"]] for row in expected}


def test_an_unreachable_address_is_an_error(
    model: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ray: Any
) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ValueError, match=rf"P513.*{address}"):
        spacy_psa.apply(model, texts, tmp_path / "out", engine="ray", address=address)
    assert shards_of(tmp_path / "out") == {}


def test_ray_that_does_not_start_is_an_error(
    model: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise Exception("The current node timed out during startup. This could happen.")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", fail)
    with pytest.raises(ValueError, match=r"P529.*timed out.*--engine local"):
        spacy_psa.apply(model, texts, tmp_path / "out", engine="ray")
