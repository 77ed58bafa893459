"""Find out which words a component has seen in training, and which have pretrained vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from spacy.attrs import NORM
from spacy.pipeline import TrainablePipe
from spacy.vocab import Vocab

from ..models.lookup import check_vectors, find_vector, word_form
from ..models.word_shim import WordCharacterShim

Knows = Callable[[str], bool]


def embedded_words(vocab: Vocab) -> Knows:
    """Create a test for words with a pretrained vector, under their form or its lowercase form.

    vocab (Vocab): The pipeline's vocabulary.
    RETURNS (Callable[[str], bool]): Whether a word has a vector.
    """
    return lambda word: find_vector(word, vocab.vectors) is not None


def check_embedded_words(vocab: Vocab) -> None:
    """Check that a model can be trained with the pretrained vectors.

    vocab (Vocab): The pipeline's vocabulary.
    RAISES (ValueError): If some vectors are not finite.
    """
    check_vectors(vocab.vectors)


def known_words(vocab: Vocab, words: Iterable[str]) -> Knows:
    """Create a test for membership in a set of words, by norm or its lowercase form.

    vocab (Vocab): The pipeline's vocabulary.
    words (Iterable[str]): The words, e.g. all words in the training data.
    RETURNS (Callable[[str], bool]): Whether a word is one of them.
    """
    forms = {word_form(vocab[word], NORM) for word in words}
    return _finder(vocab, forms, NORM, None)


def trained_words(pipe: TrainablePipe) -> Knows | None:
    """Create a test for words that have their own embedding in `spacy_psa.WordCharEmbed.v1`. These
    are the words of the training data, except words without a pretrained vector that are rarer than
    `min_freq`.

    pipe (TrainablePipe): The component.
    RETURNS (Optional[Callable[[str], bool]]): Whether a word is one of them; None if the model has
        no such embeddings.
    """
    for node in pipe.model.walk():
        for shim in node.shims:
            if isinstance(shim, WordCharacterShim) and "words" in shim.cfg:
                return _finder(pipe.vocab, set(shim.cfg["words"]), shim.attr, shim.normalize)
    return None


def _finder(
    vocab: Vocab, forms: set[str], attr: int, normalize: Callable[[str], str] | None
) -> Knows:
    def knows(word: str) -> bool:
        form = word_form(vocab[word], attr)
        looked_up = [form] if normalize is None else [form, normalize(form)]
        return any(f in forms or f.lower() in forms for f in looked_up)

    return knows
