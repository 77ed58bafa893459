"""The component `psa_tagger`."""

from .component import PSATagger
from .factory import make_psa_tagger

__all__ = ["PSATagger", "make_psa_tagger"]
