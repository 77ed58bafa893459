"""The components of this package."""

from .srl import PSASemanticRoles
from .tagger import PSATagger

Component = PSATagger | PSASemanticRoles
