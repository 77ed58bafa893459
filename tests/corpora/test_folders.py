import errno
import os
from pathlib import Path

import pytest

from spacy_psa.corpora.formats import FORMATS
from spacy_psa.corpora.problems import Problems
from spacy_psa.corpora.sections import note_unread
from spacy_psa.disk import walk


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "corpus" / "00").mkdir(parents=True)
    (tmp_path / "corpus" / "00" / "b.txt").touch()
    (tmp_path / "corpus" / "00" / "a.txt").touch()
    return tmp_path / "corpus"


def test_files_are_found_at_any_depth_and_behind_links(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "c.txt").touch()
    (folder / "01").symlink_to(tmp_path / "elsewhere")
    assert [str(path.relative_to(folder)) for path in walk(folder)] == [
        "00/a.txt",
        "00/b.txt",
        "01/c.txt",
    ]


def test_hidden_files_are_left_out(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").touch()
    (folder / "00" / ".#a.txt").symlink_to("nowhere")
    assert {path.name for path in walk(folder)} == {"a.txt", "b.txt"}


@pytest.mark.parametrize("target", [".", "..", "../00", "../../other"])
def test_links_that_lead_back_are_errors(folder: Path, target: str) -> None:
    other = folder.parent / "other"
    other.mkdir()
    (other / "back").symlink_to(folder)
    (folder / "00" / "loop").symlink_to(target)
    with pytest.raises(ValueError, match=r"P162.*00/loop.* is a link to a folder above it"):
        list(walk(folder))


@pytest.mark.parametrize("target", ["loop", "nowhere"])
def test_links_to_nothing_are_errors(folder: Path, target: str) -> None:
    (folder / "loop").symlink_to(target)
    with pytest.raises(ValueError, match=r"P162.*loop is a link to nothing"):
        list(walk(folder))


@pytest.mark.parametrize(
    ("code", "what"),
    [(errno.EACCES, "without permission"), (errno.EIO, "that fails to be read .*output error")],
)
def test_folders_that_cannot_be_read_are_errors(
    code: int, what: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = os.scandir

    def forbid(path: str) -> object:
        if Path(path).name == "secret":  # root may read any
            raise OSError(code, os.strerror(code), path)
        return scan(path)

    (folder / "secret").mkdir()
    monkeypatch.setattr(os, "scandir", forbid)
    with pytest.raises(ValueError, match=rf"P162.*secret is a folder {what}"):
        list(walk(folder))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("name", [form.name for form in FORMATS.values() if form.takes_folder])
def test_pipes_in_a_folder_are_errors_in_all_formats(name: str, folder: Path) -> None:
    for ending in FORMATS[name].endings:
        (folder / f"wsj_0001{ending}").write_text("a\n", encoding="utf8")
    os.mkfifo(folder / "00" / "fifo")
    with pytest.raises(ValueError, match=r"P162.*fifo is a pipe, socket or device"):
        list(FORMATS[name].read(folder, problems=Problems()))


def test_files_that_are_not_read_are_counted_and_named(folder: Path) -> None:
    problems = Problems()
    for i in range(4):
        (folder / f"{i}.md").touch()
    note_unread(folder, [folder / "00" / "a.txt"], problems, lambda path: path.suffix == ".txt")
    assert dict(problems.notes) == {
        f"documents in {folder} that are not read (00/b.txt)": 1,
        f"other files in {folder} that are not read (0.md, 1.md, 2.md, …)": 4,
    }


def test_if_all_files_are_read_there_is_nothing_to_note(folder: Path) -> None:
    problems = Problems()
    note_unread(folder, walk(folder), problems, lambda path: True)
    assert not problems.notes
