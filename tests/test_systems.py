"""Every system of every task trains from the command line and can memorize a corpus."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import spacy
import torch
from spacy.training import Corpus
from spacy.util import fix_random_seed, load_model_from_config
from thinc.api import Adam, Config

from spacy_psa.cli._assembly import assemble
from spacy_psa.cli._templates import names
from spacy_psa.cli.convert import convert

from .cli.commands import SAMPLE, succeed
from .documentation import ROOT

torch.set_num_threads(1)

SYSTEMS, TASKS = names("systems"), ["ents", "spans", "tag"]
BATCHES = 6  # per epoch, of 10 sentences each
SCORES = {"spans": "spans_chunks_f", "ents": "ents_f", "tag": "tag_acc"}
# Sizes that make a step take milliseconds and fit together: 24 and 40 are multiples of the numbers
# of heads.
SMALL = {"width": 24, "hidden_width": 40, "embedding_width": 8, "key_width": 4}
DEPTH = 2


def settings(section: dict[str, Any], path: str = "") -> Iterator[tuple[str, str, Any]]:
    """The paths, names and values of all settings in a section."""
    for name, value in section.items():
        if isinstance(value, dict):
            yield from settings(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", name, value


def small(config: Config) -> dict[str, Any]:
    """The changes to a config that make its model small."""
    found = {}
    for path, name, value in settings(config["components"], "components."):
        if name in SMALL:
            found[path] = SMALL[name]
        elif name == "depth":
            found[path] = min(value, DEPTH)
    return found


def deterministic(config: Config) -> dict[str, Any]:
    """The changes to a config that let its model memorize the data."""
    found = {"components.psa_tagger.label_smoothing": 0.0}
    for path, name, _ in settings(config["components"], "components."):
        if name.endswith("dropout"):
            found[path] = 0.0
        elif name == "min_freq":
            found[path] = 1
    return found


def read_config(system: str, task: str) -> Config:
    """One of our configs."""
    return Config().from_disk(ROOT / "configs" / f"{system}-{task}.cfg", interpolate=False)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the first sentences of the sample corpus."""
    folder = tmp_path_factory.mktemp("corpus")
    for name, split, size in (("train", "train", 60), ("dev", "dev", 10), ("few", "train", 20)):
        blocks = (SAMPLE / f"{split}.conll").read_text(encoding="utf8").split("\n\n")
        columns = folder / f"{name}.conll"
        columns.write_text("\n\n".join(blocks[:size]) + "\n", encoding="utf8")
        convert(columns, folder / f"{name}.spacy")
    return folder


def losses_in(output: str) -> list[float]:
    """The loss column of the table that training prints."""
    rows = re.findall(r"^ *\d+ +\d+ +([\d.]+) ", output, flags=re.MULTILINE)
    return [float(row) for row in rows]


# Each system, and each task several times; all of both with `nightly`
PAIRS = [
    pytest.param(system, task, marks=[pytest.mark.nightly] if (i - j) % len(TASKS) else [])
    for i, system in enumerate(SYSTEMS)
    for j, task in enumerate(TASKS)
]


@pytest.mark.parametrize(("system", "task"), PAIRS)
def test_trains_from_the_command_line(system: str, task: str, corpus: Path, tmp_path: Path) -> None:
    epochs = assemble(system, task, characters=None, device="cpu").settings["epochs"]
    changes = {
        **small(read_config(system, task)),
        **{path: n * BATCHES for path, n in epochs.items()},
        "paths.train": corpus / "train.spacy",
        "paths.dev": corpus / "dev.spacy",
        "training.max_steps": 4 * BATCHES,
    }
    options = [word for path, value in changes.items() for word in (f"--{path}", value)]
    config = ROOT / "configs" / f"{system}-{task}.cfg"
    output = succeed("train", config, "--output", tmp_path, *options)
    losses = losses_in(output)
    # The first loss is that of one step, not of an epoch.
    assert losses[-1] < losses[1]
    nlp = spacy.load(tmp_path / "model-last")
    doc = nlp("Acme said on Monday that it would buy two banks in Berlin.")
    assert len(doc) == 13
    assert nlp.meta["performance"][SCORES[task]] is not None


@pytest.mark.parametrize("system", SYSTEMS)
def test_learns_a_few_sentences_by_heart(system: str, corpus: Path) -> None:
    config = read_config(system, "spans")
    text = config.to_str()
    changes = {**small(config), **deterministic(config)}
    nlp = load_model_from_config(Config().from_str(text, overrides=changes))
    fix_random_seed(0)
    examples = list(Corpus(corpus / "few.spacy")(nlp))
    nlp.initialize(lambda: examples)
    optimizer = Adam(0.01, L2=0.0, grad_clip=0.0)
    score = 0.0
    for _ in range(20):
        for _ in range(15):
            nlp.update(examples, sgd=optimizer)
        score = nlp.evaluate(examples)["spans_chunks_f"]
        if score >= 0.99:
            break
    assert score >= 0.99
