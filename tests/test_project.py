"""project.yml: its commands fit together and run."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import sys
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import srsly
import torch
from click import Command
from thinc.api import Config
from weasel.schemas import ProjectConfigSchema, validate
from weasel.util.config import substitute_project_variables

from .cli.commands import run, spacy_command, succeed
from .corpora.shared import shared_corpus
from .documentation import ROOT

torch.set_num_threads(1)

RAW = srsly.read_yaml(ROOT / "project.yml")
TEXT = "He PRP B-NP\nruns VBZ B-VP\n\nStop VB B-VP\n"


def project(**overrides: Any) -> dict[str, Any]:
    """The project with its variables substituted."""
    variables = {f"vars.{name}": value for name, value in overrides.items()}
    return substitute_project_variables(deepcopy(RAW), variables)


def commands(**overrides: Any) -> dict[str, dict[str, Any]]:
    """The commands by name, with variables substituted."""
    return {command["name"]: command for command in project(**overrides)["commands"]}


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the project's commands in this process: a new one takes seconds to start."""

    def run_command(command: list[str], **_: Any) -> None:
        assert command[:3] == [sys.executable, "-m", "spacy"]
        result = run(*command[3:])
        print(result.output)
        if result.exit_code:
            sys.exit(result.exit_code)

    monkeypatch.setattr("weasel.cli.run.run_command", run_command)


def called(words: Sequence[str]) -> tuple[Command, list[str]]:
    """The command that a line calls, and the rest of the line."""
    callee, rest = spacy_command(), list(words[3:])
    while rest and rest[0] in getattr(callee, "commands", {}):
        callee, rest = callee.commands[rest[0]], rest[1:]
    return callee, rest


def options_of(command: Command) -> set[str]:
    """The options of a command."""
    return {option for parameter in command.params for option in parameter.opts}


def is_shipped(path: str) -> bool:
    """Whether a file is part of the project, and not ignored by git."""
    ignored = [line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines()]
    return (ROOT / path).is_file() and not any(
        Path(path).is_relative_to(folder) for folder in ignored
    )


def is_licensed(path: str) -> bool:
    """Whether a file belongs to a corpus that users must obtain themselves, with instructions."""
    return any(
        Path(path).is_relative_to(asset["dest"])
        for asset in RAW["assets"]
        if "url" not in asset and asset.get("description")
    )


@pytest.fixture
def project_copy(tmp_path: Path) -> Path:
    """The project's files, without its outputs."""
    folder = tmp_path / "project"
    shutil.copytree(ROOT / "configs", folder / "configs")
    shutil.copytree(ROOT / "assets" / "sample", folder / "assets" / "sample")
    shutil.copy(ROOT / "project.yml", folder)
    return folder


def test_the_file_is_valid() -> None:
    assert validate(ProjectConfigSchema, RAW) == []


def test_workflows_name_commands_that_exist_once() -> None:
    names = [command["name"] for command in RAW["commands"]]
    assert len(names) == len(set(names))
    for steps in RAW["workflows"].values():
        assert set(steps) <= set(names)


def test_every_command_but_clean_is_in_a_workflow() -> None:
    steps = {step for steps in RAW["workflows"].values() for step in steps}
    assert {command["name"] for command in RAW["commands"]} - steps == {"clean"}


@pytest.mark.parametrize("workflow", RAW["workflows"])
def test_what_commands_need_is_shipped_or_made_before(workflow: str) -> None:
    made: set[str] = set()
    converted = commands()[f"{RAW['vars']['corpus']}-convert"]["outputs"]
    # What another workflow makes, or users provide.
    own = {"vectors": {RAW["vars"]["vectors_file"]}, "reproduce": set(converted)}
    own = own.get(workflow, set())
    for step in RAW["workflows"][workflow]:
        command = commands()[step]
        missing = [
            path
            for path in command.get("deps", [])
            if path not in made | own and not is_shipped(path) and not is_licensed(path)
        ]
        assert missing == [], step
        made.update(command.get("outputs", []))


def test_files_in_scripts_are_declared() -> None:
    for command in commands().values():
        if command["name"] == "clean":
            continue
        declared = {
            *command.get("deps", []),
            *command.get("outputs", []),
            *(asset["dest"] for asset in RAW["assets"]),
            # Read only if vectors are wanted, so no command may depend on it.
            RAW["vars"]["vectors_file"],
        }
        words = " ".join(command["script"]).split()
        folders = ("assets", "configs", "corpus", "metrics", "training")
        files = {word for word in words if word.split("/")[0] in folders and "/" in word}
        # Made and used by the same command, or inside a folder that another command makes.
        inner = {"corpus/conll2000/all.spacy", "assets/ud/en/stats.xml"}
        # Provided by users: `psa distill` says that they are missing
        brought = {RAW["vars"]["social_texts"], RAW["vars"]["biomed_texts"]}
        undeclared = {
            file
            for file in files - inner - brought
            if not is_licensed(file) and not any(d.startswith(file) for d in declared)
        }
        assert undeclared == set(), command["name"]


def test_what_is_converted_is_declared() -> None:
    for name, command in commands(ewt_srl_folder="/elsewhere").items():
        lines = [line.split() for line in command["script"] if " psa convert " in line]
        assert {words[5] for words in lines} <= set(command.get("deps", [])), name


def test_no_command_changes_what_another_one_has_made() -> None:
    """Otherwise both run again and again."""
    outputs = [path for command in commands().values() for path in command.get("outputs", [])]
    assert len(outputs) == len(set(outputs))


def test_packages_are_what_their_descriptions_say() -> None:
    for command in commands().values():
        for line in command["script"]:
            if " --meta " in line:
                meta = srsly.read_json(ROOT / line.split(" --meta ")[1].split()[0])
                assert f"packages/en_{meta['name']}-{meta['version']}" in command["outputs"]


def test_corpora_are_the_same_for_all_seeds() -> None:
    first, second = commands(), commands(seed="1")
    made = [name for name, c in first.items() if any("corpus/" in x for x in c.get("outputs", []))]
    assert "conll2000-convert" in made
    assert {name: first[name] for name in made} == {name: second[name] for name in made}


def test_commands_that_write_pipelines_can_be_run_again() -> None:
    for command in commands().values():
        for line in command["script"]:
            callee, rest = called(line.split())
            assert "--force" not in options_of(callee) or "--force" in rest, line


def test_scripts_call_commands_and_options_that_exist() -> None:
    for command in commands().values():
        for line in command["script"]:
            words = line.split()
            if command["name"] == "clean":
                # Outputs are removed, and the page that was overwritten is rebuilt
                assert words[0] == "rm" or "psa results benchmarks/" in line
                continue
            assert words[:3] == ["python", "-m", "spacy"], line
            callee, rest = called(words)
            known = options_of(callee)
            options = {w for w in rest if w.startswith("--") and "." not in w}
            assert not hasattr(callee, "commands") and options <= known, line


def test_commands_that_can_use_a_gpu_use_that_of_the_project() -> None:
    for command in commands(gpu=3).values():
        for line in command["script"]:
            callee, _ = called(line.split())
            assert "--gpu-id" not in options_of(callee) or "--gpu-id 3" in line, line


def test_overrides_of_settings_are_in_the_configs() -> None:
    for name in ("sample-train", "conll2000-train"):
        (line,) = commands()[name]["script"]
        config = Config().from_disk(ROOT / line.split()[4], interpolate=False)
        for setting in re.findall(r"--(\S+\.\S+)", line):
            section = config
            for part in setting.split("."):
                assert part in section, setting
                section = section[part]


def test_variables_are_used_and_described() -> None:
    text = (ROOT / "project.yml").read_text(encoding="utf8")
    assert [name for name in RAW["vars"] if f"${{vars.{name}}}" not in text] == []
    described = {"gpu", "seed", "system", "run", "options", "vectors", "vectors_file", "ud_target"}
    described |= {"conll2000_local", "ud_local", "wnut17_local"}
    described |= {"corpus", "target", "data", "systems", "seeds", "epochs"}
    missing = [name for name in described if f"`{name}`" not in RAW["description"]]
    assert missing == [] and described <= set(RAW["vars"])


@pytest.mark.usefixtures("in_this_process")
def test_the_sample_workflow_runs_from_begin_to_end(project_copy: Path) -> None:
    path = project_copy / "configs" / "sample.cfg"
    config = Config().from_disk(path, interpolate=False)
    for component in config["components"].values():
        model = component["model"]
        model["tok2vec"].update(width=8)
        model["tok2vec"]["characters"].update(embedding_width=4, width=8)
        model["encoder"]["recurrent"].update(hidden_width=16)
    config["training"].update(max_epochs=0, max_steps=4, eval_frequency=2)
    config.to_disk(path)

    output = succeed("project", "run", "all", project_copy)

    steps = RAW["workflows"]["all"]
    lock = srsly.read_yaml(project_copy / "project.lock")
    assert set(lock) == set(steps)
    for step in steps:
        for made in commands()[step].get("outputs", []):
            assert (project_copy / made).exists(), made
    for split in ("dev", "test"):
        scores = json.loads((project_copy / "metrics" / f"sample-{split}.json").read_text())
        assert {"tag_acc", "ents_f", "spans_chunks_f"} <= set(scores)
    assert "tag_acc" in (project_copy / "metrics" / "sample.md").read_text()
    # The tagged sentences are printed above their tables.
    sentences = (ROOT / "assets" / "sample" / "sentences.txt").read_text().splitlines()
    assert sentences[0] in output

    again = succeed("project", "run", "all", project_copy)
    skipped = re.findall(r"Skipping '([\w-]+)': nothing changed", again)
    assert skipped == ["sample-convert", "sample-train", "sample-evaluate"]


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.usefixtures("in_this_process")
def test_conll2000_is_taken_from_a_local_folder(
    tmp_path: Path, project_copy: Path, ending: str
) -> None:
    local = tmp_path / "my corpora"
    local.mkdir()
    data = TEXT.encode()
    for split in ("train", "test"):
        (local / f"{split}.txt{ending}").write_bytes(gzip.compress(data) if ending else data)
    digest = hashlib.sha256(data).hexdigest()
    succeed(
        *("project", "run", "conll2000-fetch", project_copy, "--vars.conll2000_local", local),
        *("--vars.conll2000_train_sha256", digest, "--vars.conll2000_test_sha256", digest),
    )
    for split in ("train", "test"):
        assert (project_copy / "assets" / "conll2000" / f"{split}.txt").read_text() == TEXT


@pytest.mark.usefixtures("in_this_process")
def test_conll2000_with_another_checksum_is_refused(tmp_path: Path, project_copy: Path) -> None:
    local = tmp_path / "local"
    local.mkdir()
    for split in ("train", "test"):
        (local / f"{split}.txt").write_text(TEXT)
    command = ["project", "run", "conll2000-fetch", project_copy]
    result = run(*command, "--vars.conll2000_local", local)
    assert result.exit_code == 1
    assert "[P130]" in result.output
    assert list((project_copy / "assets").glob("conll2000/*")) == []


def test_the_checksums_are_those_of_the_corpus() -> None:
    folder = shared_corpus("conll2000")
    for split in ("train", "test"):
        digest = hashlib.sha256((folder / f"{split}.txt").read_bytes()).hexdigest()
        assert digest == RAW["vars"][f"conll2000_{split}_sha256"]
