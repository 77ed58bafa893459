"""Schedules by the size of the corpus: updates and evaluations of the recipe `best`, and those of
the papers, which count epochs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Errors, Warnings, warn

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from thinc.api import Config

# Updates for a corpus of n sentences: UPDATES · n^GROWTH, so that a corpus that is ten times as
# large gets 5.6 times as many updates. benchmarks/results/recipes has what it was chosen by.
UPDATES, GROWTH = 5.0, 0.75
# A smaller corpus gets as many updates as one of so many sentences
FEWEST = 1_000
EVALUATIONS = 10
# Evaluations without a better score, and updates. In benchmarks/results/recipes, no training by the
# recipe has its best score after so many, but some of few sentences after three evaluations.
PATIENCE, LEAST_PATIENCE = 3, 300
# Sentences in a batch, and from which size of a corpus on it is doubled
BATCH, DOUBLED_FROM = 16, 50_000
# Sentences of the corpus if there is none
MIDDLE = 3_000
# Updates for roles on a transformer
LEAST_FOR_ROLES = 800
FOR_CORPUS = "For {which} corpus, pass it to psa init-config with --corpus."


@dataclass(frozen=True)
class Schedule:
    """The length of a training, in updates, and the size of its batches.

    sentences (int): The size of the corpus.
    """

    sentences: int

    @property
    def every(self) -> int:
        """RETURNS (int): The number of updates between evaluations."""
        return round(UPDATES * max(self.sentences, FEWEST) ** GROWTH) // EVALUATIONS

    @property
    def updates(self) -> int:
        """RETURNS (int): The number of updates, which ends with an evaluation."""
        return EVALUATIONS * self.every

    @property
    def batch(self) -> int:
        """RETURNS (int): The number of sentences in a batch."""
        return BATCH * (2 if self.sentences >= DOUBLED_FROM else 1)

    def settings(self, *, in_sentences: bool = True) -> dict[str, Any]:
        """Describe the schedule as settings of a config."""
        return {
            **_length(self.updates),
            "training.eval_frequency": self.every,
            "training.patience": max(PATIENCE * self.every, LEAST_PATIENCE),
            **({"training.batcher.size": self.batch} if in_sentences else {}),
        }


def size_settings(
    corpus: Path | None, docs: "Sequence[Doc]", *, in_sentences: bool
) -> tuple[dict[str, Any], dict[str, str]]:
    """Choose the schedule of the best recipe for a corpus with these Docs, or one of a middle size:
    the settings, and what the comments say of the corpus."""
    from ..training.corpora import SMALLEST

    if corpus is None:
        sentences = MIDDLE
        about = f"{sentences:,} sentences. {FOR_CORPUS.format(which='your')}"
    else:
        sentences = len(docs)
        if sentences < SMALLEST:
            warn(Warnings.W436.format(path=corpus, n=sentences, smallest=SMALLEST))
        about = f"the {sentences:,} Docs of {corpus.name}"
        about += f", as many as for {FEWEST:,}." if sentences < FEWEST else "."
    return Schedule(sentences).settings(in_sentences=in_sentences), {"epoch": about}


def epoch_settings(
    config: "Config",
    settings: Mapping[str, Any],
    target: str,
    corpus: Path | None,
    docs: "Sequence[Doc]",
) -> tuple[dict[str, Any], dict[str, str]]:
    """Adapt a schedule that counts epochs to a corpus with these Docs, or that of the target: the
    settings, and what the comments say of an epoch."""
    if corpus is None:
        lengths = [settings["tokens"] // settings["sentences"]] * settings["sentences"]
        epoch = f"{len(lengths):,} sentences of {settings['corpus']}. "
        epoch += FOR_CORPUS.format(which="another")
    else:
        lengths = [len(doc) for doc in docs]
        epoch = f"{len(lengths):,} Docs of {corpus.name}."
    steps = steps_per_epoch(config, lengths)
    least = settings.get("least", {})
    values = {
        setting: max(n * steps, least.get(setting, 0)) for setting, n in settings["epochs"].items()
    }
    said = {"epoch": epoch, "steps": f"{steps:,} update(s)"}
    if "training.max_steps" in values:
        said["epochs"] = f"{values['training.max_steps'] / steps:,.0f}"
    return {**settings.get(target, {}), **values}, said


def proposition_settings(
    config: "Config", propositions: int, corpus: Path | None, docs: "Sequence[Doc]"
) -> tuple[dict[str, Any], dict[str, str]]:
    """Adapt a schedule for so many propositions to those of a corpus with these Docs: the settings,
    and what the comments say of the corpus."""
    from ..annotation.propositions import get_frames

    if corpus is None:
        return {}, {"epoch": f"{propositions:,} propositions. {FOR_CORPUS.format(which='your')}"}
    n = sum(len(get_frames(doc)) for doc in docs)
    training = config["training"]
    evaluations = training["max_steps"] // training["eval_frequency"]
    every = round(training["eval_frequency"] * n / propositions)
    every = max(every, -(-LEAST_FOR_ROLES // evaluations))
    values = {"training.eval_frequency": every, **_length(every * evaluations)}
    return values, {"epoch": f"the {n:,} propositions of {corpus.name}."}


def _length(updates: int) -> dict[str, int]:
    """The settings of a training of so many updates, the first tenth of which it warms up."""
    rate = "training.optimizer.learn_rate"
    return {
        "training.max_steps": updates,
        f"{rate}.warmup_steps": updates // 10,
        f"{rate}.total_steps": updates,
    }


def training_docs(path: Path) -> "list[Doc]":
    """Read the Docs used in training, of a file or a folder: those with tokens."""
    from ..training.corpora import check_readable
    from ._predictions import read_data

    if path.is_dir():
        check_readable("spacy.Corpus.v1", path)
    docs = [doc for doc in read_data([path]) if len(doc)]
    if not docs:
        raise ValueError(Errors.P192.format(path=path))
    return docs


def steps_per_epoch(config: "Config", lengths: Sequence[int]) -> int:
    """Count the updates in an epoch."""
    from spacy.util import registry

    batcher = registry.resolve({"batcher": config["training"]["batcher"]})["batcher"]
    return sum(1 for _ in batcher(range(length) for length in lengths))
