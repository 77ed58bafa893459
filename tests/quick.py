"""What spaCy does for each pipeline anew, and tests of this package need only once.

Building, saving and loading take most of the time of tests whose networks are tiny.
"""

import os
import pickle
from functools import lru_cache
from pathlib import Path
from typing import Any

import catalogue
from spacy.language import BaseDefaults
from spacy.util import get_lang_class
from srsly.msgpack import msgpack_decoders, msgpack_encoders

try:
    from confection import _config
    from confection.validation import Schema
except ImportError:  # Older releases do this in another way
    Schema = None

# Exceptions of tokenizers, which each of thousands of pipelines would read several times: these are
# in the tests' texts
LANGUAGES = ("en", "de", "xx")
EXCEPTIONS = ("Mr.", "can't", "don't", "won't", "they're", "'s")


def install() -> None:
    """Do these things once per process, and import less in processes that tests start."""
    path = [str(Path(__file__).parent / "processes"), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    # Registries search all installed entry points in every look-up
    found = catalogue.AVAILABLE_ENTRY_POINTS
    catalogue.AVAILABLE_ENTRY_POINTS = {group: found.select(group=group) for group in found.groups}
    # srsly searches all registries for each message
    for registry in (msgpack_encoders, msgpack_decoders):
        registry.get_all = registry.get_all().copy
    if Schema is not None:
        _keep_schemas()
        _keep_configs()
    for defaults in (BaseDefaults, *(get_lang_class(lang).Defaults for lang in LANGUAGES)):
        rules = defaults.tokenizer_exceptions
        defaults.tokenizer_exceptions = {word: rules[word] for word in EXCEPTIONS if word in rules}


def _keep_schemas() -> None:
    """Keep the schema of each registered function."""
    make, kept = Schema.from_function.__func__, {}

    def from_function(cls, func, **settings):
        key = cls, func
        if settings or not hasattr(func, "__qualname__"):
            return make(cls, func, **settings)
        if key not in kept:
            kept[key] = make(cls, func)
        return kept[key]

    Schema.from_function = classmethod(from_function)


def _keep_configs() -> None:
    """Keep the configs that were parsed last: each pipeline parses its own several times."""
    parse = _config.parse_config

    @lru_cache(maxsize=500)
    def parsed(text: str, interpolate: bool) -> bytes:
        return pickle.dumps(parse(text, interpolate=interpolate))

    def parse_config(text: str, *, interpolate: bool = True, overrides: Any = None) -> Any:
        if overrides:
            return parse(text, interpolate=interpolate, overrides=overrides)
        return pickle.loads(parsed(text, interpolate))

    _config.parse_config = parse_config
