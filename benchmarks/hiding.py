"""Simulate partial annotation by hiding parts of completely annotated data.

Annotation is hidden or kept in *units*: a unit is a whole span or a token outside of spans, since
`doc.ents` cannot represent part of a span. If spans are written as tags, each token is a unit.
"""

import random
from collections.abc import Callable, Iterable, Sequence

from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

Unit = tuple[int, int]
"""The first token, and the token after the last one."""
Hidden = list[set[int]]
"""The hidden tokens of each document."""

# Mean tokens in a hidden and an annotated stretch together: the mean sentence length of CoNLL-2000
STRETCHES = 24.0
ALL = "all"


def plain_docs(docs: Iterable[Doc], target: str, spans_key: str, vocab: Vocab) -> list[Doc]:
    """Copy documents with only the annotation to learn.

    docs (Iterable[Doc]): The documents. Each is a sentence.
    target (str): "tag", "ents" or "spans". Span groups become entities, since spaCy cannot mark
        tokens as unannotated in a span group.
    spans_key (str): The key of the spans.
    vocab (Vocab): The vocabulary of the copies.
    RETURNS (List[Doc]): Documents with tags or entities.
    """
    copies = []
    for doc in docs:
        words = [token.text for token in doc]
        copy = Doc(vocab, words=words, spaces=[bool(token.whitespace_) for token in doc])
        if target == "tag":
            for token, source in zip(copy, doc, strict=True):
                token.tag_ = source.tag_
        else:
            spans = doc.ents if target == "ents" else doc.spans[spans_key]
            copy.set_ents([Span(copy, span.start, span.end, span.label_) for span in spans])
        copies.append(copy)
    return copies


def as_tags(docs: Iterable[Doc]) -> list[Doc]:
    """Convert entities to BIO tags, so that single tokens of a span can be hidden.

    docs (Iterable[Doc]): The documents, from `plain_docs`.
    RETURNS (List[Doc]): Copies with tags and without entities.
    """
    copies = []
    for doc in docs:
        tags = ["O" if t.ent_iob_ == "O" else f"{t.ent_iob_}-{t.ent_type_}" for t in doc]
        words, spaces = [t.text for t in doc], [bool(t.whitespace_) for t in doc]
        copies.append(Doc(doc.vocab, words=words, spaces=spaces, tags=tags))
    return copies


def units(doc: Doc) -> list[Unit]:
    """Divide a document into units that are hidden or kept as a whole.

    doc (Doc): The document, from `plain_docs`.
    RETURNS (List[Tuple[int, int]]): The units in order: entities, and tokens outside of entities
        (which are all tokens of documents with tags).
    """
    spans = {ent.start: ent.end for ent in doc.ents}
    found, start = [], 0
    while start < len(doc):
        end = spans.get(start, start + 1)
        found.append((start, end))
        start = end
    return found


def hide_tokens(parts: Sequence[Sequence[Unit]], share: float, rng: random.Random) -> Hidden:
    """Hide random units, each with the same probability, until enough tokens are hidden.

    Hardly any sentence stays complete, and those that do are very short.

    parts (Sequence[Sequence[Tuple[int, int]]]): The units of each document.
    share (float): The share of tokens to hide.
    rng (Random): The source of randomness.
    RETURNS (List[Set[int]]): The hidden tokens.
    """
    groups = [[(i, unit)] for i, of_doc in enumerate(parts) for unit in of_doc]
    return _hide_in_order(groups, share, len(parts), rng)


def hide_sentences(parts: Sequence[Sequence[Unit]], share: float, rng: random.Random) -> Hidden:
    """Hide random sentences until enough tokens are hidden.

    The remaining data is the same amount of annotation in complete sentences.

    parts (Sequence[Sequence[Tuple[int, int]]]): The units of each document.
    share (float): The share of tokens to hide.
    rng (Random): The source of randomness.
    RETURNS (List[Set[int]]): The hidden tokens.
    """
    groups = [[(i, unit) for unit in of_doc] for i, of_doc in enumerate(parts)]
    return _hide_in_order(groups, share, len(parts), rng)


def hide_stretches(parts: Sequence[Sequence[Unit]], share: float, rng: random.Random) -> Hidden:
    """Hide stretches of running text, as if annotators stop and continue elsewhere.

    Hidden and annotated stretches alternate across sentence boundaries. Their lengths follow
    geometric distributions, whose means have the ratio of hidden to annotated tokens and sum to
    `STRETCHES`. Many sentences are partially annotated; some are complete or fully hidden.

    parts (Sequence[Sequence[Tuple[int, int]]]): The units of each document.
    share (float): The expected share of tokens to hide: above 0 and below 1.
    rng (Random): The source of randomness.
    RETURNS (List[Set[int]]): The hidden tokens.
    """
    hidden: Hidden = [set() for _ in parts]
    hides = rng.random() < share
    for tokens, of_doc in zip(hidden, parts, strict=True):
        for start, end in of_doc:
            if hides:
                tokens.update(range(start, end))
            # A stretch may end after each token, but never within a unit
            mean = max(STRETCHES * (share if hides else 1 - share), 1.0)
            if rng.random() >= (1 - 1 / mean) ** (end - start):
                hides = not hides
    return hidden


def _hide_in_order(
    groups: list[list[tuple[int, Unit]]], share: float, n_docs: int, rng: random.Random
) -> Hidden:
    """Hide groups of (document index, unit) pairs in random order until enough is hidden."""
    left = share * sum(end - start for group in groups for _, (start, end) in group)
    hidden: Hidden = [set() for _ in range(n_docs)]
    rng.shuffle(groups)
    for group in groups:
        if left <= 0:
            break
        for i, (start, end) in group:
            hidden[i].update(range(start, end))
            left -= end - start
    return hidden


HIDING: dict[str, Callable[[Sequence[Sequence[Unit]], float, random.Random], Hidden]] = {
    "tokens": hide_tokens,
    "stretches": hide_stretches,
    "sentences": hide_sentences,
}


def as_unknown(docs: Sequence[Doc], hidden: Hidden) -> list[Doc]:
    """Mark hidden tokens as unannotated.

    docs (Sequence[Doc]): The documents.
    hidden (List[Set[int]]): Their hidden tokens.
    RETURNS (List[Doc]): Copies.
    """
    copies = []
    for doc, tokens in zip(docs, hidden, strict=True):
        copy = doc.copy()
        for i in tokens:
            copy[i].tag_ = ""
        if doc.has_annotation("ENT_IOB"):
            kept = [Span(copy, *place) for place in _kept(doc, tokens)]
            copy.set_ents(kept, missing=[copy[i : i + 1] for i in sorted(tokens)])
        copies.append(copy)
    return copies


def as_outside(docs: Sequence[Doc], hidden: Hidden) -> list[Doc]:
    """Treat hidden tokens as outside of spans, as if the annotation were complete.

    docs (Sequence[Doc]): The documents, with entities.
    hidden (List[Set[int]]): Their hidden tokens.
    RETURNS (List[Doc]): Copies.
    """
    copies = []
    for doc, tokens in zip(docs, hidden, strict=True):
        copy = doc.copy()
        copy.set_ents([Span(copy, *place) for place in _kept(doc, tokens)])
        copies.append(copy)
    return copies


def only_complete(docs: Sequence[Doc], hidden: Hidden) -> list[Doc]:
    """Drop documents that have hidden tokens.

    docs (Sequence[Doc]): The documents.
    hidden (List[Set[int]]): Their hidden tokens.
    RETURNS (List[Doc]): The remaining documents.
    """
    return [doc for doc, tokens in zip(docs, hidden, strict=True) if not tokens]


def count_annotated(docs: Iterable[Doc]) -> int:
    """Count the annotated tokens.

    docs (Iterable[Doc]): The documents.
    RETURNS (int): The number of tokens with a tag, or known to be inside or outside of an entity.
    """
    return sum(bool(token.tag) or token.ent_iob != 0 for doc in docs for token in doc)


# By the last part of a run's name: the function, and its description
TREATMENTS = {
    "unknown": (as_unknown, "hidden tokens may have any label"),
    "complete": (only_complete, "only complete sentences"),
    "outside": (as_outside, "hidden tokens taken to be outside"),
}


def run_name(design: str, share: float, treatment: str) -> str:
    """RETURNS (str): The name of a run."""
    return f"{design}-{100 * share:g}-{treatment}"


def make_runs(
    docs: Sequence[Doc], target: str, designs: Sequence[str], shares: Sequence[float], seed: int
) -> dict[str, Sequence[Doc]]:
    """Make the training data of each run.

    docs (Sequence[Doc]): The complete data.
    target (str): "tag" or "ents".
    designs (Sequence[str]): What to hide: keys of `HIDING`.
    shares (Sequence[float]): The shares of tokens to hide.
    seed (int): The random seed.
    RETURNS (Dict[str, Sequence[Doc]]): The data, by name of the run. For the design that hides
        whole sentences, only the complete sentences.
    """
    parts = [units(doc) for doc in docs]
    runs: dict[str, Sequence[Doc]] = {ALL: docs}
    for design in designs:
        for share in shares:
            hidden = HIDING[design](parts, share, random.Random(seed))
            for name, (treat, _) in TREATMENTS.items():
                possible = name == "complete" or design != "sentences"
                if possible and (name != "outside" or target == "ents"):
                    runs[run_name(design, share, name)] = treat(docs, hidden)
    return runs


def _kept(doc: Doc, hidden: set[int]) -> list[tuple[int, int, str]]:
    ents = (ent for ent in doc.ents if ent.start not in hidden)
    return [(ent.start, ent.end, ent.label_) for ent in ents]
