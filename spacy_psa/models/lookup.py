"""Convert the tokens of a batch to the inputs of the word and character embeddings."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import LOWER, NORM, ORTH
from spacy.lexeme import Lexeme
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.vectors import Mode, Vectors
from spacy.vocab import Vocab
from thinc.api import get_array_module
from thinc.types import Floats2d

from ..errors import Errors

UNKNOWN_ROW = 0
FIXED_ROW = -1
PADDING_CHARACTER = 0
UNKNOWN_CHARACTER = 1
FIRST_CHARACTER = 2
# Maximum number of distinct words in the cache, so that a long-running process stays bounded.
CACHE_SIZE = 20_000
# Maximum number of characters of a cached word, for the same reason.
CACHED_LENGTH = 200
N_NAMED = 5
# The attributes of lexemes with the hash of each form; with an underscore, the form itself
FORMS = {NORM: "norm", ORTH: "orth", LOWER: "lower"}


@dataclass(frozen=True)
class WordFeatures:
    """The distinct words of a batch, from longest to shortest, and which tokens they are.

    rows (NDArray): Row in the trainable table, or -1 if the vector is fixed. Shape: (words,).
    vector_keys (List[int]): Keys in the vectors table of the words with row -1, in order.
    characters (NDArray): Character IDs. Shape: (words, longest word).
    lengths (NDArray): Number of characters of each word. Shape: (words,).
    tokens (NDArray): The index of each token's word. Shape: (tokens,).
    """

    rows: NDArray[np.int64]
    vector_keys: list[int]
    characters: NDArray[np.int64]
    lengths: NDArray[np.int64]
    tokens: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Word:
    # The row of the first form that has one, and the keys in the vectors of the forms before it
    row: int
    keys: tuple[int, ...]
    characters: tuple[int, ...]

    def find(self, known_keys: Container[int]) -> tuple[int, int | None]:
        """Find the row, and the key in the vectors if the vector is fixed."""
        # Vectors may be added or replaced at any time, so these lookups are not cached.
        for key in self.keys:
            if key in known_keys:
                return FIXED_ROW, key
        return self.row, None


class WordLookup:
    """Look up the words and characters of documents.

    A word is looked up by its `word_form` and then by its lowercase form, first among the words of
    the training data and then in the vectors of the vocabulary. If it is in neither, its normalized
    form is looked up in the same way.

    words (Sequence[str]): The words that have trainable rows, starting at row 1.
    characters (Sequence[str]): The known characters.
    attr (int): The attribute by which words are looked up.
    max_characters (int): Maximum number of characters to read. Of a longer word, the first and last
        halves of that number are read.
    normalize (Optional[Callable[[str], str]]): Returns the normalized form of a word, from which
        characters are always read, e.g. `zero_digits`; None for no normalization.
    normalize_all (bool): Whether words that would be found are normalized too.
    """

    def __init__(
        self,
        words: Sequence[str],
        characters: Sequence[str],
        *,
        attr: int,
        max_characters: int,
        normalize: Callable[[str], str] | None = None,
        normalize_all: bool = False,
    ) -> None:
        self.attr, self.max_characters = attr, max_characters
        self.normalize, self.normalize_all = normalize, normalize_all
        self._rows = {word: row for row, word in enumerate(words, start=UNKNOWN_ROW + 1)}
        self._characters = {c: i for i, c in enumerate(characters, start=FIRST_CHARACTER)}
        self._cache: dict[tuple[int, int], _Word] = {}

    def features(
        self, docs: Iterable[Doc], vocab: Vocab, *, use_vectors: bool = True
    ) -> WordFeatures:
        """Look up the words of a batch, which must have some, also in the vectors or not."""
        if len(self._cache) > CACHE_SIZE:
            self._cache = {}
        orths = np.concatenate([doc.to_array(ORTH) for doc in docs]).tolist()
        # For one sentence, a dict takes a fraction of the time of `np.unique`
        found: dict[int, _Word] = {}
        form_of = attrgetter(FORMS[self.attr])
        for orth in dict.fromkeys(orths):
            # The same word may have another norm in another vocabulary
            key = (orth, form_of(vocab[orth]))
            found[orth] = self._cache.get(key) or self._look_up(*key, vocab)
        # Words of the same length by their hashes, so that the order of the tokens does not matter
        order = sorted(sorted(found), key=lambda key: -len(found[key].characters))
        words = [found[key] for key in order]
        place = dict(zip(order, range(len(order)), strict=True))
        lengths = np.array([len(word.characters) for word in words], dtype=np.int64)
        characters = np.full((len(words), lengths[0]), PADDING_CHARACTER, dtype=np.int64)
        characters[np.arange(lengths[0]) < lengths[:, None]] = np.fromiter(
            chain.from_iterable([word.characters for word in words]), np.int64
        )
        known_keys = _known_keys(vocab.vectors) if use_vectors else ()
        rows, vector_keys = zip(*(word.find(known_keys) for word in words), strict=True)
        return WordFeatures(
            rows=np.array(rows, dtype=np.int64),
            vector_keys=[key for key in vector_keys if key is not None],
            characters=characters,
            lengths=lengths,
            tokens=np.array(list(map(place.__getitem__, orths)), dtype=np.int64),
        )

    def _look_up(self, orth: int, form_hash: int, vocab: Vocab) -> _Word:
        text, form = vocab.strings[orth], vocab.strings[form_hash]
        forms = [form]
        if self.normalize is not None:
            text = self.normalize(text)
            normal = self.normalize(form)
            forms = [normal] if self.normalize_all else list(dict.fromkeys((form, normal)))
        if len(text) > self.max_characters:
            half = self.max_characters // 2
            text = text[: self.max_characters - half] + text[len(text) - half :]
        characters = tuple(self._characters.get(c, UNKNOWN_CHARACTER) for c in text)
        row, keys = UNKNOWN_ROW, list[int]()
        for form in forms:
            row = self._row(form)
            if row != UNKNOWN_ROW:
                break
            keys.extend(_keys(form))
        word = _Word(row, tuple(keys), characters or (UNKNOWN_CHARACTER,))
        if max(map(len, (*forms, text))) <= CACHED_LENGTH:
            self._cache[orth, form_hash] = word
        return word

    def _row(self, form: str) -> int:
        return self._rows.get(form) or self._rows.get(form.lower(), UNKNOWN_ROW)


def word_form(lexeme: Lexeme, attr: int) -> str:
    """Get the form by which a word is looked up. It belongs to the entry in the vocabulary, not to
    the token: a tokenizer may give a token a norm of its own ("not" for "n't"), which the same word
    does not have in a document made of words, such as most training data.
    """
    return getattr(lexeme, f"{FORMS[attr]}_")


def zero_digits(form: str) -> str:
    """Replace every digit with 0, so that numbers of the same shape become one word."""
    return re.sub(r"\d", "0", form)


def one_number(form: str) -> str:
    """Replace a number by one token, `<number>`: digits, which points, commas, colons, slashes and
    hyphens may separate, perhaps after a sign or a point. A word with anything else, such as "3rd",
    remains."""
    return "<number>" if re.fullmatch(r"[+-]?\.?\d+([.,:/-]\d+)*", form) else form


def find_vector(form: str, vectors: Vectors) -> int | None:
    """Find the key of a word's vector by its form, or else by its lowercase form; None if it has
    none."""
    known_keys = _known_keys(vectors)
    return next((key for key in _keys(form) if key in known_keys), None)


def _keys(form: str) -> tuple[int, ...]:
    """List the keys under which a word may have a vector."""
    lower = form.lower()
    return (get_string_id(form), *(() if lower == form else (get_string_id(lower),)))


class _AllKeys:
    """The keys of Floret vectors, where every word has a vector."""

    def __contains__(self, key: object) -> bool:
        return True


def _known_keys(vectors: Vectors) -> Container[int]:
    """Get the keys of a table."""
    if 0 in vectors.shape:
        return ()
    return _AllKeys() if vectors.mode == Mode.floret else vectors.key2row


def check_vectors(vectors: Vectors) -> None:
    """Check that all vectors are finite."""
    array_module = get_array_module(vectors.data)
    if 0 in vectors.shape or bool(array_module.isfinite(vectors.data).all()):
        return
    finite = array_module.isfinite(vectors.data).all(axis=1)
    bad = [row for row, whole in enumerate(finite.tolist()) if not whole]
    rows = set(bad)
    keys = [key for key, row in vectors.key2row.items() if row in rows and key in vectors.strings]
    # Floret's rows belong to hashes; rows of other tables may have no word either
    words = sorted(vectors.strings[key] for key in keys) or [f"row {row}" for row in bad]
    named = ", ".join(f"'{word}'" for word in words[:N_NAMED])
    more = f" and {len(words) - N_NAMED} more" if len(words) > N_NAMED else ""
    raise ValueError(Errors.P432.format(words=named + more))


def read_vectors(keys: Sequence[int], vectors: Vectors) -> Floats2d:
    """Read vectors (keys, width) from a table, in float32."""
    return vectors.get_batch(np.array(keys, dtype=np.uint64)).astype("float32")
