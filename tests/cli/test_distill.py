"""`psa distill`: from a teacher and texts to a trained student."""

from __future__ import annotations

import gzip
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import spacy
import torch
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.util import load_config, registry
from thinc.api import Config

from spacy_psa.cli._distillation import CACHE, _with_corpus, prepare
from spacy_psa.distillation import filling
from spacy_psa.distillation.blocks_on_disk import Cache, read_items, read_manifest
from spacy_psa.distillation.distilled import create_distilled_corpus
from spacy_psa.distillation.teachers import aligned, averaged
from spacy_psa.inference.edge_marginals import EdgeMarginals
from spacy_psa.pipeline.teaching import Teaching, teaching_of

from ..documentation import ROOT, code_blocks
from ..pipeline.conftest import (
    NAME,
    WORDS,
    gold_doc,
    make_docs,
    tagger_of,
    tiny_model,
    trained_nlp,
)
from .commands import contents, plain, run, succeed

TARGET = "ents"
STEPS = ("--training.max_steps", "6", "--training.eval_frequency", "3")


@registry.tokenizers("whole_texts.v1")
def create_tokenizer_of_whole_texts() -> Callable[[Language], Callable[[str], Doc]]:
    return lambda nlp: lambda text: Doc(nlp.vocab, words=[text])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A teacher, texts, and a config of a student."""
    path = tmp_path_factory.mktemp("distill")
    teacher = trained_nlp(TARGET)
    teacher.to_disk(path / "teacher")
    DocBin(docs=[gold_doc(teacher, i) for i in range(3)]).to_disk(path / "gold.spacy")
    lines = [" ".join(words) for words in WORDS]
    with gzip.open(path / "texts.txt.gz", "wt", encoding="utf8") as file:
        file.write("\n".join([*lines, "", "Bob saw Ann"]))
    with (path / "texts.jsonl").open("w", encoding="utf8") as file:
        file.writelines(json.dumps({"text": line}) + "\n" for line in lines)
    DocBin(docs=make_docs(teacher)).to_disk(path / "texts.spacy")
    student = spacy.blank("xx")
    student.add_pipe(NAME, config={"target": TARGET, "model": tiny_model()})
    config = Config(student.config)
    config["corpora"] = {
        name: {"@readers": "spacy.Corpus.v1", "path": str(path / "gold.spacy")}
        for name in ("train", "dev")
    }
    config["training"]["logger"] = {"@loggers": "spacy.ConsoleLogger.v1", "progress_bar": False}
    config["training"]["optimizer"]["learn_rate"] = 0.03
    config.to_disk(path / "student.cfg")
    return path


@pytest.fixture(scope="module")
def trained(folder: Path) -> Path:
    """The output of a distillation."""
    succeed(
        *("psa", "distill", folder / "teacher", folder / "student.cfg", "--words"),
        *("--texts", folder / "texts.txt.gz", "--gold", folder / "gold.spacy"),
        *("--output", folder / "out", "--training.max_steps", "60"),
        *("--training.eval_frequency", "20"),
    )
    return folder / "out"


def test_the_student_is_as_good_as_its_teacher(folder: Path, trained: Path) -> None:
    nlp = spacy.load(trained / "model-best")
    teacher = spacy.load(folder / "teacher")
    for words in WORDS:
        found, expected = (pipe(Doc(pipe.vocab, words=words)) for pipe in (nlp, teacher))
        assert [(e.text, e.label_) for e in found.ents] == [
            (e.text, e.label_) for e in expected.ents
        ]


def test_the_student_has_labels_as_they_are(tmp_path: Path) -> None:
    labels = ["$", "PRP$", "${x}"]
    cache = SimpleNamespace(folder=tmp_path / CACHE, info={"labels": labels})
    config = Config()
    _with_corpus(config, cache, NAME, 0.5)
    config.to_disk(tmp_path / "distill.cfg")
    config = load_config(tmp_path / "distill.cfg", interpolate=False).interpolate()
    resolved = registry.resolve(config["initialize"]["components"])
    assert resolved[NAME]["labels"] == labels


def test_the_output_may_have_a_dollar_in_its_name(folder: Path, tmp_path: Path) -> None:
    files = (folder / "teacher", folder / "student.cfg", "--gold", folder / "gold.spacy")
    succeed("psa", "distill", *files, "--output", tmp_path / "a$b", *STEPS)
    spacy.load(tmp_path / "a$b" / "model-best")


def test_what_is_kept_is_what_the_teacher_says(folder: Path, trained: Path) -> None:
    teacher = spacy.load(folder / "teacher")
    pipe = teacher.get_pipe(NAME)
    items = list(read_items(trained / "teacher", teacher.vocab, 0.5))
    assert [len(doc) for doc, _ in items] == [6, 8, 5, 3, 6, 8, 5]
    assert [bool(doc.has_annotation("ENT_IOB")) for doc, _ in items] == [False] * 4 + [True] * 3
    for doc, said in items:
        assert said is not None
        bare = Doc(teacher.vocab, words=[token.text for token in doc])
        expected = pipe.queries.as_teacher([bare]).marginals
        found = torch.zeros(len(doc), len(said.tags))
        edges = said.edges
        found.index_put_((edges.token, edges.after), edges.probability, accumulate=True)
        # The mass of 0.999 and numbers of 16 bits
        assert torch.allclose(found, expected, atol=3e-3)
    info = read_manifest(trained / "teacher")["info"]
    assert (info["docs"], info["tokens"], info["component"]) == (7, 41, NAME)


def test_resuming_and_other_inputs(folder: Path, trained: Path, tmp_path: Path) -> None:
    options = ["--gold", folder / "gold.spacy", "--output", trained, "--resume", "--words"]
    command = ["psa", "distill", folder / "teacher", folder / "student.cfg", *options]
    short = ["--training.max_steps", "60", "--training.eval_frequency", "20"]
    before = contents(trained / "teacher")
    output = succeed(*command, "--texts", folder / "texts.txt.gz", *short)
    assert "are there already" in output
    assert "finished, after step 60" in output
    assert contents(trained / "teacher") == before
    refused = run(*command, "--texts", folder / "texts.jsonl")
    assert refused.exit_code == 1
    assert "P533" in refused.output
    assert "differs in its texts" in " ".join(plain(refused.output).split())
    other = shutil.copytree(folder / "teacher", tmp_path / "other")
    (other / "meta.json").write_text((other / "meta.json").read_text() + " ")
    command[2] = other
    refused = run(*command, "--texts", folder / "texts.txt.gz")
    assert "differs in its teacher" in " ".join(plain(refused.output).split())
    (tmp_path / "empty.txt").touch()
    without = [word for word in command if word not in ("--gold", folder / "gold.spacy")]
    assert "P353" in run(*without, "--texts", tmp_path / "empty.txt", "--force").output
    assert contents(trained / "teacher") == before
    succeed(*command, "--texts", folder / "texts.jsonl", "--force", *short)
    assert contents(trained / "teacher") != before
    again = succeed(*command, "--texts", folder / "texts.jsonl", "--force", *short)
    assert "are there already" in again


def test_a_run_that_ended_before_its_first_block_leaves_room_for_another(tmp_path: Path) -> None:
    for texts in ("ab", "cd"):
        Cache(tmp_path, {"texts": texts}).begin()
    assert read_manifest(tmp_path)["origin"] == {"texts": "cd"}


def test_an_unfinished_block_is_computed_again(folder: Path, tmp_path: Path) -> None:
    command = [
        *("psa", "distill", folder / "teacher", folder / "student.cfg"),
        *("--texts", folder / "texts.jsonl", "--output", tmp_path, *STEPS),
    ]
    succeed(*command)
    whole = contents(tmp_path / "teacher")
    manifest = json.loads(whole["manifest.json"])
    manifest["info"] = {}
    (tmp_path / "teacher" / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "teacher" / "block-00000.safetensors").unlink()
    succeed(*command, "--resume")
    assert contents(tmp_path / "teacher") == whole


def test_an_ensemble_and_a_choice_of_texts(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of any texts that a teacher is not certain of
    monkeypatch.setattr(filling, "UNCERTAIN", 0.0)
    chooser, out = shutil.copytree(folder / "teacher", tmp_path / "chooser"), tmp_path / "out"
    command = [
        *("psa", "distill", folder / "teacher", folder / "student.cfg", "--output", out),
        *("--ensemble", folder / "teacher", "--texts", folder / "texts.spacy"),
        *("--select", "2", "--select-by", chooser, "--temperature", "2", *STEPS),
    ]
    with pytest.warns(UserWarning, match=r"W530.*texts\.spacy than of .*gold\.spacy"):
        output = succeed(*command)
    assert "Chose 2 of 3 texts" in output
    info = read_manifest(out / "teacher")["info"]
    assert (info["docs"], info["temperature"]) == (2, 2.0)
    # The same name may be another pipeline by now
    (chooser / "meta.json").write_text((chooser / "meta.json").read_text() + " ")
    refused = run(*command, "--resume")
    assert "differs in its choice of texts" in " ".join(plain(refused.output).split())


def test_a_choice_of_texts_by_the_component_of_the_teacher(folder: Path, tmp_path: Path) -> None:
    nlp = spacy.load(folder / "teacher")
    for name in ("first", "second"):
        nlp.add_pipe("psa_tagger", name=name, source=spacy.load(folder / "teacher"))
    nlp.remove_pipe(NAME)
    nlp.to_disk(tmp_path / "two")
    command = [
        *("psa", "distill", tmp_path / "two", folder / "student.cfg", "--output", tmp_path / "out"),
        *("--texts", folder / "texts.spacy", "--select-by", tmp_path / "two"),
        *("--teacher-component", "second", *STEPS),
    ]
    unused = run(*command)
    assert unused.exit_code == 2 and "--select" in unused.output
    assert "Chose 2 of 3 texts" in succeed(*command, "--select", "2")


def test_a_teacher_with_hard_outputs(folder: Path, tmp_path: Path) -> None:
    nlp = spacy.blank("xx")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "PER", "pattern": "Ann"}])
    nlp.to_disk(tmp_path / "rules")
    succeed(
        *("psa", "distill", tmp_path / "rules", folder / "student.cfg", "--words"),
        *("--teacher-component", "entity_ruler", "--texts", folder / "texts.txt.gz"),
        *("--output", tmp_path / "out", "--training.max_steps", "60"),
    )
    student = spacy.load(tmp_path / "out" / "model-last")
    doc = student(Doc(student.vocab, words=WORDS[1]))
    assert [(ent.text, ent.label_) for ent in doc.ents] == [("Ann", "PER")]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        (["--texts", "{folder}/none.txt"], "P109"),
        (["--texts", "{folder}/empty.txt"], "P353"),
        ([], "P535"),
        (["--texts", "{folder}/texts.jsonl", "--temperature", "0"], "P019"),
        (["--texts", "{folder}/texts.jsonl", "--gold-share", "2"], "P210"),
        (["--texts", "{folder}/texts.jsonl", "--component", "ner"], "P346"),
        (["--texts", "{folder}/texts.jsonl", "--teacher-component", "ner"], "P530"),
        (["--texts", "{folder}/texts.jsonl", "--ensemble", "{folder}/other"], "P532"),
        (["--gold", "{folder}/labels.spacy"], "P531"),
        # Before the teacher has worked for hours
        (["--texts", "{folder}/texts.jsonl", "--corpora.dev.path", "{folder}/no.spacy"], "P109"),
        (["--texts", "{folder}/texts.jsonl", "--components.psa_tagger.target", "tag"], "P531"),
        (
            [
                *("--texts", "{folder}/texts.jsonl", "--ensemble", "{folder}/free"),
                *("--components.psa_tagger.constrain_training", "true"),
            ],
            "P540",
        ),
    ],
)
def test_bad_input(folder: Path, tmp_path: Path, changes: list[str], error: str) -> None:
    (folder / "empty.txt").write_text("\n \n")
    other = trained_nlp("tag")
    other.to_disk(folder / "other")
    trained_nlp(TARGET, constrain_decoding=False).to_disk(folder / "free")
    doc = make_docs(other)[0]
    doc.set_ents([spacy.tokens.Span(doc, 0, 1, "NEW")])
    DocBin(docs=[doc]).to_disk(folder / "labels.spacy")
    given = [change.format(folder=folder) for change in changes]
    result = run(
        *("psa", "distill", folder / "teacher", folder / "student.cfg", "--output", tmp_path),
        *given,
    )
    assert result.exit_code == 1
    assert error in result.output
    assert not list(tmp_path.rglob("*"))


def test_annotation_may_have_sets_of_labels(folder: Path, tmp_path: Path) -> None:
    doc = make_docs(spacy.blank("xx"))[0]
    doc.set_ents([spacy.tokens.Span(doc, 0, 1, "LOC|PER")])
    DocBin(docs=[doc]).to_disk(tmp_path / "sets.spacy")
    command = [
        *("psa", "distill", folder / "teacher", folder / "student.cfg", *STEPS),
        *("--gold", tmp_path / "sets.spacy", "--output", tmp_path / "out"),
    ]
    assert "P531" in run(*command).output
    succeed(*command, f"--components.{NAME}.set_separator", '"|"')


def test_code_is_imported(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "modules", {**sys.modules})
    (tmp_path / "code.py").write_text("print('Here it is')")
    words = [folder / "teacher", folder / "student.cfg", "--code", tmp_path / "code.py"]
    assert "Here it is" in run("psa", "distill", *words, "--output", tmp_path / "out").output


def test_a_teacher_without_the_component(folder: Path, tmp_path: Path) -> None:
    spacy.blank("xx").to_disk(tmp_path / "blank")
    result = run(
        *("psa", "distill", tmp_path / "blank", folder / "student.cfg"),
        *("--output", tmp_path / "out", "--texts", folder / "texts.jsonl"),
    )
    assert result.exit_code == 1
    assert "P530" in result.output


def said_of(n_tokens: int, lengths: tuple[int, ...], label: int) -> Teaching:
    """A teacher that is certain of one label."""
    starts = {sum(lengths[:i]) for i in range(len(lengths))}
    before = [-1 if t in starts else label for t in range(n_tokens)]
    edges = EdgeMarginals(
        torch.arange(n_tokens),
        torch.tensor(before),
        torch.full((n_tokens,), label),
        torch.ones(n_tokens),
    )
    return Teaching(("A", "B"), lengths, edges)


def test_averages() -> None:
    mixed = averaged([said_of(3, (2, 1), 0), said_of(3, (2, 1), 1), said_of(3, (2, 1), 1)])
    edges = mixed.edges
    found = zip(edges.token.tolist(), edges.before.tolist(), edges.after.tolist(), strict=True)
    assert list(found) == [(0, -1, 0), (0, -1, 1), (1, 0, 0), (1, 1, 1), (2, -1, 0), (2, -1, 1)]
    assert edges.probability.tolist() == pytest.approx([1 / 3, 2 / 3] * 3)


def test_sentences_with_other_tokens_are_left_out() -> None:
    theirs = ["Ann", "saw", "don't", "stop", "Bob"]
    own = ["Ann", "saw", "do", "n't", "stop", "Bob"]
    moved = aligned(said_of(5, (2, 2, 1), 0), theirs, own)
    assert moved.lengths == (2, 3, 1)
    assert moved.edges.token.tolist() == [0, 1, 5]


def test_the_commands_of_the_page(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    shutil.copytree(folder / "teacher", "teacher")
    for name in ("train", "dev", "test"):
        shutil.copy(folder / "gold.spacy", f"{name}.spacy")
    Path("texts.txt").write_text("\n".join(" ".join(words) for words in WORDS))
    (block,) = code_blocks(ROOT / "docs" / "distillation.md", "bash")
    lines = [shlex.split(line)[3:] for line in block.splitlines()]
    assert [line[: 1 + (line[0] == "psa")] for line in lines] == [
        ["psa", "init-config"],
        ["psa", "distill"],
        ["evaluate"],
        ["package"],
    ]
    for line in lines:
        short = ["--training.max_steps", "2"] if line[:2] == ["psa", "distill"] else []
        if line[0] == "package":
            line = [word if word != "wheel" else "none" for word in line]
        succeed(*line, *short)
    assert Path("en_student-0.0.0", "setup.py").exists()


def test_workers_learn_what_one_process_does(folder: Path, tmp_path: Path) -> None:
    """They run `psa train` with the config that `psa distill` writes."""
    words = ["psa", "distill", folder / "teacher", folder / "student.cfg", "--words"]
    words += ["--texts", folder / "texts.txt.gz", "--keep-epochs", "1", "--training.dropout", "0"]
    words += STEPS
    succeed(*words, "-o", tmp_path / "one")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            *map(str, ("spacy", *words, "--workers", 2, "-o", tmp_path / "two")),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert all((tmp_path / name / "epoch-1").is_dir() for name in ("one", "two"))
    one, two = (probabilities(tmp_path / name) for name in ("one", "two"))
    np.testing.assert_allclose(two, one, atol=1e-4)


def probabilities(output: Path) -> NDArray[np.float64]:
    """The probabilities of all labels of a sentence, by the last pipeline of a training."""
    nlp = spacy.load(output / "model-last")
    return tagger_of(nlp).marginals([Doc(nlp.vocab, words=WORDS[1])])[0]


def prepared(folder: Path, output: Path, **options: Any) -> Path:
    """What `psa distill` does before it trains."""
    teacher = str(options.pop("teacher", folder / "teacher"))
    given = {"config_path": folder / "student.cfg", "output": output, **options}
    return prepare([teacher], settings=filling.Settings(), **given)


def test_texts_that_become_annotation_are_others(folder: Path, tmp_path: Path) -> None:
    prepared(folder, tmp_path, texts=[str(folder / "gold.spacy")])
    with pytest.raises(ValueError, match=r"P533.*differs in its texts"):
        prepared(folder, tmp_path, gold=folder / "gold.spacy")


def test_another_student_learns_from_the_same_probabilities(folder: Path, tmp_path: Path) -> None:
    given = {"texts": [str(folder / "texts.spacy")], "config_path": tmp_path / "small.cfg"}
    prepared(folder, tmp_path / "out", texts=given["texts"])
    config = load_config(folder / "student.cfg")
    config["components"]["small"] = config["components"].pop(NAME)
    config["nlp"]["pipeline"] = ["small"]
    config.to_disk(tmp_path / "small.cfg")
    prepared(folder, tmp_path / "out", **given)
    examples = list(create_distilled_corpus(tmp_path / "out" / CACHE)(spacy.blank("xx")))
    assert all(teaching_of(example.reference, "small") for example in examples)
    config["nlp"]["tokenizer"] = {"@tokenizers": "whole_texts.v1"}
    config.to_disk(tmp_path / "small.cfg")
    with pytest.raises(ValueError, match=r"P533.*differs in its tokenizer"):
        prepared(folder, tmp_path / "out", **given)


def test_hard_outputs_are_not_uncertain(folder: Path, tmp_path: Path) -> None:
    nlp = spacy.blank("xx")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "PER", "pattern": "Ann"}])
    nlp.to_disk(tmp_path / "rules")
    given = {"teacher": tmp_path / "rules", "teacher_component": "entity_ruler", "select": 2}
    with pytest.raises(ValueError, match=r"P541.*entity_ruler.*--select-by"):
        prepared(folder, tmp_path / "out", texts=[str(folder / "texts.spacy")], **given)


def test_probabilities_are_not_put_into_the_teacher(folder: Path, tmp_path: Path) -> None:
    teacher = shutil.copytree(folder / "teacher", tmp_path / "teacher")
    before = contents(teacher)
    with pytest.raises(ValueError, match=r"P542.*config\.cfg"):
        prepared(folder, tmp_path, teacher=teacher, texts=[str(folder / "texts.spacy")])
    assert contents(teacher) == before
