"""The partial-annotation experiment: what is hidden, the configs and the results."""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

import pytest
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Config

from benchmarks import hiding, partial
from spacy_psa.annotation.targets import make_target
from spacy_psa.evaluation.conlleval import ConllevalResult, Counts

from ..cli.commands import run as spacy_cli
from ..figures.reading import marks

ROOT = Path(__file__).parents[2]
N_DOCS = 200
designs = pytest.mark.parametrize("design", hiding.HIDING)


def chunked_docs(n: int = N_DOCS) -> list[Doc]:
    """Sentences of various lengths, with chunks and tokens outside of chunks."""
    rng, vocab, docs = random.Random(1), Vocab(), []
    for i in range(n):
        lengths = [rng.randint(1, 4) for _ in range(rng.randint(1, 8))]
        words = [f"w{rng.randint(0, 30)}" for _ in range(sum(lengths) + 1)]
        doc = Doc(vocab, words=words, tags=["NN" if i % 2 else "VB" for _ in words])
        spans, start = [], 0
        for length in lengths:
            if length > 1 or rng.random() < 0.5:
                spans.append(Span(doc, start, start + length, rng.choice(["NP", "VP"])))
            start += length
        doc.spans["chunks"] = spans
        docs.append(doc)
    return docs


@pytest.fixture(scope="module")
def docs() -> list[Doc]:
    return hiding.plain_docs(chunked_docs(), "spans", "chunks", Vocab())


def hide(docs: Sequence[Doc], design: str, share: float = 0.5, seed: int = 0) -> hiding.Hidden:
    parts = [hiding.units(doc) for doc in docs]
    return hiding.HIDING[design](parts, share, random.Random(seed))


def tags(doc: Doc, target: str = "ents") -> list[str | None]:
    words = Doc(doc.vocab, words=[token.text for token in doc])
    return make_target(target, spans_key="chunks").gold_tags(Example(words, doc), (0,))


def test_groups_of_spans_become_entities(docs: list[Doc]) -> None:
    for doc, source in zip(docs, chunked_docs(), strict=True):
        assert tags(doc) == tags(source, "spans")
        assert not doc.spans and not doc.has_annotation("TAG")


def test_entities_as_tags_have_units_of_one_token(docs: list[Doc]) -> None:
    tagged = hiding.as_tags(docs)
    for doc, source in zip(tagged, docs, strict=True):
        assert [token.text for token in doc] == [token.text for token in source]
        expected = [None] * len(source)
        for ent in source.ents:
            expected[ent.start : ent.end] = [f"B-{ent.label_}"] + [f"I-{ent.label_}"] * (
                len(ent) - 1
            )
        assert [token.tag_ for token in doc] == [tag or "O" for tag in expected]
        assert hiding.units(doc) == [(i, i + 1) for i in range(len(doc))]


def test_a_tag_is_hidden_whatever_its_neighbours_are(docs: list[Doc]) -> None:
    tagged = hiding.as_tags(docs)
    hidden = hide(tagged, "tokens")
    inside = [
        i in tokens
        for doc, tokens in zip(tagged, hidden, strict=True)
        for i, token in enumerate(doc)
        if token.tag_.startswith("I-")
    ]
    begins = [
        i in tokens
        for doc, tokens in zip(tagged, hidden, strict=True)
        for i, token in enumerate(doc)
        if token.tag_.startswith("B-")
    ]
    assert 0.4 < sum(inside) / len(inside) < 0.6
    assert 0.4 < sum(begins) / len(begins) < 0.6
    assert len(hiding.only_complete(tagged, hidden)) < 0.1 * N_DOCS


def test_tags_stay_tags() -> None:
    source = chunked_docs(3)
    copies = hiding.plain_docs(source, "tag", "chunks", Vocab())
    assert [tags(doc, "tag") for doc in copies] == [tags(doc, "tag") for doc in source]
    assert not any(doc.has_annotation("ENT_IOB") for doc in copies)


def test_units_are_spans_and_tokens_outside(docs: list[Doc]) -> None:
    for doc in docs:
        units = hiding.units(doc)
        assert [i for start, end in units for i in range(start, end)] == list(range(len(doc)))
        long = [(ent.start, ent.end) for ent in doc.ents if len(ent) > 1]
        assert [unit for unit in units if unit[1] - unit[0] > 1] == long


@designs
@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_as_many_tokens_are_hidden_as_asked_for(docs: list[Doc], design: str, share: float) -> None:
    found = sum(map(len, hide(docs, design, share))) / sum(map(len, docs))
    # Stretches match the share only on average
    assert found == pytest.approx(share, abs=0.1 if design == "stretches" else 0.01)


@designs
def test_spans_are_hidden_as_a_whole(docs: list[Doc], design: str) -> None:
    hidden = hide(docs, design)
    cut = [
        ent
        for doc, tokens in zip(docs, hidden, strict=True)
        for ent in doc.ents
        if 0 < len(tokens & set(range(ent.start, ent.end))) < len(ent)
    ]
    assert cut == []


@designs
def test_what_is_hidden_depends_on_the_seed_alone(docs: list[Doc], design: str) -> None:
    assert hide(docs, design) == hide(docs, design)
    assert hide(docs, design) != hide(docs, design, seed=1)


def test_designs_differ_in_how_many_sentences_stay_complete(docs: list[Doc]) -> None:
    left = {d: len(hiding.only_complete(docs, hide(docs, d))) for d in hiding.HIDING}
    assert left["tokens"] < left["stretches"] < left["sentences"]
    assert 0.4 * N_DOCS < left["sentences"] < 0.6 * N_DOCS


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_stretches_go_across_the_ends_of_sentences(docs: list[Doc], share: float) -> None:
    hidden = hide(docs, "stretches", share)
    flat = [i in tokens for doc, tokens in zip(docs, hidden, strict=True) for i in range(len(doc))]
    changes = sum(a != b for a, b in pairwise(flat))
    # Stretches twice or half as long would be far off
    assert len(flat) / changes == pytest.approx(hiding.STRETCHES / 2, rel=0.3)


def test_hidden_sentences_are_hidden_as_a_whole(docs: list[Doc]) -> None:
    for doc, tokens in zip(docs, hide(docs, "sentences"), strict=True):
        assert len(tokens) in (0, len(doc))


@pytest.mark.parametrize("target", ["ents", "tag"])
def test_hidden_tokens_are_unknown_and_no_others(target: str, tmp_path: Path) -> None:
    docs = hiding.plain_docs(
        chunked_docs(20), "spans" if target == "ents" else target, "chunks", Vocab()
    )
    hidden = hide(docs, "tokens")
    partial.write(tmp_path / "train.spacy", hiding.as_unknown(docs, hidden))
    read = DocBin().from_disk(tmp_path / "train.spacy").get_docs(Vocab())
    for doc, left, tokens in zip(docs, read, hidden, strict=True):
        expected = [None if i in tokens else tag for i, tag in enumerate(tags(doc, target))]
        assert tags(left, target) == expected


def test_hidden_tokens_may_be_taken_to_be_outside(docs: list[Doc]) -> None:
    hidden = hide(docs, "tokens")
    for doc, left, tokens in zip(docs, hiding.as_outside(docs, hidden), hidden, strict=True):
        assert tags(left) == ["O" if i in tokens else tag for i, tag in enumerate(tags(doc))]


def test_documents_are_not_changed(docs: list[Doc]) -> None:
    before = [tags(doc) for doc in docs]
    hiding.make_runs(docs, "ents", partial.DESIGNS, [0.5], 0)
    assert [tags(doc) for doc in docs] == before


def test_runs_of_spans() -> None:
    docs = hiding.plain_docs(chunked_docs(), "spans", "chunks", Vocab())
    runs = hiding.make_runs(docs, "ents", ["stretches"], [0.5], 0)
    assert list(runs) == ["all", *(f"stretches-50-{x}" for x in hiding.TREATMENTS)]
    n_tokens = sum(map(len, docs))
    counts = {name: hiding.count_annotated(run) for name, run in runs.items()}
    assert counts["all"] == counts["stretches-50-outside"] == n_tokens
    assert counts["stretches-50-complete"] < counts["stretches-50-unknown"] < n_tokens
    assert len(runs["stretches-50-unknown"]) == len(docs)


def test_the_more_is_hidden_the_less_is_annotated() -> None:
    docs = hiding.plain_docs(chunked_docs(), "spans", "chunks", Vocab())
    runs = hiding.make_runs(docs, "ents", ["tokens"], [0.125, 0.75], 0)
    names = ["all", "tokens-12.5-unknown", "tokens-75-unknown"]
    counts = [hiding.count_annotated(runs[name]) for name in names]
    assert counts[0] > counts[1] > counts[2]


def test_of_whole_sentences_only_the_complete_ones_are_left() -> None:
    docs = hiding.plain_docs(chunked_docs(), "spans", "chunks", Vocab())
    runs = hiding.make_runs(docs, "ents", ["sentences"], [0.5], 0)
    assert list(runs) == ["all", "sentences-50-complete"]
    assert hiding.count_annotated(runs["sentences-50-complete"]) == sum(
        map(len, runs["sentences-50-complete"])
    )


def test_tags_have_no_outside_to_be_taken_for() -> None:
    docs = hiding.plain_docs(chunked_docs(), "tag", "chunks", Vocab())
    runs = hiding.make_runs(docs, "tag", ["tokens"], [0.5], 0)
    assert list(runs) == ["all", "tokens-50-unknown", "tokens-50-complete"]


@pytest.mark.parametrize("text", ["0", "1", "half", "nan", "-0.5"])
def test_shares_that_hide_nothing_or_all_are_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="above 0 and below 1"):
        partial.share(text)


# Configs


def adapted(name: str, target: str = "ents") -> Config:
    config = Config().from_disk(ROOT / "configs" / f"{name}.cfg", interpolate=False)
    files = {"train": Path("a.spacy"), "dev": Path("b.spacy")}
    return partial.adapt(config, files, vectors="en", seed=3, epochs=2, updates=7, target=target)


def test_all_runs_have_the_same_number_of_updates() -> None:
    training = adapted("bilstm-crf-spans")["training"]
    assert (training["max_epochs"], training["max_steps"]) == (0, 14)
    assert training["eval_frequency"] == 7
    assert training["optimizer"]["learn_rate"]["steps_per_epoch"] == 7


def test_spans_are_learnt_as_entities() -> None:
    config = adapted("bilstm-crf-spans")
    assert config["components"]["psa_tagger"]["target"] == "ents"
    assert config["training"]["score_weights"]["ents_f"] == 1.0
    assert config["paths"]["train"] == str(Path("a.spacy").resolve())
    assert config["paths"]["vectors"] == "en" and config["system"]["seed"] == 3


def test_spans_may_be_learnt_as_tags() -> None:
    config = adapted("bilstm-crf-spans", "tag")
    assert config["components"]["psa_tagger"]["target"] == "tag"
    assert config["training"]["score_weights"] == {"tag_acc": 1.0}


def test_the_given_config_is_not_changed() -> None:
    config = Config().from_disk(ROOT / "configs" / "bilstm-crf-spans.cfg", interpolate=False)
    before = config.to_str(interpolate=False)
    files = {"train": Path("a.spacy"), "dev": Path("b.spacy")}
    partial.adapt(config, files, vectors=None, seed=0, epochs=1, updates=1, target="ents")
    assert config.to_str(interpolate=False) == before


def test_configs_for_other_targets_are_refused() -> None:
    config = Config({"components": {"a": {"factory": "psa_tagger", "target": "morph"}}})
    with pytest.raises(SystemExit, match="morph"):
        partial.find_target(config)
    with pytest.raises(SystemExit, match="one component"):
        partial.find_target(Config({"components": {"a": {"factory": "tagger"}}}))


def test_an_epoch_is_one_pass_over_the_complete_data() -> None:
    config = Config().from_disk(ROOT / "configs" / "bilstm-crf-spans.cfg", interpolate=False)
    assert partial.updates_per_epoch(config, 7936) == 794


def test_data_that_is_incomplete_already_is_refused(tmp_path: Path) -> None:
    docs = chunked_docs(2)
    docs[0][0].tag_ = ""
    path = partial.write(tmp_path / "train.spacy", docs)
    with pytest.raises(SystemExit, match="complete"):
        partial.read(path, "tag", "chunks")
    with pytest.raises(SystemExit, match="other"):
        partial.read(path, "spans", "other")


# Results


SCORES = {
    "all": 90.0,
    "tokens-50-unknown": 89.25,
    "tokens-50-complete": 85.0,
    "tokens-50-outside": 82.0,
}


def results(runs: dict[str, float]) -> dict[str, Any]:
    return {
        "config": "x.cfg",
        "vectors": "en",
        "target": "ents",
        "data": "corpus",
        "epochs": 2,
        "updates": 14,
        "seed": 0,
        "runs": {
            run: {"sentences": 3, "tokens": 20, "annotated": 10, "dev": score, "test": score}
            for run, score in runs.items()
        },
    }


def test_the_page_says_what_is_lost() -> None:
    page = partial.to_markdown(results(SCORES))
    assert "| hidden tokens: hidden tokens may have any label | 50 % | 3 | 20 | 10 |" in page
    assert "dropping incomplete sentences loses 5.00" in page
    assert "learning from them as they are loses 0.75, 15% of that" in page


def test_the_page_tells_tags_of_spans_from_other_tags() -> None:
    page = partial.to_markdown({**results(SCORES), "target": "tags of spans"}, "other")
    assert "spans learned as tags" in page and "test F1" in page and "other.svg" in page
    assert "test accuracy" in partial.to_markdown({**results(SCORES), "target": "tag"})


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_page_and_picture_show_what_there_is_so_far(n: int) -> None:
    part = results(dict(list(SCORES.items())[:n]))
    assert partial.to_markdown(part).count("\n| ") == 2 + n
    assert len(marks(partial.to_picture(part), "point")) >= n - 1


def test_the_picture_has_a_point_for_each_share_and_begins_where_nothing_is_hidden() -> None:
    curve = {"all": 90.0, "tokens-25-unknown": 89.5, "tokens-75-unknown": 87.25}
    picture = partial.to_picture(results(curve))
    told = " ".join(marks(picture, "point"))
    assert all(f": {score:g};" in told for score in (90.0, 89.5, 87.25))
    assert "tokens hidden (%)" in picture


def test_runs_that_lose_very_much_are_in_the_table_only() -> None:
    part = results({**SCORES, "tokens-75-complete": 40.0})
    assert "| 75 % |" in partial.to_markdown(part)
    assert "40</title>" not in partial.to_picture(part)


def fake_training(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let `main` work without training, and collect the names of its training folders."""
    trained: list[str] = []
    result = ConllevalResult(Counts(gold=2, predicted=2, correct=1))
    monkeypatch.setattr(partial, "run_spacy_train", lambda folder: trained.append(folder.name))
    monkeypatch.setattr(partial, "score_docbins", lambda *args, **settings: result)
    return trained


def run_main(
    monkeypatch: pytest.MonkeyPatch, folder: Path, *options: str, results: str = "partial.json"
) -> dict[str, Any]:
    data = partial.write(folder / "data.spacy", chunked_docs(40))
    arguments = [f"--{part}={data}" for part in partial.PATHS]
    config = ROOT / "configs" / "bilstm-crf-spans.cfg"
    arguments += [f"--config={config}", f"--runs={folder / 'runs'}", f"--output={folder / 'out'}"]
    monkeypatch.setattr(sys, "argv", ["partial", *arguments, *options])
    partial.main()
    return json.loads((folder / "out" / results).read_text(encoding="utf8"))


def test_what_is_trained_is_not_trained_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trained = fake_training(monkeypatch)
    found = run_main(monkeypatch, tmp_path, "--only", "all", "tokens-50-unknown")
    assert trained == list(found["runs"]) == ["all", "tokens-50-unknown"]
    assert found["runs"]["all"]["test"] == 50.0
    found = run_main(monkeypatch, tmp_path, "--hide", "tokens")
    assert list(found["runs"]) == list(SCORES)
    assert trained[2:] == ["tokens-50-complete", "tokens-50-outside"]
    # Results with other settings are not reused
    run_main(monkeypatch, tmp_path, "--only", "all", "--epochs", "1")
    assert trained[4:] == ["all"]
    # Nor are those of another config of the same name
    path = tmp_path / "runs" / "all" / "config.cfg"
    path.write_text(path.read_text(encoding="utf8") + "[other]\n", encoding="utf8")
    run_main(monkeypatch, tmp_path, "--only", "all", "--epochs", "1")
    assert trained[5:] == ["all"]
    assert (tmp_path / "out" / "partial.md").is_file()
    assert (tmp_path / "out" / "partial.svg").read_text(encoding="utf8").startswith("<svg")


def test_a_run_is_trained_by_spacy_and_scored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def here(command: list[str], *, stdout: TextIO, stderr: int) -> SimpleNamespace:
        assert command[:3] == [sys.executable, "-m", "spacy"] and stderr == subprocess.STDOUT
        result = spacy_cli(*command[3:])
        stdout.write(result.output)
        return SimpleNamespace(returncode=result.exit_code)

    # A new process takes longer to start than to train
    process = SimpleNamespace(run=here, STDOUT=subprocess.STDOUT)
    monkeypatch.setattr(partial, "subprocess", process)
    found = run_main(monkeypatch, tmp_path, "--only", "tokens-50-unknown", "--epochs", "1")
    run = found["runs"]["tokens-50-unknown"]
    assert run["sentences"] == 40 and run["annotated"] < run["tokens"]
    assert 0.0 <= run["test"] == run["dev"] <= 100.0
    folder = tmp_path / "runs" / "tokens-50-unknown"
    assert "Saved pipeline" in (folder / "train.log").read_text(encoding="utf8")
    trained = Config().from_disk(folder / "model-best" / "config.cfg")
    assert trained["components"]["psa_tagger"]["target"] == "ents"


def test_spans_as_tags_are_scored_as_spans(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trained = fake_training(monkeypatch)
    options = ("--as-tags", "--name", "tags", "--only", "all", "tokens-50-unknown")
    run_main(monkeypatch, tmp_path, *options, results="tags.json")
    found = json.loads((tmp_path / "out" / "tags.json").read_text(encoding="utf8"))
    assert found["target"] == "tags of spans" and len(trained) == 2
    assert found["runs"]["all"]["test"] == 50.0
    train = DocBin().from_disk(tmp_path / "runs" / "tokens-50-unknown" / "train.spacy")
    left = {token.tag_ for doc in train.get_docs(Vocab()) for token in doc}
    assert {"", "O", "B-NP", "I-NP"} <= left


def test_a_training_that_fails_is_an_error_that_names_the_log(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Starts faster than spaCy
    (tmp_path / "spacy.py").write_text("raise SystemExit('no training')", encoding="utf8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(SystemExit, match=r"train\.log"):
        partial.run_spacy_train(tmp_path)
    assert "no training" in (tmp_path / "train.log").read_text(encoding="utf8")


def test_runs_that_there_are_not_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit, match=r"no run some\. Runs: all, tokens-50-unknown"):
        run_main(monkeypatch, tmp_path, "--only", "some")
