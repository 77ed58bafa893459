"""The documentation is correct: its code runs, its links resolve, and no name is missing."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import shlex
from functools import cache
from pathlib import Path

import pytest
import spacy
import spacy.cli
import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_model_from_config, registry
from thinc.api import Config

from spacy_psa.corpora.iob import LAYERS

from .cli.commands import spacy_command
from .documentation import (
    DOCUMENTS,
    REFERENCE,
    ROOT,
    code_blocks,
    entry_points,
    headings,
    links,
)

torch.set_num_threads(1)

REGISTERED = re.compile(r"spacy_psa\.[A-Za-z]\w*\.v\d+")
SETTINGS = (
    "architectures",
    "scorers",
    "readers",
    "loggers",
    "optimizers",
    "schedules",
    "callbacks",
    "misc",
    "batchers",
)
PYTHON = [path for path in DOCUMENTS if code_blocks(path, "python")]
OURS = spacy_command().commands["psa"].commands
INI = [(path, block) for path in DOCUMENTS for block in code_blocks(path, "ini")]


@cache
def reference() -> str:
    """The text that describes settings and blocks."""
    return "\n".join(path.read_text(encoding="utf8") for path in REFERENCE)


def is_named(name: str) -> bool:
    """Whether the reference has a name in a code span of its own, or sets it in a code block."""
    text = reference()
    return re.search(rf"(?:`|^){name}(?:`| =)", text, flags=re.MULTILINE) is not None


def registered(group: str) -> list[tuple[str, str]]:
    """The names and objects of a registry."""
    suffix = f"_{group}"
    return [(name, target) for key, name, target in entry_points() if key.endswith(suffix)]


def arguments(target: str, *, required: bool = False) -> list[str]:
    """The names of the arguments that a config gives, or must give, to a registered function."""
    module, _, name = target.partition(":")
    parameters = inspect.signature(getattr(importlib.import_module(module), name)).parameters
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    given = [p for p in parameters.values() if p.kind not in kinds]
    return [p.name for p in given if p.default is p.empty or not required]


def complete(snippet: str) -> Config:
    """Complete a config fragment."""
    sections = re.findall(r"^\[([^\]]+)\]$", snippet, flags=re.MULTILINE)
    parents = {section.rsplit(".", n)[0] for section in sections for n in range(1, 9)}
    parents = {section for section in parents if not section.endswith("*")}
    headers = "".join(f"[{section}]\n\n" for section in sorted(parents - set(sections)))
    part = Config().from_str(headers + snippet, interpolate=False)
    whole = {
        "nlp": {"lang": "en", "pipeline": ["psa_tagger"]},
        "components": {"psa_tagger": {"factory": "psa_tagger"}},
    }
    return Config(whole).merge(part)


def initialized(nlp: Language) -> Language:
    """Initialize a pipeline with a document that has entities."""
    doc = Doc(nlp.vocab, words=["Ann", "Lee"], tags=["NNP", "NNP"], ents=["B-PER", "I-PER"])
    examples = [Example(Doc(nlp.vocab, words=["Ann", "Lee"]), doc)]
    nlp.initialize(lambda: examples)
    return nlp


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: path.name)
def test_python_blocks_run(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if path.name == "scale.md":
        pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    spacy.util.fix_random_seed(0)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for i, block in enumerate(code_blocks(path, "python"), 1):
        exec(compile(block, f"{path.name}, Python block {i}", "exec"), namespace)
        # The first example finds what it was taught
        if (path.name, i) == ("README.md", 1):
            assert capsys.readouterr().out == "[('Alice', 'PERSON'), ('Paris', 'GPE')]\n"


@pytest.mark.parametrize(("path", "snippet"), INI, ids=lambda value: str(value)[-40:])
def test_config_snippets_make_a_pipeline(
    path: Path, snippet: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for label_file in re.findall(r'^path = "(.*\.json)"$', snippet, flags=re.MULTILINE):
        Path(label_file).parent.mkdir(parents=True, exist_ok=True)
        contents = {"the": 1} if "vocabulary" in label_file else ["NNP"]
        Path(label_file).write_text(json.dumps(contents), encoding="utf8")
    nlp = initialized(load_model_from_config(complete(snippet), auto_fill=True))
    assert nlp.get_pipe("psa_tagger").model.get_dim("nO") >= 1


def test_encoders_and_decoders_with_required_arguments_have_an_example() -> None:
    """The error for a missing argument sends users to the pages."""
    without = {"spacy_psa.Transformer.v1"}  # the earlier name of Vaswani.v1
    required = {
        name
        for name, target in registered("architectures")
        if arguments(target, required=True) and "Role" not in name
    }
    assert "spacy_psa.Vaswani.v1" in required
    shown = {
        name
        for path, snippet in INI
        if path.parent.name == "configuration"
        for name in re.findall(r'^@architectures = "(.*)"$', snippet, flags=re.MULTILINE)
    }
    assert required - shown == without


def test_links_lead_to_files() -> None:
    broken = []
    for path, link in ((page, link) for page in DOCUMENTS for link in links(page)):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        file = (path.parent / target).resolve() if target else path
        if not file.exists() or (anchor and anchor not in headings(file)):
            broken.append((path.name, link))
    assert broken == []


def test_the_readme_has_links_to_check() -> None:
    assert "docs/configuration.md" in links(ROOT / "README.md")


@pytest.mark.parametrize("group", SETTINGS)
def test_all_registered_names_are_in_the_reference(group: str) -> None:
    text = reference()
    assert registered(group)
    assert [name for name, _ in registered(group) if name not in text] == []


def test_all_names_in_the_documents_are_registered() -> None:
    names = {name for _, name, _ in entry_points()}
    for path in DOCUMENTS:
        assert set(REGISTERED.findall(path.read_text(encoding="utf8"))) - names == set(), path


@pytest.mark.parametrize("group", SETTINGS)
def test_registered_names_are_found_by_spacy(group: str) -> None:
    for name, target in registered(group):
        assert getattr(registry, group).get(name).__name__ == target.partition(":")[2]


def test_all_arguments_are_in_the_reference() -> None:
    targets = [(name, target) for group in SETTINGS for name, target in registered(group)]
    found = {(name, argument) for name, target in targets for argument in arguments(target)}
    assert [pair for pair in sorted(found) if not is_named(pair[1])] == []


def test_all_layers_of_columns_are_in_the_reference() -> None:
    (row,) = re.findall(r"^\| `spacy_psa\.IOB\.v1` .*$", reference(), flags=re.MULTILINE)
    assert [layer for layer in LAYERS if f"`{layer}`" not in row] == []


@pytest.mark.parametrize("factory", [name for name, _ in registered("factories")])
def test_all_settings_of_components_are_in_the_reference(factory: str) -> None:
    spacy.blank("en").add_pipe(factory)  # spaCy imports a factory when it is first used
    settings = Language.get_factory_meta(factory).default_config
    assert [name for name in settings if name != "model" and not is_named(name)] == []


def test_all_commands_are_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf8")
    shown = [name for name, command in OURS.items() if not command.hidden]
    shown += [f"paper {name}" for name in OURS["paper"].commands]
    assert [
        name for name in shown if not re.search(rf"`python -m spacy psa {name}[ `]", text)
    ] == []


@pytest.mark.parametrize("name", OURS)
def test_all_options_are_in_documents_that_name_the_command(name: str) -> None:
    command = re.compile(rf"psa (?:paper )?{name}(?![\w-])")
    pages = [path.read_text(encoding="utf8") for path in sorted((ROOT / "docs").glob("*.md"))]
    # The README names all commands: only the lines about this one, or about all, count.
    lines = (ROOT / "README.md").read_text(encoding="utf8").splitlines()
    about = [line for line in lines if command.search(line) or "every command" in line]
    text = "\n".join([*filter(command.search, pages), *about])
    options = [
        [option for option in parameter.opts if option.startswith("--")]
        for parameter in OURS[name].params
        if parameter.param_type_name == "option"
        and parameter.name != "help"
        and not parameter.hidden
    ]
    assert [o for o in options if not re.search(rf"(?:{'|'.join(o)})(?![\w-])", text)] == []


def test_shell_commands_exist_with_their_options() -> None:
    unknown = []
    for block in (block for path in DOCUMENTS for block in code_blocks(path, "bash")):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:3] != ["python", "-m", "spacy"]:
                continue
            command = spacy_command()
            rest = words[3:]
            while rest and rest[0] in getattr(command, "commands", {}):
                command, rest = command.commands[rest[0]], rest[1:]
            known = {option for parameter in command.params for option in parameter.opts}
            options = [word for word in rest if word.startswith("--") and "." not in word]
            if hasattr(command, "commands") or not set(options) <= known:
                unknown.append(line)
    assert unknown == []
