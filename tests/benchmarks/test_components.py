"""The benchmark of whole components: what they learn, what is timed, and the page."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Any

import pytest
import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from benchmarks import chunks, components, components_page
from benchmarks.pipelines import portions


@pytest.fixture
def docs(tmp_path: Path) -> list[Doc]:
    nlp = spacy.blank("en")
    made = []
    for words in (["We", "can", "fish", "in", "town"], ["The", "old", "man", "sleeps"]) * 3:
        doc = Doc(nlp.vocab, words=words)
        doc.spans["chunks"] = [Span(doc, 0, 2, "NP"), Span(doc, 3, 4, "VP")]
        made.append(doc)
    DocBin(docs=made, store_user_data=True).to_disk(tmp_path / "train.spacy")
    return chunks.read(tmp_path / "train.spacy", 4)


def test_all_components_learn_the_same_chunks(docs: list[Doc]) -> None:
    assert len(docs) == 4
    assert [(ent.start, ent.end, ent.label_) for ent in docs[0].ents] == [
        (0, 2, "NP"),
        (3, 4, "VP"),
    ]
    assert [token.tag_ for token in docs[0]] == ["B-NP", "L-NP", "O", "U-VP", "O"]


@pytest.mark.parametrize("name", ["tagger", "bilstm-crf", "psa"])
def test_a_pipeline_is_trained_and_tags(name: str, docs: list[Doc]) -> None:
    nlp = components.make_pipeline(name, docs, None, hidden=8)
    trainer = components.Trainer(nlp, docs)
    pipe = nlp.get_pipe(nlp.pipe_names[0])
    before = pipe.model.to_bytes()
    trainer.train(2, len(docs))
    assert pipe.model.to_bytes() != before
    for whole in (True, False):
        components.tagging(nlp, docs, whole=whole)()


def test_tags_are_told_apart_by_words(docs: list[Doc]) -> None:
    for doc in docs:
        chunks.tag_words(doc, 1000)
    # Two of the words had the same chunk tag, O
    assert len({token.tag_ for token in docs[0]}) == len({token.text for token in docs[0]})
    for doc in docs:
        chunks.tag_words(doc, 4)
    tags = [[token.tag_ for token in doc] for doc in docs]
    assert tags[0] == tags[2] and tags[1] == tags[3]
    found = {tag for sentence in tags for tag in sentence}
    assert len(found) > 1 and found <= {f"T{i}" for i in range(4)}
    nlp = components.make_pipeline("lan", docs, None, hidden=8, target="tag")
    assert set(nlp.get_pipe("psa_tagger").labels) == found


def test_the_page_says_how_many_labels_there_were() -> None:
    results = {"sentences": 4, "hidden": 8, "relative to": {}, "overhead": {}, "machine": {}}
    assert "labels" not in components_page.tables(results)[1]
    assert "relabeled with 425 tags" in components_page.tables({**results, "labels": 425})[1]


def test_in_reduced_precision_ours_are_there_twice_and_reduced_after_training(
    docs: list[Doc], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "train.spacy")
    reduce, trained = components.reduce_pipeline, []
    monkeypatch.setattr(components, "installed", tuple)

    def reduce_pipeline(nlp: Language, precision: str) -> int:
        trained.append(nlp.config["components"]["psa_tagger"]["model"]["mixed_precision"])
        return reduce(nlp, precision)

    monkeypatch.setattr(components, "reduce_pipeline", reduce_pipeline)
    # The original is slow
    monkeypatch.setattr(components, "seconds_of_products", lambda *args: 0.0)
    options = (
        "--precision bf16 --repeat 1 --alone 2 --sentences 4 --warm-up 4 --hidden 8 --systems psa"
    )
    paths = ["--data", str(tmp_path), "--output", str(tmp_path)]
    monkeypatch.setattr("sys.argv", ["components", *options.split(), *paths])
    components.main()
    assert trained == ["bf16"]
    results = json.loads((tmp_path / "components-8-bf16.json").read_text(encoding="utf8"))
    assert list(results["relative to"]["tagger"]) == [
        "training, 10",
        "training, 32",
        "tagging, pipe",
        "tagging, one by one",
    ]
    for shares in (*results["products"].values(), results["overhead"]):
        assert list(shares) == ["psa", "psa, bf16"]
    page = (tmp_path / "components-8-bf16.md").read_text(encoding="utf8")
    assert "| psa, bf16 |" in page and "trained in mixed precision" in page
    assert "python -m benchmarks.components --hidden 8 --precision bf16`" in page


def test_on_a_gpu_some_run_on_the_cpu_too_and_speeds_are_absolute_as_well(
    docs: list[Doc], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "train.spacy")
    monkeypatch.setattr(components, "installed", tuple)
    # There need not be a GPU
    monkeypatch.setattr(components, "use_device", lambda *args, **options: None)
    monkeypatch.setattr(components, "make_clock", lambda *args: time.perf_counter)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU")
    made = []
    make = components.make_pipeline

    def make_pipeline(name: str, **options: Any) -> Language:
        nlp = make(name, **options)
        made.append((name, options["gpu"], nlp))
        return nlp

    monkeypatch.setattr(components, "make_pipeline", make_pipeline)
    options = "--device cuda --on-cpu psa --systems psa --alone 2"
    options += " --repeat 1 --sentences 4 --warm-up 4 --hidden 8"
    paths = ["--data", str(tmp_path), "--output", str(tmp_path)]
    monkeypatch.setattr("sys.argv", ["components", *options.split(), *paths])
    components.main()
    ours = [(gpu, nlp) for name, gpu, nlp in made if name == "psa"]
    assert [gpu for gpu, _ in ours] == [True, False]
    for gpu, nlp in ours:
        assert nlp.config["components"]["psa_tagger"]["model"]["cuda_graphs"] is gpu
    results = json.loads((tmp_path / "components-8-cuda.json").read_text(encoding="utf8"))
    assert results["relative to"]["psa, CPU"]["training, 10"]["psa, CPU"] == 1.0
    speeds = results["sentences per second"]
    assert all(list(s) == ["tagger", "ner", "psa", "psa, CPU"] for s in speeds.values())
    page = (tmp_path / "components-8-cuda.md").read_text(encoding="utf8")
    assert "Sentences per second, of" in page and "tokens per second, pipe" in page


def test_on_the_cpu_there_is_nothing_to_compare_it_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["components", "--data", str(tmp_path), "--on-cpu", "psa"])
    with pytest.raises(SystemExit):
        components.main()
    assert "--on-cpu needs --device cuda" in capsys.readouterr().err


def test_results_of_another_width_or_other_labels_stand_beside_the_usual_ones() -> None:
    usual = components.name_of(components.HIDDEN, None)
    others = [components.name_of(*w) for w in ((300, None), (components.HIDDEN, 5), (300, 5))]
    assert usual == "components"
    assert others == ["components-300", "components-labels", "components-labels-300"]
    assert components.name_of(300, None, "bf16") == "components-300-bf16"


def test_what_is_not_the_model_is_a_share(docs: list[Doc]) -> None:
    nlp = components.make_pipeline("bilstm-softmax", docs, None, hidden=8)
    ticks = itertools.count()
    share = components.overhead(nlp, docs, 1, lambda: float(next(ticks)))
    # By this clock, `predict` takes one tick of three
    assert share == pytest.approx(2 / 3)
    assert nlp.get_pipe("psa_tagger").predict.__name__ == "predict"


def test_the_page_gives_ratios_and_shares() -> None:
    page = components_page.to_markdown(
        {
            "machine": {
                "processor": "P",
                "threads": 1,
                "torch": "2",
                "spacy": "3",
                "flair": "0.15",
            },
            "clock": "wall",
            "device": "cpu",
            "repetitions": 3,
            "sentences": 4,
            "hidden": 8,
            "relative to": {
                "tagger": {"training, 10": {"tagger": 1.0, "psa": 0.254, "flair": 0.1}},
                "flair": {"training, 10": {"tagger": 10.0, "psa": 2.54, "flair": 1.0}},
            },
            "products": {"training, 10": {"psa": 0.654}},
            "overhead": {"psa": 0.125},
        }
    )
    assert "**spaCy tagger = 1**" in page and "**flair 0.15 = 1**" in page
    assert "| flair 0.15 | 0.10 |" in page and "| spaCy tagger | 10.00 |" in page
    assert "| system | training, 10 |" in page and "| psa | 0.65 |" in page
    assert "| psa | 0.25 |" in page and "| psa | 12.5% |" in page
    assert "python -m benchmarks.components --hidden 8`" in page


def test_a_portion_is_of_other_sentences_each_time(docs: list[Doc]) -> None:
    next_words = portions(docs[:3], 2)
    texts = [[words[0] for words in next_words()] for _ in range(3)]
    assert texts == [["We", "The"], ["We", "We"], ["The", "We"]]
    assert len(portions(docs[:3], None)()) == 3
