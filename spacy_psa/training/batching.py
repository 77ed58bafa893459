"""Batches by the number of tokens that a model labels, padding included."""

import random
from collections.abc import Callable, Iterable, Iterator

from spacy.training import Example
from spacy.util import minibatch

from ..annotation.propositions import get_frames
from ..errors import Errors

Batcher = Callable[[Iterable[Example]], Iterable[list[Example]]]


def batch_by_propositions(size: int = 4096, buffer: int = 4096) -> Batcher:
    """Configure batches of a number of tokens, where a sentence counts once for each predicate.

    Sentences of similar length are put together: among `buffer` of them, which are in the order of
    the corpus, the batches come in random order. A sentence that is larger than `size` by itself is
    a batch of its own; nothing is left out. Sentences without predicates count once.

    size (int): Tokens of a batch at most, padding included. The paper: 4096 for CoNLL-2005, 8192
        for CoNLL-2012.
    buffer (int): Sentences among which those of similar length are looked for.
    RETURNS (Callable[[Iterable[Example]], Iterable[List[Example]]]): The batcher.
    RAISES (ValueError): If a value is less than 1.

    Source: Tan et al. (2018), 'Learning'.
    """
    for name, value in (("size", size), ("buffer", buffer)):
        if value < 1:
            raise ValueError(Errors.P210.format(name=name, value=value, expected="at least 1"))

    def batches(examples: Iterable[Example]) -> Iterator[list[Example]]:
        for group in minibatch(examples, size=buffer):
            yield from _batches(group, size)

    return batches


def _batches(examples: list[Example], size: int) -> list[list[Example]]:
    batches: list[list[Example]] = []
    n_copies = 0
    for example in sorted(examples, key=lambda example: -len(example.reference)):
        copies = max(1, len(get_frames(example.reference)))
        # Sorted from the longest: the first one of a batch tells how wide it is padded.
        width = len(batches[-1][0].reference) if batches else 0
        if not batches or (n_copies + copies) * width > size:
            batches.append([])
            n_copies = 0
        batches[-1].append(example)
        n_copies += copies
    random.shuffle(batches)
    return batches
