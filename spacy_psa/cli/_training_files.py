"""Whether the files that a training reads are there, before it begins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Errors

if TYPE_CHECKING:
    from thinc.api import Config

VARIABLE = re.compile(r"\$\{([\w.]+)\}")


def check_training_files(config: Config) -> None:
    """Check that the corpora and the vectors of a config can be read.

    spaCy reads the development corpus at the first evaluation only, when an update has been made
    and the pipeline of an earlier run has been replaced. No corpus is loaded here: of one in
    columns the first sentence is read, and of others it is seen whether there is such a path.

    config (Config): The config, with variables or without.
    RAISES (ValueError): If something is not there, a corpus has no path, or a corpus in columns
        cannot be read.
    """
    from spacy.language import DEFAULT_CONFIG

    # What the config leaves out, as spaCy fills it in
    filled = DEFAULT_CONFIG.merge(config)
    settings = filled.interpolate()
    for setting in ("train_corpus", "dev_corpus"):
        corpus = settings["training"][setting]
        for name, block in _readers(_section(settings, corpus), str(corpus)):
            _check_reader(block, name, _section(filled, f"{name}.path"))
    _check_vectors(settings["initialize"].get("vectors"))


def _section(settings: Mapping[str, Any], name: Any) -> Any:
    """What a name with dots stands for; None if there is no such thing, which spaCy tells."""
    found: Any = settings
    for key in name.split(".") if isinstance(name, str) else [None]:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _readers(section: Any, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The readers with a path, be it unset, in a section; those that others read from included.
    Each comes with the name of its section.
    """
    if isinstance(section, Mapping):
        if "@readers" in section and isinstance(section.get("path", False), str | None):
            yield name, dict(section)
        for key, value in section.items():
            yield from _readers(value, f"{name}.{key}")


def _check_reader(block: dict[str, Any], name: str, written: Any) -> None:
    """Check the path of a reader of ours or spaCy's; what others mean by theirs is not known.

    block (Dict[str, Any]): The section of the reader.
    name (str): Its name.
    written (Any): The path as the config has it, which may be a variable.
    RAISES (ValueError): If there is no path, or nothing that can be read at it.
    """
    from spacy.util import registry

    from ..corpora.readers import ColumnCorpus

    make = registry.get("readers", block["@readers"])
    package = str(getattr(make, "__module__", "")).partition(".")[0]
    if block["path"] is None:
        if package in ("spacy", "spacy_psa"):
            variable = VARIABLE.fullmatch(str(written))
            option = f"--{variable[1] if variable else f'{name}.path'}"
            raise ValueError(Errors.P472.format(section=name, option=option))
        return
    path = Path(block["path"])
    if package == "spacy" and not (block["path"] and path.exists()):
        raise ValueError(Errors.P109.format(path=block["path"]))
    if package == "spacy" and path.is_dir() and not any(path.rglob("*.*")):
        raise ValueError(Errors.P471.format(path=path))
    if package == "spacy_psa":
        corpus = registry.resolve({"corpus": block})["corpus"]
        if isinstance(corpus, ColumnCorpus):
            corpus.check()


def _check_vectors(name: str | None) -> None:
    from spacy.util import is_package

    if name and not is_package(name) and not Path(name).is_dir():
        raise ValueError(Errors.P470.format(name=name))
