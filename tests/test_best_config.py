"""configs/best.cfg is configs/psa-spans.cfg with different training settings, and it trains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import spacy
from thinc.api import Config

from .cli.commands import SAMPLE, succeed
from .documentation import ROOT
from .test_systems import losses_in, settings, small

PATH = ROOT / "configs" / "best.cfg"
BATCH = 16


def flat(path: Path) -> dict[str, Any]:
    """All settings of a config by their paths."""
    config = Config().from_disk(path, interpolate=False)
    return {path: value for path, _, value in settings(config)}


def test_what_differs_from_the_paper_is_what_it_says() -> None:
    best, paper = flat(PATH), flat(ROOT / "configs" / "psa-spans.cfg")
    changed = {path for path in best.keys() | paper if best.get(path) != paper.get(path)}
    model = "components.psa_tagger.model"
    assert {path for path in changed if not path.startswith("training.optimizer.")} == {
        "training.max_epochs",
        "training.eval_frequency",
        "training.batcher.size",
        f"{model}.tok2vec.dropout",
        f"{model}.tok2vec.word_dropout",
        f"{model}.encoder.recurrent.hidden_width",
        f"{model}.encoder.recurrent.input_dropout",
        f"{model}.encoder.recurrent.output_dropout",
        f"{model}.encoder.recurrent.variational",
        f"{model}.encoder.first_fusion.bias.self_mask",
        f"{model}.encoder.second_fusion.bias.self_mask",
    }


def test_the_rate_rises_for_one_epoch_and_is_zero_after_the_last() -> None:
    found = flat(PATH)
    steps = -(-7936 // BATCH)
    assert found["training.batcher.size"] == BATCH
    assert found["training.eval_frequency"] == steps
    assert found["training.optimizer.learn_rate.warmup_steps"] == steps
    total = found["training.optimizer.learn_rate.total_steps"]
    assert total == steps * found["training.max_epochs"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    blocks = (SAMPLE / "train.conll").read_text(encoding="utf8").split("\n\n")
    columns = tmp_path / "train.conll"
    columns.write_text("\n\n".join(blocks[:48]) + "\n", encoding="utf8")
    succeed("psa", "convert", columns, tmp_path / "train.spacy")
    return tmp_path / "train.spacy"


def test_trains_from_the_command_line(corpus: Path, tmp_path: Path) -> None:
    changes = {
        **small(Config().from_disk(PATH, interpolate=False)),
        "paths.train": corpus,
        "paths.dev": corpus,
        "training.max_steps": 12,
        "training.eval_frequency": 3,
        "training.optimizer.learn_rate.warmup_steps": 3,
        "training.optimizer.learn_rate.total_steps": 12,
    }
    options = [word for path, value in changes.items() for word in (f"--{path}", value)]
    losses = losses_in(succeed("train", PATH, "--output", tmp_path / "run", *options))
    assert losses[-1] < losses[1]
    nlp = spacy.load(tmp_path / "run" / "model-last")
    assert nlp.meta["performance"]["spans_chunks_f"] is not None
