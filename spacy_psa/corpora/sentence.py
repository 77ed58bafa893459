"""Annotated sentences, the format-independent output of all readers."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from ..annotation.propositions import Frame
from ..annotation.schemes import Span

LAYERS = ("tags", "pos", "morphs", "lemmas", "chunks", "ents", "frames", "speakers")


@dataclass(frozen=True)
class Sentence:
    """A sentence. Missing annotation is None, as opposed to [] for annotation without spans.

    If only some tokens are annotated, the others have "" in `tags`, `pos`, `morphs` and `lemmas`. A
    token that is annotated as having no morphological features has "_".

    words (List[str]): The words.
    tags (Optional[List[str]]): The language-specific part-of-speech tags, or other fine-grained
        tags.
    chunks (Optional[List[Span]]): The chunks: start, end, label.
    ents (Optional[List[Span]]): The named entities.
    starts_document (bool): Whether a document starts with this sentence.
    line (int): The line of the first word in the file.
    pos (Optional[List[str]]): The universal parts of speech.
    morphs (Optional[List[str]]): The morphological features, e.g. "Case=Nom|Number=Sing".
    lemmas (Optional[List[str]]): The lemmas.
    frames (Optional[List[Frame]]): The predicates with their arguments.
    spaces (Optional[List[bool]]): Whether whitespace follows each word; None if unknown.
    speakers (Optional[str]): The speaker of the sentence.
    document (Optional[str]): The name of its document, including that of the part, if any.
    sent_id (Optional[str]): The ID of the sentence.
    is_sentence (bool): Whether it is one; False for a text whose sentence boundaries are unknown.
    """

    words: list[str]
    tags: list[str] | None = None
    chunks: list[Span] | None = None
    ents: list[Span] | None = None
    starts_document: bool = False
    line: int = 0
    pos: list[str] | None = None
    morphs: list[str] | None = None
    lemmas: list[str] | None = None
    frames: list[Frame] | None = None
    spaces: list[bool] | None = None
    speakers: str | None = None
    document: str | None = None
    sent_id: str | None = None
    is_sentence: bool = True

    def only(self, layers: Collection[str]) -> "Sentence":
        """Keep only some layers."""
        dropped: dict[str, Any] = {
            name: None for name in LAYERS if name not in layers and getattr(self, name) is not None
        }
        return replace(self, **dropped) if dropped else self
