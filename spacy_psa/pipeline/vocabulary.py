"""The words that a component learns, has learned, or finds pretrained vectors for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain

from spacy.attrs import NORM
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from ..errors import Errors, Warnings, warn
from ..models.lookup import find_vector, word_form
from ..models.word_shim import WordCharacterShim

Vocabulary = dict[str, int]
"""The tokens of the training data, and how often each occurs."""

Knows = Callable[[str], bool]


def collect_words(
    pipe: TrainablePipe,
    get_examples: Callable[[], Iterable[Example]],
    nlp: Language | None,
    vocabulary: Vocabulary | None,
) -> None:
    """Let a component's embeddings collect the words of the training data, or of a dict of tokens
    and their counts. Of a streamed corpus, spaCy passes only the beginning: this gives a warning.
    """
    if vocabulary is not None and not _are_counts(vocabulary):
        raise ValueError(Errors.P319.format(name=pipe.name))
    for node in pipe.model.walk():
        if "observe" not in node.attrs:
            continue
        if vocabulary is not None:
            node.attrs["observe"](node, [Doc(pipe.vocab, words=list(vocabulary))], vocabulary)
            continue
        node.attrs["observe"](node, (eg.predicted for eg in get_examples()))
        if nlp is not None and nlp.config["training"].get("max_epochs") == -1:
            n_words = len(node.shims[0].cfg["words"])
            warn(Warnings.W434.format(name=pipe.name, n_words=n_words))


def _are_counts(vocabulary: Vocabulary) -> bool:
    """Check what a file may contain instead of counts."""
    is_filled = isinstance(vocabulary, dict) and len(vocabulary) > 0
    return is_filled and all(word and type(n) is int and n > 0 for word, n in vocabulary.items())


def embedded_words(vocab: Vocab) -> Knows:
    """Create a test for words with a pretrained vector, under their form or its lowercase form."""
    return lambda word: find_vector(word, vocab.vectors) is not None


def known_words(vocab: Vocab, words: Iterable[str]) -> Knows:
    """Create a test for membership in a set of words, by norm or its lowercase form."""
    forms = {word_form(vocab[word], NORM) for word in words}
    return _finder(vocab, forms, NORM, None)


def trained_words(pipe: TrainablePipe, nlp: Language | None = None) -> Knows | None:
    """Create a test for words that have their own embedding in `spacy_psa.WordCharEmbed.v1`, of the
    component or of one in the pipeline that it listens to; None if there is none. These are the
    words of the training data, except words without a pretrained vector that are rarer than
    `min_freq`."""
    others = [] if nlp is None else [other for _, other in nlp.components]
    heard = [p for p in others if pipe.name in getattr(p, "listening_components", ())]
    for node in chain.from_iterable(p.model.walk() for p in (pipe, *heard)):
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
