"""Each document of a batch goes to one rank, and the ranks have about as many tokens."""

from __future__ import annotations

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_psa.training.ranks.shares import STEP, digest, shares


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 8])
def test_every_document_is_in_one_share(n_ranks: int) -> None:
    lengths = np.random.default_rng(0).integers(0, 40, size=50).tolist()
    found = shares(lengths, n_ranks)
    assert len(found) == n_ranks
    assert sorted(i for share in found for i in share) == list(range(50))
    loads = [sum(lengths[i] for i in s) + STEP * max(lengths[i] for i in s) for s in found]
    assert max(loads) - min(loads) <= max(lengths)
    assert all(share == sorted(share) for share in found)


def test_the_longest_document_balances_several() -> None:
    assert shares([2, 9, 3, 4], 2) == [[1], [0, 2, 3]]


def test_who_has_the_longest_document_has_fewer_tokens() -> None:
    assert shares([9, 8, 4, 4, 1], 2) == [[0, 4], [1, 2, 3]]


def test_there_may_be_more_ranks_than_documents() -> None:
    assert shares([3, 0], 3) == [[0], [1], []]


def test_batches_that_differ_have_different_digests() -> None:
    vocab = spacy.blank("xx").vocab

    def example(*words: str) -> Example:
        doc = Doc(vocab, words=list(words))
        return Example(doc, doc)

    batches = [
        [],
        [example("a", "b")],
        [example("b", "a")],
        [example("a"), example("b")],
    ]
    assert len({digest(batch) for batch in batches}) == len(batches)
    assert digest(batches[1]) == digest([example("a", "b")])
