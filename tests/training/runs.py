"""Training runs that take seconds and can be interrupted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from thinc.api import Config

from spacy_psa.cli.train import train

WORDS = ["Ann", "Bob", "saw", "likes", "green", "blue", "ham", "Berlin", "and", "."]
TAGS = ["NNP", "NNP", "VBD", "VBZ", "JJ", "JJ", "NN", "NNP", "CC", "."]
# The values that differ between identical runs.
CLOCKS = ("seconds", "sentences_per_second")

CONFIG = """
[nlp]
lang = "en"
pipeline = ["labels"]

[components]

[components.labels]
factory = "psa_tagger"

[components.labels.model]
@architectures = "spacy_psa.SequenceLabeler.v1"

[components.labels.model.tok2vec]
@architectures = "spacy_psa.WordCharEmbed.v1"
width = 4
min_freq = 1
dropout = 0.2

[components.labels.model.tok2vec.characters]
@architectures = "spacy_psa.CharacterBiLSTM.v1"
embedding_width = 3
width = 4

[components.labels.model.encoder]
@architectures = "spacy_psa.BiLSTM.v1"
hidden_width = 6
input_dropout = 0.3
output_dropout = 0.3

[components.labels.model.decoder]
@architectures = "spacy_psa.CRF.v1"

[corpora]

[corpora.train]
@readers = "spacy.Corpus.v1"
path = "train.spacy"

[corpora.dev]
@readers = "spacy.Corpus.v1"
path = "dev.spacy"

[training]
seed = 1
gpu_allocator = null
dropout = 0.2
max_epochs = 3
eval_frequency = 3

[training.batcher]
@batchers = "spacy.batch_by_sequence.v1"
size = 6

[training.logger]
@loggers = "spacy_psa.JsonlLogger.v1"
progress_bar = null
console_output = false

[training.optimizer]
@optimizers = "spacy_psa.SGD.v1"
learn_rate = 0.1
"""
# Its layers are thinc's, so that its dropout uses NumPy's random numbers.
THINC_TAGGER = """
[components.tagger]
factory = "tagger"

[components.tagger.model]
@architectures = "spacy.Tagger.v2"

[components.tagger.model.tok2vec]
@architectures = "spacy.HashEmbedCNN.v2"
width = 8
depth = 1
embed_size = 20
window_size = 1
maxout_pieces = 2
subword_features = true
pretrained_vectors = null
"""


class Killed(Exception):
    """Interrupts a run that is to be resumed."""


def write_corpora(folder: Path, n_train: int = 22, *, tags: Sequence[str] = TAGS) -> None:
    """Write random sentences for training and evaluation.

    folder (Path): Where to write train.spacy and dev.spacy.
    n_train (int): The number of training sentences; 22 in batches of 6 are 4 steps per epoch.
    tags (Sequence[str]): The tag of each of the words.
    """
    rng = np.random.default_rng(0)
    vocab = spacy.blank("en").vocab
    for name, n in (("train", n_train), ("dev", 5)):
        docs = []
        for _ in range(n):
            ids = rng.integers(0, len(WORDS), size=int(rng.integers(1, 8)))
            words, names = [WORDS[i] for i in ids], [tags[i] for i in ids]
            docs.append(Doc(vocab, words=words, tags=names))
        DocBin(attrs=["TAG"], docs=docs).to_disk(folder / f"{name}.spacy")


def write_config(folder: Path, *, two: bool = False, **sections: dict[str, Any]) -> Path:
    """Write a config.

    folder (Path): The folder to write to, which also contains the corpora.
    two (bool): Whether there are two components.
    **sections: Settings to change, by section, with `__` for the dots in its name.
    RETURNS (Path): The config.
    """
    config = Config().from_str(CONFIG + (THINC_TAGGER if two else ""), interpolate=False)
    if two:
        config["nlp"]["pipeline"].append("tagger")
    for name in ("train", "dev"):
        config["corpora"][name]["path"] = str(folder / f"{name}.spacy")
    for name, settings in sections.items():
        *parents, last = name.split("__")
        section = config
        for parent in parents:
            section = section[parent]
        if any(key.startswith("@") for key in settings):
            section[last] = settings
        else:
            section[last].update(settings)
    path = folder / "config.cfg"
    config.to_disk(path)
    return path


def kill(monkeypatch: pytest.MonkeyPatch, config: Path, output: Path, update: int, **options: Any):
    """Start or resume a run, and interrupt it.

    monkeypatch (pytest.MonkeyPatch): Undoes the patches.
    config (Path): The config.
    output (Path): The output folder of the run.
    update (int): The update that interrupts it, counted from 0 at each start or resumption.
    **options: Options of `train`.
    """
    done = 0
    original = Language.update

    def mortal_update(self: Language, *args: Any, **kwargs: Any) -> Any:
        nonlocal done
        done += 1
        if done > update:
            raise Killed
        return original(self, *args, **kwargs)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Language, "update", mortal_update)
        train(config, output, **options)


def weights(output: Path, name: str = "model-last") -> dict[str, bytes]:
    """The saved models of a run, by component."""
    found = {path.parent.name: path.read_bytes() for path in (output / name).glob("*/model")}
    assert found
    return found


def log(output: Path) -> list[dict[str, Any]]:
    """The log of a run, without timings."""
    lines = (output / "train.jsonl").read_text(encoding="utf8").splitlines()
    entries = [json.loads(line) for line in lines]
    for entry in entries:
        entry["scores"].pop("speed")
    return [{k: v for k, v in entry.items() if k not in CLOCKS} for entry in entries]
