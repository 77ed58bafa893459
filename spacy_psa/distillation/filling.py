"""Ask teachers about texts, once, and keep what they say on disk."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from ..annotation.propositions import get_frames, has_frames
from ..disk import sha256_of, walk
from ..errors import Errors, Warnings, warn
from ..pipeline.srl import PSASemanticRoles
from ..pipeline.srl.predicates import set_predicates
from ..pipeline.teaching import Teaching
from .blocks_on_disk import DOCS_IN_BLOCK, Cache, Item
from .teachers import Lesson, Teacher, aligned, averaged

# Beyond this times the entropy of texts that a teacher knows, it does not know a language
UNCERTAIN = 3.0
Content = str | tuple[list[str], list[bool]]


@dataclass(frozen=True)
class Text:
    """A text to learn from.

    doc (Doc): The student's tokens, with annotation if there is any.
    content (Union[str, Tuple[List[str], List[bool]]]): What teachers read: the text, or words and
        whether a space follows each.
    is_gold (bool): Whether the annotation counts.
    predicates (Optional[List[int]]): The predicates that are given, for semantic roles.
    """

    doc: Doc
    content: Content
    is_gold: bool = False
    predicates: list[int] | None = None


@dataclass(frozen=True)
class Settings:
    """How teachers are asked.

    temperature (float): The temperature of their distributions.
    mass (float): The probability to keep of each token.
    most (Optional[int]): The maximum number of pairs of labels of each token.
    """

    temperature: float = 1.0
    mass: float = 0.999
    most: int | None = 64

    def __post_init__(self) -> None:
        # Before teachers work for hours
        if not 0.0 < self.temperature < math.inf:
            raise ValueError(Errors.P019.format(temperature=self.temperature))


def words_of(doc: Doc) -> tuple[list[str], list[bool]]:
    """RETURNS (Tuple[List[str], List[bool]]): The words, and whether a space follows each."""
    return [token.text for token in doc], [bool(token.whitespace_) for token in doc]


def predicates_of(doc: Doc) -> list[int] | None:
    """RETURNS (Optional[List[int]]): The annotated predicates."""
    return sorted({f.predicate for f in get_frames(doc)}) if has_frames(doc) else None


def checksum_of(nlp: Language) -> str:
    """RETURNS (str): The checksum of all files of a pipeline."""
    digest = hashlib.sha256()
    root = Path(nlp.path or ".")
    for path in walk(root) if nlp.path else ():
        digest.update(f"{path.relative_to(root)} {sha256_of(path)}\n".encode())
    return digest.hexdigest()


def fill(
    cache: Cache,
    teachers: Sequence[Teacher],
    texts: Iterable[Text],
    settings: Settings,
    *,
    progress: Callable[[int], Any] = lambda n: None,
) -> None:
    """Compute the blocks that a cache lacks, of the same texts in the same order each time."""
    cache.begin()
    remaining, number, done = iter(texts), 0, cache.n_blocks
    while block := list(islice(remaining, DOCS_IN_BLOCK)):
        if number >= done:
            items, sums = _block(teachers, block, settings)
            cache.write(number, items, sums)
        progress(len(block))
        number += 1


def _block(
    teachers: Sequence[Teacher], block: Sequence[Text], settings: Settings
) -> tuple[list[Item], dict[str, float]]:
    items: list[Item] = []
    sums = dict.fromkeys(("docs", "tokens", "unlabeled", "entropy", "left_out", "silent"), 0.0)
    size = max(1, min(t.nlp.batch_size for t in teachers))
    for first in range(0, len(block), size):
        texts = [text for text in block[first : first + size] if len(text.doc)]
        lessons = [list(ask(teacher, texts, settings)) for teacher in teachers]
        for text, said in zip(texts, zip(*lessons, strict=True), strict=True):
            doc, teaching = _item(text, said)
            items.append((doc, teaching))
            sums["docs"] += 1
            sums["tokens"] += len(doc)
            if not text.is_gold:
                sums["unlabeled"] += len(doc)
                sums["entropy"] += sum(one.entropy for one in said) / len(said)
            if teaching is None and said[0].teaching is not None:
                sums["left_out"] += 1
            elif teaching is not None:
                sums["silent"] += not teaching.lengths
                sums["left_out"] += len(teaching.edges.token) == 0 < len(teaching.lengths)
    return items, sums


def ask(teacher: Teacher, texts: Sequence[Text], settings: Settings) -> Iterator[Lesson]:
    """Ask a teacher about texts that have tokens."""
    docs = [teacher.read(text.content) for text in texts]
    if isinstance(teacher.pipe, PSASemanticRoles):
        for doc, text in zip(docs, texts, strict=True):
            if text.predicates is not None and len(doc) == len(text.doc):
                set_predicates(doc, text.predicates)
    return teacher.teach(
        docs, temperature=settings.temperature, mass=settings.mass, most=settings.most
    )


def _item(text: Text, said: Sequence[Lesson]) -> Item:
    """What to keep of a text."""
    if said[0].teaching is None:
        return (text.doc if text.is_gold else said[0].doc), None
    own = [token.text for token in text.doc]
    moved: list[Teaching] = []
    for one in said:
        assert one.teaching is not None
        theirs = [token.text for token in one.doc]
        if one.teaching.predicates is not None and theirs != own:
            return text.doc, None
        moved.append(aligned(one.teaching, theirs, own))
    # Sequences of the same length can be those of other predicates
    chains = [(one.lengths, one.predicates) for one in moved]
    if any(own != chains[0] for own in chains):
        return text.doc, None
    return text.doc, averaged(moved)


def mean_entropy(teacher: Teacher, texts: Sequence[Text], settings: Settings) -> float:
    """RETURNS (float): A teacher's entropy per token, in nats."""
    total, n_tokens = 0.0, 0
    for lesson in _lessons(teacher, [text for text in texts if len(text.doc)], settings):
        total, n_tokens = total + lesson.entropy, n_tokens + len(lesson.doc)
    return total / max(1, n_tokens)


def _lessons(teacher: Teacher, texts: Sequence[Text], settings: Settings) -> Iterator[Lesson]:
    """Ask a teacher about any number of texts that have tokens."""
    size = max(1, teacher.nlp.batch_size)
    for first in range(0, len(texts), size):
        yield from ask(teacher, texts[first : first + size], settings)


def warn_of_uncertainty(found: float, expected: float, path: str, known: str) -> None:
    """Warn if teachers are much less certain of texts than of those that they know."""
    if found > UNCERTAIN * expected:
        names = {"path": path, "known": known, "found": found, "expected": expected}
        warn(Warnings.W530.format(**names))


def most_uncertain(
    teacher: Teacher, texts: Sequence[Text], n: int, settings: Settings
) -> list[Text]:
    """Choose the texts with the highest entropy per token, of a student that is to learn more or of
    a teacher."""
    filled = [text for text in texts if len(text.doc)]
    lessons = _lessons(teacher, filled, settings)
    entropies = [lesson.entropy / len(lesson.doc) for lesson in lessons]
    order = sorted(range(len(filled)), key=lambda i: (-entropies[i], i))[:n]
    return [filled[i] for i in sorted(order)]
