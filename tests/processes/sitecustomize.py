"""Python imports this in the processes that tests start, see `tests.quick`.

To load any pipeline, spaCy imports all plugins that are installed. spacy-transformers alone takes
longer than what most of these processes do.
"""

from importlib.metadata import Distribution, EntryPoints

_found = Distribution.entry_points.fget


def _others(distribution: Distribution) -> EntryPoints:
    found = _found(distribution)
    return EntryPoints(p for p in found if not p.value.startswith("spacy_transformers"))


Distribution.entry_points = property(_others)
