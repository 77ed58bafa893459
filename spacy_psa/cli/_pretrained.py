"""Find a pretrained transformer, and how much text it reads at once."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import Errors

# Of a transformer whose positions are not limited
MAX_PIECES = 512


def read_settings(name: str) -> dict[str, Any]:
    """Choose the settings that depend on the transformer.

    name (str): The folder of a transformer, or its name on the Hugging Face Hub.
    RETURNS (Dict[str, Any]): Settings of a config, by their place.
    RAISES (ValueError): If there is no such transformer, or spacy-transformers is not installed.
    """
    maximum = max_pieces(name)
    window = max(1, min(128, maximum // 4))
    model = "components.transformer.model"
    return {
        f"{model}.name": name,
        f"{model}.tokenizer_config.model_max_length": maximum,
        f"{model}.get_spans.window": window,
        f"{model}.get_spans.stride": max(1, window * 3 // 4),
    }


def max_pieces(name: str) -> int:
    """Find the maximum number of subwords that a transformer reads at once.

    name (str): Its folder or name.
    RETURNS (int): The number, with those that begin and end each text.
    RAISES (ValueError): If there is no such transformer, or spacy-transformers is not installed.
    """
    if find_spec("spacy_transformers") is None:
        raise ValueError(Errors.P195)
    _check_folder(name)
    from transformers import AutoConfig, AutoTokenizer

    from ..pipeline.pretrained import NO_LIMIT, n_positions

    try:
        config = AutoConfig.from_pretrained(name)
        tokenizer = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as err:
        problem = " ".join(str(err).split()).partition(". ")[0].rstrip(".")
        raise ValueError(Errors.P197.format(name=name, problem=problem)) from err
    limits = [tokenizer.model_max_length, n_positions(config) or MAX_PIECES]
    return min(limit for limit in limits if limit < NO_LIMIT)


def _check_folder(name: str) -> None:
    """Check that a folder has a transformer; anything else may be a name."""
    folder = Path(name)
    if folder.is_dir() and not (folder / "config.json").is_file():
        found = sorted(path.name for path in folder.iterdir())
        listed = ", ".join([*found[:8], *(["..."] if len(found) > 8 else [])])
        raise ValueError(Errors.P196.format(path=name, found=listed or "nothing"))
