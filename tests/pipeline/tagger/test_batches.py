"""A sentence gets the same scores in any batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from spacy.tokens import Doc

from spacy_psa.layers.ops import lstm_types
from spacy_psa.models.network_shim import reduce_pipeline

from ..conftest import WORDS, initialized_nlp, tagger_of, tiny_model

# Sums of this many numbers are not added up in order, so MKL rounds them in more than one way
WIDTH = 240
BILSTM: dict[str, Any] = {
    "@architectures": "spacy_psa.BiLSTM.v1",
    "hidden_width": WIDTH,
    "depth": 1,
    "input_dropout": 0.0,
    "output_dropout": 0.0,
}

HALF = pytest.param(
    "bf16",
    marks=pytest.mark.skipif(
        torch.bfloat16 not in lstm_types(), reason="oneDNN has no bfloat16 here"
    ),
)


def sentences(n: int, seed: int = 0) -> list[list[str]]:
    """Sentences of 1 to 40 words of the training data."""
    random = np.random.default_rng(seed)
    words = sorted({word for sentence in WORDS for word in sentence})
    return [random.choice(words, random.integers(1, 41)).tolist() for _ in range(n)]


@pytest.mark.parametrize("precision", [None, HALF])
@pytest.mark.parametrize("decoder", ["CRF", "Softmax"])
def test_scores_of_a_bilstm_are_the_same_in_any_batch(decoder: str, precision: str | None) -> None:
    decoder_section = {"@architectures": f"spacy_psa.{decoder}.v1"}
    nlp = initialized_nlp("tag", model=tiny_model(encoder=BILSTM, decoder=decoder_section))
    if precision is not None:
        reduce_pipeline(nlp, precision)
    predict = tagger_of(nlp).model.predict
    docs = [Doc(nlp.vocab, words=words) for words in sentences(60)]
    whole = predict(docs).emissions.split([len(doc) for doc in docs])
    for size in (1, 3, 20):
        found = [predict(docs[i : i + size]).emissions for i in range(0, len(docs), size)]
        torch.testing.assert_close(torch.cat(found), torch.cat(whole), atol=1e-5, rtol=0)
    backwards = predict(docs[::-1]).emissions.split([len(doc) for doc in docs[::-1]])
    torch.testing.assert_close(torch.cat(backwards[::-1]), torch.cat(whole), atol=1e-5, rtol=0)
