"""The sizes that `benchmarks.scaling` varies, one at a time."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .pipelines import TAGGED_AT_ONCE

LENGTH, LABELS, BATCH = 25, 45, 10


class Setting(NamedTuple):
    """A setting to measure. On an axis, only one size varies.

    n_sentences (int): The number of sentences.
    length (int): The number of tokens per sentence.
    n_labels (int): The number of labels.
    batch (int): The batch size in training.
    tagged (int): The batch size in tagging.
    vectors (int): The number of rows in the table of pretrained vectors.
    words (int): The number of words in the training data besides those of the sentences.
    """

    n_sentences: int
    length: int = LENGTH
    n_labels: int = LABELS
    batch: int = BATCH
    tagged: int = TAGGED_AT_ONCE
    vectors: int = 0
    words: int = 0


class Axis(NamedTuple):
    """A size that is varied.

    title (str): The description.
    sizes (Sequence[int]): The sizes.
    base (int): The size to which times are relative.
    make (Callable[[int, int], Setting]): Makes a setting from the size and the number of tokens.
    """

    title: str
    sizes: Sequence[int]
    base: int
    make: Callable[[int, int], Setting]


def _of_batch(size: int, tokens: int) -> Setting:
    # Full batches, and only as many of the slow small ones as needed
    n = max(size, min(tokens // LENGTH, 16 * size))
    return Setting(n, batch=size, tagged=size)


AXES = {
    "length": Axis(
        "tokens of a sentence",
        (10, 25, 50, 100, 200, 400),
        25,
        lambda size, tokens: Setting(max(1, tokens // size), length=size),
    ),
    "labels": Axis(
        "labels",
        (9, 45, 100, 200, 425),
        45,
        lambda size, tokens: Setting(tokens // LENGTH, n_labels=size),
    ),
    "batch": Axis("sentences of a batch", (1, 4, 10, 32, 100, 256), 10, _of_batch),
    "vectors": Axis(
        "rows of the table of vectors",
        (10_000, 100_000, 1_000_000),
        100_000,
        lambda size, tokens: Setting(tokens // LENGTH, vectors=size),
    ),
    "words": Axis(
        "words of the training data",
        (5_000, 20_000, 100_000),
        20_000,
        lambda size, tokens: Setting(tokens // LENGTH, words=size),
    ),
}
