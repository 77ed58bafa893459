"""Warn of corpora whose scores say nothing, when training starts."""

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import Errors, Warnings, warn
from ..output_errors import PrintedError

# Docs; with fewer, scores are accidents
SMALLEST = 20
# What readers of spaCy look for; where there is none, they only warn
ENDINGS = {"spacy.Corpus.v1": ".spacy", "spacy.JsonlCorpus.v1": ".jsonl"}


class CorpusError(PrintedError, ValueError):  # type: ignore[valid-type, misc]
    """A corpus in which a reader would find nothing. `spacy train` prints only the message."""


def check_corpora(config: Mapping[str, Any]) -> None:
    """Warn if the training data are very few, or if they are the development data as well.

    RAISES (CorpusError): If a reader of spaCy finds no file: all scores would be 0, and the
        pipeline before the first update the best."""
    train, dev = (corpus_files(config, name) for name in ("train_corpus", "dev_corpus"))
    if len(train) != 1 or train[0].suffix != ".spacy" or not train[0].is_file():
        return
    from spacy.tokens import DocBin

    n = len(DocBin().from_disk(train[0]))
    if n < SMALLEST:
        warn(Warnings.W436.format(path=train[0], n=n, smallest=SMALLEST))
    if len(dev) == 1 and dev[0].is_file() and _same(train[0], dev[0]):
        warn(Warnings.W437.format(path=dev[0], n=n))


def corpus_files(config: Mapping[str, Any], setting: str) -> list[Path]:
    """List the files of a corpus.

    config (Mapping[str, Any]): The config, interpolated.
    setting (str): The setting of `[training]` that names the corpus.
    RETURNS (List[Path]): Its files.
    """
    return list(_files(_section(config, config["training"][setting])))


def check_readable(reader: str, path: Path) -> None:
    """Check that a reader of spaCy finds a file at a path."""
    from spacy.training.corpus import walk_corpus

    ending = ENDINGS.get(reader)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if ending is not None and not walk_corpus(path, ending):
            raise CorpusError(Errors.P471.format(path=path, ending=ending))


def _section(config: Mapping[str, Any], path: str) -> Any:
    section: Any = config
    for name in path.split("."):
        section = section.get(name, {}) if isinstance(section, Mapping) else {}
    return section


def _files(section: Any) -> Iterator[Path]:
    """The files that a reader reads, also one inside another."""
    for name, value in section.items() if isinstance(section, Mapping) else ():
        if name == "path" and isinstance(value, str):
            check_readable(str(section.get("@readers")), Path(value))
            yield Path(value)
        else:
            yield from _files(value)


def _same(first: Path, second: Path) -> bool:
    return first.stat().st_size == second.stat().st_size and (
        first.read_bytes() == second.read_bytes()
    )
