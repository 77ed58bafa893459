"""`psa vocabulary`, and training on a stream with what it writes."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from thinc.api import Config

from ..training.runs import write_config
from .commands import failure, run, succeed

# spaCy initializes with the first 100 documents of a stream
N_DOCS = 120


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A config that trains on a stream, in which each document has a word and a tag of its own."""
    docs = [
        Doc(Vocab(), words=["the", f"word{i}"], tags=["DT", f"T{i // 60}"]) for i in range(N_DOCS)
    ]
    for name, part in (("train", docs), ("dev", docs[:2])):
        DocBin(attrs=["TAG"], docs=part).to_disk(tmp_path / f"{name}.spacy")
    settings = {"max_epochs": -1, "max_steps": 1, "eval_frequency": 1}
    return write_config(tmp_path, training=settings)


def known_words(pipeline: Path) -> list[str]:
    return spacy.load(pipeline).get_pipe("labels").model.layers[0].shims[0].cfg["words"]


def test_the_whole_corpus_is_counted(tmp_path: Path, config: Path) -> None:
    output = succeed("psa", "vocabulary", config, "-o", tmp_path / "labels")
    assert "121 words of 120 documents" in output
    counts = json.loads((tmp_path / "labels" / "vocabulary.json").read_text(encoding="utf8"))
    assert Counter(counts) == Counter({"the": 120} | {f"word{i}": 1 for i in range(120)})
    assert json.loads((tmp_path / "labels" / "labels.json").read_text()) == ["DT", "T0", "T1"]


def test_a_stream_without_end_is_read_up_to_a_limit(tmp_path: Path, config: Path) -> None:
    output = succeed("psa", "vocabulary", config, "-o", tmp_path / "labels", "--limit", 10)
    assert "11 words of 10 documents" in output


def test_a_stream_warns_of_its_vocabulary(tmp_path: Path, config: Path) -> None:
    with pytest.warns(UserWarning, match=r"W434.*'labels'.*101 words.*psa vocabulary"):
        succeed("train", config, "--output", tmp_path / "out")
    assert len(known_words(tmp_path / "out" / "model-last")) == 101


@pytest.mark.parametrize("command", [["train"], ["psa", "train"]])
def test_a_stream_is_trained_on_with_all_words(
    tmp_path: Path, config: Path, command: list[str]
) -> None:
    succeed("psa", "vocabulary", config, "-o", tmp_path / "labels")
    settings = Config().from_disk(config, interpolate=False)
    settings["initialize"] = {
        "components": {
            "labels": {
                name: {
                    "@readers": "spacy.read_labels.v1",
                    "path": str(tmp_path / "labels" / f"{name}.json"),
                }
                for name in ("labels", "vocabulary")
            }
        }
    }
    settings.to_disk(config)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "W434")
        succeed(*command, config, "--output", tmp_path / "out")
    pipeline = tmp_path / "out" / "model-last"
    assert known_words(pipeline) == sorted(["the", *(f"word{i}" for i in range(N_DOCS))])
    assert spacy.load(pipeline).get_pipe("labels").labels == ("DT", "T0", "T1")


@pytest.mark.parametrize(
    ("contents", "problem"),
    [
        ("{}", "[P319]"),
        ('{"a": 0}', "[P319]"),
        ('{"": 1}', "[P319]"),
        ('{"a": "b"}', "valid integer"),
        ('["a"]', "valid dict"),
    ],
)
def test_what_is_no_vocabulary_is_refused(
    tmp_path: Path, config: Path, contents: str, problem: str
) -> None:
    (tmp_path / "vocabulary.json").write_text(contents, encoding="utf8")
    settings = Config().from_disk(config, interpolate=False)
    reader = {"@readers": "spacy.read_labels.v1", "path": str(tmp_path / "vocabulary.json")}
    settings["initialize"] = {"components": {"labels": {"vocabulary": reader}}}
    settings.to_disk(config)
    result = run("train", config, "--output", tmp_path / "out")
    assert result.exit_code == 1
    assert problem in result.output + str(result.exception)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--corpora.dev.path", "null"], "[P472] No corpus path is set in [corpora.dev]"),
        (["--corpora.train.path", "none.spacy"], "[P109] There is no file none.spacy"),
    ],
)
def test_a_corpus_that_is_not_there_is_named(
    tmp_path: Path, config: Path, given: list[str], message: str
) -> None:
    assert message in failure("psa", "vocabulary", config, "-o", tmp_path / "labels", *given)


def test_a_corpus_without_tokens_is_refused(tmp_path: Path, config: Path) -> None:
    DocBin(docs=[Doc(Vocab())]).to_disk(tmp_path / "train.spacy")
    result = run("psa", "vocabulary", config, "-o", tmp_path / "labels")
    assert result.exit_code == 1
    assert "[P436]" in result.output
    assert not (tmp_path / "labels").exists()


def test_the_folder_is_checked_before_the_corpus_is_read(tmp_path: Path, config: Path) -> None:
    (tmp_path / "labels").write_text("")
    for name in ("train", "dev"):
        (tmp_path / f"{name}.spacy").write_text("")
    message = failure("psa", "vocabulary", config, "-o", tmp_path / "labels")
    assert "P412" in message and "labels" in message
