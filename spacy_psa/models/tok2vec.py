"""The token embedding: words, with pretrained vectors, and their characters."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import torch
from spacy.attrs import NAMES, intify_attr
from spacy.tokens import Doc
from spacy.vectors import Vectors
from thinc.api import ArgsKwargs, Model
from thinc.types import Floats2d
from thinc.util import xp2torch

from ..errors import Errors, Warnings, check_choice, check_counts, check_value, invalid, warn
from ..layers import CharacterBiLSTM, CharacterCNN, WordCharacterEmbedding, WordEmbedding
from ..private_names import network_of
from .batches import flatten, to_rows, unflatten
from .lookup import (
    FIRST_CHARACTER,
    UNKNOWN_ROW,
    check_vectors,
    find_vector,
    one_number,
    read_vectors,
    word_form,
    zero_digits,
)
from .types import CharacterBuilder, CharacterInitializer, Tok2Vec, check_dropout
from .word_shim import WordCharacterShim

RANDOM_WIDTH = 100
# The share of tokens that should have a vector. English vectors cover 29 % of Czech, 63 % of French
LEAST_COVERED = 0.5
ATTRS = ("NORM", "ORTH", "LOWER")


def build_character_bilstm(embedding_width: int = 30, width: int = 100) -> CharacterBuilder:
    """Configure a character BiLSTM, whose final states represent a word.

    embedding_width (int): Width of a character's embedding.
    width (int): Width of a word's representation, both directions combined.
    RETURNS (CharacterBuilder): Builds a `CharacterBiLSTM` for a number of characters.
    RAISES (ValueError): If a value is out of range.
    """
    check_counts(embedding_width=embedding_width)
    check_value("width", width, lambda n: n >= 2, "at least 2")
    return partial(CharacterBiLSTM, embedding_width=embedding_width, width=width)


def build_character_cnn(
    embedding_width: int = 30, width: int = 30, window: int = 3, dropout: float = 0.5
) -> CharacterBuilder:
    """Configure a character CNN, whose max-pooled output represents a word.

    embedding_width (int): Width of a character's embedding.
    width (int): Number of filters, and width of a word's representation.
    window (int): Width of the filters, in characters.
    dropout (float): Dropout on the character embeddings.
    RETURNS (CharacterBuilder): Builds a `CharacterCNN` for a number of characters.
    RAISES (ValueError): If a value is out of range.
    """
    check_counts(embedding_width=embedding_width, width=width, window=window)
    check_dropout(dropout=dropout)
    return partial(
        CharacterCNN, embedding_width=embedding_width, width=width, window=window, dropout=dropout
    )


# Each rule for digits, by its name
DIGITS: dict[bool | str, Callable[[str], str] | None] = {
    False: None,
    True: zero_digits,
    "zero": zero_digits,
    "token": one_number,
}


def build_word_char_embed(
    characters: CharacterBuilder | None = None,
    width: int | None = None,
    attr: str = "NORM",
    min_freq: int = 2,
    max_characters: int = 50,
    dropout: float = 0.0,
    word_dropout: float = 0.0,
    digits: bool | str = False,
    character_initialization: CharacterInitializer | None = None,
) -> Tok2Vec:
    """Embed words and, optionally, their characters.

    Words in the training data have trainable embeddings, initialized from the pipeline's pretrained
    vectors (`[initialize] vectors`) if available. Other words use the pipeline's vectors, which
    stay fixed. Words with neither share one embedding.

    characters (Optional[CharacterBuilder]): The character encoder, `spacy_psa.CharacterBiLSTM.v1`
        or `spacy_psa.CharacterCNN.v1`; None for words only.
    width (Optional[int]): Width of the word embeddings. Defaults to the width of the pipeline's
        vectors, or 100 if it has none.
    attr (str): The attribute to look words up by: "NORM", "ORTH" or "LOWER". If it is not found,
        its lowercase form is tried. It is that of the entry in the vocabulary, so that a word has
        the same embedding whether its token comes from a tokenizer or from a list of words.
    min_freq (int): How often a word without a vector must occur in the training data to get its own
        embedding. Rarer words train the embedding of unknown words.
    max_characters (int): Maximum number of characters read from a word.
    dropout (float): Dropout on a token's representation.
    word_dropout (float): The probability of dropping a word's embedding in training, for all of the
        word's occurrences in the batch, so that the model must rely on characters and context.
    digits (Union[bool, str]): "zero" or true treats all digits alike: characters are read with
        every digit replaced by 0, and a word that is not found is looked up in this form. "token"
        replaces every word that is a number by one token, see `one_number`. False changes nothing.
    character_initialization (Optional[CharacterInitializer]): Initializes the character embeddings,
        e.g. `spacy_psa.ProjectedWordVectors.v1`; None for random initialization.
    RETURNS (Tok2Vec): The layer. Output width: the sum of the word and character widths.
    RAISES (ValueError): If the attribute is unknown, a value is out of range, or
        `character_initialization` is set without `characters`.

    Source: Wei et al. (2021), section 5.2; for `word_dropout`, Gal and Ghahramani (2016), section
    4.2.
    """
    check_choice("attribute", attr, ATTRS)
    if width is not None:
        check_value("width", width, lambda n: n >= 1, "at least 1, or null")
    check_counts(min_freq=min_freq, max_characters=max_characters)
    check_dropout(dropout=dropout, word_dropout=word_dropout)
    if character_initialization is not None and characters is None:
        raise ValueError(Errors.P245)
    if digits not in DIGITS:
        raise invalid("digits", digits, "true, false, 'zero' or 'token'")
    shim = WordCharacterShim(
        partial(_make_network, characters, dropout, word_dropout),
        attr=intify_attr(attr),
        max_characters=max_characters,
        normalize=DIGITS[digits],
        normalize_all=digits == "token",
    )
    return Model(
        "word_char_embed",
        forward,
        init=init,
        dims={"nO": None},
        attrs={
            "observe": observe,
            "width": width,
            "min_freq": min_freq,
            "character_initialization": character_initialization,
        },
        shims=[shim],
    )


def _make_network(
    make_characters: CharacterBuilder | None,
    dropout: float,
    word_dropout: float,
    *,
    words: list[str],
    characters: list[str],
    width: int,
    has_vectors: bool,
) -> WordCharacterEmbedding:
    return WordCharacterEmbedding(
        WordEmbedding(UNKNOWN_ROW + 1 + len(words), width),
        None if make_characters is None else make_characters(FIRST_CHARACTER + len(characters)),
        dropout=dropout,
        word_dropout=word_dropout,
    )


def observe(model: Tok2Vec, docs: Iterable[Doc], counts: Mapping[str, int] | None = None) -> None:
    """Collect the words and characters of the training data and build the network, before the model
    is initialized. `counts` says how often each token occurs, if the documents have each once."""
    shim = _shim(model)
    words, characters, vectors = _count(shim, docs, counts)
    has_vectors = vectors.shape[0] > 0 and vectors.shape[1] > 0
    width = model.attrs["width"] or (vectors.shape[1] if has_vectors else RANDOM_WIDTH)
    if has_vectors and width != vectors.shape[1]:
        raise ValueError(Errors.P206.format(width=width, found=vectors.shape[1]))
    check_vectors(vectors)
    keys = {word: find_vector(word, vectors) for word in words}
    covered = sum(n for word, n in words.items() if keys[word] is not None)
    if has_vectors and covered < LEAST_COVERED * (total := words.total()):
        warn(Warnings.W442.format(share=covered / total, attr=NAMES[shim.attr]))
    min_freq = model.attrs["min_freq"]
    # Sorted, so that the model does not depend on the order of the data.
    known = sorted(word for word in words if keys[word] is not None or words[word] >= min_freq)
    network = shim.build(
        words=known,
        characters=sorted(c for c in characters if characters[c] >= min_freq),
        width=width,
        has_vectors=has_vectors,
    )
    shim.words_from = "training"
    model.set_dim("nO", network.width, force=True)
    pretrained = [(row, keys[word]) for row, word in enumerate(known, 1) if keys[word] is not None]
    if pretrained:
        rows, vector_keys = zip(*pretrained, strict=True)
        weight = network.words.weight.data
        values = xp2torch(read_vectors(vector_keys, vectors), device=weight.device)
        weight[torch.tensor(rows, device=weight.device)] = values
    initialize = model.attrs["character_initialization"]
    if initialize is not None:
        assert network.characters is not None
        table = network.characters.embedding.weight.data
        initialize(table[FIRST_CHARACTER:], shim.cfg["characters"], vectors)


def _count(
    shim: WordCharacterShim, docs: Iterable[Doc], counts: Mapping[str, int] | None
) -> tuple[Counter[str], Counter[str], Vectors]:
    """Count words and characters, in the forms by which they are looked up."""
    words: Counter[str] = Counter()
    characters: Counter[str] = Counter()
    vectors = None
    for doc in docs:
        vectors = doc.vocab.vectors
        for token in doc:
            n = 1 if counts is None else counts[token.text]
            form, text = word_form(token.lex, shim.attr), token.text
            if shim.normalize is not None and shim.normalize_all:
                form, text = shim.normalize(form), shim.normalize(text)
            words[form] += n
            characters.update({c: n * k for c, k in Counter(text).items()} if n > 1 else text)
    if vectors is None:
        raise ValueError(Errors.P205)
    if shim.normalize is None or shim.normalize_all:
        return words, characters, vectors
    normal_words: Counter[str] = Counter()
    normal_characters: Counter[str] = Counter()
    for word, n in words.items():
        has_vector = find_vector(word, vectors) is not None
        normal_words[word if has_vector else shim.normalize(word)] += n
    for character, n in characters.items():
        normal_characters[shim.normalize(character)] += n
    return normal_words, normal_characters, vectors


def _shim(model: Tok2Vec) -> WordCharacterShim:
    (shim,) = model.shims
    assert isinstance(shim, WordCharacterShim)
    return shim


def init(model: Tok2Vec, X: list[Doc] | None = None, Y: Any = None) -> Tok2Vec:
    """Initialize the layer from a sample of documents, unless `observe` has been called."""
    shim = _shim(model)
    if X and (network_of(shim) is None or shim.words_from == "sample"):
        warn(Warnings.W201.format(n_docs=len(X)))
        observe(model, X)
        shim.words_from = "sample"
    return model


def forward(
    model: Tok2Vec, docs: list[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], list[Doc]]]:
    """Embed the tokens of documents."""
    shim, lengths = _shim(model), [len(doc) for doc in docs]
    if not any(lengths):
        empty = [model.ops.alloc2f(0, model.get_dim("nO")) for _ in docs]
        return empty, lambda d_outputs: []
    inputs = ArgsKwargs(args=_arguments(shim, docs), kwargs={})
    if not is_train:
        output = shim.predict(inputs)
        return unflatten(model.ops, to_rows(output), lengths), lambda d_outputs: []
    output, backward = shim.begin_update(inputs)

    def backprop(d_outputs: list[Floats2d]) -> list[Doc]:
        gradient = xp2torch(flatten(model.ops, d_outputs), device=output.device)
        backward([output], [gradient])
        return []

    return unflatten(model.ops, to_rows(output.detach()), lengths), backprop


def _arguments(shim: WordCharacterShim, docs: list[Doc]) -> tuple[Any, ...]:
    network = shim.network
    vocab = docs[0].vocab
    vectors = vocab.vectors
    found = vectors.shape[1] if vectors.shape[0] else 0
    if shim.cfg["has_vectors"] and found != network.words.width:
        raise ValueError(Errors.P207.format(width=network.words.width, found=found))
    # Vectors added after training are unknown to the model, so they are not used.
    features = shim.lookup.features(docs, vocab, use_vectors=shim.cfg["has_vectors"])
    device = network.words.weight.device
    fixed = None
    if features.vector_keys:
        fixed = xp2torch(read_vectors(features.vector_keys, vectors), device=device)
    return (
        torch.from_numpy(features.rows).to(device),
        fixed,
        torch.from_numpy(features.characters).to(device),
        torch.from_numpy(features.lengths),
        torch.from_numpy(features.tokens).to(device),
    )
