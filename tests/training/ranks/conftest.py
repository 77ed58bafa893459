"""Tiny configs of every system, and corpora for them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.training.initialize import init_nlp
from thinc.api import Config

from ...pipeline.srl_data import FRAMES, gold_doc
from ...test_systems import deterministic, read_config, small
from ...tiny_transformer import write_transformer
from ..runs import TAGS, WORDS, write_config

HALF_PRECISIONS = ("bf16", "fp16")
SYSTEMS = ("psa", "bilstm-crf", "lan", "refinement", "vaswani", "deepatt")
UPDATES = 8  # two more than an epoch has
TRAINING = {"max_epochs": 0, "max_steps": UPDATES - 1, "eval_frequency": 6, "patience": 0}
# The last batch of an epoch has one sentence, so that rank 1 has none
N_TRAIN, BATCH = 31, {"@batchers": "spacy.batch_by_sequence.v1", "size": 6}
LOGGER = {
    "@loggers": "spacy_psa.JsonlLogger.v1",
    "progress_bar": None,
    "console_output": False,
}
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": 8, "upstream": "tok2vec"}
N_ROWS = 1500  # of which messages have those in use
TRANSFORMER = {
    "@architectures": "spacy-transformers.TransformerModel.v3",
    "tokenizer_config": {"use_fast": True},
    "get_spans": {
        "@span_getters": "spacy-transformers.strided_spans.v1",
        "window": 8,
        "stride": 6,
    },
}
POOLED = {
    "@architectures": "spacy-transformers.TransformerListener.v1",
    "grad_factor": 1.0,
    "pooling": {"@layers": "reduce_mean.v1"},
}


def _doc(vocab: Any, rng: np.random.Generator) -> Doc:
    """A random sentence, partly annotated."""
    ids = rng.integers(0, len(WORDS), size=int(rng.integers(1, 8)))
    tags = [TAGS[i] if rng.random() < 0.8 else "" for i in ids]
    return Doc(vocab, words=[WORDS[i] for i in ids], tags=tags)


def _write(folder: Path, name: str, docs: list[Doc]) -> None:
    DocBin(docs=docs, store_user_data=True).to_disk(folder / f"{name}.spacy")


def _change(config: Config, settings: dict[str, Any]) -> None:
    """Change the settings that a config has."""
    for key, value in settings.items():
        *parents, last = key.split(".")
        section: Any = config
        for parent in parents:
            section = section.get(parent, {})
        if last in section:
            section[last] = value


def _finish(config: Config, folder: Path, corpus: str, path: Path) -> Path:
    """Set what all runs have in common, and save a config."""
    _change(config, {**small(config), **deterministic(config)})
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
    parts["tok2vec"]["model"]["embed_size"] = N_ROWS
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


def _on_transformer(folder: Path) -> Config:
    """spacy-transformers, to which our tagger listens."""
    config = Config().from_disk(write_config(folder), interpolate=False)
    none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    name = str(write_transformer(folder / "bert", WORDS, **none))
    config["components"]["transformer"] = {
        "factory": "transformer",
        "model": {**TRANSFORMER, "name": name},
    }
    config["components"]["labels"]["model"]["tok2vec"] = POOLED
    config["nlp"]["pipeline"] = ["transformer", "labels"]
    return config


def _mixed(precision: str) -> Config:
    config = read_config("psa", "tag")
    config["components"]["psa_tagger"]["model"]["mixed_precision"] = precision
    return config


def _sourced(folder: Path, *, dropout: bool) -> Config:
    """A tagger of another pipeline, which lacks labels; with dropout, also spaCy's."""
    path = write_config(folder, two=dropout)
    config = Config().from_disk(path, interpolate=False)
    if not dropout:
        _change(config, deterministic(config))
        config["training"]["dropout"] = 0.0
    docs = DocBin().from_disk(folder / "labels-train.spacy").get_docs(spacy.blank("en").vocab)
    _write(folder, "few-train", [doc for doc in docs if {t.tag_ for t in doc} <= {"NNP", ""}])
    few = config.copy()
    few["corpora"]["train"]["path"] = str(folder / "few-train.spacy")
    source = folder / f"few-{dropout}"
    init_nlp(few).to_disk(source)
    config["components"]["labels"] = {"source": str(source)}
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
    made["new labels"] = _sourced(corpora, dropout=False)
    made |= {name: _mixed(name) for name in HALF_PRECISIONS}
    if find_spec("spacy_transformers"):
        made["transformer tok2vec"] = _on_transformer(corpora)
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
    """A config with dropout, and a component that gains labels."""
    config = _sourced(corpora, dropout=True)
    config["training"].update(TRAINING)
    config["training"].update(max_steps=19, eval_frequency=5, batcher=BATCH, logger=LOGGER)
    for name in ("train", "dev"):
        config["corpora"][name]["path"] = str(corpora / f"labels-{name}.spacy")
    config.to_disk(corpora / "drawing.cfg")
    return corpora / "drawing.cfg"
