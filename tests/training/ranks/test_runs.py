"""Two ranks train as one process does."""

from __future__ import annotations

import re
import shutil
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Adam

from spacy_psa.cli.train import train
from spacy_psa.training.checkpoint import read_checkpoint
from spacy_psa.training.logger import Meter
from spacy_psa.training.ranks import ranked_pipeline
from spacy_psa.training.ranks.place import Place
from spacy_psa.training.state import read_state

from ..runs import log, weights
from .conftest import HALF_PRECISIONS, SYSTEMS
from .pair import fork_pair, run_pair

torch.set_num_threads(1)

NAMES = (*SYSTEMS, "shared tok2vec", "transformer tok2vec", "new labels", "roles")


@pytest.fixture(scope="module")
def together(
    corpora: Path, configs: dict[str, Path], drawing: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The runs of two ranks, uninterrupted."""
    output = tmp_path_factory.mktemp("together")
    runs = [{"config": path, "output": output / name} for name, path in configs.items()]
    assert fork_pair([*runs, {"config": drawing, "output": output / "drawing"}]) == [0, 0]
    return output


def tensors(output: Path) -> dict[str, torch.Tensor]:
    """The weights of a run's last pipeline."""
    found, _ = read_state(spacy.load(output / "model-last"), Adam(0.001), [])
    return {name: t for name, t in found.items() if name.startswith("weights/")}


def difference(first: Path, second: Path) -> float:
    """The largest difference between the weights of two runs."""
    one, two = tensors(first), tensors(second)
    assert one.keys() == two.keys()
    pairs = [(one[name].double(), two[name].double()) for name in one if one[name].numel()]
    return max(float((a - b).abs().max()) for a, b in pairs)


@pytest.mark.parametrize("name", NAMES)
def test_two_ranks_take_the_steps_of_one_process(
    name: str, configs: dict[str, Path], together: Path, tmp_path: Path
) -> None:
    if name not in configs:
        pytest.skip("spacy-transformers is not installed")
    train(configs[name], tmp_path)
    assert difference(tmp_path, together / name) < 1e-5
    one, two = log(tmp_path), log(together / name)
    assert len(one) == len(two) == 3
    for expected, found in zip(one, two, strict=True):
        assert found["scores"] == pytest.approx(expected["scores"])
        assert found["losses"] == pytest.approx(expected["losses"], rel=1e-4, abs=1e-6)


@pytest.mark.nightly
def test_fifty_steps_are_those_of_one_process(configs: dict[str, Path], tmp_path: Path) -> None:
    longer = {"training.max_steps": 49, "training.eval_frequency": 25}
    # A random transformer trained at 0.1 makes any difference a thousand times larger: weights that
    # begin with relative differences of 1e-7 end with some of 3e-4, without ranks as well
    slow = {"transformer tok2vec": {"training.optimizer.learn_rate": 0.01}}
    runs = {
        name: {"config": configs[name], "overrides": {**longer, **slow.get(name, {})}}
        for name in NAMES
        if name in configs
    }
    outputs = {name: tmp_path / name for name in runs}
    pairs = [{**run, "output": outputs[name]} for name, run in runs.items()]
    assert fork_pair(pairs) == [0, 0]
    differences = {}
    for name, run in runs.items():
        train(run["config"], tmp_path / "one" / name, overrides=run["overrides"])
        assert log(tmp_path / "one" / name)[-1]["step"] == 49
        differences[name] = difference(tmp_path / "one" / name, outputs[name])
    assert max(differences.values()) < 1e-5, differences


@pytest.mark.parametrize("name", HALF_PRECISIONS)
def test_two_ranks_train_in_mixed_precision(
    name: str, configs: dict[str, Path], together: Path, tmp_path: Path
) -> None:
    train(configs[name], tmp_path)
    # Each rank rounds the gradient of its share
    assert difference(tmp_path, together / name) < 1e-3
    losses, full = ([entry["losses"] for entry in log(together / n)] for n in (name, "psa"))
    assert losses != full
    for found, expected in zip(losses, log(tmp_path), strict=True):
        assert found == pytest.approx(expected["losses"], rel=0.01)


def test_a_rank_that_is_killed_ends_the_run_which_resumes_exactly(
    drawing: Path, together: Path, tmp_path: Path
) -> None:
    output = tmp_path / "run"
    with pytest.raises(ValueError, match=r"\[P527\] Rank 1 was killed by SIGKILL.*--resume"):
        run_pair(tmp_path, [{"config": drawing, "output": output, "killed": 13}])
    saved = read_checkpoint(output / "checkpoint")
    assert saved is not None and saved.step == 10
    [other] = saved.others  # each rank draws its own numbers, but for those of `random`
    assert other["random"]["numpy"] != saved.random["numpy"]
    assert other["random"]["torch"] != saved.random["torch"]
    assert other["random"]["python"] == saved.random["python"]
    shutil.copytree(output, tmp_path / "alone")
    assert fork_pair([{"config": drawing, "output": output, "resume": True}]) == [0, 0]
    assert weights(output) == weights(together / "drawing")
    assert log(output) == log(together / "drawing")
    # Another number of processes draws other random numbers
    train(drawing, tmp_path / "alone", resume=True)
    assert [entry["step"] for entry in log(tmp_path / "alone")] == [0, 5, 10, 15, 19]


def test_ranks_with_other_settings_of_the_training_are_refused(
    configs: dict[str, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = {"config": configs["bilstm-crf"], "output": tmp_path}
    assert fork_pair([{**run, "others": {"training.optimizer.learn_rate": 0.5}}]) == [1, 1]
    assert re.search(r"\[P524\] Rank 1 .* settings in \[training\] differ", capfd.readouterr().err)


def test_without_a_seed_ranks_draw_the_same_numbers_of_python(
    configs: dict[str, Path], tmp_path: Path
) -> None:
    run = {"config": configs["bilstm-crf"], "output": tmp_path, "killed": 2}
    assert fork_pair([{**run, "overrides": {"training.seed": None}}]) == [1, -signal.SIGKILL]
    saved = read_checkpoint(tmp_path / "checkpoint")
    assert saved is not None
    [other] = saved.others
    assert other["random"]["python"] == saved.random["python"]
    assert other["random"]["numpy"] != saved.random["numpy"]


def test_development_data_that_differ_between_ranks_are_refused() -> None:
    nlp = spacy.blank("en")
    sent: list[Any] = []

    def evaluate(rank: int, texts: list[str]) -> None:
        group: Any = SimpleNamespace(
            place=Place(rank, 2, rank),
            is_first=rank == 0,
            share=lambda value: value,
            collect=lambda value: sent.append(value) or [value, sent[0]],
        )
        together = ranked_pipeline.evaluated_together(nlp, group)
        together.evaluate(Example.from_dict(nlp.make_doc(text), {}) for text in texts)

    evaluate(1, ["a b", "c d"])
    evaluate(0, ["a b", "c d"])
    with pytest.raises(ValueError, match="P523"):
        evaluate(0, ["c d", "a b"])
    with pytest.raises(ValueError, match="P523"):
        evaluate(0, ["a b", "c d", "e f", "g h"])


def test_values_that_cannot_be_sent_are_left_out_with_a_warning() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("psa_test_user_data")
    group: Any = SimpleNamespace(
        place=Place(0, 1, 0), is_first=True, share=lambda x: x, collect=lambda value: [value]
    )
    together = ranked_pipeline.evaluated_together(nlp, group)
    example = Example.from_dict(nlp.make_doc("a b"), {})
    with pytest.warns(UserWarning, match=r"W451.*\(big, cache\)"):
        together.evaluate([example])
    assert "cache" in nlp("a b").user_data


@Language.component("psa_test_user_data")
def add_user_data(doc: Doc) -> Doc:
    """Add values of which msgpack can write one."""
    doc.user_data.update({"cache": object(), "big": 10**40, "plain": [1]})
    return doc


def test_the_log_counts_the_sentences_of_all_ranks() -> None:
    nlp = spacy.blank("en")
    group: Any = SimpleNamespace(place=Place(0, 2, 0))
    ranked = ranked_pipeline.RankedPipeline(
        nlp, lambda: (0.0, {}), None, [], frozen=(), group=group
    )
    ranked.is_live = True
    meter = Meter(nlp)
    ranked.update([Example.from_dict(nlp.make_doc(text), {}) for text in "ab"], losses={})
    assert meter._sentences == 2


def test_losses_of_other_names_add_up_until_the_loop_resets_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def update(_: object, *, losses: dict[str, float]) -> None:
        losses["part"] = losses.get("part", 0.0) + 2.0

    nlp = spacy.blank("en")
    monkeypatch.setattr(nlp, "update", update)
    monkeypatch.setattr(ranked_pipeline, "sum_gradients", lambda *arguments: arguments[-1])
    group: Any = SimpleNamespace(place=Place(0, 1, 0))
    ranked = ranked_pipeline.RankedPipeline(
        nlp, lambda: (0.0, {}), None, [], frozen=(), group=group
    )
    ranked.is_live = True
    losses: dict[str, float] = {}
    for _ in range(3):
        ranked.update([Example.from_dict(nlp.make_doc("a"), {})], losses=losses)
        for _, pipe in ranked.pipeline:
            pipe.finish_update(None)
    assert losses == {"part": 6.0}
