"""`psa reproduce`: systems trained with several seeds on a tiny corpus."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from thinc.api import Config

from spacy_psa.cli import _reproduction_scores
from spacy_psa.cli._configs import make_config
from spacy_psa.cli._docbins import read_docs
from spacy_psa.cli._reproduction_runs import (
    Plan,
    ReproductionRun,
    make_system,
    parse_systems,
    warn_of_other_words,
)
from spacy_psa.cli._reproduction_scores import ENVIRONMENT, score_tags
from spacy_psa.cli._templates import names
from spacy_psa.cli._training_files import reads_texts
from spacy_psa.cli.conlleval import score_docbins
from spacy_psa.cli.reproduce import result_table
from spacy_psa.reproduction.papers import read_papers
from spacy_psa.reproduction.results import Result, read_results

from ..training.runs import CONFIG, weights, write_corpora
from .commands import plain, run

torch.set_num_threads(1)

UPDATES = 4  # per epoch
HEAD = "[paths]\ntrain = null\ndev = null\nvectors = null\n\n[system]\nseed = 0\n"


def write_system(path: Path, **encoder: Any) -> Path:
    """Write a system's config as a user would."""
    config = Config().from_str(HEAD + CONFIG, interpolate=False)
    for part in ("train", "dev"):
        config["corpora"][part]["path"] = f"${{paths.{part}}}"
    config["training"]["seed"] = "${system.seed}"
    config["components"]["labels"]["model"]["encoder"].update(encoder)
    config.to_disk(path)
    return path


def call(folder: Path, home: Path, *more: object, systems: str = "") -> Any:
    """Run the command on a folder's corpus and configs, with its output in `home`."""
    two = f"small={folder / 'small.cfg'} smaller={folder / 'smaller.cfg'}"
    options: dict[str, object] = {
        "--corpus-name": "tiny",
        "--target": "tag",
        "--data": folder,
        "--systems": systems or two,
        "--seeds": "0 1",
        "--epochs": 1,
        "--runs": home / "runs",
        "--output": home / "results.json",
    }
    options.update(zip(more[::2], more[1::2], strict=True))
    return run("psa", "reproduce", *(word for pair in options.items() for word in pair))


def fail(*arguments: Any, **options: Any) -> str:
    """Run the command, which must fail. RETURNS (str): The message, on one line."""
    result = call(*arguments, **options)
    assert result.exit_code == 1, result.output
    return " ".join(plain(result.output).split())


def results(home: Path) -> list[Result]:
    """The results in a folder, sorted by place and without times."""
    found = sorted(
        read_results(home / "results.json"), key=lambda r: (r.place[:4], str(r.training))
    )
    return [Result(**{**vars(result), "seconds": 0.0}) for result in found]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus and two configs."""
    folder = tmp_path_factory.mktemp("corpus")
    write_corpora(folder)
    shutil.copy(folder / "dev.spacy", folder / "test.spacy")
    write_system(folder / "small.cfg")
    write_system(folder / "smaller.cfg", hidden_width=4)
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Path:
    """The output of two systems trained with two seeds each."""
    home = tmp_path_factory.mktemp("finished")
    done = call(folder, home)
    assert done.exit_code == 0, done.output
    (home / "output.txt").write_text(plain(done.output), encoding="utf8")
    return home


@pytest.fixture
def home(finished: Path, tmp_path: Path) -> Path:
    """A copy of `finished`."""
    return Path(shutil.copytree(finished, tmp_path / "home"))


@pytest.fixture
def updates(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The updates made so far: their number is the sum of the list."""
    done: list[int] = []
    original = Language.update

    def counted(self: Language, *args: Any, **kwargs: Any) -> Any:
        done.append(1)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(Language, "update", counted)
    return done


def test_there_is_a_result_for_each_system_and_seed(finished: Path) -> None:
    found = results(finished)
    expected = [(system, seed) for system in ("small", "smaller") for seed in (0, 1)]
    assert [(r.system, r.seed) for r in found] == expected
    for result in found:
        assert (result.corpus, result.target) == ("tiny", "tag")
        assert result.max_epochs == 1 and 0 < result.best_epoch <= result.epochs <= 1
        assert result.parameters["all"] > result.parameters["without words"] > 0
        assert {"python", "spacy", "torch", "spacy-psa"} <= set(result.versions)
        # The test set is a copy of the development set.
        assert result.test == result.dev
    assert found[0].parameters["all"] > found[2].parameters["all"]
    assert len({result.config for result in found}) == 4


def test_scores_are_those_of_the_conll_script(folder: Path, finished: Path) -> None:
    result = results(finished)[0]
    (run_folder,) = (finished / "runs" / "tiny-tag").glob(f"small-0-{result.config[:8]}")
    counts = score_docbins(folder / "test.spacy", run_folder / "model-best", target="tag")
    assert result.test["accuracy"] == counts.accuracy
    assert result.score("test") == 100 * counts.accuracy


def test_scores_by_length_are_those_of_the_sentences_of_that_length(
    folder: Path, finished: Path, tmp_path: Path
) -> None:
    result = results(finished)[0]
    (run_folder,) = (finished / "runs" / "tiny-tag").glob(f"small-0-{result.config[:8]}")
    docs = read_docs(folder / "test.spacy", Vocab())
    expected = {}
    for name, first, last in (("1\u20134", 1, 4), ("5\u20139", 5, 9), ("10\u201319", 10, 19)):
        some = [doc for doc in docs if first <= len(doc) <= last]
        if some:
            DocBin(docs=some).to_disk(tmp_path / "some.spacy")
            counts = score_docbins(tmp_path / "some.spacy", run_folder / "model-best", target="tag")
            expected[name] = counts.accuracy
    assert result.lengths is not None and len(expected) > 1
    assert {name: scores["accuracy"] for name, scores in result.lengths.items()} == expected


def test_documents_of_several_sentences_are_not_scored_by_length(
    folder: Path, finished: Path, tmp_path: Path
) -> None:
    docs = read_docs(folder / "test.spacy", Vocab())
    for doc in docs:
        for token in doc:
            token.is_sent_start = token.i in (0, len(doc) // 2)
    DocBin(docs=docs).to_disk(tmp_path / "test.spacy")
    (run_folder,) = (finished / "runs" / "tiny-tag").glob("small-0-*")
    settings = {"components": {"labels": {"spans_key": "chunks"}}}
    trained = ReproductionRun("small", 0, Config(), settings, "labels", "", run_folder)
    plan = Plan("tiny", "tag", tmp_path, tmp_path)
    found = score_tags(plan, trained, run_folder / "model-best", ["test"])
    assert set(found) == {"test"} and found["test"] == results(finished)[0].test


def test_the_table_has_means_and_numbers(finished: Path) -> None:
    output = (finished / "output.txt").read_text(encoding="utf8")
    scores = [r.score("test") for r in results(finished) if r.system == "small"]
    line = next(row for row in output.splitlines() if row.startswith("small "))
    assert f"{sum(scores) / 2:.2f} ±" in line
    assert line.split()[-2:] == [f"{max(scores):.2f}", "2"]
    title = next(row for row in output.splitlines() if "accuracy of tiny" in row)
    assert "1 epoch, no pretrained vectors" in title


def test_the_table_can_be_saved(folder: Path, home: Path) -> None:
    done = call(folder, home, "--results", home / "table.md")
    assert done.exit_code == 0, done.output
    text = (home / "table.md").read_text(encoding="utf8")
    assert text.startswith("### accuracy of tiny, 1 epoch, no pretrained vectors\n")
    assert "\n| small | " in text and "\n| smaller | " in text
    alone = call(folder, home, "--output", home / "table.md")
    assert alone.exit_code == 2 and "one JSON file" in alone.output


def test_the_table_says_how_each_system_was_trained_if_they_differ(finished: Path) -> None:
    found = results(finished)
    unlimited = [replace(r, max_epochs=0) if r.system == "smaller" else r for r in found]
    table = result_table(unlimited)
    assert "epoch" not in table.title and table.header[-1] == "training"
    assert [(row[0], row[-2], row[-1]) for row in table.rows] == [
        ("small", "2", "1 epoch, no pretrained vectors"),
        ("smaller", "2", "no limit of epochs, no pretrained vectors"),
    ]


def test_seeds_make_different_models_and_equal_seeds_equal_ones(
    folder: Path, finished: Path, tmp_path: Path
) -> None:
    small = f"small={folder / 'small.cfg'}"
    assert call(folder, tmp_path, "--seeds", "1", systems=small).exit_code == 0
    (again,) = (tmp_path / "runs" / "tiny-tag").iterdir()
    (other,) = (finished / "runs" / "tiny-tag").glob("small-0-*")
    same = finished / "runs" / "tiny-tag" / again.name
    assert weights(again, "model-best") == weights(same, "model-best")
    assert weights(again, "model-best") != weights(other, "model-best")


def test_nothing_is_trained_twice(folder: Path, home: Path, updates: list[int]) -> None:
    before = (home / "results.json").read_bytes()
    done = call(folder, home)
    assert done.exit_code == 0 and plain(done.output).count("already finished") == 4
    assert updates == []
    assert (home / "results.json").read_bytes() == before


def test_a_result_that_is_lost_needs_no_training(
    folder: Path, home: Path, updates: list[int]
) -> None:
    before = results(home)
    (home / "results.json").unlink()
    small = f"small={folder / 'small.cfg'}"
    assert call(folder, home, "--seeds", "0", systems=small).exit_code == 0
    assert updates == []
    assert results(home) == before[:1]


def test_a_result_tells_what_was_trained_with_wherever_it_is_scored(
    folder: Path, home: Path, updates: list[int], gpus: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = results(home)
    assert before[0].device == "cpu"
    (home / "results.json").unlink()
    monkeypatch.setattr(_reproduction_scores, "find_versions", lambda: {"python": "4"})
    small = f"small={folder / 'small.cfg'}"
    assert call(folder, home, "--seeds", "0", "--gpu-id", 0, systems=small).exit_code == 0
    assert updates == [] and gpus == [0]
    assert results(home) == before[:1]

    # A run that did not record its environment
    (home / "results.json").unlink()
    (run_folder,) = (home / "runs" / "tiny-tag").glob("small-0-*")
    (run_folder / ENVIRONMENT).unlink()
    assert call(folder, home, "--seeds", "0", "--gpu-id", 0, systems=small).exit_code == 0
    (result,) = results(home)
    assert (result.device, result.versions) == ("gpu", {"python": "4"})
    assert not (run_folder / ENVIRONMENT).exists()


def test_a_run_on_a_gpu_stays_one_when_it_is_scored_without(
    folder: Path, tmp_path: Path, updates: list[int], gpus: list[int]
) -> None:
    small = f"small={folder / 'small.cfg'}"
    assert call(folder, tmp_path, "--seeds", "0", "--gpu-id", 0, systems=small).exit_code == 0
    assert set(gpus) == {0} and results(tmp_path)[0].device == "gpu"
    (tmp_path / "results.json").unlink()
    assert call(folder, tmp_path, "--seeds", "0", systems=small).exit_code == 0
    assert len(updates) == UPDATES and results(tmp_path)[0].device == "gpu"


def test_a_matrix_that_was_broken_off_goes_on(
    folder: Path,
    finished: Path,
    tmp_path: Path,
    updates: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = Language.update

    def mortal(self: Language, *args: Any, **kwargs: Any) -> Any:
        if len(updates) == UPDATES + 2:
            raise KeyboardInterrupt
        return counted(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Language, "update", mortal)
        broken_off = call(folder, tmp_path)
    assert broken_off.exit_code == 130
    assert "repeat the same command" in " ".join(plain(broken_off.output).split())
    assert [(r.system, r.seed) for r in results(tmp_path)] == [("small", 0)]
    assert list(tmp_path.glob(".*")) == []
    updates.clear()

    assert call(folder, tmp_path).exit_code == 0
    # Resumes from the checkpoint after the first update of the second training.
    assert len(updates) == 3 * UPDATES - 1
    assert results(tmp_path) == results(finished)


def test_a_changed_config_is_trained_again(folder: Path, home: Path, updates: list[int]) -> None:
    small = f"small={write_system(home / 'small.cfg', hidden_width=8)}"
    before = results(home)
    assert call(folder, home, "--seeds", "0", systems=small).exit_code == 0
    assert len(updates) == UPDATES
    after = results(home)
    assert after[1:] == before[1:]
    assert after[0].parameters["all"] > before[0].parameters["all"]


def test_changed_training_data_are_trained_on_again(
    folder: Path, home: Path, updates: list[int]
) -> None:
    other = home / "corpus"
    shutil.copytree(folder, other)
    small = f"small={folder / 'small.cfg'}"
    assert call(other, home, "--seeds", "0", systems=small).exit_code == 0
    write_corpora(other, n_train=23)
    updates.clear()
    assert call(other, home, "--seeds", "0", systems=small).exit_code == 0
    assert len(updates) == UPDATES


def test_changed_code_is_trained_again(folder: Path, home: Path, updates: list[int]) -> None:
    small, code = f"small={folder / 'small.cfg'}", home / "mine.py"
    for width in (8, 9):
        code.write_text(f"WIDTH = {width}\n", encoding="utf8")
        for _ in range(2):
            done = call(folder, home, "--seeds", "0", "--code", code, systems=small)
            assert done.exit_code == 0, done.output
        assert len(updates) == UPDATES
        updates.clear()


def test_results_of_other_settings_are_kept(folder: Path, home: Path, updates: list[int]) -> None:
    small, before = f"small={folder / 'small.cfg'}", results(home)
    options = ("--options", "--training.batcher.size 11")
    assert call(folder, home, "--seeds", "0", *options, systems=small).exit_code == 0
    assert [result for result in results(home) if not result.options] == before
    assert len(results(home)) == len(before) + 1
    updates.clear()
    assert call(folder, home).exit_code == 0
    assert updates == [] and len(results(home)) == len(before) + 1


def test_options_are_for_all_systems(folder: Path, tmp_path: Path, updates: list[int]) -> None:
    options = "--training.batcher.size  11"
    done = call(folder, tmp_path, "--seeds", "0", "--options", options)
    assert done.exit_code == 0, done.output
    assert [r.options for r in results(tmp_path)] == ["--training.batcher.size 11"] * 2
    assert len(updates) < 2 * UPDATES


@pytest.mark.parametrize(
    ("option", "value", "code", "words"),
    [
        ("--data", "nowhere", "P390", "train.spacy, dev.spacy, test.spacy"),
        ("--systems", "bilstm-cfr", "P391", "'bilstm-crf'"),
        ("--systems", "", "P393", "NAME=CONFIG.cfg"),
        ("--systems", "mine=nowhere.cfg", "P393", "mine=nowhere.cfg"),
        ("--seeds", "0 one", "P392", "0 one"),
        ("--seeds", "-1", "P392", "non-negative"),
        ("--seeds", "", "P392", "0 1 2"),
        ("--target", "parse", "P190", "tag, pos, morph, ents, spans, roles"),
        ("--target", "morph", "P397", "spans, ents, roles, tag, pos"),
        ("--corpus-name", "a/b", "P397", "a/b"),
        ("--vectors", "nowhere", "P470", "nowhere"),
        ("--options", "--training.no 1", "P394", "training.no"),
        ("--options", "--training.seed 'a", "P399", "quotation"),
        ("--options", "--epochs 1", "P399", "No such option '--epochs'"),
        ("--options", "--training.dropout none", "P395", "dropout"),
        ("--target", "ents", "P398", "ents"),
    ],
)
def test_mistakes_are_told_before_anything_is_done(
    folder: Path, home: Path, updates: list[int], option: str, value: str, code: str, words: str
) -> None:
    before = (home / "results.json").read_bytes()
    runs = sorted(home.rglob("*"))
    message = fail(folder, home, option, value, *("--seeds", "7") * (option != "--seeds"))
    assert f"[{code}]" in message and words in message
    assert (home / "results.json").read_bytes() == before
    assert sorted(home.rglob("*")) == runs and updates == []


def test_results_that_cannot_be_written_are_told_before_anything_is_done(
    folder: Path, tmp_path: Path, updates: list[int]
) -> None:
    (tmp_path / "file").write_text("x", encoding="utf8")
    for place in (tmp_path, tmp_path / "file" / "results.json"):
        assert "[P412]" in fail(folder, tmp_path, "--output", place)
    assert [path.name for path in tmp_path.iterdir()] == ["file"] and updates == []


def test_names_of_systems_are_not_taken_by_others(folder: Path, tmp_path: Path) -> None:
    message = fail(folder, tmp_path, systems=f"psa={folder / 'small.cfg'}")
    assert "[P393]" in message and list(tmp_path.iterdir()) == []


def test_a_config_without_paths_is_refused(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "bare.cfg"
    path.write_text(CONFIG, encoding="utf8")
    message = fail(folder, tmp_path, systems=f"bare={path}")
    assert "[P394]" in message and "paths.train" in message


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 1, "results": [{"corpus": "x"}]}'])
def test_files_of_others_are_not_written_over(folder: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "results.json").write_text(text, encoding="utf8")
    assert "[P396]" in fail(folder, tmp_path)
    assert (tmp_path / "results.json").read_text(encoding="utf8") == text


def test_systems_of_the_papers_are_made_for_the_corpus(folder: Path, tmp_path: Path) -> None:
    plan = Plan("tiny", "pos", folder, tmp_path, epochs=3)
    config = make_system(plan, "bilstm-crf")
    text = make_config(
        "bilstm-crf", "pos", name="x.cfg", recipe="paper", corpus=folder / "train.spacy"
    )
    plainly = Config().from_str(text, interpolate=False)
    assert config["components"]["psa_tagger"]["target"] == "pos"
    weights = {k: v for k, v in config["training"]["score_weights"].items() if v}
    assert weights == {"pos_acc": 1.0}
    assert config["training"]["max_epochs"] == 3
    rate = plainly["training"]["optimizer"]["learn_rate"]
    assert config["training"]["optimizer"]["learn_rate"] == rate


def test_texts_of_which_spacy_makes_other_words_are_told(folder: Path, tmp_path: Path) -> None:
    vocab = Vocab()
    docs = [
        Doc(vocab, words=["one-two"]),
        Doc(vocab, words=["one-two"], spaces=[False]),
        Doc(vocab, words=["one", "two"], spaces=[True, False]),
    ]
    for part, these in (("train", docs), ("dev", docs[::2])):
        DocBin(docs=these).to_disk(tmp_path / f"{part}.spacy")
    told = r"W445.*in 1 of the 3 Docs of .*train\.spacy, the first in 'one-two'.*spaces=false"
    with pytest.warns(UserWarning, match=told):
        warn_of_other_words(Plan("tiny", "tag", tmp_path, tmp_path / "runs"))


def test_readers_of_texts_are_found_in_the_settings() -> None:
    reader = {"@readers": "spacy.Corpus.v1", "path": "train.spacy"}
    of_words, of_texts = {**reader, "gold_preproc": True}, {**reader, "gold_preproc": False}
    wrapped = {"@readers": "mine.v1", "inner": of_texts}
    assert reads_texts({"corpora": {"train": of_words, "dev": wrapped}})
    # What is no reader may have a setting of that name
    other = {**of_words, "augmenter": {"@augmenters": "mine.v1", "gold_preproc": False}}
    assert not reads_texts({"corpora": {"train": other}})


def test_the_words_of_readers_of_texts_are_compared_before_training(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    recwarn: pytest.WarningsRecorder,
) -> None:
    data = Path(shutil.copytree(folder, tmp_path / "data"))
    DocBin(docs=[Doc(Vocab(), words=["one-two"], spaces=[False])]).to_disk(data / "dev.spacy")
    config = Config().from_disk(folder / "small.cfg", interpolate=False)
    for name in ("words", "texts"):
        for part in ("train", "dev"):
            config["corpora"][part]["gold_preproc"] = name == "words"
        config.to_disk(data / f"{name}.cfg")

    def stop(*_: object) -> None:
        raise ValueError("[P000] stopped")

    monkeypatch.setattr("spacy_psa.cli.reproduce.train_run", stop)
    for name, told in (("words", False), ("texts", True)):
        said = fail(data, tmp_path, systems=f"{name}={data / f'{name}.cfg'}")
        warned = [str(recwarn.pop().message) for _ in range(len(recwarn))]
        assert "[P000]" in said and any("[W445]" in text for text in warned) == told


def test_systems_are_templates_variants_and_files(folder: Path) -> None:
    path = folder / "small.cfg"
    assert parse_systems(f"psa mine={path} psa-no-bias", "tag") == {
        "psa": None,
        "mine": path,
        "psa-no-bias": None,
    }
    assert not set(names("systems")) & set(read_papers().variants)


def test_the_file_is_plain_json(finished: Path) -> None:
    data = json.loads((finished / "results.json").read_text(encoding="utf8"))
    assert data["format"] == 1
    assert {"corpus", "seed", "best_epoch", "test", "seconds"} <= set(data["results"][0])
