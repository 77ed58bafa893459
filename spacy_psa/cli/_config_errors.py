"""Explain errors in a config, and suggest what may have been meant.

spaCy validates a config before it runs any spacy-psa code, so only the `psa …` commands print
these messages. Values that spacy-psa blocks check themselves get suggestions everywhere. The ranges
of the numbers in [training] are checked here as well, since spaCy's loop and thinc do not.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..errors import Errors, Warnings, check_value, suggestion, warn

if TYPE_CHECKING:
    from thinc.api import ConfigValidationError

UNREGISTERED = re.compile(r"\[E893\] .*? function '(.+?)' in function registry '(.+?)'")
NO_FACTORY = re.compile(r"\[E002\] .*? factory for '(.+?)' ")
NO_COMPONENT = re.compile(r"\[E956\] .*? component '(.+?)' in .*?: (.*)")
UNEXPECTED = re.compile(r"unexpected argument: '(.+)'")
MISSING = "missing required argument"
# The same message in pydantic 1, with spaCy up to 3.8.11
NOT_PERMITTED = "extra fields not permitted"
NO_SECTION = (
    "it has no section [{name}]. Create a config with `python -m spacy psa init-config`, or add "
    "missing sections with `python -m spacy init fill-config`."
)
# Some editors on Windows do so
MARKED = "the file begins with a byte order mark. Save it as UTF-8 without one."
NO_CONFIG = "it has no sections. Give a config, as `python -m spacy psa init-config` writes it."
IN_A_FILE = " If a file of yours registers it, name that file with --code."
# A section may have any name, as variables do; one this similar is a typo.
SLIP = 0.8


@contextmanager
def config_errors(path: object) -> Iterator[None]:
    """Explain errors in a config, or in that of a pipeline, and suggest the nearest option."""
    try:
        yield
    except ValueError as error:
        problem = explain(error)
        if problem is None:
            raise
        raise ValueError(Errors.P437.format(path=path, problem=problem)) from error


def check_sections(config: Mapping[str, Any], path: object) -> None:
    """Check that a config has the sections that spaCy reads before filling in defaults."""
    for name in ("nlp", "training"):
        if name not in config:
            problem = NO_SECTION.format(name=name)
            raise ValueError(Errors.P437.format(path=path, problem=problem))


def explain(error: ValueError) -> str | None:
    """Explain an error in a config."""
    from spacy.language import Language
    from spacy.util import registry
    from thinc.api import ConfigValidationError

    if "contains no section headers" in str(error):
        return MARKED if r"\ufeff" in str(error) else NO_CONFIG
    if isinstance(error, ConfigValidationError):
        lines = [_describe(each, error) for each in error.errors or ()]
        return "\n".join(filter(None, [_title(error), error.desc, *lines]))
    if isinstance(error, UnicodeDecodeError):
        return "the file is not text in UTF-8"
    text = str(error)
    if match := UNREGISTERED.match(text):
        name, kind = match.groups()
        known = getattr(registry, kind).get_all()
        where = f" in the registry '{kind}'"
        return _unknown("registered function", name, known, where, IN_A_FILE)
    if match := NO_FACTORY.match(text):
        known = {name.rpartition(".")[2] for name in registry.factories.get_all()}
        known = {name for name in known if Language.has_factory(name)}
        return _unknown("factory", match[1], known, hint=IN_A_FILE)
    if match := NO_COMPONENT.match(text):
        return _unknown("section of a component", match[1], match[2].split(", "))
    return None


def warn_of_unknown_settings(config: Mapping[str, Any]) -> None:
    """Warn of each setting that spaCy ignores."""
    from spacy.schemas import CONFIG_SCHEMAS

    sections = [*CONFIG_SCHEMAS, "components", "corpora"]
    for name, section in config.items():
        if name in CONFIG_SCHEMAS and isinstance(section, dict):
            schema: Any = CONFIG_SCHEMAS[name]
            # The name in pydantic 1, with spaCy up to 3.8.11
            known = list(getattr(schema, "model_fields", None) or schema.__fields__)
            for key in section:
                if key not in known:
                    setting, nearest = f"'{key}' in [{name}]", suggestion(key, known)
                    warn(Warnings.W432.format(setting=setting, suggestion=nearest))
        elif name not in sections and (nearest := suggestion(name, sections, SLIP)):
            warn(Warnings.W432.format(setting=f"[{name}]", suggestion=nearest))


def _unknown(kind: str, name: str, known: Iterable[str], where: str = "", hint: str = "") -> str:
    options = sorted(known)
    # Only where nothing is near: there are more than a hundred functions
    near = suggestion(name, options)
    what = near + hint if near else f"{hint} Choose one of: {', '.join(options)}."
    return f"There is no {kind} '{name}'{where}.{what}"


def _title(error: ConfigValidationError) -> str:
    """The title of the error, with the name of the block, which spaCy up to 3.8.11 omits."""
    config = error.config if isinstance(error.config, Mapping) else {}
    named = [str(name) for key, name in config.items() if key.startswith("@")]
    title = error.title or ""
    return title if not named or named[0] in title else f"{title} in '{named[0]}'"


def _describe(problem: Mapping[str, Any], error: ConfigValidationError) -> str:
    place = ".".join(filter(None, [error.parent, *map(str, problem.get("loc", ()))]))
    message = str(problem.get("msg"))
    if message == NOT_PERMITTED:
        message = f"unexpected argument: '{place.rpartition('.')[2]}'"
    match = UNEXPECTED.fullmatch(message)
    nearest = ""
    if match:
        remedy = " Remove it, or choose another block."
        nearest = f".{suggestion(match[1], _arguments(error.config)) or remedy}"
    if message.startswith(MISSING):
        nearest = (
            ". Add it, as a setting or a section: see the block's page in docs/configuration/."
        )
    return f"{place}: {message}{nearest}"


def _arguments(block: Any) -> list[str]:
    """The arguments of the function named by a config block."""
    from spacy.util import registry

    for key, name in block.items() if isinstance(block, Mapping) else ():
        if key.startswith("@"):
            parameters = inspect.signature(registry.get(key[1:], name)).parameters
            return [parameter for parameter in parameters if parameter not in ("nlp", "name")]
    return []


Range = tuple[Callable[[Any], bool], str]


def _whole(least: int) -> Range:
    return lambda n: isinstance(n, int) and n >= least, f"a whole number of at least {least}"


POSITIVE: Range = (lambda n: n > 0, "greater than 0")
NOT_NEGATIVE: Range = (lambda n: n >= 0, "at least 0")
BELOW_ONE: Range = (lambda n: 0 <= n < 1, "at least 0 and less than 1")
SETTINGS: dict[str, Range] = {
    "dropout": BELOW_ONE,
    "seed": (lambda n: isinstance(n, int), "a whole number"),
    "max_epochs": _whole(-1),
    **dict.fromkeys(("patience", "max_steps"), _whole(0)),
    # The loop divides by these
    **dict.fromkeys(("eval_frequency", "accumulate_gradient"), _whole(1)),
}
# Of spaCy's batchers, and of thinc's optimizers and schedules
ARGUMENTS: dict[str, Range] = {
    **dict.fromkeys(("size", "buffer", "start", "stop"), (lambda n: n >= 1, "at least 1")),
    **dict.fromkeys(("num_steps", "total_steps", "period"), _whole(1)),
    **dict.fromkeys(("beta1", "beta2"), (lambda n: 0 < n < 1, "greater than 0 and less than 1")),
    **dict.fromkeys(("eps", "compound"), POSITIVE),
    **dict.fromkeys(("tolerance", "learn_rate", "L2", "grad_clip", "warmup_steps"), NOT_NEGATIVE),
    **dict.fromkeys(("initial_rate", "base_rate", "rate", "max_rate"), NOT_NEGATIVE),
}


def check_numbers(training: Mapping[str, Any]) -> None:
    """Check the numbers of the training loop, its batcher and its optimizer."""
    _check(training, SETTINGS, "training")
    for name in ("batcher", "optimizer"):
        _check(training.get(name), ARGUMENTS, f"training.{name}")


def check_groups(settings: Mapping[str, Any], path: object) -> None:
    """Check the names of components in the optimizer's groups for typos. A group without parameters
    is an error in any case, but only at the first update."""
    known = settings["nlp"].get("pipeline") or []
    groups = (settings["training"].get("optimizer") or {}).get("groups") or {}
    for group, block in groups.items():
        for name in (block.get("components") or ()) if isinstance(block, Mapping) else ():
            if name not in known and suggestion(name, known):
                where = f" for [training.optimizer.groups.{group}]"
                problem = _unknown("component", name, known, where)
                raise ValueError(Errors.P437.format(path=path, problem=problem))


def _check(settings: Any, ranges: Mapping[str, Range], section: str) -> None:
    for name, value in settings.items() if isinstance(settings, Mapping) else ():
        if ranges is ARGUMENTS:
            _check(value, ranges, f"{section}.{name}")
        # Schedules are sections or lists
        for number in value if isinstance(value, list) else [value]:
            if name in ranges and number is not None and not isinstance(number, Mapping):
                check_value(f"{section}.{name}", number, *ranges[name])
