"""Processes that are killed while saving leave either the old files or the new ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import spacy
from spacy.language import Language

from spacy_psa.atomic_files import (
    atomic_folder,
    atomic_path,
    copy_folder,
    recover,
    remove_folder,
)
from spacy_psa.cli.train import train
from spacy_psa.output_errors import OutputError
from spacy_psa.pipeline.storage import check_folder
from spacy_psa.training.checkpoint import read_checkpoint
from spacy_psa.training.logger import _append
from spacy_psa.training.saving import create_atomic_to_disk, learning_settings, with_atomic_save

from ..pipeline.conftest import initialized_nlp, tagger_of, trained_nlp
from ..training.runs import kill, log, weights, write_config, write_corpora
from .failing_disk import contents, killed_at_each_moment, limited_files
from .kill_training import COMMANDS, ROOT, Trial

ATOMIC = {"@callbacks": "spacy_psa.atomic_to_disk.v1", "callback": None}
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


@pytest.fixture(scope="module")
def pipelines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the pipelines `old` and `new`."""
    folder = tmp_path_factory.mktemp("pipelines")
    initialized_nlp(seed=3).to_disk(folder / "old")
    with_atomic_save(trained_nlp()).to_disk(folder / "new")
    return folder


def put_back(source: Path, target: Path) -> None:
    for path in target.parent.iterdir():
        shutil.rmtree(path)
    shutil.copytree(source, target)


@needs_fork
def test_a_pipeline_is_the_old_one_or_the_new_one_at_any_moment(
    tmp_path: Path, pipelines: Path
) -> None:
    nlp, path = trained_nlp(), tmp_path / "out" / "model-last"
    old, new = contents(pipelines / "old"), contents(pipelines / "new")
    found, absent = [], 0

    def look(number: int) -> None:
        nonlocal absent
        absent += not path.exists()
        recover(path)
        now = contents(path)
        assert now in (old, new), f"neither at {number}"
        found.append(now == new)
        put_back(pipelines / "old", path)

    path.parent.mkdir()
    put_back(pipelines / "old", path)
    n = killed_at_each_moment(tmp_path / "out", lambda: with_atomic_save(nlp).to_disk(path), look)
    assert n > 20
    # The old one at first, and the new one from some point on; in between, the old one elsewhere
    assert found == sorted(found) and set(found) == {False, True}
    assert absent == 1


@needs_fork
def test_a_component_that_is_saved_in_place_can_be_loaded_at_any_moment(
    tmp_path: Path, pipelines: Path
) -> None:
    tagger, path = tagger_of(trained_nlp()), tmp_path / "out" / "psa_tagger"
    models = [(pipelines / name / "psa_tagger" / "model").read_bytes() for name in ("old", "new")]
    found, lines = [], set()

    def look(number: int) -> None:
        check_folder(path)
        found.append(models.index((path / "model").read_bytes()))
        lines.add(len((path / "model.sha256").read_text(encoding="utf8").splitlines()))
        put_back(pipelines / "old" / "psa_tagger", path)

    path.parent.mkdir()
    put_back(pipelines / "old" / "psa_tagger", path)
    killed_at_each_moment(tmp_path / "out", lambda: tagger.to_disk(path, exclude=["vocab"]), look)
    assert found == sorted(found) and set(found) == {0, 1}
    # Two checksums while the model may be either one
    assert lines == {1, 2}


@needs_fork
def test_a_folder_that_is_removed_is_never_there_in_part(tmp_path: Path, pipelines: Path) -> None:
    path = tmp_path / "out" / "model-best"
    old = contents(pipelines / "old")

    def look(number: int) -> None:
        assert not path.exists() or contents(path) == old
        put_back(pipelines / "old", path)

    path.parent.mkdir()
    put_back(pipelines / "old", path)
    killed_at_each_moment(tmp_path / "out", lambda: remove_folder(path), look)


def test_a_link_to_a_folder_stays(tmp_path: Path, pipelines: Path) -> None:
    (tmp_path / "out").mkdir()
    path, place = tmp_path / "out" / "model-best", tmp_path / "disk" / "best"
    path.symlink_to(place, target_is_directory=True)
    copy_folder(pipelines / "old", path)
    place.rename(place.with_name(".best.old"))  # as if the process had been killed
    recover(path)
    assert contents(path) == contents(pipelines / "old")
    remove_folder(path)
    assert os.listdir(tmp_path / "out") == ["model-best"] and os.listdir(place.parent) == []
    copy_folder(pipelines / "old", path)
    assert path.is_symlink() and contents(place) == contents(pipelines / "old")


def dead_process() -> int:
    """The ID of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch])
def test_what_dead_processes_left_is_removed_at_the_next_save(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    left, others = tmp_path / f".model-last.{dead_process()}.tmp", tmp_path / ".model-last.tmp"
    make(left)
    make(others)
    running = tmp_path / f".model-last.{os.getppid()}.tmp"
    make(running)
    with atomic_folder(tmp_path / "model-last") as folder:
        folder.mkdir()
    assert {path.name for path in tmp_path.iterdir()} == {
        "model-last",
        others.name,
        running.name,
    }


def test_files_that_were_left_are_removed_when_they_are_old(tmp_path: Path) -> None:
    number = dead_process()
    new, old = (tmp_path / f".{name}.{number}.tmp" for name in ("new.json", "old.json"))
    for path in (new, old):
        path.write_text("{", encoding="utf8")
    os.utime(old, (0, 0))
    for name in ("new.json", "old.json"):
        with atomic_path(tmp_path / name) as temporary:
            temporary.write_text("{}", encoding="utf8")
    assert new.exists() and not old.exists()
    with atomic_path(tmp_path / "new.json", shared=False) as temporary:
        temporary.write_text("{}", encoding="utf8")
    assert not new.exists()


def test_what_stood_in_the_way_of_the_next_save_is_gone(tmp_path: Path, pipelines: Path) -> None:
    """An earlier process with the same ID, as in containers, was killed."""
    left = tmp_path / f".model-last.{os.getpid()}.tmp"
    left.mkdir()
    (left / "old").write_text("old", encoding="utf8")
    copy_folder(pipelines / "new", tmp_path / "model-last")
    assert contents(tmp_path / "model-last") == contents(pipelines / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["model-last"]


def test_the_callback_leaves_the_pipeline_as_it_is() -> None:
    nlp = trained_nlp()
    saver = create_atomic_to_disk()(nlp)
    assert isinstance(saver, Language) and saver is not nlp
    assert "to_disk" not in nlp.__dict__
    assert saver.vocab is nlp.vocab and saver.pipeline == nlp.pipeline
    assert with_atomic_save(saver) is saver


def test_the_callback_calls_another_one_first(tmp_path: Path) -> None:
    other = trained_nlp("spans")
    create_atomic_to_disk(lambda nlp: other)(trained_nlp()).to_disk(tmp_path / "model")
    assert spacy.load(tmp_path / "model").get_pipe("psa_tagger").cfg["target"] == "spans"


def test_how_pipelines_are_saved_is_no_other_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_corpora(tmp_path)
    kill(monkeypatch, write_config(tmp_path, training={"max_epochs": 1}), tmp_path / "out", 2)
    config = write_config(tmp_path, training={"max_epochs": 1}, training__before_to_disk=ATOMIC)
    train(config, tmp_path / "out", resume=True)
    assert read_checkpoint(tmp_path / "out" / "checkpoint").finished
    assert weights(tmp_path / "out")
    other = {"training": {"before_to_disk": {"@callbacks": "another.v1"}}}
    assert learning_settings(other) == other


def test_a_log_whose_only_line_was_cut_off_is_begun_anew(tmp_path: Path) -> None:
    write_corpora(tmp_path)
    config = write_config(tmp_path, training={"max_steps": 1})
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "train.jsonl").write_text('{"step": 0, "epo', encoding="utf8")
    train(config, tmp_path / "out", resume=True)
    assert [entry["step"] for entry in log(tmp_path / "out")] == [0, 1]


def test_a_line_of_the_log_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text('{"step": 0}\n', encoding="utf8")
    with limited_files(20), pytest.raises(OutputError, match=r"\[P413\].*train.jsonl"):
        _append(path, '{"step": 200}\n')
    assert path.read_text(encoding="utf8") == '{"step": 0}\n'


@needs_fork
@pytest.mark.parametrize(("command", "times"), [("spacy train", 1), ("spacy psa train", 2)])
def test_killed_training_leaves_pipelines_that_work(
    tmp_path: Path, command: str, times: int
) -> None:
    # In this process: a new one would import everything again
    trial = Trial(tmp_path, command, steps=2, seed=0)
    assert trial.run(times) == 0
    assert (trial.kills.total(), trial.problems) == (times, [])


@needs_fork
@pytest.mark.nightly
@pytest.mark.parametrize("command", COMMANDS)
def test_training_that_is_killed_fifty_times_leaves_pipelines_that_work(command: str) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.robustness.kill_training"),
            *("--command", command, "--times", "50"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "; 0 problems" in done.stdout
