"""Train a small model on what large ones think of texts, annotated or not."""

from typing import TYPE_CHECKING

from ..exports import exports

if TYPE_CHECKING:
    from .distilled import create_distilled_corpus as create_distilled_corpus

__all__, __getattr__, __dir__ = exports(__name__, {"distilled": ["create_distilled_corpus"]})
