"""A disk that is full or read-only: one clear error, and existing files are kept."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import spacy
import torch
from safetensors import SafetensorError
from spacy.tokens import DocBin

from spacy_psa.atomic_files import (
    atomic_files,
    atomic_folder,
    atomic_path,
    check_writable,
    copy_folder,
)
from spacy_psa.cli._util import user_errors
from spacy_psa.output_errors import OutputError
from spacy_psa.training import checkpoint
from spacy_psa.training.checkpoint import (
    Checkpoint,
    read_checkpoint,
    read_tensors,
    write_checkpoint,
)
from spacy_psa.training.saving import with_atomic_save

from ..cli.commands import SAMPLE, plain, run
from ..pipeline.conftest import WORDS, gold_doc, tagger_of, trained_nlp
from ..training.runs import weights, write_config, write_corpora
from .failing_disk import CHANGES, SIZES, contents, failing_disk, fails_whole, limited_files

CODES = {errno.ENOSPC: "P410", errno.EROFS: "P411", errno.EACCES: "P411", errno.EIO: "P412"}
CHECKPOINT = Checkpoint(config={}, step=3, epoch=0, finished=False, words=40, seconds=1.5)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a pipeline, gold documents, and earlier output of each kind."""
    tmp_path = tmp_path_factory.mktemp("original")
    trained_nlp("spans").to_disk(tmp_path / "model")
    docs = [gold_doc(spacy.blank("xx"), i) for i in range(len(WORDS))]
    DocBin(docs=docs).to_disk(tmp_path / "dev.spacy")
    blocks = (SAMPLE / "dev.conll").read_text(encoding="utf8").split("\n\n")
    (tmp_path / "in.conll").write_text("\n\n".join(blocks[:3]) + "\n", encoding="utf8")
    (tmp_path / "texts.txt").write_text("Ann likes Berlin .\n", encoding="utf8")
    (tmp_path / "metrics.json").write_text(json.dumps({"tag_acc": 0.5}), encoding="utf8")
    for ending in ("spacy", "json", "md", "html", "svg", "conll", "cfg", "jsonl"):
        (tmp_path / f"old.{ending}").write_text("from earlier", encoding="utf8")
    return tmp_path


@pytest.fixture
def folder(tmp_path: Path, original: Path) -> Path:
    """A copy of `original`."""
    shutil.copytree(original, tmp_path, dirs_exist_ok=True)
    return tmp_path


def tensors(value: float) -> dict[str, torch.Tensor]:
    return {"weights/tagger/0/W": torch.full((40, 50), value)}


# The arguments of each command that writes, with {} for the folder.
COMMANDS = {
    "convert": "convert {}/in.conll {}/old.spacy --stats {}/old.json",
    "export": "export {}/dev.spacy -o {}/old.conll --format conll2000 --chunks-key sc",
    "init-config": "init-config {}/old.cfg --system psa --target tag --force",
    "calibrate": "calibrate {}/model {}/dev.spacy",
    "calibrate --output": "calibrate {}/model {}/dev.spacy --output {}/calibrated",
    "calibrate --plot": "calibrate {}/model {}/dev.spacy --plot {}/old.svg",
    "evaluate": "evaluate {}/model {}/dev.spacy --output {}/old.json --resamples 2",
    "compare": "compare {}/model {}/model {}/dev.spacy --output {}/old.md --trials 2",
    "conlleval": "conlleval {}/dev.spacy {}/model --target spans --spans-key sc -o {}/old.json",
    "annotate": "annotate {}/model {}/texts.txt --output {}/old.jsonl",
    "attend": "attend {}/model Ann --output {}/old.html",
    "lattice": "lattice {}/model Ann -o {}/old.svg",
    "draw": "draw {}/model -o {}/old.svg",
    "scores": "scores {}/metrics.json --output {}/old.md",
    "results": "results --output {}/old.md",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_what_is_wrong_and_leaves_all_as_it_was(folder: Path, command: str) -> None:
    words = COMMANDS[command].replace("{}", str(folder)).split()
    before = contents(folder)
    # Several outputs are atomic one by one, not together: fail before the first
    with failing_disk(folder, 0) as disk:
        result = run("psa", *words)
    message = "".join(plain(result.output).split())
    assert disk.failed
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit)
    assert message.count("[P410]") == 1 and str(folder) in message
    assert contents(folder) == before


@pytest.mark.parametrize("command", ["export", "init-config", "scores"])
def test_a_command_leaves_all_as_it_was_at_any_moment(folder: Path, command: str) -> None:
    words = COMMANDS[command].replace("{}", str(folder)).split()

    def write() -> None:
        result = run("psa", *words)
        if result.exit_code:
            assert isinstance(result.exception, SystemExit)
            raise OutputError(plain(result.output))

    messages = fails_whole(folder, write)
    assert len(messages) > 1
    assert all("[P410]" in message for message in messages)


@pytest.mark.parametrize("size", [0, 200])
def test_a_command_that_is_stopped_within_a_file_leaves_all_as_it_was(
    folder: Path, size: int
) -> None:
    words = COMMANDS["convert"].replace("{}", str(folder)).split()
    before = contents(folder)
    with limited_files(size):
        result = run("psa", *words)
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit)
    assert "[P413]" in result.output and "old.spacy" in "".join(plain(result.output).split())
    assert contents(folder) == before


def savers(folder: Path) -> dict[str, Callable[[], object]]:
    """Everything that training saves, each replacing something else."""
    nlp = trained_nlp("tag")
    return {
        "component": lambda: tagger_of(nlp).to_disk(folder / "model" / "psa_tagger"),
        "pipeline": lambda: with_atomic_save(nlp).to_disk(folder / "model"),
        "copy": lambda: copy_folder(folder / "other", folder / "model"),
        "checkpoint": lambda: write_checkpoint(
            folder / "checkpoint", replace(CHECKPOINT, step=6), tensors(2.0)
        ),
    }


@pytest.fixture(scope="module")
def saved_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a pipeline, another one, and a checkpoint."""
    tmp_path = tmp_path_factory.mktemp("saved")
    trained_nlp("spans").to_disk(tmp_path / "model")
    trained_nlp("tag").to_disk(tmp_path / "other")
    write_checkpoint(tmp_path / "checkpoint", CHECKPOINT, tensors(1.0))
    return tmp_path


@pytest.fixture
def saved(tmp_path: Path, saved_before: Path) -> Path:
    """A copy of `saved_before`."""
    shutil.copytree(saved_before, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.parametrize("name", ["component", "pipeline", "copy", "checkpoint"])
def test_what_was_saved_stays_at_any_moment(saved: Path, name: str) -> None:
    # Renaming takes no space: files of a component one by one, a pipeline's folder in two steps
    events = CHANGES if name == "checkpoint" else ("open", "os.mkdir")
    messages = fails_whole(saved, savers(saved)[name], events)
    assert len(messages) > 2
    assert all("[P410]" in message for message in messages)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["component", "pipeline", "copy", "checkpoint"])
def test_what_was_saved_stays_if_a_file_is_cut_off(saved: Path, name: str, size: int) -> None:
    before = contents(saved)
    with limited_files(size), pytest.raises(OutputError, match=r"\[P41[03]\]"):
        savers(saved)[name]()
    assert contents(saved) == before
    assert read_checkpoint(saved / "checkpoint") == CHECKPOINT
    assert read_tensors(saved / "checkpoint").keys() == tensors(1.0).keys()


@pytest.mark.parametrize(("code", "name"), CODES.items())
def test_each_cause_has_its_remedy(tmp_path: Path, code: int, name: str) -> None:
    with (
        failing_disk(tmp_path, 0, code),
        pytest.raises(OutputError, match=name) as caught,
        atomic_path(tmp_path / "a.txt") as path,
    ):
        path.write_text("text", encoding="utf8")
    assert str(tmp_path / "a.txt") in str(caught.value) and os.strerror(code) in str(caught.value)


@pytest.mark.parametrize(
    "told",
    [
        "Error while serializing: I/O error: No space left on device (os error 28)",
        'Error while serializing: IoError(Os { code: 28, kind: StorageFull, message: "No space" })',
    ],
)
def test_safetensors_tells_the_number_in_the_words_of_its_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    def fail(*arguments: object) -> None:
        raise SafetensorError(told)

    monkeypatch.setattr(checkpoint, "save_file", fail)
    with pytest.raises(OutputError, match=r"\[P410\].*a\.safetensors"):
        write_checkpoint(tmp_path, CHECKPOINT, tensors(1.0))
    assert contents(tmp_path) == {}


def test_numpy_tells_no_number_if_the_disk_is_full(tmp_path: Path) -> None:
    with (
        limited_files(4096),
        pytest.raises(OutputError, match=r"\[P410\].*a\.npy"),
        atomic_path(tmp_path / "a.npy") as path,
        path.open("wb") as file_,
    ):
        np.save(file_, np.zeros(100_000))
    assert contents(tmp_path) == {}


def test_an_input_that_cannot_be_read_is_not_called_an_output(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, atomic_path(tmp_path / "a.txt"):
        (tmp_path / "missing.txt").read_text()
    assert not isinstance(caught.value, OutputError)
    assert caught.value.filename == str(tmp_path / "missing.txt")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_a_device_is_written_to_and_not_replaced() -> None:
    with (
        pytest.raises(OutputError, match=r"\[P410\] /dev/full"),
        atomic_path(Path("/dev/full")) as path,
    ):
        path.write_text("text", encoding="utf8")
    with atomic_path(Path("/dev/null")) as path:
        path.write_text("text", encoding="utf8")
    for device in ("/dev/full", "/dev/null"):
        assert stat.S_ISCHR(os.stat(device).st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
@pytest.mark.parametrize("error", [None, ValueError("[P000] An error."), FileNotFoundError("x")])
def test_standard_output_on_a_full_disk_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, error: Exception | None
) -> None:
    with open("/dev/full", "w", encoding="utf8") as full:
        monkeypatch.setattr("sys.stdout", full)
        with pytest.raises(SystemExit) as caught, user_errors():
            print("a result")
            if error is not None:
                raise error
        # The buffer can be written now
        full.flush()
    assert caught.value.code == 1
    assert capsys.readouterr().err.count("[P410] Standard output") == 1


def test_a_link_stays_a_link_and_permissions_stay(tmp_path: Path) -> None:
    target = tmp_path / "target.txt"
    target.write_text("old", encoding="utf8")
    target.chmod(0o640)
    (tmp_path / "link.txt").symlink_to(target)
    with atomic_path(tmp_path / "link.txt") as path:
        path.write_text("new", encoding="utf8")
    assert (tmp_path / "link.txt").is_symlink()
    assert target.read_text(encoding="utf8") == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


@pytest.mark.parametrize("letter", ["a", "漢"])
def test_long_names_that_begin_alike_are_kept_apart(tmp_path: Path, letter: str) -> None:
    start = letter * (240 // len(letter.encode()))
    one, other = tmp_path / f"{start}.words", tmp_path / f"{start}.props"
    with atomic_path(one) as first, atomic_path(other) as second:
        first.write_text("one")
        second.write_text("other")
    assert (one.read_text(), other.read_text()) == ("one", "other")
    for content in ("old", "new"):
        with atomic_folder(tmp_path / start) as folder:
            folder.mkdir()
            (folder / "a").write_text(content)
    assert (tmp_path / start / "a").read_text() == "new" and len(os.listdir(tmp_path)) == 3


def test_a_file_in_the_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("a file", encoding="utf8")
    with (
        pytest.raises(OutputError, match=r"\[P412\].*model"),
        atomic_folder(tmp_path / "model") as folder,
    ):
        folder.mkdir()
    assert contents(tmp_path) == {"model": b"a file"}


def test_a_folder_that_cannot_be_replaced_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "a.txt").write_text("old", encoding="utf8")
    rename = os.rename

    def refuse(source: Path, target: Path) -> None:
        if source.suffix == ".tmp":
            raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(source))
        rename(source, target)

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(OutputError, match=r"\[P411\]"), atomic_folder(tmp_path / "model") as folder:
        folder.mkdir()
    assert contents(tmp_path) == {"model": None, "model/a.txt": b"old"}


def test_a_folder_that_is_a_mount_is_filled_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "a.txt").write_text("old", encoding="utf8")

    rename = os.rename

    def refuse(source: Path, target: Path) -> None:
        if source == tmp_path / "model":
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        rename(source, target)

    monkeypatch.setattr(os, "rename", refuse)
    with atomic_folder(tmp_path / "model") as folder:
        (folder / "b").mkdir(parents=True)
        (folder / "b" / "b.txt").write_text("b", encoding="utf8")
        (folder / "a.txt").write_text("new", encoding="utf8")
    assert contents(tmp_path / "model") == {"a.txt": b"new", "b": None, "b/b.txt": b"b"}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_folder_on_another_disk_is_filled_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disk_of(path: Path) -> bool:
        return tmp_path / "mount" in path.parents

    def across_no_disks(operation: Callable[..., None]) -> Callable[..., None]:
        def refuse(source: Path, target: Path, **settings: object) -> None:
            if Path(source) == tmp_path / "mount":
                raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
            if disk_of(Path(source)) != disk_of(Path(target)):
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
            operation(source, target, **settings)

        return refuse

    (tmp_path / "mount" / "a").mkdir(parents=True)
    (tmp_path / "mount" / "a" / "old.txt").touch()
    (tmp_path / "mount" / "b").write_text("a file", encoding="utf8")
    monkeypatch.setattr(os, "rename", across_no_disks(os.rename))
    monkeypatch.setattr(os, "replace", across_no_disks(os.replace))
    for text in ("one", "two"):
        with atomic_folder(tmp_path / "mount") as folder:
            for name in ("a", "b", "c"):
                (folder / name / "d").mkdir(parents=True)
                (folder / name / "d" / "e.txt").write_text(text, encoding="utf8")
        found = {str(p.relative_to(tmp_path)): p.read_text() for p in tmp_path.rglob("*.txt")}
        assert found == {f"mount/{name}/d/e.txt": text for name in ("a", "b", "c")}
        assert sorted(os.listdir(tmp_path / "mount")) == ["a", "b", "c"]


@pytest.mark.parametrize("was", ["link", "file", "folder"])
@pytest.mark.parametrize("is_folder", [False, True])
def test_files_links_and_folders_replace_each_other(
    tmp_path: Path, was: str, is_folder: bool
) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "a.txt").write_text("shared", encoding="utf8")
    place = tmp_path / "out" / "place"
    place.parent.mkdir()
    if was == "link":
        place.symlink_to(tmp_path / "shared", target_is_directory=True)
    elif was == "file":
        place.write_text("old", encoding="utf8")
    else:
        shutil.copytree(tmp_path / "shared", place)
    for text in ("one", "two"):
        with atomic_files(tmp_path / "out") as folder:
            file = folder / "place" / "a.txt" if is_folder else folder / "place"
            file.parent.mkdir(parents=True)
            file.write_text(text, encoding="utf8")
        found = place / "a.txt" if is_folder else place
        assert found.read_text(encoding="utf8") == text
        assert os.listdir(tmp_path / "out") == ["place"]
    assert (tmp_path / "shared" / "a.txt").read_text(encoding="utf8") == "shared"


@pytest.mark.parametrize("has_new", [False, True])
def test_what_a_killed_process_moved_aside_is_no_hindrance(tmp_path: Path, has_new: bool) -> None:
    (tmp_path / ".a.old").mkdir()
    (tmp_path / ".a.old" / "b.txt").write_text("old", encoding="utf8")
    if has_new:
        (tmp_path / "a").mkdir()
    with atomic_files(tmp_path) as folder:
        (folder / "a").mkdir(parents=True)
        (folder / "a" / "b.txt").write_text("new", encoding="utf8")
    assert contents(tmp_path) == {"a": None, "a/b.txt": b"new"}


def test_a_place_that_cannot_be_written_to_is_found_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_writable(tmp_path / "a" / "b" / "c.json")
    assert contents(tmp_path) == {}
    (tmp_path / "file").write_text("a file", encoding="utf8")
    with pytest.raises(OutputError, match=r"\[P412\]"):
        check_writable(tmp_path / "file" / "c.json")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(OutputError, match=r"\[P411\].*Permission denied"):
        check_writable(tmp_path / "c.json")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus, a config, and the finished run `out`."""
    folder = tmp_path_factory.mktemp("trained")
    write_corpora(folder)
    config = write_config(folder, training={"max_epochs": 1, "eval_frequency": 2})
    assert run("psa", "train", config, "--output", folder / "out").exit_code == 0
    return folder


@pytest.mark.parametrize("number", [0, 30])
def test_a_training_run_goes_on_when_there_is_room_again(
    tmp_path: Path, trained: Path, number: int
) -> None:
    command = ("psa", "train", trained / "config.cfg", "--output", tmp_path / "out")
    with failing_disk(tmp_path / "out", number) as disk:
        result = run(*command)
    assert disk.failed
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit)
    assert plain(result.output).count("[P410]") == 1
    assert "Traceback" not in result.output and "Aborting" not in result.output
    for name in ("model-last", "model-best"):
        if (tmp_path / "out" / name).exists():
            assert spacy.load(tmp_path / "out" / name)("Ann saw Berlin .")[0].tag_
    assert run(*command, "--resume").exit_code == 0
    assert weights(tmp_path / "out") == weights(trained / "out")
    assert [path.name for path in (tmp_path / "out").rglob(".*")] == [".lock"]


def test_an_earlier_run_stays_until_there_is_a_new_one(tmp_path: Path, trained: Path) -> None:
    shutil.copytree(trained / "out", tmp_path / "out")
    command = ("psa", "train", trained / "config.cfg", "--output", tmp_path / "out")
    before = {n: contents(tmp_path / "out" / n) for n in ("model-last", "model-best")}
    with failing_disk(tmp_path / "out", 4):
        result = run(*command, "--training.seed", "7")
    assert result.exit_code == 1
    assert {n: contents(tmp_path / "out" / n) for n in before} == before


def test_spacy_train_says_it_as_clearly(tmp_path: Path) -> None:
    write_corpora(tmp_path)
    config = write_config(
        tmp_path,
        training={"max_steps": 2},
        training__before_to_disk={"@callbacks": "spacy_psa.atomic_to_disk.v1", "callback": None},
    )
    with failing_disk(tmp_path / "out", 12) as disk:
        result = run("train", config, "--output", tmp_path / "out")
    assert disk.failed
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    assert "[P410]" in plain(result.output)
