"""`psa init-config` and the configs that it writes."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import warnings
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.cli._util import app
from spacy.schemas import ConfigSchemaTraining
from spacy.tokens import Doc, DocBin
from spacy.util import load_model_from_config, registry
from spacy.vocab import Vocab
from thinc.api import Config
from typer.testing import CliRunner

from spacy_psa.cli import _templates
from spacy_psa.cli._configs import make_config
from spacy_psa.cli._docbins import read_docs
from spacy_psa.cli._schedule import PATIENCE, Schedule, steps_per_epoch
from spacy_psa.cli._templates import names, read_template
from spacy_psa.cli._util import user_errors
from spacy_psa.cli.init_config import init_config_cli

from .commands import ROOT, plain, run, succeed

SYSTEMS, TASKS = names("systems"), ["ents", "spans", "tag"]
ROLE_SYSTEMS = names("roles")
PAIRS = [(system, task) for system in SYSTEMS for task in TASKS]
# Each system, and each task several times
DIFFERENT = [(system, TASKS[i % len(TASKS)]) for i, system in enumerate(SYSTEMS)]
SCORES = {"spans": "spans_chunks_f", "ents": "ents_f", "tag": "tag_acc"}


def config_of(
    system: str = "psa", task: str = "ents", recipe: str = "paper", **settings: Any
) -> Config:
    """Make a config."""
    text = make_config(system, task, name="x.cfg", recipe=recipe, **settings)
    return Config().from_str(text, interpolate=False)


def blocks(config: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The registries, names and settings of all registered functions in a config."""
    for section in config.values():
        if isinstance(section, dict):
            for key in [key for key in section if key.startswith("@")]:
                yield key[1:], section[key], section
            yield from blocks(section)


def test_a_folder_may_have_a_dollar_in_its_name(tmp_path: Path) -> None:
    corpus, config = tmp_path / "a$b" / "train.spacy", tmp_path / "x.cfg"
    corpus.parent.mkdir()
    doc = Doc(spacy.blank("en").vocab, words=["Ann", "saw"], tags=["N", "V"])
    DocBin(docs=[doc] * 30).to_disk(corpus)
    options = ("--system", "bilstm-crf", "--target", "tag", "--corpus", corpus)
    succeed("psa", "init-config", *options, "--output", config)
    words = ("--paths.dev", corpus, "--training.max_steps", 1, "--training.eval_frequency", 1)
    succeed("psa", "train", config, "--output", tmp_path / "out$", *words)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """25 sentences of 1 to 25 words, and an empty one."""
    vocab = Vocab()
    docs = [Doc(vocab, words=["word"] * n) for n in range(26)]
    DocBin(docs=docs).to_disk(tmp_path / "train.spacy")
    return tmp_path / "train.spacy"


# Some releases of spaCy sort sections, and write a section of one setting inside another.
KEEPS_TEXT = list(Config().from_str("[a]\n[a.c]\n[a.b]\n")["a"]) == ["c", "b"]


def comparable(text: str) -> str | Config:
    """The text of a config if spaCy keeps its format, and the parsed config otherwise."""
    return text if KEEPS_TEXT else Config().from_str(text, interpolate=False)


def test_the_systems_and_tasks_of_the_papers() -> None:
    assert SYSTEMS == [
        "bilstm-crf",
        "bilstm-softmax",
        "deepatt",
        "lan",
        "psa",
        "psa-arxiv",
        "refinement",
        "vaswani",
    ]
    assert {*TASKS, "pos", "morph"} == {*names("targets")}
    assert ROLE_SYSTEMS == ["bilstm-crf", "bilstm-crf-small", "deepatt", "deepatt-small"]


@pytest.mark.parametrize(("system", "task"), PAIRS)
def test_our_configs_are_what_the_command_writes(system: str, task: str) -> None:
    name = f"{system}-{task}.cfg"
    written = (ROOT / "configs" / name).read_text(encoding="utf8")
    assert comparable(written) == comparable(make_config(system, task, name=name, recipe="paper"))


@pytest.mark.parametrize("system", ROLE_SYSTEMS)
def test_our_configs_of_roles_are_what_the_command_writes(system: str) -> None:
    name = f"{system}-roles.cfg"
    written = (ROOT / "configs" / name).read_text(encoding="utf8")
    assert comparable(written) == comparable(
        make_config(system, "roles", name=name, recipe="paper")
    )


def test_a_config_of_roles_knows_its_corpus_and_device(corpus: Path) -> None:
    config = config_of("deepatt", "roles", corpus=corpus, vectors="vec", lang="de", gpu=True)
    assert config["paths"]["train"] == str(corpus)
    assert (config["paths"]["vectors"], config["nlp"]["lang"]) == ("vec", "de")
    assert config["nlp"]["batch_size"] == 1024
    assert config["training"]["optimizer"]["learn_rate"]["hold"] == 400_000


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("system", SYSTEMS)
def test_tags_are_learned_with_cuda_graphs_on_a_gpu(system: str, gpu: bool) -> None:
    config = config_of(system, "spans", gpu=gpu)
    assert config["components"]["psa_tagger"]["model"]["cuda_graphs"] is gpu


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("system", names("roles"))
def test_roles_are_learned_with_cuda_graphs_on_a_gpu(system: str, gpu: bool) -> None:
    config = config_of(system, "roles", gpu=gpu)
    assert config["components"]["psa_srl"]["model"]["cuda_graphs"] is gpu


@pytest.mark.parametrize("system", SYSTEMS)
def test_there_is_nothing_left_to_fill(system: str, tmp_path: Path) -> None:
    path = ROOT / "configs" / f"{system}-spans.cfg"
    output = succeed("init", "fill-config", path, tmp_path / "full.cfg")
    assert KEEPS_TEXT is ("Nothing to auto-fill" in output)
    settings = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    full = (tmp_path / "full.cfg").read_text().strip()
    assert comparable(full) == comparable("\n".join(settings).strip())


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_argument_of_every_block_is_there(system: str) -> None:
    for kind, name, section in blocks(config_of(system)):
        parameters = inspect.signature(registry.get(kind, name)).parameters.values()
        variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        expected = {p.name for p in parameters if p.kind not in variable}
        assert expected <= set(section), name


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_training_can_be_set_up(system: str) -> None:
    training = config_of(system).interpolate()["training"]
    resolved = registry.resolve(training, schema=ConfigSchemaTraining)
    assert next(iter(resolved["batcher"]([range(3), range(4)]))) == [range(3), range(4)]


@pytest.mark.parametrize(("system", "task"), PAIRS)
def test_the_component_learns_the_task(system: str, task: str) -> None:
    config = config_of(system, task)
    assert config["components"]["psa_tagger"]["target"] == task
    weights = config["training"]["score_weights"]
    assert {score for score, weight in weights.items() if weight} == {SCORES[task]}


def test_the_learning_rate_of_psa_depends_on_the_task() -> None:
    rates = {
        task: config_of("psa", task)["training"]["optimizer"]["learn_rate"]["initial_rate"]
        for task in TASKS
    }
    assert rates == {"tag": 0.01, "ents": 0.015, "spans": 0.015}


@pytest.mark.parametrize(("task", "steps"), [("spans", 794), ("ents", 1405), ("tag", 3822)])
def test_without_a_corpus_epochs_are_those_of_the_papers(task: str, steps: int) -> None:
    training = config_of("psa", task)["training"]
    assert training["eval_frequency"] == steps
    assert training["optimizer"]["learn_rate"]["steps_per_epoch"] == steps


def test_with_a_corpus_the_schedule_fits_it(corpus: Path) -> None:
    config = config_of("psa", corpus=corpus)
    training = config["training"]
    assert training["eval_frequency"] == 3
    assert training["optimizer"]["learn_rate"]["steps_per_epoch"] == 3
    assert config["paths"]["train"] == str(corpus)


def test_settings_of_several_epochs_fit_the_corpus_as_well(corpus: Path) -> None:
    assert config_of("lan", corpus=corpus)["training"]["patience"] == 10 * 3
    rate = config_of("vaswani", corpus=corpus)["training"]["optimizer"]["learn_rate"]
    assert (rate["warmup_steps"], rate["total_steps"]) == (2 * 3, 40 * 3)


def test_steps_are_the_batches_that_the_batcher_makes() -> None:
    batcher = {
        "@batchers": "spacy.batch_by_words.v1",
        "size": 10,
        "tolerance": 0.0,
        "discard_oversize": False,
        "get_length": None,
    }
    assert steps_per_epoch(Config({"training": {"batcher": batcher}}), [6, 4, 9, 3, 10]) == 4


def test_comments_say_which_corpus_the_epochs_are_of(corpus: Path) -> None:
    assert "7,936 sentences of CoNLL-2000" in make_config(
        "psa", "spans", name="x.cfg", recipe="paper"
    )
    text = make_config("psa", "spans", name="x.cfg", recipe="paper", corpus=corpus)
    assert "25 Docs of train.spacy" in text
    assert "CoNLL-2000" not in text


def test_a_corpus_may_be_a_folder(corpus: Path, tmp_path: Path) -> None:
    more = tmp_path / "more"
    (more / "below").mkdir(parents=True)
    shutil.copy(corpus, more / "one.spacy")
    shutil.copy(corpus, more / "below" / "two.spacy")
    (more / "notes.txt").write_text("")
    (more / ".hidden.spacy").write_text("")
    path = tmp_path / "x.cfg"
    options = ("--system", "psa", "--target", "ents", "--corpus", more)
    output = succeed("psa", "init-config", path, *options)
    config, text = Config().from_disk(path, interpolate=False), path.read_text("utf8")
    assert config["paths"]["train"] == str(more) and "for the 50 Docs of more" in text
    assert "--paths.train" not in output

    (tmp_path / "none").mkdir()
    with pytest.raises(ValueError, match=r"P471.*none"):
        config_of(corpus=tmp_path / "none")


def test_comments_stand_above_what_they_are_about() -> None:
    lines = make_config("psa", "ents", name="x.cfg", recipe="paper").splitlines()
    place = lines.index("initial_rate = 0.015")
    assert lines[place - 1] == "# 0.01 for parts of speech, 0.015 for entities and chunks"
    assert max(map(len, lines)) <= 100


def test_the_first_comment_says_how_to_train(corpus: Path) -> None:
    text = make_config("psa", "ents", name="my.cfg")
    assert "# python -m spacy psa train my.cfg --output training/my \\\n" in text
    assert "#     --paths.train train.spacy --paths.dev dev.spacy\n" in text
    text = make_config("psa", "ents", name="my.cfg", recipe="paper")
    assert "#     --paths.train train.spacy --paths.dev dev.spacy --paths.vectors" in text
    text = make_config("psa", "ents", name="my.cfg", corpus=corpus, vectors="vectors/en", gpu=True)
    assert "#     --paths.dev dev.spacy --gpu-id 0\n" in text


@pytest.mark.parametrize(("system", "task"), [("psa", "ents"), ("deepatt", "roles")])
def test_names_with_blanks_are_quoted(system: str, task: str) -> None:
    text = make_config(system, task, name="c d.cfg")
    assert "# python -m spacy psa train 'c d.cfg' --output 'training/c d' \\\n" in text
    assert ("srl-eval test.spacy 'training/c d/model-best'\n" in text) == (task == "roles")


def test_nothing_of_the_templates_own_section_is_left() -> None:
    assert "template" not in config_of()


@pytest.mark.parametrize("system", ["psa", "lan"])
@pytest.mark.parametrize(
    ("characters", "name"),
    [("bilstm", "spacy_psa.CharacterBiLSTM.v1"), ("cnn", "spacy_psa.CharacterCNN.v1")],
)
def test_characters_are_chosen(system: str, characters: str, name: str) -> None:
    tok2vec = config_of(system, characters=characters)["components"]["psa_tagger"]["model"][
        "tok2vec"
    ]
    assert tok2vec["characters"]["@architectures"] == name


def test_no_characters() -> None:
    tok2vec = config_of(characters="none")["components"]["psa_tagger"]["model"]["tok2vec"]
    assert tok2vec["characters"] is None


def test_by_default_characters_are_those_of_the_system() -> None:
    widths = {
        system: config_of(system)["components"]["psa_tagger"]["model"]["tok2vec"]["characters"]
        for system in ("psa", "lan")
    }
    assert {system: part["width"] for system, part in widths.items()} == {"psa": 100, "lan": 50}


def test_vectors_language_and_gpu() -> None:
    config = config_of(vectors="vectors/de", lang="de", gpu=True)
    assert config["paths"]["vectors"] == "vectors/de"
    assert config["initialize"]["vectors"] == "${paths.vectors}"
    assert config["nlp"]["lang"] == "de"
    assert config["nlp"]["batch_size"] > config_of()["nlp"]["batch_size"]


def test_the_command_writes_a_config_that_loads(tmp_path: Path) -> None:
    path = tmp_path / "new" / "lan.cfg"
    output = succeed("psa", "init-config", path, "--system", "lan", "--target", "tag")
    assert "Wrote config of lan for tag" in output
    nlp = spacy.util.load_model_from_config(Config().from_disk(path, interpolate=False))
    assert nlp.pipe_names == ["psa_tagger"]
    assert [file.name for file in path.parent.iterdir()] == ["lan.cfg"]


def test_the_command_writes_to_stdout(tmp_path: Path) -> None:
    path, options = tmp_path / "psa-tag.cfg", ("--system", "psa", "--target", "tag")
    output = succeed("psa", "init-config", "-", *options)
    succeed("psa", "init-config", path, *options)
    assert output == path.read_text(encoding="utf8")


def test_errors_are_no_part_of_the_config(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        init_config_cli("psa", Path("-"), target=["entities"])
    printed = capsys.readouterr()
    assert printed.out == "" and "[P190]" in printed.err


def test_a_config_is_written_in_utf8_whatever_the_terminal_has() -> None:
    arguments = ["psa", "init-config", "-", "--system", "psa-arxiv", "--target", "ents"]
    result = CliRunner(charset="cp1252").invoke(app, arguments)
    assert result.exit_code == 0, result.exception
    text = make_config("psa-arxiv", "ents", name="psa-arxiv-ents.cfg")
    assert result.stdout_bytes == text.encode("utf8") and "λ" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--system", "PSA-arixv", "--target", "ents"], "P190.*--system PSA-arixv.*'psa-arxiv'"),
        (["--system", "psa", "--target", "entities"], "P190.*--target entities.*'ents'"),
        (["--system", "psa", "--target", "roles"], "P190.*psa for --target roles.*deepatt"),
        (["--system", "deepatt", "--target", "roles", "--characters", "cnn"], "P194.*--characters"),
        (["--system", "psa", "--target", "ents", "--characters", "lstm"], "P190.*'bilstm'"),
        (["--system", "psa", "--target", "ents", "--lang", "xyz"], "P193.*'xyz'"),
        (["--system", "psa", "--target", "ents", "--corpus", "no.spacy"], "P109.*no.spacy"),
    ],
)
def test_what_is_not_there_is_named(tmp_path: Path, options: list[str], message: str) -> None:
    result = run("psa", "init-config", tmp_path / "x.cfg", *options)
    assert result.exit_code == 1
    assert re.search(message, " ".join(plain(result.output).split()))
    assert list(tmp_path.iterdir()) == []


def test_a_corpus_without_documents(tmp_path: Path) -> None:
    DocBin().to_disk(tmp_path / "empty.spacy")
    with pytest.raises(ValueError, match=r"P192.*empty\.spacy"):
        config_of(corpus=tmp_path / "empty.spacy")


def test_a_file_is_not_replaced_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "x.cfg"
    path.write_text("mine")
    command = ["psa", "init-config", path, "--system", "psa", "--target", "ents"]
    result = run(*command)
    assert result.exit_code == 1 and "P191" in result.output
    assert path.read_text() == "mine"
    succeed(*command, "--force")
    assert path.read_text().startswith("# PSA")


def test_a_system_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(_templates.ROOT, tmp_path / "templates")
    monkeypatch.setattr(_templates, "ROOT", tmp_path / "templates")
    system = (tmp_path / "templates" / "systems" / "bilstm-crf.cfg").read_text()
    system = system.replace("hidden_width = 300", "hidden_width = 7")
    (tmp_path / "templates" / "systems" / "narrow.cfg").write_text(system)
    assert "narrow" in names("systems")
    model = config_of("narrow")["components"]["psa_tagger"]["model"]
    assert model["encoder"]["hidden_width"] == 7


def test_another_block_replaces_the_one_below_it() -> None:
    template = read_template("characters", "bilstm").merge(read_template("characters", "cnn"))
    section = template.config["components"]["psa_tagger"]["model"]["tok2vec"]["characters"]
    assert section["@architectures"] == "spacy_psa.CharacterCNN.v1"
    assert section["width"] == 30


def test_the_package_includes_all_templates() -> None:
    parser = ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf8")
    patterns = parser["options.package_data"]["spacy_psa"].split(", ")
    included = {path for pattern in patterns for path in (ROOT / "spacy_psa").glob(pattern)}
    assert set(_templates.ROOT.rglob("*.cfg")) <= included


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_best_recipe_is_the_default_and_complete(system: str, task: str) -> None:
    config = config_of(system, task, recipe="best")
    assert comparable(make_config(system, task, name="x.cfg")) == comparable(
        make_config(system, task, name="x.cfg", recipe="best")
    )
    training = config.interpolate()["training"]
    assert training["optimizer"]["@optimizers"] == "Adam.v1"
    assert training["optimizer"]["grad_clip"] == 0.0
    resolved = registry.resolve(training, schema=ConfigSchemaTraining)
    assert resolved["max_steps"] % resolved["eval_frequency"] == 0


@pytest.mark.parametrize(("system", "task"), DIFFERENT)
def test_a_system_by_the_best_recipe_can_be_built(system: str, task: str) -> None:
    config = config_of(system, task, recipe="best").interpolate()
    assert load_model_from_config(config, validate=True).pipe_names == ["psa_tagger"]


@pytest.mark.parametrize("system", ROLE_SYSTEMS)
def test_the_best_recipe_for_roles(system: str, corpus: Path) -> None:
    training = config_of(system, "roles", recipe="best", corpus=corpus)["training"]
    assert training["max_steps"] == training["optimizer"]["learn_rate"]["total_steps"]
    assert training["batcher"]["@batchers"] == "spacy_psa.batch_by_propositions.v1"
    assert training["optimizer"]["@optimizers"] == "Adam.v1"


def test_the_best_recipe_has_more_updates_and_larger_batches_for_more_sentences() -> None:
    schedules = [Schedule(n) for n in (1, 1000, 3000, 10_000, 100_000, 1_000_000)]
    updates = [schedule.updates for schedule in schedules]
    assert updates == sorted(updates) and updates[0] == updates[1] < updates[2] < updates[3]
    assert [schedule.batch for schedule in schedules] == [16, 16, 16, 16, 32, 32]
    for schedule in schedules:
        settings = schedule.settings()
        assert settings["training.max_steps"] == 10 * settings["training.eval_frequency"]


def test_the_best_recipe_drops_words_only_without_vectors(tmp_path: Path) -> None:
    Vocab().vectors.to_disk(tmp_path)
    for vectors, expected in ((None, 0.1), (str(tmp_path), 0.0)):
        config = Config().from_str(make_config("psa", "tag", name="x.cfg", vectors=vectors))
        embedding = config["components"]["psa_tagger"]["model"]["tok2vec"]
        assert embedding["word_dropout"] == expected


@pytest.mark.parametrize("characters", [None, "bilstm", "cnn", "none"])
def test_the_best_recipe_reads_words_closely_without_vectors(
    tmp_path: Path, characters: str | None
) -> None:
    Vocab().vectors.to_disk(tmp_path)
    is_spelled = characters in (None, "bilstm")
    for vectors in (None, str(tmp_path)):
        made = make_config("psa", "tag", name="x.cfg", vectors=vectors, characters=characters)
        config = Config().from_str(made)
        found = config["components"]["psa_tagger"]["model"]["tok2vec"]["characters"]
        rate = config["training"]["optimizer"]["learn_rate"]["initial_rate"]
        is_closer = is_spelled and vectors is None
        assert rate == (0.004 if is_closer else 0.002)
        if is_spelled:
            assert (found["embedding_width"], found["width"]) == (
                (60, 300) if is_closer else (30, 100)
            )


@pytest.mark.parametrize(
    ("system", "target", "options"),
    [
        ("lan", "tag", {}),
        ("psa", "ents", {}),
        ("psa", "tag ents", {}),
        ("psa", "tag", {"recipe": "paper"}),
        ("deepatt", "roles", {}),
    ],
)
def test_the_best_recipe_has_the_same_rate_for_all_else(
    system: str, target: str, options: dict[str, Any]
) -> None:
    config = Config().from_str(make_config(system, target, name="x.cfg", **options))
    assert config["training"]["optimizer"]["learn_rate"]["initial_rate"] != 0.004


def test_the_best_recipe_fits_the_corpus(corpus: Path) -> None:
    text = make_config("psa", "ents", name="x.cfg", corpus=corpus)
    assert "# In updates: for the 25 Docs of train.spacy, as many as for 1,000.\n" in text
    assert "max_steps = 880\n" in text
    assert "# In updates: for 3,000 sentences." in make_config("psa", "ents", name="x.cfg")
    assert "#     --paths.dev dev.spacy\n" in text
    beside = shutil.copy(corpus, corpus.with_name("dev.spacy"))
    text = make_config("psa", "ents", name="x.cfg", corpus=corpus)
    assert f"#     --paths.dev {beside}\n" in text


def test_too_few_sentences_are_named(tmp_path: Path) -> None:
    DocBin(docs=[Doc(Vocab(), words=["word"])] * 19).to_disk(tmp_path / "few.spacy")
    with pytest.warns(UserWarning, match=r"W436.*few\.spacy has 19 Docs"):
        make_config("psa", "ents", name="x.cfg", corpus=tmp_path / "few.spacy")


def test_targets_that_the_corpus_has_not_are_named(tmp_path: Path) -> None:
    doc = Doc(Vocab(), words=["Ann", "ran"], ents=["B-PER", "O"])
    doc.spans["chunks"] = [doc[:1]]
    DocBin(docs=[doc] * 20).to_disk(tmp_path / "ents.spacy")
    command = ["psa", "init-config", "--system", "bilstm-crf", "--corpus", tmp_path / "ents.spacy"]
    printed = succeed(*command, tmp_path / "a.cfg", "--target", "ents,spans", "--target", "spans:x")
    assert "bilstm-crf for ents spans spans:x" in printed
    found = [line for line in " ".join(printed.split()).split("⚠") if "[W439]" in line]
    (message,) = found
    assert (
        "target spans 'x'" in message and "Annotated: ents, spans (spans_key 'chunks')" in message
    )


def test_an_unknown_recipe_is_named(tmp_path: Path) -> None:
    options = ["--system", "psa", "--target", "ents", "--recipe", "papers"]
    result = run("psa", "init-config", tmp_path / "x.cfg", *options)
    assert result.exit_code == 1
    assert re.search("P190.*--recipe papers.*'paper'", " ".join(plain(result.output).split()))


def test_the_command_says_which_system_is_for_what(tmp_path: Path) -> None:
    output = succeed(
        "psa", "init-config", tmp_path / "x.cfg", "--system", "psa", "--target", "ents"
    )
    said = " ".join(plain(output).split())
    assert "Which system: psa for little data" in said and "init vectors en FILE" in said
    command = f"python -m spacy psa train {tmp_path / 'x.cfg'} --output training/x"
    options = "--paths.train train.spacy --paths.dev dev.spacy"
    assert f"Next: {command} {options}" in output.splitlines()


def test_vectors_that_are_not_there_are_found_out_at_once(tmp_path: Path) -> None:
    options = ("psa", "init-config", tmp_path / "a.cfg", "--system", "psa", "--target", "ents")
    result = run(*options, "--vectors", "nowhere")
    assert result.exit_code == 1 and "[P470] There are no vectors 'nowhere'" in plain(result.output)
    assert not (tmp_path / "a.cfg").exists()


def test_a_pipeline_without_vectors_is_refused(tmp_path: Path) -> None:
    spacy.blank("en").to_disk(tmp_path / "small")
    options = ("psa", "init-config", tmp_path / "a.cfg", "--system", "psa", "--target", "ents")
    result = run(*options, "--vectors", tmp_path / "small")
    assert result.exit_code == 1 and "[P475]" in plain(result.output)
    assert not (tmp_path / "a.cfg").exists()


def test_patience_outlasts_what_the_measured_trainings_needed() -> None:
    files = (Path(__file__).parents[2] / "benchmarks" / "results" / "recipes").glob("*.json")
    logs = [json.loads(path.read_text(encoding="utf8")) for path in files]
    ours = [log for log in logs if log["system"] in ("psa", "bilstm-crf")]
    assert ours
    for log in ours:
        best, idle = -1.0, 0
        schedule = Schedule(log["best"]["sentences"])
        # The evaluation without a better score at which training stops
        patience = -(-schedule.settings()["training.patience"] // schedule.every)
        assert patience >= PATIENCE
        for point in log["curve"]:
            assert idle < patience or point["dev"] <= best
            idle = 0 if point["dev"] > best else idle + 1
            best = max(best, point["dev"])


def test_a_small_corpus_has_time_to_learn() -> None:
    # 240 tweets without vectors: nothing is found before update 240
    assert Schedule(240).settings()["training.patience"] == 300
    assert Schedule(3_394).settings()["training.patience"] == 3 * Schedule(3_394).every


def test_the_papers_training_for_a_small_corpus(tmp_path: Path) -> None:
    corpus = tmp_path / "train.spacy"
    DocBin(docs=[Doc(Vocab(), words=["word"])] * 600).to_disk(corpus)
    options = ("--system", "psa", "--target", "ents", "--corpus", corpus)
    paper = succeed("psa", "init-config", tmp_path / "p.cfg", *options, "--recipe", "paper")
    paper = " ".join(paper.split())  # however long the path is
    assert "600 Docs" in paper and "--recipe best" in paper
    best = succeed("psa", "init-config", tmp_path / "b.cfg", *options)
    assert "600 Docs" not in best
    assert "vectors/en" in (tmp_path / "p.cfg").read_text(encoding="utf8")
    assert "vectors/en" not in (tmp_path / "b.cfg").read_text(encoding="utf8")


def test_warnings_are_one_line() -> None:
    usual = warnings.formatwarning
    with user_errors():
        assert "package.py" in warnings.formatwarning("other", UserWarning, "package.py", 1)
        lines = [
            plain(warnings.formatwarning("[W436] few", UserWarning, "package.py", 1))
            for _ in range(2)
        ]
    assert lines[0].endswith("[W436] few\n") and "package.py" not in lines[0]
    assert lines[1] == ""
    assert warnings.formatwarning is usual


def test_the_corpus_is_read_once(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []
    monkeypatch.setattr(
        "spacy_psa.cli._predictions.read_docs",
        lambda path, vocab: read.append(path) or read_docs(path, vocab),
    )
    options = ["--system", "psa", "--target", "ents", "--corpus", corpus, "--recipe", "paper"]
    output = succeed("psa", "init-config", tmp_path / "x.cfg", *options)
    assert read == [corpus]
    # Advice for who chooses a system is none for who repeats a paper
    assert "Which system" not in plain(output) and "39, that of --recipe best" in plain(output)
