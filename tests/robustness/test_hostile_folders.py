"""Pipelines whose folder has pipes, or links that lead nowhere or in a circle."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import spacy

from spacy_psa.cli._predictions import load_pipeline
from tests.cli.commands import run

PIPELINE = Path(__file__).parent / "fixture" / "0.1.0" / "pipeline"
ENTRIES: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo if hasattr(os, "mkfifo") else lambda path: pytest.skip("no named pipes"),
    "link to nothing": lambda path: path.symlink_to(path.name),
    "link to a folder above it": lambda path: path.symlink_to(".."),
}


@pytest.fixture(params=ENTRIES)
def put(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], tuple[Path, str]]:
    """A function that replaces a file of a pipeline."""

    def put(name: str) -> tuple[Path, str]:
        folder = tmp_path / "pipeline"
        shutil.copytree(PIPELINE, folder)
        (folder / name).unlink(missing_ok=True)
        ENTRIES[request.param](folder / name)
        return folder, rf"P162.*{name} is a {request.param}"

    return put


@pytest.mark.parametrize("name", ["meta.json", "tags/model", "vocab/strings.json", "new"])
def test_commands_refuse_the_folder(put: Callable[[str], tuple[Path, str]], name: str) -> None:
    folder, message = put(name)
    with pytest.raises(ValueError, match=message):
        load_pipeline(folder)


@pytest.mark.parametrize("name", ["tags/model", "roles/cfg", "tags/model.sha256"])
def test_components_refuse_the_folder(put: Callable[[str], tuple[Path, str]], name: str) -> None:
    folder, message = put(name)
    with pytest.raises(ValueError, match=message):
        spacy.load(folder)


@pytest.mark.parametrize("command", ["tag", "evaluate", "quantize", "srl-eval", "attend"])
def test_the_error_is_all_that_is_printed(command: str, tmp_path: Path) -> None:
    folder = tmp_path / "pipeline"
    shutil.copytree(PIPELINE, folder)
    (folder / "loop").symlink_to(folder)
    gold = tmp_path / "gold.props"
    gold.write_text("- (A0*)\nrun (V*)\n\n", encoding="utf8")
    arguments = {
        "tag": (folder, "He runs ."),
        "evaluate": (folder, gold),
        "quantize": (folder, "-o", tmp_path / "out"),
        "srl-eval": (gold, folder),
        "attend": (folder, "He runs .", "--output", tmp_path / "a.svg"),
    }[command]
    result = run("psa", command, *arguments)
    assert result.exit_code == 1 and "P162" in result.output, result.output
    assert "Traceback" not in result.output
