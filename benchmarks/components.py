"""How fast whole components are, Docs and all, against spaCy's own.

    OMP_NUM_THREADS=2 python -m benchmarks.components --data corpus/conll2000 --vectors vectors/en

All learn the chunks of the same sentences: spaCy's `tagger` as tags in BIOES, its `ner` as
entities, both with the network that `add_pipe` gives them (HashEmbedCNN); ours as spans, with the
networks of `psa init-config`. Training is timed in batches of 10 and of 32 sentences, tagging with
`nlp.pipe` and one document at a time. All take turns (A B C A B C …) in one process. A figure is
the sentences a second relative to the peer's, as the ratio of medians; more is faster. Time is that
of a clock on the wall, so the machine has to be idle: on a busy one, choose `--clock processor`,
which counts the work of all threads.

What a component does besides its network, from Doc to Doc, is measured by itself, as a share of the
time of tagging.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Corpus, Example, offsets_to_biluo_tags
from spacy.training.initialize import load_vectors_into_model
from spacy.util import load_model_from_config, minibatch, registry
from thinc.api import Config, fix_random_seed
from tqdm import tqdm

from .machine import describe_machine
from .systems import RESULTS, ROOT, only_words

CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
PEERS = ("tagger", "ner")
SYSTEMS = ("bilstm-crf", "bilstm-softmax", "psa", "lan", "refinement", "transformer", "deepatt")
BATCHES = (10, 32)
SPANS_KEY = "chunks"
Pipelines = dict[str, Language]


def main() -> None:
    """Measure, and write `components.json` and `components.md`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with train.spacy")
    parser.add_argument("--vectors", type=Path, help="folder of a pipeline with vectors")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--hidden", type=int, default=600, help="width of BiLSTM, both directions")
    parser.add_argument("--sentences", type=int, default=640, help="sentences to work on")
    parser.add_argument("--warm-up", type=int, default=320, help="sentences to train on before")
    parser.add_argument("--repeat", type=int, default=5, help="turns")
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args()
    clock = CLOCKS[arguments.clock]
    sentences = read(arguments.data / "train.spacy", arguments.sentences)
    pipelines: Pipelines = {}
    for name in (*PEERS, *arguments.systems):
        pipelines[name] = make_pipeline(name, sentences, arguments.vectors, arguments.hidden)
    trainers = {name: Trainer(nlp, sentences) for name, nlp in pipelines.items()}
    for trainer in tqdm(trainers.values(), desc="warm-up"):
        trainer.train(BATCHES[1], arguments.warm_up)
    seconds: dict[str, dict[str, float]] = {}
    for size in BATCHES:
        actions: dict[str, Callable[[], None]] = {
            name: partial(trainer.train, size, len(sentences)) for name, trainer in trainers.items()
        }
        seconds[f"training, {size}"] = measure(actions, arguments.repeat, clock)
    seconds["tagging, pipe"] = measure(
        {name: tagging(nlp, sentences, whole=True) for name, nlp in pipelines.items()},
        arguments.repeat,
        clock,
    )
    seconds["tagging, one by one"] = measure(
        {name: tagging(nlp, sentences[:200], whole=False) for name, nlp in pipelines.items()},
        arguments.repeat,
        clock,
    )
    results = {
        "machine": {**describe_machine(), "threads": torch.get_num_threads()},
        "clock": arguments.clock,
        "repetitions": arguments.repeat,
        "sentences": len(sentences),
        "hidden": arguments.hidden,
        "relative to": {
            peer: {
                what: {name: round(times[peer] / times[name], 3) for name in times}
                for what, times in seconds.items()
            }
            for peer in (*PEERS, "bilstm-crf")
            if peer in pipelines
        },
        "overhead": {
            name: round(overhead(pipelines[name], sentences, arguments.repeat, clock), 3)
            for name in arguments.systems
        },
    }
    arguments.output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2) + "\n"
    (arguments.output / "components.json").write_text(text, encoding="utf8")
    markdown = to_markdown(results)
    (arguments.output / "components.md").write_text(markdown, encoding="utf8")
    print(markdown)


def read(path: Path, limit: int) -> list[Doc]:
    """Read sentences with their chunks, also as entities and as tags.

    path (Path): A file of Docs with `doc.spans["chunks"]`.
    limit (int): Documents at most.
    RETURNS (List[Doc]): The sentences.
    """
    nlp = spacy.blank("en")
    docs = [example.reference for example in Corpus(path, limit=limit)(nlp)]
    for doc in docs:
        spans = [(s.start_char, s.end_char, s.label_) for s in doc.spans[SPANS_KEY]]
        doc.ents = [Span(doc, s.start, s.end, s.label_) for s in doc.spans[SPANS_KEY]]
        for token, tag in zip(doc, offsets_to_biluo_tags(doc, spans), strict=True):
            token.tag_ = tag
    return docs


def make_pipeline(name: str, docs: Sequence[Doc], vectors: Path | None, hidden: int) -> Language:
    """A pipeline of one component, initialized.

    name (str): A component of spaCy, or a system of `psa init-config`.
    docs (Sequence[Doc]): Where its labels come from.
    vectors (Optional[Path]): Pretrained vectors, for our systems.
    hidden (int): Width of a BiLSTM, both directions together.
    RETURNS (Language): The pipeline.
    """
    fix_random_seed(0)
    if name in PEERS:
        nlp = spacy.blank("en")
        nlp.add_pipe(name)
    else:
        config = Config().from_disk(ROOT / "configs" / f"{name}-chunk.cfg", interpolate=False)
        encoder = config["components"]["psa_tagger"]["model"]["encoder"]
        for block in _blocks(encoder):
            if block.get("@architectures") == "spacy_psa.BiLSTM.v1" and name in (
                "bilstm-crf",
                "bilstm-softmax",
                "psa",
            ):
                block["hidden_width"] = hidden
        config["paths"] = {**config["paths"], "train": None, "dev": None, "vectors": None}
        config["initialize"]["vectors"] = None
        nlp = load_model_from_config(config.interpolate(), auto_fill=True)
    if vectors is not None:
        load_vectors_into_model(nlp, vectors, add_strings=True)
    nlp.initialize(lambda: [Example(only_words(nlp, doc), doc) for doc in docs])
    return nlp


def _blocks(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A block of a config, and all blocks in it."""
    yield config
    for value in config.values():
        if isinstance(value, dict):
            yield from _blocks(value)


class Trainer:
    """Trains a pipeline on the same examples again and again, as its config says.

    nlp (Language): The pipeline.
    docs (Sequence[Doc]): The examples.
    """

    def __init__(self, nlp: Language, docs: Sequence[Doc]) -> None:
        self.nlp = nlp
        self.examples = [Example(only_words(nlp, doc), doc) for doc in docs]
        config = nlp.config.interpolate()["training"]["optimizer"]
        self.optimizer = registry.resolve({"optimizer": config})["optimizer"]

    def train(self, batch_size: int, limit: int) -> None:
        """Train on the first `limit` examples."""
        for examples in minibatch(self.examples[:limit], batch_size):
            self.nlp.update(examples, sgd=self.optimizer, losses={})


def tagging(nlp: Language, docs: Sequence[Doc], *, whole: bool) -> Callable[[], None]:
    """What is timed of tagging, the making of Docs included.

    nlp (Language): The pipeline.
    docs (Sequence[Doc]): Where words come from.
    whole (bool): Whether to tag all at once, by `nlp.pipe`.
    RETURNS (Callable[[], None]): Tags them.
    """
    words = [[token.text for token in doc] for doc in docs]

    def tag() -> None:
        made = (Doc(nlp.vocab, words=sentence) for sentence in words)
        if whole:
            for _ in nlp.pipe(made, batch_size=256):
                pass
        else:
            for doc in made:
                nlp(doc)

    return tag


def measure(
    actions: dict[str, Callable[[], None]], repeat: int, clock: Callable[[], float]
) -> dict[str, float]:
    """Time actions in turn.

    actions (Dict[str, Callable[[], None]]): What to do, by name.
    repeat (int): Turns; one more, before, does not count.
    clock (Callable[[], float]): The time.
    RETURNS (Dict[str, float]): Medians of seconds, by name.
    """
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for turn in tqdm(range(repeat + 1), desc="turns"):
        for name, action in actions.items():
            fix_random_seed(0)
            start = clock()
            action()
            if turn:
                seconds[name].append(clock() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def overhead(nlp: Language, docs: Sequence[Doc], repeat: int, clock: Callable[[], float]) -> float:
    """What share of the time of tagging is not spent in the model.

    nlp (Language): A pipeline of ours.
    docs (Sequence[Doc]): What to tag.
    repeat (int): Turns.
    clock (Callable[[], float]): The time.
    RETURNS (float): Between 0 and 1. The making of Docs counts, best sequences do not.
    """
    pipe: Any = nlp.get_pipe("psa_tagger")
    predict, spent = pipe.predict, 0.0

    def timed(docs: Sequence[Doc]) -> Any:
        nonlocal spent
        start = clock()
        result = predict(docs)
        spent += clock() - start
        return result

    pipe.predict = timed
    shares = []
    try:
        tag = tagging(nlp, docs, whole=True)
        for turn in range(repeat + 1):
            spent, start = 0.0, clock()
            tag()
            if turn:
                shares.append(1 - spent / (clock() - start))
    finally:
        del pipe.predict
    return statistics.median(shares)


def to_markdown(results: dict[str, Any]) -> str:
    """The results as a page.

    results (Dict[str, Any]): What was measured.
    RETURNS (str): Markdown.
    """
    machine = results["machine"]
    lines = ["# Whole components", "", "Written by `python -m benchmarks.components`.", ""]
    lines += [
        f"Sentences per second on {machine['processor']}, {machine['threads']} thread(s), PyTorch "
        f"{machine['torch']}, spaCy {machine['spacy']}, relative to the peer of each table (more "
        f"is faster): medians of {results['repetitions']} turns on the same {results['sentences']} "
        f"sentences of CoNLL-2000, by the {results['clock']} clock. The BiLSTM of `bilstm-crf`, "
        f"`bilstm-softmax` and `psa` has {results['hidden']} units, both directions together.",
    ]
    for peer, table in results["relative to"].items():
        title = f"spaCy's `{peer}` = 1" if peer in PEERS else f"{peer} = 1"
        lines += ["", f"## {title}", ""]
        lines.append("| system | " + " | ".join(table) + " |")
        lines.append("| --- |" + " ---: |" * len(table))
        for name in next(iter(table.values())):
            cells = " | ".join(f"{table[what][name]:.2f}" for what in table)
            lines.append(f"| {'spaCy ' if name in PEERS else ''}{name} | {cells} |")
    lines += ["", "## What is not the model", ""]
    lines.append("The share of the time of tagging that is not spent in the component's `predict`:")
    lines += ["", "| system | share |", "| --- | ---: |"]
    lines += [f"| {name} | {share:.1%} |" for name, share in results["overhead"].items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
