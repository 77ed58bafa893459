"""spaCy's commands with a transformer: train, evaluate, package and install."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from ..tiny_transformer import write_transformer
from .commands import succeed

WORDS = ["Ann", "saw", "New", "York"]
SCRIPT = """
import json, spacy
nlp = spacy.load("en_on_bert")
docs = list(nlp.pipe(["Ann saw New York", "", " ", "Ann " * 200]))
print(json.dumps([[[token.text, token.tag_, token.ent_type_] for token in doc] for doc in docs]))
"""


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
        *("psa", "init-config", path / "x.cfg", "--system", "bilstm-crf", "--pipeline", "pos ner"),
        *("--transformer", path / "bert", "--encoder", "none", "--corpus", path / "train.spacy"),
    )
    schedule = "--training.optimizer.learn_rate"
    succeed(
        *("train", path / "x.cfg", "--output", path / "trained"),
        *("--paths.dev", path / "train.spacy", "--training.max_steps", "60"),
        *(f"{schedule}.initial_rate", "0.02", f"{schedule}.warmup_steps", "1"),
    )
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


def test_the_package_is_installed_and_loaded(folder: Path, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        # No network: setuptools comes from this environment, not from the package index.
        patch.setenv("PIP_NO_INDEX", "1")
        succeed(
            *("package", folder / "trained" / "model-best", tmp_path, "--name", "on_bert"),
            *("--build", "wheel"),
        )
    (wheel,) = tmp_path.glob("*/dist/*.whl")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, "--target", str(tmp_path / "site"), str(wheel)], check=True)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")]),
            "OMP_NUM_THREADS": "1",
            "HF_HUB_OFFLINE": "1",
        },
    )
    assert done.returncode == 0, done.stderr
    nlp = spacy.load(folder / "trained" / "model-best")
    docs = list(nlp.pipe(["Ann saw New York", "", " ", "Ann " * 200]))
    assert json.loads(done.stdout) == [[[t.text, t.tag_, t.ent_type_] for t in doc] for doc in docs]
    assert [len(doc) for doc in docs] == [4, 0, 1, 200]
