"""All commands say outputs, components and GPUs alike, and fail alike where they have to choose."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import spacy
import typer.main
from spacy.tokens import DocBin, Span
from typer.core import TyperGroup

from spacy_psa.cli import psa_cli

from ..analysis.inside import is_png
from ..pipeline.conftest import trained_nlp
from .commands import contents, failure, plain, run, succeed

PAPER = ("check", "require", "fetch", "treebank", "reproduce", "results")
# As spaCy's command of the same name has it
OUTPUT_TWICE = {"convert", "init-config", "vectors"}
# What prints its result, or writes two files that have names of their own
WITHOUT_OUTPUT = {"check", "require", "help", "tag", "split"}
# Networks run in these
ON_GPU = {
    *("annotate", "apply", "attend", "calibrate", "card", "compare", "conlleval", "distill"),
    *("evaluate", "lattice", "quantize", "reproduce", "srl-eval", "tag", "train"),
}
# These work on one component, or on each that is chosen
OF_COMPONENTS = {
    *("annotate", "attend", "calibrate", "card", "compare", "conlleval", "distill", "draw"),
    *("evaluate", "labels", "lattice", "srl-ensemble", "srl-eval"),
}
# `psa convert -o` is an option of a format: many files are read with several of them
LETTERS = {"--output": "-o", "--component": "-c", "--gpu-id": "-g", "--force": "-F"}
ALONE = {"-o": "--output", "-g": "--gpu-id", "-F": "--force"}


def commands() -> dict[str, Any]:
    group = typer.main.get_command(psa_cli)
    assert isinstance(group, TyperGroup)
    return {name: found for name, found in group.commands.items() if not hasattr(found, "commands")}


COMMANDS = commands()


def options(name: str) -> Iterator[Any]:
    return (p for p in COMMANDS[name].params if p.param_type_name == "option")


def names_of(name: str) -> set[str]:
    return {spelling for option in options(name) for spelling in option.opts}


@pytest.mark.parametrize("name", COMMANDS)
def test_options_have_one_spelling_in_all_commands(name: str) -> None:
    for option in options(name):
        for long, short in LETTERS.items():
            assert (long in option.opts) <= (short in option.opts or name == "convert"), option.opts
        for short, long in ALONE.items():
            assert (short in option.opts) <= (long in option.opts or name == "convert"), option.opts
    assert ("--output" in names_of(name)) == (name not in WITHOUT_OUTPUT)
    assert ("--gpu-id" in names_of(name)) == (name in ON_GPU)
    assert ("--component" in names_of(name)) == (name in OF_COMPONENTS)
    places = [p.metavar for p in COMMANDS[name].params if p.param_type_name == "argument"]
    said = any(word in str(place) for place in places for word in ("OUTPUT", "DEST", "FOLDER"))
    assert said == (name in OUTPUT_TWICE)


def test_every_command_is_looked_at() -> None:
    assert set(PAPER) | ON_GPU | OF_COMPONENTS | OUTPUT_TWICE | WITHOUT_OUTPUT <= set(COMMANDS)
    drawing = {name for name in COMMANDS if COMMANDS[name].rich_help_panel == "Look into"}
    assert drawing | {"calibrate"} == set(DRAWINGS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pipelines of one tagger, two and none, data and a log."""
    path = tmp_path_factory.mktemp("uniform")
    one, two, none = trained_nlp("ents"), trained_nlp("ents"), spacy.blank("xx")
    two.add_pipe("psa_tagger", name="tags", source=trained_nlp("tag"))
    none.add_pipe("sentencizer")
    for name, nlp in (("one", one), ("two", two), ("none", none)):
        nlp.to_disk(path / name)
    (path / "run").mkdir()
    one.to_disk(path / "run" / "model-best")
    doc = spacy.blank("xx").make_doc("Ann Lee likes Berlin .")
    doc.set_ents([Span(doc, 0, 2, "PER"), Span(doc, 3, 4, "LOC")])
    for token in doc:
        token.tag_ = "X"
    DocBin(docs=[doc]).to_disk(path / "gold.spacy")
    (path / "texts.txt").write_text("Ann Lee\n", encoding="utf8")
    (path / "gold.conll").write_text("Ann B-PER\n\n", encoding="utf8")
    (path / "gold.props").write_text("- (A0*)\nrun (V*)\n\n", encoding="utf8")
    (path / "metrics.json").write_text('{"tag_acc": 0.5}', encoding="utf8")
    rows = [{"step": i, "epoch": i, "score": 0.5, "losses": {"t": 1.0}} for i in (1, 2)]
    (path / "train.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf8")
    return path


# What draws, with the option that names the image
DRAWINGS = {
    "draw": "{}/one -o",
    "lattice": "{}/one Ann -o",
    "attend": "{}/one Ann -o",
    "labels": "{}/one -o",
    "curves": "{}/train.jsonl -o",
    "calibrate": "{}/one {}/gold.spacy --plot",
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_drawings_are_pages_and_images_by_their_ending(
    folder: Path, tmp_path: Path, name: str
) -> None:
    pytest.importorskip("vl_convert", reason="charts need the extra 'plots'")
    words = DRAWINGS[name].replace("{}", str(folder)).split()
    for ending in (".html", ".svg", ".png"):
        path = tmp_path / f"drawn{ending}"
        succeed("psa", name, *words, path)
        content = path.read_bytes()
        assert is_png(content) == (ending == ".png")
        if ending == ".html":
            page = content.decode("utf8")
            assert page.startswith("<!DOCTYPE html>") and "<svg" in page and "<p>" in page
            # No folder of this machine in what it shows
            assert str(folder) not in page and str(tmp_path) not in page
        if ending == ".svg":
            assert content.startswith(b"<svg")


@pytest.mark.parametrize("name", DRAWINGS)
def test_drawings_of_other_kinds_are_an_error(folder: Path, tmp_path: Path, name: str) -> None:
    words = DRAWINGS[name].replace("{}", str(folder)).split()
    result = run("psa", name, *words, tmp_path / "drawn.pdf")
    assert result.exit_code == 1
    assert re.search(r"\[P265\].*\.html, \.svg, \.png", " ".join(plain(result.output).split()))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", DRAWINGS)
def test_pixels_without_what_draws_them_are_an_error(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    words = DRAWINGS[name].replace("{}", str(folder)).split()
    result = run("psa", name, *words, tmp_path / "drawn.png")
    assert result.exit_code == 1
    message = "".join(plain(result.output).split())
    assert "[P295]" in message and "drawn.png" in message and "spacy-psa[plots]" in message
    assert list(tmp_path.iterdir()) == []


# Each would write over what it reads
WRITTEN_OVER = {
    "annotate": "{}/one {}/texts.txt -o {}/texts.txt",
    "card": "{}/one {}/gold.spacy --meta {}/metrics.json -o {}/metrics.json",
    "conlleval": "{}/gold.spacy {}/gold.spacy -o {}/gold.spacy",
    "convert": "{}/gold.conll {}/out.spacy --stats {}/gold.conll",
    "export": "{}/gold.spacy -f conll2003 -o {}/gold.spacy",
    "init-config": "{}/gold.spacy --force -s psa -t ents --corpus {}/gold.spacy",
    "scores": "{}/metrics.json -o {}/metrics.json",
    "srl-eval": "{}/gold.props {}/gold.props -o {}/gold.props",
}


@pytest.mark.parametrize("name", WRITTEN_OVER)
def test_the_input_is_not_replaced(folder: Path, name: str) -> None:
    before = contents(folder)
    result = run("psa", name, *WRITTEN_OVER[name].replace("{}", str(folder)).split())
    assert result.exit_code == 1 and "[P451]" in result.output
    assert contents(folder) == before


@pytest.mark.parametrize(
    "words",
    ["draw {}/run -o {}/out.svg", "evaluate {}/run {}/gold.spacy", "srl-eval {}/gold.props {}/run"],
)
def test_the_output_of_a_training_is_no_pipeline(folder: Path, words: str) -> None:
    message = failure("psa", *words.replace("{}", str(folder)).split())
    assert "[P269]" in message and "/run/model-best'" in message


SEVERAL = {
    "annotate": "{}/two {}/texts.txt",
    "attend": "{}/two Ann -o {}/out.svg",
    "calibrate": "{}/two {}/gold.spacy",
    "conlleval": "{}/gold.spacy {}/two",
    "draw": "{}/two -o {}/out.svg",
    "labels": "{}/two -o {}/out.svg",
    "lattice": "{}/two Ann -o {}/out.svg",
    "distill": "{}/one {}/two/config.cfg --texts {}/texts.txt -o {}/out",
}


@pytest.mark.parametrize("name", SEVERAL)
def test_of_several_components_one_has_to_be_chosen(folder: Path, name: str) -> None:
    words = SEVERAL[name].replace("{}", str(folder)).split()
    result = run("psa", name, *words)
    message = " ".join(plain(result.output).split())
    assert result.exit_code == 1 and "[P347]" in message, message
    assert "psa_tagger, tags" in message and "--component" in message
    assert not list(folder.glob("out*"))
    unknown = run("psa", name, *words, "--component", "nobody")
    assert unknown.exit_code == 1 and "[P346]" in plain(unknown.output)
    assert "psa_tagger, tags" in " ".join(plain(unknown.output).split())


@pytest.mark.parametrize("name", ["train", "vocabulary", "distill {}/one"])
def test_options_that_are_no_settings_are_an_error(folder: Path, name: str) -> None:
    words = f"{name} {{}}/one/config.cfg -o {{}}/out --epochs 3".replace("{}", str(folder))
    result = run("psa", *words.split())
    assert result.exit_code == 2 and "No such option '--epochs'" in " ".join(result.output.split())
    assert not list(folder.glob("out*"))


@pytest.mark.parametrize("name", ["annotate", "attend", "calibrate", "draw", "labels", "lattice"])
def test_a_pipeline_without_components_of_ours_is_an_error(folder: Path, name: str) -> None:
    words = SEVERAL[name].replace("/two", "/none").replace("{}", str(folder)).split()
    result = run("psa", name, *words)
    message = " ".join(plain(result.output).split())
    assert result.exit_code == 1 and "[P346]" in message, message
    assert "''" not in message and not list(folder.glob("out*"))
    assert "Give a pipeline that has one" in message and "Choose --component" not in message
