"""Tiny configs of every system, and corpora for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, DocBin
from thinc.api import Config

from ...pipeline.srl_data import FRAMES, gold_doc
from ...test_systems import deterministic, read_config, small
from ..runs import TAGS, WORDS, write_config

SYSTEMS = ("psa", "bilstm-crf", "lan", "refinement", "vaswani", "deepatt")
UPDATES = 20
TRAINING = {"max_epochs": 0, "max_steps": UPDATES - 1, "eval_frequency": 15, "patience": 0}
# The last batch of an epoch has one sentence, so that rank 1 has none
N_TRAIN, BATCH = 31, {"@batchers": "spacy.batch_by_sequence.v1", "size": 6}
LOGGER = {
    "@loggers": "spacy_psa.JsonlLogger.v1",
    "progress_bar": None,
    "console_output": False,
}
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 8, "upstream": "tok2vec"}


def _doc(vocab: Any, rng: np.random.Generator) -> Doc:
    """A random sentence, partly annotated."""
    ids = rng.integers(0, len(WORDS), size=int(rng.integers(1, 8)))
    tags = [TAGS[i] if rng.random() < 0.8 else "" for i in ids]
    return Doc(vocab, words=[WORDS[i] for i in ids], tags=tags)


def _write(folder: Path, name: str, docs: list[Doc]) -> None:
    DocBin(docs=docs, store_user_data=True).to_disk(folder / f"{name}.spacy")


def _finish(config: Config, folder: Path, corpus: str, path: Path) -> Path:
    """Set what all runs have in common, and save a config."""
    settings = {**small(config), **deterministic(config)}
    for key, value in settings.items():
        *parents, last = key.split(".")
        section: Any = config
        for parent in parents:
            section = section.get(parent, {})
        if last in section:
            section[last] = value
    config["paths"] = {**config.get("paths", {}), "vectors": None}
    config["training"].update(TRAINING)
    config["training"].update(batcher=BATCH, logger=LOGGER)
    for name in ("train", "dev"):
        source = {"@readers": "spacy.Corpus.v1", "path": str(folder / f"{corpus}-{name}.spacy")}
        config["corpora"][name] = source
    config.to_disk(path)
    return path


def _shared(folder: Path) -> Config:
    """spaCy's tok2vec (HashEmbedCNN), to which its tagger and ours listen, with accumulation."""
    config = Config().from_disk(write_config(folder, two=True), interpolate=False)
    parts = config["components"]
    parts["tok2vec"] = {"factory": "tok2vec", "model": parts["tagger"]["model"]["tok2vec"]}
    for name in ("labels", "tagger"):
        parts[name]["model"]["tok2vec"] = LISTENER
    config["nlp"]["pipeline"] = ["tok2vec", "labels", "tagger"]
    config["training"].update(accumulate_gradient=2, dropout=0.0)
    config["training"]["optimizer"] = {
        "@optimizers": "Adam.v1",
        "learn_rate": 0.001,
        "use_averages": True,
    }
    return config


@pytest.fixture(scope="session")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with corpora of labels and of roles."""
    folder = tmp_path_factory.mktemp("ranks")
    vocab, rng = spacy.blank("en").vocab, np.random.default_rng(0)
    blank = spacy.blank("en")
    for name, n in (("train", N_TRAIN), ("dev", 9)):
        _write(folder, f"labels-{name}", [_doc(vocab, rng) for _ in range(n)])
        roles = [gold_doc(blank, i % len(FRAMES)) for i in range(n)]
        _write(folder, f"roles-{name}", roles)
    return folder


@pytest.fixture(scope="session")
def configs(corpora: Path) -> dict[str, Path]:
    """A config of each system, whose runs draw no random numbers."""
    made = {name: read_config(name, "tag") for name in SYSTEMS}
    made["shared tok2vec"] = _shared(corpora)
    found = {
        name: _finish(config, corpora, "labels", corpora / f"{name}.cfg")
        for name, config in made.items()
    }
    found["roles"] = _finish(
        read_config("deepatt", "small-roles"), corpora, "roles", corpora / "roles.cfg"
    )
    return found


@pytest.fixture(scope="session")
def drawing(corpora: Path) -> Path:
    """A config with dropout."""
    config = Config().from_disk(write_config(corpora, two=True), interpolate=False)
    config["training"].update(TRAINING)
    config["training"].update(max_steps=19, eval_frequency=5, batcher=BATCH, logger=LOGGER)
    for name in ("train", "dev"):
        config["corpora"][name]["path"] = str(corpora / f"labels-{name}.spacy")
    config.to_disk(corpora / "drawing.cfg")
    return corpora / "drawing.cfg"
