"""Batch by the number of tokens that a model labels, including padding."""

import random
from collections.abc import Callable, Iterable, Iterator

from spacy.training import Example
from spacy.util import minibatch

from ..annotation.propositions import get_frames
from ..errors import check_counts

Batcher = Callable[[Iterable[Example]], Iterable[list[Example]]]


def batch_by_propositions(
    size: int = 4096, buffer: int = 4096, max_sentences: int | None = None
) -> Batcher:
    """Configure batching by number of tokens, counting a sentence once per predicate.

    Buffers of `buffer` sentences are read in corpus order. Within a buffer, sentences of similar
    length are batched together, and the batches are shuffled. A sentence that exceeds `size` on its
    own becomes a batch; nothing is discarded. Sentences without predicates count once.

    size (int): Maximum number of tokens in a batch, including padding. The paper: 4096 for
        CoNLL-2005, 8192 for CoNLL-2012.
    buffer (int): Number of sentences to group by length.
    max_sentences (Optional[int]): Maximum number of sentences in a batch, for a transformer, which
        splits tokens into pieces: among a thousand sentences of one token there is an address of a
        hundred pieces, to which all are padded. None for any number.
    RETURNS (Callable[[Iterable[Example]], Iterable[List[Example]]]): The batcher.
    RAISES (ValueError): If a value is out of range.

    Source: Tan et al. (2018), 'Learning'.
    """
    most = size if max_sentences is None else max_sentences
    check_counts(size=size, buffer=buffer, max_sentences=most)

    def batches(examples: Iterable[Example]) -> Iterator[list[Example]]:
        for group in minibatch(examples, size=buffer):
            yield from _batches(group, size, most)

    return batches


def _batches(examples: list[Example], size: int, most: int) -> list[list[Example]]:
    batches: list[list[Example]] = []
    n_copies = 0
    for example in sorted(examples, key=lambda example: -len(example.reference)):
        copies = max(1, len(get_frames(example.reference)))
        # Sorted longest first, so the first sentence of a batch determines its padded length.
        width = len(batches[-1][0].reference) if batches else 0
        is_full = (n_copies + copies) * width > size
        if not batches or is_full or len(batches[-1]) == most:
            batches.append([])
            n_copies = 0
        batches[-1].append(example)
        n_copies += copies
    random.shuffle(batches)
    return batches
