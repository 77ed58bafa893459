"""Check the input files of a training run before it starts."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Errors
from ._transformers import check_transformer

if TYPE_CHECKING:
    from thinc.api import Config

TRANSFORMERS = "spacy-transformers."
# Read at once: 1,000 times as many unpacked, at most
N_BYTES = 2**16
VARIABLE = re.compile(r"\$\{([\w.]+)\}")


def check_training_files(
    config: Config, corpora: Sequence[str] = ("train_corpus", "dev_corpus")
) -> None:
    """Check that the corpora, vectors and transformers of a config can be read.

    spaCy reads the development corpus only at the first evaluation, when the model has been updated
    and the pipeline of an earlier run replaced. No corpus is loaded here: .spacy files are
    unpacked, column files are read up to the first sentence, and for others only the path is
    checked."""
    settings = check_readers(config, corpora)
    check_vectors_folder(settings["initialize"].get("vectors"), settings["nlp"]["lang"])
    for _, model in _transformers(settings["components"], "components"):
        if find_spec("transformers"):
            check_transformer(model["name"])


def check_readers(config: Config, corpora: Sequence[str]) -> dict[str, Any]:
    """Check that corpora can be read, and return the config with its variables replaced and spaCy's
    defaults for what it leaves out."""
    from spacy.language import DEFAULT_CONFIG

    filled = DEFAULT_CONFIG.merge(config)
    settings = filled.interpolate()
    for setting in corpora:
        corpus = settings["training"][setting]
        for name, block in readers(_section(settings, corpus), str(corpus)):
            _check_reader(block, name, _section(filled, f"{name}.path"))
    return settings


def _section(settings: Mapping[str, Any], name: Any) -> Any:
    """The value of a dotted name; None if it does not exist, which spaCy reports."""
    found: Any = settings
    for key in name.split(".") if isinstance(name, str) else [None]:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def blocks(section: Any, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A section and all those in it, each with its name."""
    if isinstance(section, Mapping):
        yield name, section
        for key, value in section.items():
            yield from blocks(value, f"{name}.{key}")


def readers(section: Any, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The readers in a section that have a path, set or not, with the names of their sections."""
    for place, block in blocks(section, name):
        if "@readers" in block and isinstance(block.get("path", False), str | None):
            yield place, dict(block)


def reads_texts(settings: Mapping[str, Any]) -> bool:
    """Whether a reader of a config makes Docs of texts, whose words may be others than those of the
    corpus."""
    blocks = (block for _, block in readers(settings["corpora"], "corpora"))
    return any(block.get("gold_preproc") is False for block in blocks)


def _check_reader(block: dict[str, Any], name: str, written: Any) -> None:
    """Check that there is something to read at the path of a reader of spaCy or spacy-psa; that of
    others may mean anything."""
    from spacy.util import registry

    from ..corpora.corpus import ColumnCorpus
    from ..training.corpora import check_readable

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
    check_readable(block["@readers"], path)
    if package == "spacy":
        for file in [path, *path.rglob("*.spacy")]:
            if file.suffix == ".spacy" and file.is_file():
                check_complete(file)
    if package == "spacy_psa":
        corpus = registry.resolve({"corpus": block})["corpus"]
        if isinstance(corpus, ColumnCorpus):
            corpus.check()


def check_complete(path: Path) -> None:
    """Check that a .spacy file is compressed and has its end. spaCy does not name the file."""
    unpacker = zlib.decompressobj()
    try:
        with path.open("rb") as file_:
            while block := file_.read(N_BYTES):
                unpacker.decompress(block)
    except zlib.error:
        raise ValueError(Errors.P121.format(path=path)) from None
    if not unpacker.eof:
        raise ValueError(Errors.P121.format(path=path))


def _transformers(section: Any, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The pretrained transformers in a section, with the names of their sections."""
    for place, block in blocks(section, name):
        of_transformer = str(block.get("@architectures")).startswith(TRANSFORMERS)
        if of_transformer and isinstance(block.get("name"), str):
            yield place, block


def check_precision(settings: Mapping[str, Any], use_gpu: int) -> None:
    """Check that no transformer is trained in mixed precision on a CPU, where thinc cannot scale
    its gradient."""
    frozen = settings["training"].get("frozen_components", [])
    for component, block in settings.get("components", {}).items():
        for name, model in _transformers(block, f"components.{component}"):
            is_mixed = model.get("mixed_precision", False)
            is_scaled = model.get("grad_scaler_config", {}).get("enabled", is_mixed)
            if is_scaled and use_gpu < 0 and component not in frozen:
                raise ValueError(Errors.P474.format(section=name))


def _vectors_folder(name: str) -> Path:
    """The folder of vectors, or of the package of that name."""
    from spacy.util import get_package_path, is_package

    return get_package_path(name) if is_package(name) else Path(name)


def vectors_width(name: str) -> int | None:
    """The width of the vectors of a name, without reading them all; None if there are none."""
    from numpy.lib.format import open_memmap

    for path in _vectors_folder(name).rglob("vocab/vectors"):
        return int(open_memmap(path, mode="r").shape[1])
    return None


def check_vectors_folder(name: str | None, lang: str | None, *, may_be_empty: bool = True) -> None:
    """Check that there are vectors of a name, and that spaCy loads them for a language. In
    training, spaCy warns of a pipeline without any."""
    import srsly
    from spacy.util import is_package

    if not name:
        return
    folder = _vectors_folder(name)
    # That of a package has it in a folder below
    if not is_package(name) and not (folder / "config.cfg").is_file():
        file = name if folder.is_file() else "FILE"
        raise ValueError(Errors.P470.format(name=name, file=file))
    meta = folder / "meta.json"
    described = srsly.read_json(meta) if meta.is_file() else {}
    found = described.get("lang")
    if lang and found and found != lang:
        raise ValueError(Errors.P473.format(name=name, found=found, lang=lang))
    if not may_be_empty and described.get("vectors", {}).get("vectors") == 0:
        raise ValueError(Errors.P475.format(name=name))
