"""Documents, sentences and tokens that are longer than anything one would write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab
from torch import Tensor

from spacy_psa.annotation.targets import make_target
from spacy_psa.inference import layout
from spacy_psa.layers import CharacterBiLSTM, CharacterCNN, SequenceMask, words
from spacy_psa.layers.words import WordCharacterEmbedding, WordEmbedding
from spacy_psa.models.batches import BUCKET_POSITIONS, PREDICTED_POSITIONS, make_layout

from ..documentation import ROOT
from ..pipeline.conftest import (
    WORDS,
    annotation,
    initialized_nlp,
    make_adam,
    make_examples,
    tagger_of,
    tiny_model,
    trained_nlp,
)

# More than a window, and more than the inference layouts are cached for
LONG = layout.MAX_CACHED_TOKENS + 616
GIB = 1 << 30


def running_text(nlp: Language, n: int) -> Doc:
    """A document without sentence boundaries, made of sentences that the pipeline has memorized."""
    order = np.random.default_rng(0).integers(len(WORDS), size=n)
    words = [word for i in order for word in WORDS[i]]
    return Doc(nlp.vocab, words=words[:n])


def set_windows(nlp: Language, max_length: int, overlap: int) -> None:
    tagger_of(nlp).model.attrs.update(max_length=max_length, overlap=overlap)


def test_windows_leave_the_tags_as_they_are() -> None:
    nlp = trained_nlp()
    doc = running_text(nlp, 1000)
    (cut,) = tagger_of(nlp).predict([doc])
    set_windows(nlp, len(doc), 0)
    (whole,) = tagger_of(nlp).predict([doc])
    assert len(set(whole.ids.tolist())) > 5
    assert (cut.ids == whole.ids).mean() >= 0.99


def test_the_encoder_sees_a_bounded_part_of_a_document_at_a_time() -> None:
    nlp = initialized_nlp()
    set_windows(nlp, 64, 8)
    shapes: list[tuple[int, int]] = []
    encoder = tagger_of(nlp).model.get_ref("network").shims[0].network.encoder

    def note(_: object, inputs: tuple[torch.Tensor, SequenceMask]) -> None:
        mask = inputs[1]
        shapes.append((len(mask.lengths), mask.width))

    encoder.register_forward_pre_hook(note)
    nlp(running_text(nlp, LONG))
    assert max(length for _, length in shapes) == 64
    assert max(rows * length for rows, length in shapes) <= PREDICTED_POSITIONS
    shapes.clear()
    doc = running_text(nlp, LONG)
    tags = [tagger_of(nlp).labels[0]] * len(doc)
    nlp.update([Example.from_dict(doc, {"tags": tags})], sgd=False)
    sizes = [rows * length for rows, length in shapes]
    assert PREDICTED_POSITIONS < max(sizes) <= BUCKET_POSITIONS


def test_a_long_document_has_probabilities_alternatives_and_scores() -> None:
    nlp = trained_nlp("ents", probabilities=True)
    set_windows(nlp, 64, 8)
    tagger = tagger_of(nlp)
    doc = nlp(running_text(nlp, 1000))
    best, second = tagger.nbest([doc], 2)[0]
    assert best.tags == [tagger.tags[i] for i in tagger.predict([doc])[0].ids]
    assert second.tags != best.tags
    assert second.probability <= best.probability
    np.testing.assert_allclose(tagger.marginals([doc])[0].sum(axis=1), 1.0, atol=1e-4)
    assert all(0.0 <= ent._.psa_score <= 1.0 for ent in doc.ents)
    assert len(doc.ents) > 50
    assert nlp.evaluate([Example(running_text(nlp, 1000), doc)])["ents_f"] == 1.0


def test_layouts_of_long_documents_are_not_kept() -> None:
    cache = layout._cached_layout
    cache.cache_clear()
    layout.time_major((LONG,))
    layout.time_major((LONG, 3))
    assert cache.cache_info().currsize == 0
    for lengths in ((5, 3), (5,)):
        assert layout.time_major(lengths) is layout.time_major(lengths)
    assert cache.cache_info().currsize == 2


def test_a_token_of_a_million_characters_is_read_at_both_ends() -> None:
    nlp = trained_nlp()
    million = "x" * 500_000 + "y" * 500_000
    short = "x" * 25 + "y" * 25
    long, expected = (nlp(Doc(nlp.vocab, words=["Ann", word, "."])) for word in (million, short))
    assert annotation(long) == annotation(expected)


@pytest.mark.parametrize("n", [3_000, pytest.param(50_000, marks=pytest.mark.nightly)])
def test_a_document_of_nothing_but_white_space(n: int) -> None:
    nlp = trained_nlp()
    doc = nlp(Doc(nlp.vocab, words=[" "] * n))
    assert all(token.tag_ in tagger_of(nlp).labels for token in doc)


@pytest.mark.parametrize("n", [5_000, pytest.param(100_000, marks=pytest.mark.nightly)])
def test_empty_documents_without_end(n: int) -> None:
    nlp = trained_nlp(probabilities=True)
    assert sum(len(doc) for doc in nlp.pipe("" for _ in range(n))) == 0


def test_a_long_sentence_can_be_learnt_from() -> None:
    nlp = initialized_nlp(model=tiny_model(max_length=64, overlap=8))
    gold = [eg.reference for eg in make_examples(nlp)]
    tags = [token.tag_ for _ in range(60) for doc in gold for token in doc]
    doc = Doc(nlp.vocab, words=[token.text for _ in range(60) for doc in gold for token in doc])
    example, optimizer = Example.from_dict(doc, {"tags": tags}), make_adam()
    first = nlp.update([example], sgd=optimizer)["psa_tagger"]
    for _ in range(5):
        last = nlp.update([example], sgd=optimizer)["psa_tagger"]
    assert last < first


def test_gradients_do_not_depend_on_how_windows_are_put_together() -> None:
    layer = tagger_of(initialized_nlp()).model.get_ref("network")
    network = layer.shims[0].network
    lengths, width = [40, 3, 25], layer.get_dim("nI")
    x = torch.randn(sum(lengths), width, generator=torch.Generator().manual_seed(0))

    def gradient(bucket_positions: int) -> tuple[int, Tensor]:
        leaf = x.clone().requires_grad_()
        windows = make_layout(lengths, max_length=10, overlap=4, bucket_positions=bucket_positions)
        network(leaf, windows).emissions.square().sum().backward()
        assert leaf.grad is not None
        return len(windows.buckets), leaf.grad

    (few, together), (many, apart) = gradient(4096), gradient(10)
    assert (few, many > 10) == (1, True)
    torch.testing.assert_close(apart, together, rtol=1e-4, atol=1e-5)


def test_spans_of_other_tokens_are_aligned_in_one_pass() -> None:
    class Counting(Example):
        asked = 0

        @property
        def alignment(self) -> Any:
            Counting.asked += 1
            return super().alignment

    vocab = Vocab()
    gold = Doc(vocab, words=["New", "York", "likes", "ham"] * 50)
    starts = range(0, len(gold), 4)
    gold.spans["sc"] = [gold[i : i + 2] for i in starts] + [gold[i + 3 : i + 4] for i in starts]
    gold.spans["sc"] = [Span(gold, span.start, span.end, "X") for span in gold.spans["sc"]]
    predicted = Doc(vocab, words=["New York", "likesham"] * 50)
    example = Counting(predicted, gold)
    tags = make_target("spans", spans_key="sc").gold_tags(example, [0])
    assert tags == ["S-X", None] * 50
    assert Counting.asked == 1


def long_words(n: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 9, (n,), generator=generator).sort(descending=True).values
    characters = torch.randint(1, 20, (n, int(lengths[0])), generator=generator)
    return characters * (torch.arange(characters.shape[1]) < lengths[:, None]), lengths


@pytest.mark.parametrize(
    "make", [CharacterBiLSTM, lambda n, **width: CharacterCNN(n, dropout=0.0, **width)]
)
def test_characters_are_read_piece_by_piece(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    characters, lengths = long_words(40)
    part = make(20, embedding_width=4, width=6)
    network = WordCharacterEmbedding(WordEmbedding(3, 5), part)
    arguments = (torch.zeros(40, dtype=torch.long), None, characters, lengths, torch.arange(40))

    def run() -> tuple[Tensor, list[Tensor]]:
        output = network(*arguments)
        return output, torch.autograd.grad(output.square().sum(), list(network.parameters()))

    whole, whole_gradients = run()
    sizes: list[int] = []
    part.register_forward_pre_hook(lambda module, inputs: sizes.append(inputs[0].numel()))
    monkeypatch.setattr(words, "CHARACTER_POSITIONS", 30)
    output, gradients = run()
    assert len(sizes) > 5
    assert max(sizes) <= 30
    torch.testing.assert_close(output, whole)
    torch.testing.assert_close(gradients, whole_gradients)


MEMORY = """
import json, sys
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import Adam, Config
import spacy_psa.pipeline.tagger
from benchmarks.peak_memory import MIB, peak
from tests.documentation import ROOT

config = Config().from_disk(ROOT / "configs" / sys.argv[1], interpolate=False)
model = config["components"]["psa_tagger"]["model"]
words = ["word%d" % (i * i % 7919) for i in range(int(sys.argv[3]))]
nlp = spacy.blank("en")
doc = Doc(nlp.vocab, words=words)
before = peak()
tagger = nlp.add_pipe("psa_tagger", config={"model": model, "target": "spans"})
labels = ["NP", "VP", "PP", "ADVP", "SBAR", "ADJP", "PRT", "INTJ", "LST", "UCP", "CONJP"]
examples = [Example(Doc(nlp.vocab, words=words[:500]), Doc(nlp.vocab, words=words[:500]))]
tagger.initialize(lambda: examples, labels=labels)
if sys.argv[2] == "train":
    gold = tagger(doc.copy())
    nlp.update([Example(doc, gold)], sgd=Adam(0.001))
elif sys.argv[2] == "nbest":
    tagger.nbest([doc], 10)
else:
    tagger.cfg["probabilities"] = sys.argv[2] == "probabilities"
    tagger(doc)
print(json.dumps((peak() - before) * MIB))
"""


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in other units elsewhere")
@pytest.mark.parametrize("config", ["psa-spans.cfg", "bilstm-crf-spans.cfg"])
@pytest.mark.parametrize(
    ("act", "n"), [("tag", 50_000), ("probabilities", 50_000), ("nbest", 50_000), ("train", 5_000)]
)
def test_a_long_document_takes_little_memory(config: str, act: str, n: int) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    output = subprocess.run(
        [sys.executable, "-c", MEMORY, config, act, str(n)],
        cwd=ROOT,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    assert json.loads(output.splitlines()[-1]) < 1.5 * GIB
