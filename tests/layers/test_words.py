"""Word embeddings: trainable rows, fixed vectors, and character representations."""

import pytest
import torch

from spacy_psa.layers import CharacterBiLSTM, WordCharacterEmbedding, WordEmbedding
from spacy_psa.layers import words as words_module

from .helpers import DTYPES, TOLERANCE, assert_close, normal, randomized
from .test_characters import CHARACTERS, LENGTHS

ROWS = torch.tensor([2, -1, 0, -1])


def make_words() -> WordEmbedding:
    return randomized(WordEmbedding(5, 3))


@pytest.mark.parametrize("dtype", DTYPES)
def test_words_have_their_rows_or_their_vectors(dtype, device):
    layer, vectors = make_words(), normal(2, 3, seed=7)
    weight = layer.weight.detach().clone()
    layer.to(device, dtype)
    output = layer(ROWS.to(device), vectors.to(device, dtype))
    assert output.dtype == dtype
    expected = torch.stack([weight[2], vectors[0], weight[0], vectors[1]])
    assert_close(output, expected, TOLERANCE[dtype])


def test_vectors_take_the_type_of_the_rows():
    output = make_words()(ROWS, normal(2, 3).float())
    assert output.dtype == torch.float64


def test_words_without_fixed_vectors_have_their_rows():
    layer = make_words()
    assert torch.equal(layer(torch.tensor([4, 0, 4]), None), layer.weight[[4, 0, 4]])


def test_words_can_all_be_fixed():
    vectors = normal(3, 3)
    assert torch.equal(make_words()(torch.tensor([-1, -1, -1]), vectors), vectors)


def test_an_empty_set_of_vectors_is_none():
    layer = make_words()
    rows = torch.tensor([1, 3])
    assert torch.equal(layer(rows, torch.empty(0, 3)), layer(rows, None))


def test_only_rows_in_use_get_gradients():
    layer = make_words()
    layer(torch.tensor([3, 1, 3]), None).sum().backward()
    assert layer.weight.grad[:, 0].tolist() == [0.0, 1.0, 0.0, 2.0, 0.0]


def test_fixed_words_give_no_gradient_to_any_row():
    layer = make_words()
    layer(torch.tensor([-1, 2, -1]), normal(2, 3)).sum().backward()
    assert layer.weight.grad[:, 0].tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]


def test_fixed_vectors_are_neither_parameters_nor_changed_by_a_step():
    layer, vectors = make_words(), normal(2, 3)
    before = vectors.clone()
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    layer(ROWS, vectors).sum().backward()
    optimizer.step()
    assert vectors.grad is None
    assert torch.equal(layer(ROWS, vectors)[[1, 3]], before)
    assert [name for name, _ in layer.named_parameters()] == ["weight"]


def test_word_embedding_passes_gradcheck():
    layer, vectors = make_words(), normal(2, 3)
    assert torch.autograd.gradcheck(lambda _: layer(ROWS, vectors), (layer.weight,))


TOKENS = torch.tensor([3, 0, 0, 1, 2, 3])


def make_both() -> WordCharacterEmbedding:
    characters = randomized(CharacterBiLSTM(8, embedding_width=3, width=4), seed=1)
    return WordCharacterEmbedding(make_words(), characters)


def test_tokens_have_the_word_beside_its_characters():
    layer, vectors = make_both(), normal(2, 3, seed=7)
    output = layer(ROWS, vectors, CHARACTERS, LENGTHS, TOKENS)
    words, characters = layer.words(ROWS, vectors), layer.characters(CHARACTERS, LENGTHS)
    assert layer.width == 7
    assert output.shape == (6, 7)
    for t, word in enumerate(TOKENS.tolist()):
        assert_close(output[t, :3], words[word], 0.0)
        assert_close(output[t, 3:], characters[word], 0.0)


def test_tokens_without_characters_have_the_word_alone():
    layer = WordCharacterEmbedding(make_words(), None)
    vectors = normal(2, 3)
    assert layer.width == 3
    output = layer(ROWS, vectors, CHARACTERS, LENGTHS, TOKENS)
    assert torch.equal(output, layer.words(ROWS, vectors)[TOKENS])


def test_each_token_adds_to_the_gradient_of_its_word():
    layer = WordCharacterEmbedding(make_words(), None)
    layer(ROWS, normal(2, 3), CHARACTERS, LENGTHS, TOKENS).sum().backward()
    # Word 0 has row 2 and occurs twice; word 2 has row 0 and occurs once.
    assert layer.words.weight.grad[:, 0].tolist() == [1.0, 0.0, 2.0, 0.0, 0.0]


def test_dropout_is_for_training_only_and_falls_on_tokens_not_on_words():
    torch.manual_seed(0)
    layer = WordCharacterEmbedding(make_words(), None, dropout=0.5)
    tokens = torch.zeros(200, dtype=torch.long)
    rows, lengths = torch.tensor([2]), torch.tensor([1])
    arguments = (rows, None, torch.zeros(1, 1, dtype=torch.long), lengths, tokens)
    expected = layer.words.weight[2]
    layer.eval()
    assert torch.equal(layer(*arguments), expected.expand(200, -1))
    layer.train()
    output = layer(*arguments)
    dropped = output == 0
    assert 0.4 < float(dropped.float().mean()) < 0.6
    # The 200 tokens are the same word, but have different dropout masks.
    assert len(dropped.unique(dim=0)) > 1
    assert torch.allclose(output, 2 * expected * ~dropped)


def test_word_dropout_leaves_words_out_wherever_they_stand_but_not_their_characters():
    torch.manual_seed(0)
    characters = randomized(CharacterBiLSTM(8, embedding_width=3, width=4), seed=1)
    layer = WordCharacterEmbedding(make_words(), characters, word_dropout=0.5)
    plain = make_both()
    vectors, words_seen = normal(2, 3, seed=7), set()
    arguments = (ROWS, vectors, CHARACTERS, LENGTHS, TOKENS)
    expected = plain.eval()(*arguments)
    assert torch.equal(layer.eval()(*arguments), expected)
    layer.train()
    for _ in range(20):
        output = layer(*arguments)
        assert_close(output[:, 3:], expected[:, 3:], 0.0)
        factors = output[:, :3] / expected[:, :3]
        for word in TOKENS.unique():
            (factor,) = factors[word == TOKENS].unique().round(decimals=6).unique().tolist()
            assert factor in (0.0, 2.0)
            words_seen.add((int(word), factor))
    # Each word is sometimes kept and sometimes dropped
    assert len(words_seen) == 2 * len(TOKENS.unique())


def test_characters_are_read_in_pieces_of_bounded_size(monkeypatch):
    part = randomized(CharacterBiLSTM(9, embedding_width=3, width=4))
    sizes = []
    part.register_forward_pre_hook(lambda _, inputs: sizes.append(inputs[0].numel()))
    batch = (
        torch.tensor([[1, 2, 3], [4, 5, 6], [7, 8, 0], [1, 2, 0], [3, 0, 0]]),
        torch.tensor([3, 3, 2, 2, 1]),
    )
    expected = part(*batch)
    monkeypatch.setattr(words_module, "CHARACTER_POSITIONS", 6)
    sizes.clear()
    assert_close(words_module.in_pieces(part, *batch), expected, 1e-12)
    assert len(sizes) > 1 and max(sizes) <= 6
