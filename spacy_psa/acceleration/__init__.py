"""Faster replacements of the operations that `spacy_psa.layers.ops` defines."""

from .install import install

__all__ = ["install"]
