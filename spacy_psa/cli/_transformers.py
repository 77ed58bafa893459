"""What a config needs to know of a pretrained transformer, and whether it can be loaded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

from ..errors import Errors

# Of a transformer whose positions are not limited
MAX_PIECES = 512
# What the folder of one must have, and the names of the files; large weights are in parts
WEIGHTS = ["model.safetensors", "pytorch_model.bin"]
NEEDED = {
    "config.json": ["config.json"],
    f"weights ({' or '.join(WEIGHTS)})": [f"{name}*" for name in WEIGHTS],
}
TOKENIZERS = ["tokenizer.json", "vocab.*", "*.model"]
# How long the hub may take to answer, in seconds
PATIENCE = 2.0


def read_settings(name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Choose the settings of a config that depend on the transformer."""
    maximum = max_pieces(name)
    window = max(1, min(128, maximum // 4))
    is_shared = "transformer" in config["components"]
    model = f"components.{'transformer.model' if is_shared else 'psa_srl.model.tok2vec'}"
    return {
        f"{model}.name": name,
        f"{model}.tokenizer_config.model_max_length": maximum,
        f"{model}.get_spans.window": window,
        f"{model}.get_spans.stride": max(1, window * 3 // 4),
    }


def max_pieces(name: str) -> int:
    """Find the maximum number of subwords that a transformer reads at once."""
    if find_spec("spacy_transformers") is None:
        raise ValueError(Errors.P195)
    from ..pipeline.pretrained import NO_LIMIT, n_positions

    config, tokenizer = _load_parts(name)
    limits = [tokenizer.model_max_length, n_positions(config) or MAX_PIECES]
    return min(limit for limit in limits if limit < NO_LIMIT)


def check_transformer(name: str) -> None:
    """Check that a transformer is in a folder or the local cache, or can be downloaded."""
    _load_parts(name)


def _load_parts(name: str) -> tuple[Any, Any]:
    """Load the config and the tokenizer of a transformer."""
    from transformers import AutoConfig, AutoTokenizer

    config = _load(AutoConfig.from_pretrained, name)
    try:
        return config, _load(AutoTokenizer.from_pretrained, name)
    except ValueError:
        # Without any file, it asks for packages for the formats of tokenizers that it tries last
        if not Path(name).is_dir() or _has_file(Path(name), TOKENIZERS):
            raise
    problem = (
        "it has no tokenizer: tokenizer.json or, for some transformers, vocab.txt, vocab.json "
    )
    problem += "and merges.txt, or a file that ends in .model"
    raise ValueError(Errors.P196.format(path=name, problem=problem))


def _load(load: Callable[..., Any], name: str) -> Any:
    """Load a part of a transformer: from its folder, the local cache, or the hub. transformers
    itself would ask a hub that does not answer for half a minute.
    """
    _check_folder(name)
    try:
        try:
            return load(name, local_files_only=True)
        except (OSError, ValueError):
            if Path(name).is_dir():
                raise
        if not _hub_answers():
            problem = "it is not in the cache of this computer, and the Hugging Face Hub does not "
            raise OSError(problem + "answer")
        return load(name)
    except ImportError as err:
        problem = f"its tokenizer cannot be read here ({_first_sentence(err)})"
        raise ValueError(Errors.P196.format(path=name, problem=problem)) from err
    except (OSError, ValueError) as err:
        problem = _first_sentence(err)
        raise ValueError(Errors.P197.format(name=name, problem=problem)) from err


def _first_sentence(error: Exception) -> str:
    return " ".join(str(error).split()).partition(". ")[0].rstrip(".")


def _hub_answers() -> bool:
    """Whether the hub answers soon. In a thread, since looking up its address has no time limit."""
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    answers = []

    def ask() -> None:
        try:
            get_session().head(constants.ENDPOINT, timeout=PATIENCE)
        except Exception:  # whatever stands in the way
            return
        answers.append(True)

    if not constants.HF_HUB_OFFLINE:
        thread = Thread(target=ask, daemon=True)
        thread.start()
        thread.join(PATIENCE)
    return bool(answers)


def _has_file(folder: Path, patterns: Iterable[str]) -> bool:
    """Whether a folder has a file of one of these names."""
    return any(path.is_file() for pattern in patterns for path in folder.glob(pattern))


def _check_folder(name: str) -> None:
    """Check that a folder has a transformer, whose weights are whole; anything else may be a name.

    A file of weights that is cut short, or a pointer of Git LFS, is found in its first bytes."""
    from safetensors import SafetensorError, safe_open

    folder = Path(name)
    for what, patterns in NEEDED.items() if folder.is_dir() else ():
        if not _has_file(folder, patterns):
            found = sorted(path.name for path in folder.iterdir())
            listed = ", ".join([*found[:8], *(["..."] if len(found) > 8 else [])]) or "nothing"
            problem = f"it has no {what}, but {listed}"
            raise ValueError(Errors.P196.format(path=name, problem=problem))
    for file in folder.glob("*.safetensors"):
        try:
            with safe_open(file, framework="numpy"):
                pass
        except SafetensorError as err:
            problem = f"{file.name} is damaged ({err})"
            raise ValueError(Errors.P196.format(path=name, problem=problem)) from err
    # The weights that are loaded: the first of these. Others may lack files.
    for weights in WEIGHTS:
        index = folder / f"{weights}.index.json"
        if index.is_file() and not (folder / weights).is_file():
            _check_parts(name, index)
        if index.is_file() or (folder / weights).is_file():
            return


def _check_parts(name: str, index: Path) -> None:
    """Check that all files of weights in an index are there."""
    try:
        parts = {*json.loads(index.read_text(encoding="utf8"))["weight_map"].values()}
    except (KeyError, TypeError, ValueError, AttributeError) as err:
        raise ValueError(
            Errors.P196.format(path=name, problem=f"{index.name} is damaged ({err})")
        ) from err
    absent = sorted(part for part in parts if not (index.parent / part).is_file())
    if absent:
        problem = f"of its {len(parts)} files of weights, {', '.join(absent)} is not there"
        raise ValueError(Errors.P196.format(path=name, problem=problem))
