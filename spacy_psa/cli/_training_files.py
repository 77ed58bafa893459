"""Check the input files of a training run before it starts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Errors
from ._pretrained import check_transformer

if TYPE_CHECKING:
    from thinc.api import Config

TRANSFORMER = "spacy-transformers.TransformerModel."
VARIABLE = re.compile(r"\$\{([\w.]+)\}")


def check_training_files(config: Config) -> None:
    """Check that the corpora, vectors and transformers of a config can be read.

    spaCy reads the development corpus only at the first evaluation, when the model has been updated
    and the pipeline of an earlier run replaced. No corpus is loaded here: column files are read up
    to the first sentence, and for others only the path is checked.

    RAISES (ValueError): If something is missing, a corpus has no path, or a column file cannot be
        read.
    """
    from spacy.language import DEFAULT_CONFIG

    # Fill in spaCy's defaults for what the config leaves out
    filled = DEFAULT_CONFIG.merge(config)
    settings = filled.interpolate()
    for setting in ("train_corpus", "dev_corpus"):
        corpus = settings["training"][setting]
        for name, block in _readers(_section(settings, corpus), str(corpus)):
            _check_reader(block, name, _section(filled, f"{name}.path"))
    _check_vectors(settings["initialize"].get("vectors"))
    for component in settings["components"].values():
        _check_transformer(component.get("model", {}))


def _section(settings: Mapping[str, Any], name: Any) -> Any:
    """The value of a dotted name; None if it does not exist, which spaCy reports."""
    found: Any = settings
    for key in name.split(".") if isinstance(name, str) else [None]:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _readers(section: Any, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The readers in a section that have a path, set or not, including nested ones. Each comes with
    the name of its section.
    """
    if isinstance(section, Mapping):
        if "@readers" in section and isinstance(section.get("path", False), str | None):
            yield name, dict(section)
        for key, value in section.items():
            yield from _readers(value, f"{name}.{key}")


def _check_reader(block: dict[str, Any], name: str, written: Any) -> None:
    """Check the path of a reader of spaCy or spacy-psa; that of others may mean anything.

    RAISES (ValueError): If there is no path, or nothing to read at it.
    """
    from spacy.util import registry

    from ..corpora.corpus import ColumnCorpus

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


def _check_transformer(model: Mapping[str, Any]) -> None:
    of_transformer = str(model.get("@architectures")).startswith(TRANSFORMER)
    if of_transformer and isinstance(model.get("name"), str) and find_spec("transformers"):
        check_transformer(model["name"])


def _check_vectors(name: str | None) -> None:
    from spacy.util import is_package

    if name and not is_package(name) and not Path(name).is_dir():
        raise ValueError(Errors.P470.format(name=name))
