"""What is wrong with a config, and what may have been meant.

spaCy checks a config before any code of ours is run, so that these messages are those of the
commands `psa …` alone. Values that our blocks check themselves name the nearest one everywhere.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..errors import Errors, Warnings, suggestion, warn

UNREGISTERED = re.compile(r"\[E893\] .*? function '(.+?)' in function registry '(.+?)'")
NO_FACTORY = re.compile(r"\[E002\] .*? factory for '(.+?)' ")
NO_COMPONENT = re.compile(r"\[E956\] .*? component '(.+?)' in .*?: (.*)")
UNEXPECTED = re.compile(r"unexpected argument: '(.+)'")
# A section may have any name, as variables do; such a near one is a slip.
SLIP = 0.8


@contextmanager
def config_errors() -> Iterator[None]:
    """Say what is wrong with a config, and name the nearest option.

    RAISES (ValueError): If the block raises an error of spaCy's about a config.
    """
    try:
        yield
    except ValueError as error:
        problem = explain(error)
        if problem is None:
            raise
        raise ValueError(Errors.P437.format(problem=problem)) from error


def explain(error: ValueError) -> str | None:
    """Put an error about a config in words.

    error (ValueError): An error.
    RETURNS (Optional[str]): What is wrong, with the nearest options; None if it is another error.
    """
    from spacy.language import Language
    from spacy.util import registry
    from thinc.api import ConfigValidationError

    if isinstance(error, ConfigValidationError):
        lines = [_describe(each, error.config) for each in error.errors or ()]
        return "\n".join(filter(None, [error.title, error.desc, *lines]))
    text = str(error)
    if match := UNREGISTERED.match(text):
        name, kind = match.groups()
        known = getattr(registry, kind).get_all()
        return _unknown("registered function", name, known, f" in the registry '{kind}'")
    if match := NO_FACTORY.match(text):
        known = {name.rpartition(".")[2] for name in registry.factories.get_all()}
        known = {name for name in known if Language.has_factory(name)}
        return _unknown("factory", match[1], known)
    if match := NO_COMPONENT.match(text):
        return _unknown("section of a component", match[1], match[2].split(", "))
    return None


def warn_of_unknown_settings(config: Mapping[str, Any]) -> None:
    """Name the settings that spaCy takes no notice of, in a warning for each.

    config (Mapping[str, Any]): The config.
    """
    from spacy.schemas import CONFIG_SCHEMAS

    sections = [*CONFIG_SCHEMAS, "components", "corpora"]
    for name, section in config.items():
        if name in CONFIG_SCHEMAS and isinstance(section, dict):
            schema: Any = CONFIG_SCHEMAS[name]
            # pydantic 1, with spaCy up to 3.8.11, has another name for it
            known = list(getattr(schema, "model_fields", None) or schema.__fields__)
            for key in section:
                if key not in known:
                    setting, nearest = f"'{key}' in [{name}]", suggestion(key, known)
                    warn(Warnings.W432.format(setting=setting, suggestion=nearest))
        elif name not in sections and (nearest := suggestion(name, sections, SLIP)):
            warn(Warnings.W432.format(setting=f"[{name}]", suggestion=nearest))


def _unknown(kind: str, name: str, known: Iterable[str], where: str = "") -> str:
    options = sorted(known)
    nearest = suggestion(name, options)
    listed = ", ".join(options)
    return f"There is no {kind} '{name}'{where}.{nearest} Choose one of: {listed}."


def _describe(error: Mapping[str, Any], config: Any) -> str:
    place = ".".join(str(part) for part in error.get("loc", ()))
    text = f"{place}: {error.get('msg')}"
    match = UNEXPECTED.fullmatch(str(error.get("msg")))
    return f"{text}.{suggestion(match[1], _arguments(config))}" if match else text


def _arguments(block: Any) -> list[str]:
    """The arguments of the function that a block of a config names."""
    from spacy.util import registry

    for key, name in block.items() if isinstance(block, Mapping) else ():
        if key.startswith("@"):
            parameters = inspect.signature(registry.get(key[1:], name)).parameters
            return [parameter for parameter in parameters if parameter not in ("nlp", "name")]
    return []
