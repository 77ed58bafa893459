"""`--code`: pipelines and configs with functions of the user's own, in every command that loads
one."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
import spacy
from spacy.tokens import DocBin
from thinc.api import Config

from ..pipeline import srl_data
from ..pipeline.conftest import NAME, gold_doc, tiny_model, trained_nlp
from .commands import failure, succeed
from .test_uniform import COMMANDS, names_of

OURS = "spacy_psa.CRF.v1"
# Commands that load neither a pipeline nor a user's config
WITHOUT = {
    *("check", "convert", "curves", "export", "fetch", "help", "init-config", "require"),
    *("results", "scores", "split", "treebank", "vectors"),
}
ARGUMENTS = {
    "annotate": "{}/tagger {}/texts.txt -o {}/out.jsonl",
    "apply": "{}/tagger {}/texts.txt -o {}/out --format jsonl",
    "attend": "{}/tagger Ann -o {}/out.svg",
    "calibrate": "{}/tagger {}/dev.spacy",
    "card": "{}/tagger {}/dev.spacy",
    "compare": "{}/tagger {}/tagger {}/dev.spacy",
    "conlleval": "{}/dev.spacy {}/tagger",
    "distill": "{}/tagger {}/my.cfg --texts {}/texts.txt -o {}/out --training.max_steps 1",
    "draw": "{}/my.cfg -o {}/out.svg",
    "evaluate": "{}/tagger {}/dev.spacy",
    "labels": "{}/tagger -o {}/out.svg",
    "lattice": "{}/tagger Ann -o {}/out.svg",
    "quantize": "{}/tagger -o {}/out",
    "reproduce": "--corpus-name tiny --target ents --data {} --systems mine={}/my.cfg --epochs 1 "
    "--runs {}/runs -o {}/out.json",
    "srl-ensemble": "{}/roles {}/roles -o {}/out",
    "srl-eval": "{}/frames.spacy {}/roles",
    "tag": "{}/tagger Ann",
    "train": "{}/my.cfg -o {}/out --training.max_steps 1",
    "vocabulary": "{}/my.cfg -o {}/out",
}
# How many commands to copy each shows
SHOWING = {"distill": 1, "evaluate": 1, "reproduce": 1, "train": 1}
RAY = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
CODE = """
import spacy


@spacy.registry.architectures("{name}")
def build_decoder():
    return spacy.registry.get("architectures", "spacy_psa.CRF.v1")()
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pipelines, a config, and data."""
    folder = tmp_path_factory.mktemp("code")
    tagger = trained_nlp("ents")
    tagger.to_disk(folder / "tagger")
    for part in ("train", "dev", "test"):
        docs = [gold_doc(tagger, i) for i in range(3)]
        DocBin(docs=docs).to_disk(folder / f"{part}.spacy")
    roles = srl_data.make_nlp(srl_data.tiny_model(decoder={"@architectures": OURS}))
    roles.initialize(lambda: srl_data.make_examples(roles))
    roles.to_disk(folder / "roles")
    docs = [srl_data.gold_doc(roles, i) for i in range(4)]
    DocBin(docs=docs, store_user_data=True).to_disk(folder / "frames.spacy")
    (folder / "texts.txt").write_text("Ann saw Berlin .\nBob saw Ann\n", encoding="utf8")
    nlp = spacy.blank("xx")
    nlp.add_pipe(NAME, config={"target": "ents", "model": tiny_model()})
    config = Config().from_str(nlp.config.to_str(), interpolate=False)
    for part in ("train", "dev"):
        reader = {"@readers": "spacy.Corpus.v1", "path": f"${{paths.{part}}}"}
        config["corpora"][part] = {**reader, "gold_preproc": True}
    config["training"]["logger"] = {"@loggers": "spacy.ConsoleLogger.v1", "progress_bar": False}
    config["training"]["score_weights"] = {"ents_f": 1.0}
    config.to_disk(folder / "my.cfg")
    return folder


def with_function(home: Path, folder: Path, name: str) -> Path:
    """Copy pipelines and config, with a function of this name. RETURNS (Path): Its file."""
    shutil.copytree(home, folder, dirs_exist_ok=True)
    for path in (*folder.glob("*/config.cfg"), folder / "my.cfg"):
        text = path.read_text(encoding="utf8")
        assert OURS in text
        text = text.replace(OURS, name)
        for part in ("train", "dev"):
            text = text.replace(f"{part} = null", f'{part} = "{folder / part}.spacy"')
        path.write_text(text, encoding="utf8")
    code = folder / "functions.py"
    code.write_text(CODE.format(name=name), encoding="utf8")
    return code


def test_every_command_is_in_one_of_the_tables() -> None:
    assert set(COMMANDS) == WITHOUT | set(ARGUMENTS)
    assert {name for name in COMMANDS if "--code" in names_of(name)} == set(ARGUMENTS)


@pytest.mark.parametrize("command", ARGUMENTS)
def test_the_functions_of_a_file_are_known_in_the_command(
    home: Path, tmp_path: Path, command: str
) -> None:
    if ".svg" in ARGUMENTS[command] and find_spec("vl_convert") is None:
        pytest.skip("charts need the extra 'plots'")
    code = with_function(home, tmp_path, f"mine.{command}.v1")
    arguments = ["psa", command, *ARGUMENTS[command].replace("{}", str(tmp_path)).split()]
    message = failure(*arguments)
    assert f"There is no registered function 'mine.{command}.v1'" in message
    assert "--code" in message
    output = succeed(*arguments, "--code", code)
    shown = [line for line in output.splitlines() if ": python -m spacy " in line]
    assert len(shown) == SHOWING.get(command, 0)
    assert all(line.endswith(f" --code {code}") for line in shown)


@pytest.mark.parametrize("engine", ["local", pytest.param("ray", marks=RAY)])
def test_other_processes_know_the_functions(home: Path, tmp_path: Path, engine: str) -> None:
    code = with_function(home, tmp_path, f"mine.{engine}.v1")
    arguments = ["psa", "apply", tmp_path / "tagger", tmp_path / "texts.txt", "--format", "jsonl"]
    succeed(*arguments, "-o", tmp_path / "here", "--code", code)
    more = ["--engine", engine, "--n-process", 2, "--block-size", 10]
    # This process knows them by now
    message = failure(*arguments, "-o", tmp_path / "without", *more)
    assert "[P514]" in message and f"mine.{engine}.v1" in message
    succeed(*arguments, "-o", tmp_path / "there", *more, "--code", code)
    shards = ["here", "there"]
    found = [
        "".join(path.read_text("utf8") for path in sorted((tmp_path / name).glob("part-*")))
        for name in shards
    ]
    assert found[0] == found[1] and found[0].count("\n") == 2


def test_a_file_that_is_not_there_is_an_error(home: Path, tmp_path: Path) -> None:
    message = failure("psa", "tag", home / "tagger", "Ann", "--code", tmp_path / "none.py")
    assert "none.py" in message
