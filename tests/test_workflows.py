"""The workflows of project.yml: complete, consistent, and working up to training."""

import configparser
import functools
import hashlib
import http.server
import re
import shlex
import shutil
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import srsly
from click.exceptions import ClickException
from spacy import util
from spacy.cli._util import parse_config_overrides
from spacy.tokens import DocBin
from spacy.vocab import Vocab
from weasel.util import load_project_config

from spacy_psa.cli._configs import make_config
from spacy_psa.cli._templates import names
from spacy_psa.cli.fetch import treebanks
from spacy_psa.corpora.formats import FORMATS
from spacy_psa.corpora.published import markdown_table, published_corpora
from tests.cli.commands import run, spacy_command
from tests.corpora.shared import shared_corpus

ROOT = Path(__file__).parents[1]
RAW = srsly.read_yaml(ROOT / "project.yml")
PYTHON = ["python", "-m", "spacy"]
SECTIONS = [f"{section:02}" for section in range(25)]
CORPUS_WORKFLOWS = [
    "conll2000",
    "conll2003",
    "wsj",
    "ontonotes",
    "ontonotes-zh",
    "ontonotes4-zh",
    "ud",
    "ccgbank",
    "conll2005",
    "conll2012-srl",
    "ewt-srl",
    "wnut17",
]


# Of the treebanks, only the English one has published figures.
OTHER_TREEBANKS = {f"ud-{code}" for code in treebanks() if code != "en"}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Make a copy of what the workflows need the working directory."""
    shutil.copy(ROOT / "project.yml", tmp_path)
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@functools.lru_cache
def load(**variables):
    """The project with its variables substituted."""
    overrides = {f"vars.{name}": value for name, value in variables.items()}
    # A copy, since this makes the project's folders, and several processes may do so at once
    with TemporaryDirectory() as folder:
        shutil.copy(ROOT / "project.yml", folder)
        return load_project_config(Path(folder), overrides=overrides)


def commands(**variables):
    return {command["name"]: command for command in load(**variables)["commands"]}


def scripts(**variables):
    """The words of each script line, with the name of the command."""
    return [
        (name, shlex.split(line))
        for name, command in commands(**variables).items()
        for line in command["script"]
    ]


def run_step(name, **variables):
    """Run a command's script in the working directory, without starting processes."""
    output = ""
    for line in commands(**variables)[name]["script"]:
        words = shlex.split(line)
        assert words[:3] == PYTHON
        result = run(*words[3:])
        output += result.output
        if result.exit_code:
            return result.exit_code, output
    return 0, output


def flat(text):
    """Undo the wrapping of messages to the width of the terminal."""
    return " ".join(text.split())


def test_every_published_corpus_has_a_workflow():
    names = {re.sub("^ud-.*", "ud", name) for name in published_corpora()}
    assert names == set(CORPUS_WORKFLOWS)
    assert names <= set(RAW["workflows"])


SEMANTIC_ROLES = ("conll2005", "conll2012-srl", "ewt-srl")


@pytest.mark.parametrize("name", CORPUS_WORKFLOWS)
def test_workflows_get_convert_check_train_and_evaluate(name):
    kinds = [step.removeprefix(f"{name}-") for step in RAW["workflows"][name]]
    assert kinds[0] in ("fetch", "files")
    assert kinds[1:3] == ["convert", "check"]
    assert kinds[3].startswith("init-vectors")
    # The project's configs are for these corpora, which the papers use.
    is_fit = name in ("conll2000", "conll2003", "wsj", *SEMANTIC_ROLES)
    assert kinds[4:] == [*([] if is_fit else ["config"]), "train", "evaluate"]


@pytest.mark.parametrize(
    ("name", "words"),
    [pair for pair in scripts() if pair[1][3:4] == ["psa"]],
    ids=lambda value: value if isinstance(value, str) else " ".join(value[4:7]),
)
def test_lines_of_scripts_are_commands_with_their_options(name, words):
    group = spacy_command().commands["psa"]
    command = group.commands[words[4]]
    try:
        command.make_context(words[4], words[5:])
    except ClickException as err:
        pytest.fail(f"{name}: {err.format_message()}")


def test_other_lines_are_of_spacy_or_remove_files():
    starts = (
        [*PYTHON, "train"],
        [*PYTHON, "benchmark", "accuracy"],
        [*PYTHON, "init", "vectors"],
        [*PYTHON, "package"],
        ["rm", "-rf"],
    )
    for name, words in scripts():
        if words[3:4] != ["psa"]:
            assert any(words[: len(start)] == start for start in starts), name


TRAININGS = {
    "conll2000": ("spans", "spans_chunks_f"),
    "conll2003": ("ents", "ents_f"),
    "wsj": ("tag", "tag_acc"),
    "ontonotes": ("ents", "ents_f"),
    "ontonotes-zh": ("ents", "ents_f"),
    "ontonotes4-zh": ("ents", "ents_f"),
    "ud": ("tag", "tag_acc"),
    "ccgbank": ("tag", "tag_acc"),
    "wnut17": ("ents", "ents_f"),
}
SYSTEMS = names("systems")


def option(words, name):
    return words[words.index(name) + 1]


def test_all_trainings_are_looked_at():
    assert {f"{name}-train" for name in (*TRAININGS, *SEMANTIC_ROLES)} == {
        name
        for name, words in scripts()
        # Those of `pipelines` use the recommended recipe
        if words[3:4] == ["train"]
        and name != "sample-train"
        and not name.startswith(("social-", "biomed-", "web-"))
    }


@pytest.mark.parametrize("name", TRAININGS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_trainings_use_the_config_of_system_and_task(name, system):
    steps = commands(system=system)
    path = shlex.split(steps[f"{name}-train"]["script"][0])[4]
    assert path in steps[f"{name}-train"]["deps"]
    if f"{name}-config" in steps:
        words = shlex.split(steps[f"{name}-config"]["script"][0])
        assert words[5] == path and path in steps[f"{name}-config"]["outputs"]
        assert option(words, "--system") == system
        assert option(words, "--target") == TRAININGS[name][0]
        assert option(words, "--corpus") in steps[f"{name}-convert"]["outputs"]
    else:
        assert path == f"configs/{system}-{TRAININGS[name][0]}.cfg"
        assert (ROOT / path).is_file()


@pytest.mark.parametrize("name", TRAININGS)
def test_trainings_fit_the_config_and_the_task(tmp_path, name):
    steps = commands(options=" --training.max_steps 7")
    words = shlex.split(steps[f"{name}-train"]["script"][0])
    path, lang = ROOT / words[4], "en"
    if f"{name}-config" in steps:
        line = shlex.split(steps[f"{name}-config"]["script"][0])
        lang = option(line, "--lang") if "--lang" in line else "en"
        path = tmp_path / "config.cfg"
        text = make_config(
            option(line, "--system"),
            option(line, "--target"),
            name=path.name,
            recipe=option(line, "--recipe"),
            lang=lang,
        )
        path.write_text(text, encoding="utf8")
    options = words[5:]
    for known in ("--output", "--gpu-id"):
        at = options.index(known)
        del options[at : at + 2]
    config = util.load_config(path, overrides=parse_config_overrides(options), interpolate=True)
    target, score = TRAININGS[name]
    weights = {name: n for name, n in config["training"]["score_weights"].items() if n}
    assert config["components"]["psa_tagger"]["target"] == target
    assert weights == {score: 1.0}
    assert config["nlp"]["lang"] == lang
    assert config["paths"]["vectors"] is None
    assert config["training"]["max_steps"] == 7
    assert util.load_model_from_config(config, auto_fill=True).pipe_names == ["psa_tagger"]


@pytest.mark.parametrize("name", SEMANTIC_ROLES)
@pytest.mark.parametrize("system", ["deepatt-roles", "bilstm-crf-roles"])
def test_semantic_roles_are_learnt_by_the_config_of_the_system(name, system):
    system = system.replace("-roles", "-small-roles") if name == "ewt-srl" else system
    steps = commands(srl_system=system, ewt_srl_system=system, options=" --training.max_steps 7")
    words = shlex.split(steps[f"{name}-train"]["script"][0])
    assert words[4] == f"configs/{system}.cfg" and words[4] in steps[f"{name}-train"]["deps"]
    options = words[5:]
    for known in ("--output", "--gpu-id"):
        at = options.index(known)
        del options[at : at + 2]
    overrides = parse_config_overrides(options)
    config = util.load_config(ROOT / words[4], overrides=overrides, interpolate=True)
    assert config["training"]["max_steps"] == 7
    assert util.load_model_from_config(config, auto_fill=True).pipe_names == ["psa_srl"]


def test_a_treebank_is_learnt_with_its_own_words_and_any_target():
    steps = commands(ud_target="pos")
    assert "--target pos" in steps["ud-config"]["script"][0]
    # Otherwise spaCy's tokenizer would make others of the text, which papers do not score
    assert all("spaces=false" in line for line in steps["ud-convert"]["script"])
    made = {*steps["ud-train"]["outputs"], *steps["ud-evaluate"]["outputs"]}
    assert not made & {*commands()["ud-train"]["outputs"], *commands()["ud-evaluate"]["outputs"]}


def test_treebanks_can_be_reproduced():
    variables = {"corpus": "ud-no", "target": "pos", "lang": "nb"}
    words = shlex.split(commands(**variables)["reproduce-train"]["script"][0])
    options = dict(zip(words[5::2], words[6::2], strict=True))
    assert (options["--target"], options["--lang"]) == ("pos", "nb")
    words = shlex.split(commands()["reproduce-train"]["script"][0])
    assert (
        words[words.index("--target") + 1] == "spans" and words[words.index("--lang") + 1] == "en"
    )


def test_variables_reach_the_training():
    variables = {"system": "lan", "seed": 7, "gpu": 0, "vectors": "vectors/x"}
    steps = commands(**variables, options=" --training.max_epochs 3")
    line = steps["wsj-train"]["script"][0]
    for text in (
        "configs/lan-tag.cfg",
        "--output training/wsj/lan-7 ",
        "--system.seed 7",
        "--gpu-id 0",
        "--paths.vectors vectors/x",
        "--training.max_epochs 3",
    ):
        assert text in line
    assert "training/wsj/lan-7/model-best" in steps["wsj-evaluate"]["script"][0]
    line = commands(ud_treebank="no", ud_lang="nb")["ud-train"]["script"][0]
    assert "corpus/ud/no/train.spacy" in line
    assert "--lang nb" in commands(ud_lang="nb")["ud-config"]["script"][0]


@pytest.mark.parametrize("name", TRAININGS)
def test_runs_do_not_overwrite_each_other(name):
    made = [
        {*steps[f"{name}-train"]["outputs"], *steps[f"{name}-evaluate"]["outputs"]}
        for steps in (commands(), commands(seed=1), commands(system="lan"), commands(run="x"))
    ]
    assert len(set.union(*made)) == sum(map(len, made))


def test_scores_are_written_to_folders_that_the_project_makes():
    for name, words in scripts():
        if words[3:5] == ["benchmark", "accuracy"]:
            folder = Path(option(words, "--output")).parent
            assert str(folder) in RAW["directories"], name


def test_systems_are_described():
    for text in (RAW["description"], DOCS):
        assert [system for system in SYSTEMS if f"`{system}`" not in text] == []


def test_licensed_assets_say_how_to_get_them():
    licensed = {
        asset["dest"]: asset["description"] for asset in RAW["assets"] if "url" not in asset
    }
    published = {c.folder: c.obtain for c in published_corpora().values() if c.obtain}
    assert licensed == published
    for folder, sentence in licensed.items():
        assert folder in sentence
        assert re.search(r"https?://", sentence)
        assert sentence.endswith(".") and ". " not in sentence


def test_assets_with_an_address_are_extra_and_described():
    for asset in RAW["assets"]:
        if "url" in asset:
            assert asset["url"].startswith("https://")
            assert asset["extra"] is True
            assert asset["description"]


@pytest.mark.parametrize(
    "step", [name for name, words in scripts() if words[3:5] == ["psa", "require"]]
)
def test_missing_licensed_files_are_one_sentence(project, step):
    exit_code, output = run_step(step)
    assert exit_code == 1
    name = step.removesuffix("-files")
    assert flat(published_corpora()[name].obtain) in flat(output)
    assert "Traceback" not in output


def test_licensed_files_that_are_there_are_found(project):
    folder = project / "assets" / "conll2003"
    folder.mkdir(parents=True)
    for name in ("eng.train", "eng.testa", "eng.testb"):
        (folder / name).write_text("EU NNP B-NP B-ORG\n", encoding="utf8")
    assert run_step("conll2003-files")[0] == 0


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf8")


def put_conll2003(assets):
    for name in ("eng.train", "eng.testa", "eng.testb"):
        # With a stray B, as in the file in use
        text = "EU NNP I-NP I-ORG\nand CC I-NP O\nUN NNP I-NP I-ORG\n. . O O\nCup N I-NP B-MISC\n"
        put(assets / "conll2003" / name, f"-DOCSTART- -X- O O\n\n{text}\n")


def put_wsj(assets):
    for section in SECTIONS:
        tree = "( (S (NP (NNP EU)) (VP (VBZ rejects) (NP (-NONE- *))) (. .)) )\n"
        put(assets / "wsj" / section / f"wsj_{section}01.mrg", tree)


def put_ccgbank(assets):
    for section in SECTIONS:
        leaves = "(<L NP NNP NNP EU NP>) (<L S[dcl]\\NP VBZ VBZ sleeps S[dcl]\\NP_1>)"
        name = f"wsj_{section}01"
        text = f"ID={name}.1 PARSER=GOLD NUMPARSE=1\n(<T S[dcl] 1 2> {leaves} )\n"
        put(assets / "ccgbank" / section / f"{name}.auto", text)


def put_conll2005(assets):
    for part in ("train", "devel", "test.wsj", "test.brown"):
        folder = assets / "conll2005" / part
        put(folder / "words" / f"{part}.words", "EU\nrejects\n.\n\n")
        put(folder / "props" / f"{part}.props", "- (A0*)\nreject (V*)\n- *\n\n")


def put_ontonotes(assets):
    for split in ("train", "development", "test"):
        for language in ("english", "chinese"):
            for genre in ("nw", "pt"):
                name = f"{genre}/x/00/x_0001"
                rows = [
                    f"{name} 0 0 EU NNP (TOP(S(NP*) - - - - (ORG) (ARG0*) -",
                    f"{name} 0 1 rejects VBZ (VP*))) reject 01 - - * (V*) -",
                ]
                text = "\n".join(
                    [f"#begin document ({name}); part 000", *rows, "", "#end document"]
                )
                folder = assets / "ontonotes" / split / "data" / language / "annotations"
                put(folder / f"{name}.v4_gold_conll", text + "\n")


def put_ontonotes4(assets):
    text = "欧 B-ORG\n洲 M-ORG\n联 M-ORG\n盟 E-ORG\n\n"
    for split in ("train", "dev", "test"):
        put(assets / "ontonotes4-zh" / f"{split}.bmes", text)


@pytest.mark.parametrize(
    ("name", "make", "sentences"),
    [
        ("conll2003", put_conll2003, 1),
        ("wsj", put_wsj, 19),
        ("ccgbank", put_ccgbank, 20),
        ("conll2005", put_conll2005, 1),
        ("ontonotes", put_ontonotes, 1),
        ("ontonotes-zh", put_ontonotes, 1),
        ("ontonotes4-zh", put_ontonotes4, 1),
        ("conll2012-srl", put_ontonotes, 2),
    ],
)
def test_licensed_corpora_are_converted_and_compared(project, name, make, sentences):
    make(project / "assets")
    for step in ("files", "convert"):
        exit_code, output = run_step(f"{name}-{step}")
        assert exit_code == 0, output
    docs = list(DocBin().from_disk(project / "corpus" / name / "train.spacy").get_docs(Vocab()))
    assert len(docs) == sentences
    exit_code, output = run_step(f"{name}-check")
    if published_corpora()[name].figures:
        assert exit_code == 1
        assert "[P172]" in output and f"{sentences} sentences instead of" in flat(output)
    else:
        assert exit_code == 0
        assert "No published figures" in flat(output)


def test_the_middles_of_entities_may_be_tagged_m(project):
    put_ontonotes4(project / "assets")
    exit_code, output = run_step("ontonotes4-zh-convert")
    assert exit_code == 0, output
    (doc,) = DocBin().from_disk(project / "corpus/ontonotes4-zh/dev.spacy").get_docs(Vocab())
    assert [(ent.start, ent.end, ent.label_) for ent in doc.ents] == [(0, 4, "ORG")]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    (folder / "vectors.txt").write_bytes(b"the 0.1 0.2\n")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    handler.log_message = lambda *arguments: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()
        thread.join()


def fetch_assets(project, server, checksum):
    """Run `spacy project assets` on a copy whose first URL points to a local server."""
    config = srsly.read_yaml(project / "project.yml")
    assets = [asset for asset in config["assets"] if "url" not in asset]
    asset = {**config["assets"][0], "url": f"{server}/vectors.txt", "checksum": checksum}
    srsly.write_yaml(project / "project.yml", {**config, "assets": [asset, *assets]})
    result = run("project", "assets", project, "--extra")
    return project / asset["dest"], result


def test_assets_are_downloaded_and_verified(project, server, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    checksum = hashlib.md5(b"the 0.1 0.2\n").hexdigest()
    path, result = fetch_assets(project, server, checksum)
    assert result.exit_code == 0
    assert path.read_bytes() == b"the 0.1 0.2\n"
    assert "Checksum doesn't match" not in flat(result.output)
    assert flat(result.output).count("You need to add this file yourself") == 7
    again = run("project", "assets", project, "--extra")
    assert "Skipping download with matching checksum" in flat(again.output)


def test_assets_with_another_checksum_are_reported(project, server, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    path, result = fetch_assets(project, server, "0" * 32)
    assert "Checksum doesn't match" in flat(result.output)
    assert str(path.name) in flat(result.output)


def test_fetched_corpora_with_another_checksum_are_refused(project):
    folder = project / "local"
    folder.mkdir()
    (folder / "wnut17train.conll").write_text("another\tO\n", encoding="utf8")
    exit_code, output = run_step("wnut17-fetch", wnut17_local=str(folder))
    assert exit_code == 1
    assert "[P130]" in output
    assert not (project / "assets" / "wnut17" / "train.conll").exists()


def test_wnut17_is_fetched_converted_and_as_published(project):
    local = str(shared_corpus("wnut17"))
    for step in ("wnut17-fetch", "wnut17-convert", "wnut17-check"):
        exit_code, output = run_step(step, wnut17_local=local)
        assert exit_code == 0, output
    assert (
        flat(output).count("Matches published figures: sentences, tokens, entities, entity types")
        == 3
    )


def test_english_treebank_is_fetched_converted_and_as_published(project):
    local = str(shared_corpus("ud_en_ewt_2.2"))
    for step in ("ud-fetch", "ud-convert", "ud-check"):
        exit_code, output = run_step(step, ud_local=local)
        assert exit_code == 0, output
    assert flat(output).count("Matches published figures: sentences, tokens, tags") == 3


# The documentation


DOCS = (ROOT / "docs" / "corpora.md").read_text(encoding="utf8")


@pytest.mark.parametrize(
    "name", [name for name, corpus in published_corpora().items() if corpus.figures]
)
def test_documented_tables_are_the_published_figures(name):
    assert markdown_table(published_corpora()[name]) in DOCS


def test_documented_corpora_have_their_workflow_licence_folder_and_format():
    rows = [line.split(" | ") for line in DOCS.splitlines() if line.endswith("` |")]
    rows = [row for row in rows if len(row) == 5 and row[1].startswith("`")]
    corpora = {name: c for name, c in published_corpora().items() if name not in OTHER_TREEBANKS}
    expected = {
        c.title: [f"`{re.sub('^ud-.*', 'ud', name)}`", c.license, f"`{c.folder}`"]
        for name, c in corpora.items()
    }
    assert {row[0].removeprefix("| "): row[1:4] for row in rows} == expected
    for title, row in zip(expected, rows, strict=True):
        workflow, form = row[1].strip("`"), row[4].strip("` |")
        script = commands()[f"{workflow}-convert"]["script"]
        assert f"--format {form} " in f"{script[0]} ", title


def test_documentation_says_how_to_get_each_licensed_corpus():
    for corpus in published_corpora().values():
        if corpus.obtain:
            assert corpus.obtain in DOCS


def test_documented_formats_and_options_are_those_of_the_command():
    section = DOCS.split("| `--format` | what it reads |")[1].split("\n\n")[0]
    rows = [line.split(" | ") for line in section.splitlines()[2:]]
    documented = {row[0].strip("|` "): re.findall(r"`(\w+)`", row[2]) for row in rows}
    assert set(documented) == set(FORMATS)
    for name, options in documented.items():
        assert set(options) <= set(FORMATS[name].options), name


def test_documented_treebanks_are_those_of_the_command():
    for code, treebank in treebanks().items():
        row = f"| `{code}` | `{treebank.lang}` | [{treebank.repository}](https://github.com/"
        assert row in DOCS
        assert f"`{treebank.name}-ud-*.conllu`" in DOCS


def test_documented_variables_and_commands_exist():
    known = set(load()["vars"])
    assert set(re.findall(r"--vars\.(\w+)", DOCS)) <= known
    assert set(re.findall(r"--vars\.(\w+)", RAW["description"])) <= known
    group = spacy_command().commands["psa"]
    assert set(re.findall(r"spacy psa (\w+)", DOCS)) <= set(group.commands)


def test_documented_readers_are_registered_and_there_is_one_for_each_format():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf8")
    lines = config["options.entry_points"]["spacy_readers"].strip().splitlines()
    readers = {line.split(" = ")[0] for line in lines}
    documented = set(re.findall(r"spacy_psa\.\w+\.v\d", DOCS))
    assert documented <= readers
    # Readers that transform another reader's output have no format of their own.
    assert {name.split(".")[1].lower() for name in documented} >= set(FORMATS)
