"""Entry points: what other packages find by name."""

from __future__ import annotations

import inspect
from configparser import ConfigParser
from importlib import import_module
from pathlib import Path

import spacy
from spacy.util import registry

SETUP = Path(__file__).parents[2] / "setup.cfg"
REGISTRIES = {
    "spacy_architectures": registry.architectures,
    "spacy_scorers": registry.scorers,
    "spacy_readers": registry.readers,
    "spacy_factories": registry._entry_point_factories,
    "spacy_cli": registry.cli,
    "spacy_misc": registry.misc,
    "spacy_batchers": registry.batchers,
    "spacy_loggers": registry.loggers,
    "spacy_callbacks": registry.callbacks,
    "thinc_optimizers": registry.optimizers,
    "thinc_schedules": registry.schedules,
}


def entry_points() -> list[tuple[str, str, str]]:
    parser = ConfigParser()
    parser.optionxform = str
    parser.read(SETUP, "utf8")
    groups = parser["options.entry_points"]
    return [
        (group, *(part.strip() for part in line.split("=")))
        for group, lines in groups.items()
        if group != "console_scripts"
        for line in lines.strip().splitlines()
    ]


def test_all_registries_are_known() -> None:
    assert {group for group, _, _ in entry_points()} == set(REGISTRIES)


def test_entry_points_are_found_under_their_names() -> None:
    for group, name, target in entry_points():
        path, _, attribute = target.partition(":")
        expected = import_module(path)
        expected = getattr(expected, attribute) if attribute else expected
        assert REGISTRIES[group].get(name) is expected, name


def test_arguments_have_types_that_any_pydantic_can_read() -> None:
    # spaCy up to 3.8.11 builds a schema from the signature with pydantic 1, which cannot resolve
    # annotations that `from __future__ import annotations` turns into strings.
    for group, _, target in entry_points():
        if group != "spacy_cli":
            path, _, attribute = target.partition(":")
            parameters = inspect.signature(getattr(import_module(path), attribute)).parameters
            strings = [name for name, p in parameters.items() if isinstance(p.annotation, str)]
            assert strings == [], target


def test_the_factory_is_known_to_a_blank_pipeline() -> None:
    assert "psa_tagger" in spacy.blank("xx").factory_names


def test_names_have_a_namespace_and_a_version() -> None:
    names = [name for _, name, _ in entry_points() if "." in name]
    assert [n for n in names if not (n.startswith("spacy_psa.") and n.endswith(".v1"))] == []
