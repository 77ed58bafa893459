"""`spacy train` and the commands that prepare it, as a user runs them on our components."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
import torch
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from thinc.api import Config

from .commands import ROOT, SmallCorpus, succeed

PARTIAL = """
[nlp]
lang = "en"
pipeline = ["psa_tagger"]

[components]

[components.psa_tagger]
factory = "psa_tagger"
"""
WORDS = ["Mr.", "Lincoln", "said", "that", "shares", "in", "Canada", "moved", "higher", "."]


def label(nlp: Language) -> Doc:
    """Process words from the corpus."""
    return nlp(Doc(nlp.vocab, words=WORDS))


def model_bytes(pipeline: Path, component: str) -> bytes:
    """The saved weights of a component."""
    return (pipeline / component / "model").read_bytes()


def write_sourcing_config(path: Path, tiny_config: Path, pipeline: Path, *, frozen: str) -> Path:
    """Write a config that sources both components and continues to train one of them."""
    config = Config().from_disk(tiny_config, interpolate=False)
    config["components"] = {name: {"source": str(pipeline)} for name in config["components"]}
    config["training"].update(frozen_components=[frozen], max_steps=4, eval_frequency=2)
    config.to_disk(path)
    return path


def test_fill_config_completes_a_partial_config(tmp_path: Path) -> None:
    (tmp_path / "partial.cfg").write_text(PARTIAL, encoding="utf8")
    succeed("init", "fill-config", tmp_path / "partial.cfg", tmp_path / "full.cfg")
    component = Config().from_disk(tmp_path / "full.cfg")["components"]["psa_tagger"]
    assert component["target"] == "tag"
    assert component["model"]["@architectures"] == "spacy_psa.SequenceLabeler.v1"
    assert component["model"]["encoder"]["recurrent"]["hidden_width"] == 300
    assert component["model"]["encoder"]["first_fusion"]["bias"]["window"] == 10


def test_filling_a_filled_config_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "partial.cfg").write_text(PARTIAL, encoding="utf8")
    succeed("init", "fill-config", tmp_path / "partial.cfg", tmp_path / "full.cfg")
    succeed("init", "fill-config", tmp_path / "full.cfg", tmp_path / "again.cfg")
    assert (tmp_path / "again.cfg").read_text() == (tmp_path / "full.cfg").read_text()


@pytest.mark.parametrize("name", ["psa-spans", "sample"])
def test_our_configs_are_filled(tmp_path: Path, name: str) -> None:
    path = ROOT / "configs" / f"{name}.cfg"
    succeed("init", "fill-config", path, tmp_path / "full.cfg")
    # Not compared as text: the order of sections depends on the version of confection
    filled, ours = (
        Config().from_disk(config, interpolate=False) for config in (tmp_path / "full.cfg", path)
    )
    assert filled == ours


@pytest.mark.parametrize("name", ["model-best", "model-last"])
def test_trained_pipelines_load_and_predict(trained: Path, name: str) -> None:
    nlp = spacy.load(trained / name)
    doc = label(nlp)
    assert nlp.pipe_names == ["psa_pos", "psa_ner"]
    assert all(token.tag_ for token in doc)
    assert doc.has_annotation("ENT_IOB")
    assert doc[2].tag_ == "VBD"


def test_the_best_model_is_not_worse_than_the_last(trained: Path) -> None:
    best, last = (
        json.loads((trained / name / "meta.json").read_text())["performance"]
        for name in ("model-best", "model-last")
    )
    score = {"tag_acc": 0.5, "ents_f": 0.5}
    weighted = [sum(w * scores[key] for key, w in score.items()) for scores in (best, last)]
    assert weighted[0] >= weighted[1]
    assert best["tag_acc"] > 0.4, "most-frequent-tag guessing gives less than half of that"


def test_the_same_seed_gives_the_same_weights(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus, trained: Path
) -> None:
    # `trained` ran in another process, where, for instance, string hashes differ.
    succeed("train", tiny_config, "--output", tmp_path, *corpus.paths)
    for component in ("psa_pos", "psa_ner"):
        for name in ("model-best", "model-last"):
            again = model_bytes(tmp_path / name, component)
            assert again == model_bytes(trained / name, component), (name, component)


def test_training_leaves_a_log_that_curves_are_drawn_of(trained: Path, tmp_path: Path) -> None:
    lines = (trained / "train.jsonl").read_text(encoding="utf8").splitlines()
    assert [json.loads(line)["step"] for line in lines] == [0, 30, 60]
    succeed("psa", "curves", trained, "--output", tmp_path / "curves.svg", "--by", "step")
    assert (tmp_path / "curves.svg").is_file()


def test_the_table_of_training_is_spacys(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus
) -> None:
    config = Config().from_disk(tiny_config, interpolate=False)
    config["training"]["logger"] = {"@loggers": "spacy.ConsoleLogger.v1", "progress_bar": False}
    config.to_disk(tmp_path / "console.cfg")
    tables = []
    for path in (tiny_config, tmp_path / "console.cfg"):
        output = succeed("train", path, *corpus.paths, "--training.max_steps", 1)
        tables.append(output[output.index("E    #") :])
    assert tables[0] == tables[1] and "TAG_ACC" in tables[0]


def test_without_an_output_folder_training_leaves_no_log(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    succeed("train", tiny_config, *corpus.paths, "--training.max_steps", 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.gpu
def test_train_on_gpu(tmp_path: Path, tiny_config: Path, corpus: SmallCorpus) -> None:
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    pytest.importorskip("cupy", reason="thinc needs CuPy to train on a GPU")
    # In its own process, since spaCy then uses the GPU for everything.
    command = [sys.executable, "-m", "spacy", "train", str(tiny_config), "--gpu-id", "0"]
    done = subprocess.run(
        [*command, "--output", str(tmp_path), *corpus.paths], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Using GPU: 0" in done.stdout
    assert all(token.tag_ for token in label(spacy.load(tmp_path / "model-best")))


def test_labels_from_files_are_used_in_training(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus
) -> None:
    labels = tmp_path / "labels"
    succeed("init", "labels", tiny_config, labels, *corpus.paths)
    found = json.loads((labels / "psa_ner.json").read_text())
    assert found == ["LOC", "MISC", "ORG", "PER"]
    (labels / "psa_ner.json").write_text(json.dumps([*found, "WORK"]))
    config = Config().from_disk(tiny_config, interpolate=False)
    config["initialize"]["components"] = {
        name: {"labels": {"@readers": "spacy.read_labels.v1", "path": str(labels / f"{name}.json")}}
        for name in ("psa_pos", "psa_ner")
    }
    config.to_disk(tmp_path / "labels.cfg")
    succeed(
        *("train", tmp_path / "labels.cfg", "--output", tmp_path / "out", *corpus.paths),
        *("--training.max_steps", 2),
    )
    nlp = spacy.load(tmp_path / "out" / "model-last")
    assert nlp.get_pipe("psa_ner").labels == (*found, "WORK")
    assert nlp.get_pipe("psa_ner").model.get_dim("nO") == 4 * 5 + 1


def test_vectors_from_a_text_file_are_used_in_training(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus
) -> None:
    text = "3 4\nsaid 0.5 0.25 -0.5 1.0\nCanada 0.0 1.0 0.0 -1.0\nzebra 2.0 2.0 2.0 2.0\n"
    (tmp_path / "vectors.txt").write_text(text, encoding="utf8")
    succeed("init", "vectors", "en", tmp_path / "vectors.txt", tmp_path / "vectors")
    config = Config().from_disk(tiny_config, interpolate=False)
    for component in config["components"].values():
        component["model"]["tok2vec"]["width"] = None
    config.to_disk(tmp_path / "vectors.cfg")
    succeed(
        *("train", tmp_path / "vectors.cfg", "--output", tmp_path / "out", *corpus.paths),
        *("--paths.vectors", tmp_path / "vectors", "--training.max_steps", 2),
    )
    nlp = spacy.load(tmp_path / "out" / "model-last")
    assert nlp.vocab.vectors.shape == (3, 4)
    embedding = nlp.get_pipe("psa_pos").model.layers[0].shims[0]
    assert embedding.network.words.width == 4
    row = 1 + embedding.cfg["words"].index("said")
    weight = embedding.network.words.weight[row].detach()
    # Each of the two Adam steps moves a weight by at most about 0.03.
    torch.testing.assert_close(weight, torch.tensor([0.5, 0.25, -0.5, 1.0]), atol=0.1, rtol=0.0)


def test_sourced_components_are_trained_on_or_frozen(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus, trained: Path
) -> None:
    source = trained / "model-best"
    config = write_sourcing_config(tmp_path / "source.cfg", tiny_config, source, frozen="psa_ner")
    output = succeed("train", config, "--output", tmp_path / "out", *corpus.paths)
    assert "TAG_ACC" in output
    resumed = tmp_path / "out" / "model-last"
    assert model_bytes(resumed, "psa_ner") == model_bytes(source, "psa_ner")
    assert model_bytes(resumed, "psa_pos") != model_bytes(source, "psa_pos")
    scores = json.loads((resumed / "meta.json").read_text())["performance"]
    before = json.loads((source / "meta.json").read_text())["performance"]
    assert scores["tag_acc"] > before["tag_acc"] - 0.1, "training began anew"


def test_assemble_puts_trained_components_together(
    tmp_path: Path, tiny_config: Path, trained: Path
) -> None:
    source = trained / "model-best"
    config = write_sourcing_config(tmp_path / "source.cfg", tiny_config, source, frozen="psa_ner")
    succeed("assemble", config, tmp_path / "assembled")
    expected, found = (label(spacy.load(path)) for path in (source, tmp_path / "assembled"))
    assert found.to_json() == expected.to_json()


@pytest.mark.parametrize("form", ["CoNLL2000", "CoNLL2003"])
def test_training_from_the_original_columns(
    tmp_path: Path, tiny_config: Path, corpus: SmallCorpus, form: str
) -> None:
    config = Config().from_disk(tiny_config, interpolate=False)
    files = {"train": corpus.train_columns, "dev": corpus.dev_columns}
    for name, path in files.items():
        if form == "CoNLL2000":
            rows = [line.rsplit(" ", 1)[0] for line in path.read_text().splitlines()]
            path = tmp_path / f"{name}.txt"
            path.write_text("\n".join(row for row in rows if "-DOCSTART-" not in row) + "\n")
        config["corpora"][name] = {"@readers": f"spacy_psa.{form}.v1", "path": str(path)}
    target = {"CoNLL2000": "spans", "CoNLL2003": "ents"}[form]
    config["components"]["psa_ner"].update(target=target, spans_key="chunks")
    config["training"]["score_weights"] = {"tag_acc": 1.0}
    config.to_disk(tmp_path / "columns.cfg")
    succeed(
        *("train", tmp_path / "columns.cfg", "--output", tmp_path / "out"),
        *("--training.max_steps", 4, "--training.eval_frequency", 2),
    )
    nlp = spacy.load(tmp_path / "out" / "model-last")
    pipe = nlp.get_pipe("psa_ner")
    assert isinstance(pipe, TrainablePipe)
    assert ("NP" if form == "CoNLL2000" else "PER") in pipe.labels
    score = "spans_chunks_f" if form == "CoNLL2000" else "ents_f"
    assert nlp.meta["performance"][score] is not None
