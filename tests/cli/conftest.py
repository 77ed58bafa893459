"""A small corpus, and a small pipeline trained on it with `spacy train`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from spacy.tokens import Doc, DocBin
from thinc.api import Config

from .commands import ROOT, SAMPLE, SmallCorpus, succeed

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

# For networks this small, threads cost more time than they save.
torch.set_num_threads(1)

N_SENTENCES = {"train": 120, "dev": 20}
COMPONENTS = ("psa_pos", "psa_ner")
Save = Callable[..., Path]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """A function that saves documents to a named file and returns its path."""

    def save(name: str, *docs: Doc) -> Path:
        path = tmp_path / f"{name}.spacy"
        DocBin(docs=docs, store_user_data=True).to_disk(path)
        return path

    return save


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The IDs of the requested GPUs, none of which need exist."""
    asked: list[int] = []
    monkeypatch.setattr("spacy.cli._util.setup_gpu", lambda gpu, **_: asked.append(gpu))
    return asked


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> SmallCorpus:
    """The first sentences of the sample corpus."""
    folder = tmp_path_factory.mktemp("corpus")
    for split, n in N_SENTENCES.items():
        blocks = (SAMPLE / f"{split}.conll").read_text(encoding="utf8").split("\n\n")
        columns = folder / f"{split}.conll"
        columns.write_text("\n\n".join(blocks[:n]) + "\n", encoding="utf8")
        succeed("psa", "convert", columns, folder / f"{split}.spacy")
    return SmallCorpus(
        train=folder / "train.spacy",
        dev=folder / "dev.spacy",
        train_columns=folder / "train.conll",
        dev_columns=folder / "dev.conll",
    )


@pytest.fixture(scope="session")
def tiny_config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample config with two of its components, small enough to train in seconds."""
    config = Config().from_disk(ROOT / "configs" / "sample.cfg", interpolate=False)
    config["nlp"]["pipeline"] = list(COMPONENTS)
    config["components"] = {name: config["components"][name] for name in COMPONENTS}
    for component in config["components"].values():
        model = component["model"]
        model["tok2vec"].update(width=8, min_freq=1)
        model["tok2vec"]["characters"].update(embedding_width=4, width=8)
        model["encoder"]["recurrent"].update(hidden_width=16, input_dropout=0.1, output_dropout=0.1)
    config["training"].update(max_epochs=0, max_steps=60, eval_frequency=30)
    config["training"]["optimizer"].update(learn_rate=0.03, use_averages=False)
    config["training"]["score_weights"] = {"tag_acc": 0.5, "ents_f": 0.5}
    path = tmp_path_factory.mktemp("config") / "tiny.cfg"
    config.to_disk(path)
    return path


@pytest.fixture(scope="session")
def trained(
    tmp_path_factory: pytest.TempPathFactory, tiny_config: Path, corpus: SmallCorpus
) -> Path:
    """The output folder of `python -m spacy train`, run in its own process as users run it,
    and once for all processes that run tests, where the system has locks.
    """
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if fcntl and "PYTEST_XDIST_WORKER" in os.environ else shared
    output = shared / "trained"
    with locked(shared / "trained.lock"):
        if not output.exists():
            command = [sys.executable, "-m", "spacy", "train", str(tiny_config), *corpus.paths]
            done = subprocess.run(
                [*command, "--output", str(output)],
                capture_output=True,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            assert done.returncode == 0, done.stdout + done.stderr
    return output


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one process at a time run the block, if the system has locks."""
    with path.open("w") as file_:
        if fcntl is not None:
            fcntl.flock(file_, fcntl.LOCK_EX)
        yield
