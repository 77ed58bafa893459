"""Neural sequence labeling with exact structured decoding for spaCy."""

__version__ = "0.1.0"
