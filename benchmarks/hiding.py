"""Data of which annotators have left out a part, made from data that is complete.

What is hidden or kept is always a *unit*: a whole span, or a token outside of spans, as `doc.ents`
cannot tell a part of a span. Where spans are written as tags, each token is a unit.
"""

import random
from collections.abc import Callable, Iterable, Sequence

from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

Unit = tuple[int, int]
"""First token, and the token after the last one."""
Hidden = list[set[int]]
"""The hidden tokens of each document."""

STRETCHES = 24.0  # tokens of a hidden and an annotated stretch, a sentence of CoNLL-2000
ALL = "all"


def plain_docs(docs: Iterable[Doc], target: str, spans_key: str, vocab: Vocab) -> list[Doc]:
    """Copy documents with just the annotation that is to be learnt.

    docs (Iterable[Doc]): The documents. Each is a sentence.
    target (str): "tag", "ents" or "spans". Groups of spans become entities: of a group, spaCy
        cannot say that some tokens are not annotated.
    spans_key (str): The key of the spans.
    vocab (Vocab): The vocabulary of the copies.
    RETURNS (List[Doc]): Documents with tags or with entities.
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
    """Write entities as tags of tokens, in BIO. Then single tokens of a span can be hidden.

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
    """Divide a document into what is hidden or kept as a whole.

    doc (Doc): The document, from `plain_docs`.
    RETURNS (List[Tuple[int, int]]): The units, in their order: entities, and tokens outside of
        entities, which are all of them where there are tags.
    """
    spans = {ent.start: ent.end for ent in doc.ents}
    found, start = [], 0
    while start < len(doc):
        end = spans.get(start, start + 1)
        found.append((start, end))
        start = end
    return found


def hide_tokens(parts: Sequence[Sequence[Unit]], share: float, rng: random.Random) -> Hidden:
    """Hide units at random, each with the same probability, until enough tokens are hidden.

    Hardly any sentence stays complete, and those that do are very short.

    parts (Sequence[Sequence[Tuple[int, int]]]): The units of each document.
    share (float): Of the tokens, to be hidden.
    rng (Random): The source of randomness.
    RETURNS (List[Set[int]]): The hidden tokens.
    """
    groups = [[(i, unit)] for i, of_doc in enumerate(parts) for unit in of_doc]
    return _hide_in_order(groups, share, len(parts), rng)


def hide_sentences(parts: Sequence[Sequence[Unit]], share: float, rng: random.Random) -> Hidden:
    """Hide whole sentences at random, until enough tokens are hidden.

    What is left is what one gets for the same amount of annotation in complete sentences.

    parts (Sequence[Sequence[Tuple[int, int]]]): The units of each document.
    share (float): Of the tokens, to be hidden.
    rng (Random): The source of randomness.
    RETURNS (List[Set[int]]): The hidden tokens.
    """
    groups = [[(i, unit) for unit in of_doc] for i, of_doc in enumerate(parts)]
    return _hide_in_order(groups, share, len(parts), rng)


def hide_stretches(parts: Sequence[Sequence[Unit]], share: float, rng: random.Random) -> Hidden:
    """Hide stretches of running text, as of annotators who stop and go on elsewhere.

    Hidden and annotated stretches alternate, across the ends of sentences. Their lengths have
    geometric distributions, whose means are in the ratio of what is hidden and what is not, and
    together `STRETCHES` tokens. Many sentences are annotated in part, and some are complete or
    hidden as a whole.

    parts (Sequence[Sequence[Tuple[int, int]]]): The units of each document.
    share (float): Of the tokens, to be hidden on average: above 0 and below 1.
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
    """Hide groups of units, each with its document, in random order until enough is hidden."""
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
    """Leave hidden tokens without annotation.

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
    """Take hidden tokens to be in no span, as one does who forgets that something is hidden.

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
    RETURNS (List[Doc]): Those that are left.
    """
    return [doc for doc, tokens in zip(docs, hidden, strict=True) if not tokens]


def count_annotated(docs: Iterable[Doc]) -> int:
    """Count the tokens that are annotated.

    docs (Iterable[Doc]): The documents.
    RETURNS (int): The number of tokens that have a tag, or are known to be in an entity or not.
    """
    return sum(bool(token.tag) or token.ent_iob != 0 for doc in docs for token in doc)


# By the name of a run's second half: what is done, and how it is described
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
    designs (Sequence[str]): What is hidden: keys of `HIDING`.
    shares (Sequence[float]): How much of the tokens.
    seed (int): Says what is hidden.
    RETURNS (Dict[str, Sequence[Doc]]): By the name of the run. Of a design that hides whole
        sentences there is nothing but what is complete.
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
