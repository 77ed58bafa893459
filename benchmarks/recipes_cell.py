"""Train one cell of the recipes' benchmark: one pipeline, in a process of its own.

    python -m benchmarks.recipes_cell SPECIFICATION.json

The loop is spaCy's, as in `spacy train`, for all systems but other toolkits. Whenever the score on
the development set is the best so far, the test set is scored as well: that is the pipeline a user
would have. What is counted is the processor time of the updates alone, without evaluation; for
other toolkits, all of their training.
"""

import base64
import json
import signal
import sys
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from spacy.cli.init_config import init_config
from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.scorer import Scorer
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import (
    create_evaluation_callback,
    create_train_batches,
    train_while_improving,
)
from spacy.util import registry, resolve_dot_names, set_dot_to_object
from thinc.api import Config, fix_random_seed

from spacy_psa.cli._configs import make_config
from spacy_psa.evaluation.layers import make_layer
from spacy_psa.reproduction.papers import read_papers

from .cells import write_result
from .comparisons_variants import LONG
from .machine import describe_machine
from .recipes_data import CHUNKS, CORPORA, PARTS, read
from .recipes_peers import PEERS, predicted
from .recipes_training import Limit, Training
from .recipes_variants import VARIANTS
from .systems import SCORES

SPACY = "spacy"
SYSTEMS = ("psa", SPACY, "bilstm-crf")
# Components of spaCy that learn a target, and their scores
COMPONENTS = {"ents": ("ner", "ents_f"), "spans": ("ner", "ents_f"), "tag": ("tagger", "tag_acc")}


@dataclass(frozen=True)
class Cell:
    """What is trained.

    corpus (str): The corpus.
    size (Optional[int]): The number of training sentences; None for all.
    system (str): A system of `psa init-config`, with or without "+" and a variant, or "spacy".
    seed (int): The seed.
    vectors (bool): Whether there are pretrained vectors.
    """

    corpus: str
    size: int | None
    system: str
    seed: int
    vectors: bool = True

    @property
    def name(self) -> str:
        """RETURNS (str): The name of its file."""
        plain = "" if self.vectors or CORPORA[self.corpus].lang != "en" else "-plain"
        return f"{self.corpus}-{self.size or 'all'}-{self.system}{plain}-{self.seed}"


class Clock:
    """The processor time of the updates, and when to stop.

    seconds (float): Stop after so much processor time of updates.
    until (float): Stop at this time (`time.time`).
    """

    def __init__(self, seconds: float, until: float) -> None:
        self.seconds, self.until = seconds, until
        self.start = time.process_time()
        self.paused = 0.0

    def used(self) -> float:
        """RETURNS (float): The processor time so far, in seconds."""
        return time.process_time() - self.start - self.paused

    def is_over(self) -> bool:
        """RETURNS (bool): Whether to stop."""
        return self.used() >= self.seconds or time.time() >= self.until


def main() -> None:
    """Train the cell that the file on the command line specifies, and write its result."""
    torch.set_num_threads(1)
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf8"))
    cell, files = Cell(**given["cell"]), {k: Path(v) for k, v in given["files"].items()}
    seconds, until = given["seconds"], given["until"]
    if cell.system in PEERS:
        found = train_toolkit(cell, files, Limit(seconds, until - time.time()))
    else:
        found = train(make(cell, files), files["test"], Clock(seconds, until))
    result = {**asdict(cell), **found, "machine": describe_machine()}
    write_result(Path(given["output"]), result, indent=None)


def make(cell: Cell, files: dict[str, Path]) -> Config:
    """Make the config of a cell.

    cell (Cell): The cell.
    files (Dict[str, Path]): train, dev and, if there are any, vectors.
    RETURNS (Config): The config.
    """
    corpus = CORPORA[cell.corpus]
    vectors = files.get("vectors")
    system, _, variant = cell.system.partition("+")
    _, settings = {**VARIANTS, **LONG}[variant] if variant else ("", {})
    of_paper = read_papers().variants.get(system)
    if cell.system == SPACY:
        component, _ = COMPONENTS[corpus.target]
        config = init_config(
            lang=corpus.lang, pipeline=[component], optimize="accuracy", silent=True
        )
        embed = config["components"]["tok2vec"]["model"]["embed"]
        embed["include_static_vectors"] = vectors is not None
        config["initialize"]["vectors"] = None if vectors is None else str(vectors)
    else:
        text = make_config(
            system if of_paper is None else of_paper.system,
            corpus.target,
            name="config.cfg",
            recipe="paper" if settings is None else "best",
            corpus=files["train"],
            vectors=None if vectors is None else str(vectors),
            lang=corpus.lang,
        )
        config = Config().from_str(text, interpolate=False)
    config["training"]["logger"] = {"@loggers": "spacy.ConsoleLogger.v1", "progress_bar": False}
    changes = {
        "paths.train": str(files["train"]),
        "paths.dev": str(files["dev"]),
        "system.seed": cell.seed,
        **({} if of_paper is None else of_paper.settings),
        **(settings or {}),
    }
    for path, value in changes.items():
        set_dot_to_object(config, path, value)
    return config


def train(config: Config, test: Path, clock: Clock) -> dict[str, Any]:
    """Train as `spacy train` does.

    config (Config): The config.
    test (Path): The test set.
    clock (Clock): When to stop.
    RETURNS (Dict[str, Any]): The curve of scores, their best, and whether training ended by
        itself, or was cut short by the time of day.
    """
    nlp = init_nlp(config)
    training = nlp.config.interpolate()["training"]
    fix_random_seed(training["seed"])
    score = score_name(nlp)
    T = registry.resolve(training, schema=ConfigSchemaTraining)
    train_corpus, dev_corpus = resolve_dot_names(
        nlp.config.interpolate(), [T["train_corpus"], T["dev_corpus"]]
    )
    tests = list(registry.resolve({"c": _reader(nlp, test)})["c"](nlp))
    evaluate = create_evaluation_callback(nlp, dev_corpus, T["score_weights"])
    optimizer = T["optimizer"]
    n_sentences = sum(1 for _ in train_corpus(nlp))
    curve: list[dict[str, Any]] = []
    kept, best_units = Keeping(nlp), dict[str, str]()
    clock.start = time.process_time()

    def scored() -> tuple[float, dict[str, float]]:
        begun = time.process_time()
        found = evaluate()
        best = max((point["dev"] for point in curve), default=-1.0)
        dev = _percent(found[1][score])
        is_best = dev > best
        at_test = _percent(nlp.evaluate(tests, scorer=kept)[score]) if is_best else None
        curve.append({"dev": dev, "test": at_test})
        if is_best:
            best_units["units"] = pack_units(kept.examples, score)
        clock.paused += time.process_time() - begun
        return found

    steps = train_while_improving(
        nlp,
        optimizer,
        create_train_batches(nlp, train_corpus, T["batcher"], T["max_epochs"]),
        scored,
        dropout=T["dropout"],
        accumulate_gradient=T["accumulate_gradient"],
        patience=T["patience"],
        max_steps=T["max_steps"],
        eval_frequency=T["eval_frequency"],
        exclude=[],
        annotating_components=[],
        before_update=T["before_update"],
    )
    ended, cut = True, False
    for info, is_evaluated in _infos(steps):
        if is_evaluated:
            curve[-1].update(step=info["step"], seconds=round(clock.used(), 2))
        if clock.is_over():
            ended, cut = False, clock.used() < clock.seconds
            if not is_evaluated:
                with nlp.use_params(optimizer.averages):
                    scored()
                curve[-1].update(step=info["step"], seconds=round(clock.used(), 2))
            break
    best = {**max(curve, key=lambda point: point["dev"]), "sentences": n_sentences, **best_units}
    return {"score": score, "ended": ended, "cut": cut, "best": best, "curve": curve}


def train_toolkit(cell: Cell, files: dict[str, Path], limit: Limit) -> dict[str, Any]:
    """Train another toolkit.

    cell (Cell): The cell.
    files (Dict[str, Path]): train, dev, test and, if there are any, vectors.
    limit (Limit): When to stop.
    RETURNS (Dict[str, Any]): As of `train`, but the curve has one point.
    """
    corpus = CORPORA[cell.corpus]
    component, score = COMPONENTS[corpus.target]
    docs = {part: read(files[part]) for part in PARTS}
    begun = time.process_time()
    with TemporaryDirectory() as folder:
        annotate, step = PEERS[cell.system](
            Training(
                docs["train"],
                docs["dev"],
                tags=component == "tagger",
                vectors=files.get("vectors"),
                lang=corpus.lang,
                seed=cell.seed,
                folder=Path(folder),
                limit=limit,
            )
        )
        seconds = round(time.process_time() - begun, 2)
        examples = {part: predicted(annotate, docs[part]) for part in PARTS[1:]}
    scores = {part: _percent(Scorer().score(found)[score]) for part, found in examples.items()}
    point = {**scores, "step": step, "seconds": seconds}
    units = pack_units(examples["test"], score)
    best = {**point, "sentences": len(docs["train"]), "units": units}
    ended, cut = limit.caught is None, limit.caught == signal.SIGALRM
    return {"score": score, "ended": ended, "cut": cut, "best": best, "curve": [point]}


class Keeping(Scorer):
    """Keeps the examples that it scores."""

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        self.examples = list(examples)
        return super().score(self.examples, **kwargs)


def pack_units(examples: Iterable[Example], score: str) -> str:
    """RETURNS (str): For each sentence, the numbers of tokens and of units: gold, predicted and
    correct; packed, to be read by `benchmarks.comparisons`."""
    layer = make_layer(score.partition("_")[0], CHUNKS)
    rows = []
    for example in examples:
        gold, found = (layer.units(doc) for doc in (example.reference, example.predicted))
        rows.append([len(example.reference), len(gold), len(found), len({*gold} & {*found})])
    packed = zlib.compress(np.array(rows, dtype="<u2").tobytes())
    return base64.b64encode(packed).decode("ascii")


def _infos(steps: Iterator[Any]) -> Iterator[tuple[dict[str, Any], bool]]:
    for _, info, is_best in steps:
        yield info, is_best is not None


def score_name(nlp: Language) -> str:
    """RETURNS (str): The score of the pipeline's task."""
    weights = nlp.config["training"]["score_weights"]
    names = [*SCORES.values(), *(name for _, name in COMPONENTS.values())]
    return next(name for name in names if weights.get(name))


def _reader(nlp: Language, path: Path) -> dict[str, Any]:
    return {**nlp.config.interpolate()["corpora"]["dev"], "path": str(path)}


def _percent(value: float | None) -> float:
    return round(100.0 * (value or 0.0), 2)


if __name__ == "__main__":
    main()
