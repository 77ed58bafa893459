"""The cache of character representations does not change results."""

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import nn

from spacy_psa.acceleration import character_cache
from spacy_psa.acceleration.character_cache import CharacterCache
from spacy_psa.acceleration.cpu import CPUPrediction
from spacy_psa.layers import (
    PLAIN,
    CharacterBiLSTM,
    WordCharacterEmbedding,
    WordEmbedding,
    using,
)
from spacy_psa.layers.mask import SequenceMask

from ..layers.helpers import assert_close, randomized

N_CHARACTERS = 9
Read = Callable[[torch.Tensor, SequenceMask], torch.Tensor]


def words(*texts: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Words sorted by length, longest first, and padded."""
    longest = len(texts[0])
    rows = [[*text, *[0] * (longest - len(text))] for text in texts]
    return torch.tensor(rows), torch.tensor([len(text) for text in texts])


def read_by(part: CharacterBiLSTM, counts: list[int] | None = None) -> Read:
    """Reads words by the definition, and counts them."""

    def read(characters: torch.Tensor, mask: SequenceMask) -> torch.Tensor:
        if counts is not None:
            counts.append(len(mask.lengths))
        return PLAIN.last_states(characters, mask, *parts_of(part))

    return read


def parts_of(part: CharacterBiLSTM) -> tuple[nn.Module, ...]:
    return part.embedding, part.forwards, part.backwards


def represent(
    cache: CharacterCache,
    part: CharacterBiLSTM,
    characters: torch.Tensor,
    lengths: torch.Tensor,
    counts: list[int] | None = None,
) -> torch.Tensor:
    mask = SequenceMask(lengths, characters.shape[1])
    return cache.represent(parts_of(part), read_by(part, counts), characters, mask)


def test_words_come_to_the_same_and_are_read_once():
    part = randomized(CharacterBiLSTM(N_CHARACTERS, embedding_width=3, width=4))
    cache, counts = CharacterCache(), list[int]()
    batches = [
        words([1, 2, 3], [4, 5]),
        words([6, 7, 8, 1], [1, 2, 3], [4, 5], [2]),
        words([4, 5], [2]),
    ]
    with torch.no_grad():
        for batch in batches:
            assert_close(represent(cache, part, *batch, counts), part(*batch), 1e-12)
    assert sum(counts) == len(cache) == 4


@pytest.mark.parametrize("is_known", [False, True])
def test_no_words_have_no_representations(is_known: bool):
    part = randomized(CharacterBiLSTM(N_CHARACTERS, embedding_width=3, width=4))
    cache = CharacterCache()
    none = torch.zeros(0, 3, dtype=torch.long), torch.zeros(0, dtype=torch.long)
    with torch.no_grad():
        if is_known:
            represent(cache, part, *words([1, 2, 3]))
        assert represent(cache, part, *none).shape == part(*none).shape == (0, 4)


def test_words_of_the_same_characters_do_not_displace_others():
    part = randomized(CharacterBiLSTM(N_CHARACTERS, embedding_width=3, width=4))
    cache = CharacterCache()
    # Different words of unknown characters are the same to the network
    batches = [words([1, 1], [1, 1], [2]), words([3, 4], [5]), words([1, 1], [2]), words([5])]
    with torch.no_grad():
        for batch in batches:
            assert_close(represent(cache, part, *batch), part(*batch), 1e-12)
    assert len(cache) == 4


def test_what_is_remembered_is_forgotten_when_any_weight_changes():
    part = randomized(CharacterBiLSTM(N_CHARACTERS, embedding_width=3, width=4))
    cache, batch = CharacterCache(), words([1, 2, 3], [4, 5])
    with torch.no_grad():
        for parameter in part.parameters():
            before = represent(cache, part, *batch)
            parameter += 0.5
            after = represent(cache, part, *batch)
            assert_close(after, part(*batch), 1e-12)
            assert not torch.equal(before, after)


def test_a_network_forgets_when_it_is_told_to():
    part = randomized(CharacterBiLSTM(N_CHARACTERS, embedding_width=3, width=4))
    embedding = WordCharacterEmbedding(randomized(WordEmbedding(3, 2)), part).eval()
    batch, tokens = words([1, 2, 3], [4, 5]), torch.tensor([0, 1, 1])
    with torch.no_grad():
        before = embedding(torch.tensor([1, 2]), None, *batch, tokens)
        # Unnoticed by PyTorch, like optimizers outside PyTorch
        part.embedding.weight.data.numpy()[...] += 0.5
        torch.autograd.graph.increment_version(part.embedding.weight)
        after = embedding(torch.tensor([1, 2]), None, *batch, tokens)
        assert_close(after[:, 2:], part(*batch)[tokens], 1e-12)
    assert not torch.equal(before, after)


def test_parts_of_a_part_that_are_exchanged_are_other_weights():
    part = randomized(CharacterBiLSTM(N_CHARACTERS, embedding_width=3, width=4))
    cache, batch = CharacterCache(), words([1, 2, 3], [4, 5])
    with torch.no_grad():
        before = represent(cache, part, *batch)
        part.embedding = randomized(nn.Embedding(N_CHARACTERS, 3), seed=7)
        after = represent(cache, part, *batch)
        assert_close(after, part(*batch), 1e-12)
    assert not torch.equal(before, after)


def test_what_was_read_in_inference_mode_is_known_outside_of_it():
    part = randomized(CharacterBiLSTM(N_CHARACTERS, embedding_width=3, width=4))
    cache = CharacterCache()
    with torch.inference_mode():
        represent(cache, part, *words([1, 2, 3], [4, 5]))
    batch = words([1, 2, 3], [4, 5], [6])
    with torch.no_grad():
        assert_close(represent(cache, part, *batch), part(*batch), 1e-12)
    assert len(cache) == 3
    with torch.inference_mode():
        loaded = randomized(CharacterBiLSTM(N_CHARACTERS, embedding_width=3, width=4), seed=3)
        assert_close(represent(cache, loaded, *batch), loaded(*batch), 1e-12)


def test_other_precision_is_another_weight():
    part = randomized(CharacterBiLSTM(N_CHARACTERS, embedding_width=3, width=4))
    cache, batch = CharacterCache(), words([1, 2])
    with torch.no_grad():
        represent(cache, part, *batch)
        assert represent(cache, part.float(), *batch).dtype == torch.float32


def test_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(character_cache, "CACHE_SIZE", 3)
    part = randomized(CharacterBiLSTM(N_CHARACTERS, embedding_width=3, width=4))
    cache = CharacterCache()
    with torch.no_grad():
        for first in range(1, 8):
            batch = words([first, 2], [first])
            assert_close(represent(cache, part, *batch), part(*batch), 1e-12)
            assert len(cache) <= 3
        many = words(*([i, j] for i in range(1, 4) for j in range(1, 4)))
        assert_close(represent(cache, part, *many), part(*many), 1e-12)
        assert len(cache) == 3


def test_words_of_up_to_fifty_characters_are_remembered() -> None:
    part = randomized(CharacterBiLSTM(N_CHARACTERS, embedding_width=3, width=4))
    cache, counts = CharacterCache(), list[int]()
    batch = words([1] * 51, [2] * 50)
    with torch.no_grad():
        for _ in range(2):
            represent(cache, part, *batch, counts)
    assert counts == [2, 1]
    assert len(cache) == 1


@pytest.mark.parametrize("make_copy", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_empty(make_copy):
    part = randomized(CharacterBiLSTM(N_CHARACTERS, embedding_width=3, width=4))
    cache, batch = CharacterCache(), words([1, 2])
    with torch.no_grad():
        represent(cache, part, *batch)
        other = make_copy(cache)
        assert len(cache) == 1 and len(other) == 0
        assert_close(represent(other, part, *batch), part(*batch), 1e-12)


def test_threads_share_it():
    part = randomized(CharacterBiLSTM(N_CHARACTERS, embedding_width=3, width=4))
    cache = CharacterCache()
    batches = [words([i % 7 + 1, j % 5 + 1], [i % 7 + 1]) for i in range(20) for j in range(5)]

    def found_for(batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        with torch.no_grad():
            return represent(cache, part, *batch)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(found_for, batches))
    for batch, one in zip(batches, found, strict=True):
        assert_close(one, part(*batch), 1e-12)


# Integration


def embed(layer: WordCharacterEmbedding) -> torch.Tensor:
    return layer(torch.tensor([1, 2]), None, *words([1, 2, 3], [4, 5]), torch.tensor([0, 1, 0]))


def layer_with_words_read(
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[WordCharacterEmbedding, list[int]]:
    part = CharacterBiLSTM(N_CHARACTERS, embedding_width=3, width=4)
    counts: list[int] = []
    read = CPUPrediction._read_words

    def counted(self: CPUPrediction, characters: torch.Tensor, *rest: Any) -> torch.Tensor:
        counts.append(len(characters))
        return read(self, characters, *rest)

    monkeypatch.setattr(CPUPrediction, "_read_words", counted)
    return randomized(WordCharacterEmbedding(WordEmbedding(3, 2), part)), counts


def test_prediction_remembers(monkeypatch):
    layer, counts = layer_with_words_read(monkeypatch)
    with torch.no_grad():
        first, second = embed(layer), embed(layer)
    assert torch.equal(first, second)
    assert counts == [2]


@pytest.mark.parametrize("trains", [True, False])
def test_training_and_gradients_do_not(trains, monkeypatch):
    layer, counts = layer_with_words_read(monkeypatch)
    layer.train(trains)
    for _ in range(2):
        embed(layer).sum().backward()
    assert counts == [2, 2]
    assert layer.characters.embedding.weight.grad.any()


def test_layers_with_hooks_are_read_anew(monkeypatch):
    layer, counts = layer_with_words_read(monkeypatch)
    layer.characters.embedding.register_forward_hook(lambda module, _, output: 2 * output)
    with torch.no_grad():
        embed(layer), embed(layer)
    assert counts == [2, 2]


def test_different_words_may_be_the_same_characters():
    """All unknown characters share one id."""
    part = randomized(CharacterBiLSTM(N_CHARACTERS, embedding_width=3, width=4))
    cache, batch = CharacterCache(), words([1, 1], [1, 1], [2])
    with torch.no_grad():
        for _ in range(2):
            assert_close(represent(cache, part, *batch), part(*batch), 1e-12)
    assert len(cache) == 2


def test_weights_whose_changes_nobody_counts_are_read_anew() -> None:
    with torch.inference_mode():
        part = randomized(CharacterBiLSTM(N_CHARACTERS, embedding_width=3, width=4))
        cache = CharacterCache()
        before = represent(cache, part, *words([1, 2, 3], [4, 5]))
        for parameter in part.parameters():
            parameter.add_(0.5)
        after = represent(cache, part, *words([1, 2, 3], [4, 5]))
        assert_close(after, part(*words([1, 2, 3], [4, 5])), 1e-12)
    assert not torch.allclose(before, after)


def test_what_is_read_in_half_precision_is_not_remembered(monkeypatch) -> None:
    layer, _ = layer_with_words_read(monkeypatch)
    layer.float()
    with torch.no_grad():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            embed(layer)
        found = embed(layer)
        with using(PLAIN):
            assert torch.equal(found, embed(layer))
