"""Parse the targets and options that users choose for a format."""

import inspect
import types
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import Errors
from .formats import Format
from .stats import CorpusStats

# Target names follow the component psa_tagger, if it has the target.
TARGETS = {
    "tag": "tags",
    "pos": "pos",
    "morph": "morphs",
    "lemma": "lemmas",
    "ents": "ents",
    "spans": "chunks",
    "frames": "frames",
    "speakers": "speakers",
}


def target_layers(targets: Sequence[str], form: Format) -> list[str]:
    """Get the layers for targets."""
    for target in targets:
        if target not in TARGETS:
            raise ValueError(Errors.P127.format(name=target, options=", ".join(TARGETS)))
        if TARGETS[target] not in form.layers:
            known = [name for name, layer in TARGETS.items() if layer in form.layers]
            raise ValueError(
                Errors.P143.format(form=form.name, target=target, options=", ".join(known))
            )
    return [TARGETS[target] for target in targets] or list(form.layers)


def check_targets(targets: Sequence[str], stats: CorpusStats, path: str | Path) -> None:
    """Check that targets are annotated."""
    found = [name for name, layer in TARGETS.items() if stats.has(layer)]
    for target in targets:
        if target not in found:
            known = ", ".join(found) or "none"
            raise ValueError(Errors.P133.format(path=path, target=target, options=known))


def parse_options(texts: Sequence[str], form: Format) -> dict[str, Any]:
    """Parse the options of a format."""
    options = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        problem = None
        if not equals:
            problem = f"'{text}', which should be name=value"
        elif name not in form.options:
            problem = f"the option '{name}'"
        else:
            try:
                options[name] = _parse(value, form.options[name])
            except ValueError:
                problem = f"'{value}' for the option '{name}'"
        if problem:
            known = ", ".join(form.options) or "none"
            raise ValueError(Errors.P142.format(form=form.name, problem=problem, options=known))
    return options


def _parse(text: str, parameter: inspect.Parameter) -> Any:
    """Parse the value of an option by the types that the reader accepts."""
    annotation = parameter.annotation
    is_union = isinstance(annotation, types.UnionType)
    kinds = typing.get_args(annotation) if is_union else (annotation,)
    if type(None) in kinds and text.lower() in ("none", "null"):
        return None
    if bool in kinds:
        if text.lower() not in ("true", "false"):
            raise ValueError(text)
        return text.lower() == "true"
    for kind in (int, float):
        if kind in kinds and not (str in kinds and not text.isdecimal()):
            return kind(text)
    return text.replace("\\t", "\t")
