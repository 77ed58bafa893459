"""The component `psa_srl`."""

from .component import PSASemanticRoles
from .factory import make_psa_srl

__all__ = ["PSASemanticRoles", "make_psa_srl"]
