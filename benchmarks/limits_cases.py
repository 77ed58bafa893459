"""The cases of `benchmarks.limits`. Each measures a pipeline, and runs in its own process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example

from spacy_psa.pipeline.srl.predicates import set_predicates
from spacy_psa.pipeline.tagger import PSATagger

from .peak_memory import MIB, peak

COMPONENT, ROLES = "psa_tagger", "psa_srl"
# Sizes of the input
SIZES = {
    "long": 50_000,  # tokens in a document
    "trained": 5_000,  # tokens in a sentence to train on
    "stream": 1_000_000,  # tokens read by one process
    "windowed": 1_000,  # tokens in each document on which windows are compared
    "compared": 20_000,  # tokens in all of these documents
    "empty": 100_000,  # documents
    "long_token": 1_000_000,  # characters
    "long_word": 50,
}
SENTENCE = 25  # tokens
SMALL_WINDOWS = {"max_length": 64, "overlap": 32}
MARKS = 10  # memory measurements per stream
Sentences = list[list[str]]
Case = Callable[[str, Sentences], dict[str, float]]


def read_words(path: Path) -> Sentences:
    """RETURNS (List[List[str]]): The words of each sentence of a file."""
    docs = DocBin().from_disk(path).get_docs(spacy.blank("en").vocab)
    return [[token.text for token in doc] for doc in docs if len(doc)]


def running_text(sentences: Sentences, n_tokens: int) -> list[str]:
    """RETURNS (List[str]): The words of the sentences, repeated in order."""
    words = [word for sentence in sentences for word in sentence]
    return (words * -(-n_tokens // len(words)))[:n_tokens]


def long_words(sentences: Sentences, n_tokens: int) -> list[str]:
    """RETURNS (List[str]): Distinct words of the maximum length that the model reads."""
    letters = np.random.default_rng(0).integers(
        ord("a"), ord("z") + 1, (n_tokens, SIZES["long_word"])
    )
    return ["".join(map(chr, row)) for row in letters.tolist()]


def white_space(sentences: Sentences, n_tokens: int) -> list[str]:
    """RETURNS (List[str]): Tokens that are spaces."""
    return [" "] * n_tokens


def grown_since(before: float) -> float:
    """RETURNS (float): How much the `peak` of this process has grown since it was `before`, in MiB.
    The system's counts are approximate, and a later peak may be a few pages lower.
    """
    return max(0.0, peak() - before)


def tagger_of(nlp: Language) -> PSATagger:
    """RETURNS (PSATagger): The component."""
    pipe = nlp.get_pipe(COMPONENT)
    assert isinstance(pipe, PSATagger)
    return pipe


def label(nlp: Language, doc: Doc) -> None:
    """Predict labels."""
    nlp(doc)


def label_with_probabilities(nlp: Language, doc: Doc) -> None:
    """Predict labels and their probabilities."""
    tagger_of(nlp).cfg["probabilities"] = True
    nlp(doc)


def ten_best(nlp: Language, doc: Doc) -> None:
    """Find the ten best labelings of a document."""
    tagger_of(nlp).nbest([doc], 10)


def hundred_best(nlp: Language, doc: Doc) -> None:
    """Find the hundred best labelings of a document."""
    tagger_of(nlp).nbest([doc], 100)


def score(nlp: Language, doc: Doc) -> None:
    """Label and score a document."""
    gold = nlp(doc.copy())
    nlp.evaluate([Example(doc, gold)])


def train(nlp: Language, doc: Doc) -> None:
    """Run one training step on a document with one sentence."""
    pipe = tagger_of(nlp)
    gold = pipe(doc.copy())
    optimizer = nlp.create_optimizer()
    with nlp.select_pipes(enable=[COMPONENT]):
        nlp.update([Example(doc, gold)], sgd=optimizer)


def find_roles(nlp: Language, doc: Doc) -> None:
    """Find semantic roles, with every twentieth token as a predicate."""
    set_predicates(doc, range(0, len(doc), 20))
    nlp.get_pipe(ROLES)(doc)


def document(
    act: Callable[[Language, Doc], None],
    make: Callable[[Sentences, int], list[str]],
    size: str = "long",
) -> Case:
    """Make a case with a document without sentence boundaries.

    act (Callable[[Language, Doc], None]): The action to measure.
    make (Callable[[List[List[str]], int], List[str]]): Makes the words of the document from
        sentences.
    size (str): The number of words, as a key of `SIZES`.
    RETURNS (Callable): The case.
    """

    def case(folder: str, sentences: Sentences) -> dict[str, float]:
        n = SIZES[size]
        words = make(sentences, n)
        doc = Doc(spacy.blank("en").vocab, words=words)
        before = peak()
        nlp = spacy.load(folder)
        times = []
        for length in (min(n // 4, 100), n // 4, n):  # the first one to warm up
            doc = Doc(nlp.vocab, words=words[:length])
            start = time.process_time()
            act(nlp, doc)
            times.append((time.process_time() - start) / length)
        return {"memory": grown_since(before), "time": times[2] / times[1]}

    return case


def long_token(folder: str, sentences: Sentences) -> dict[str, float]:
    """A document with one very long token among others."""
    before = peak()
    nlp = spacy.load(folder)
    for length in range(SIZES["long_token"], SIZES["long_token"] + 10):  # distinct words
        nlp(Doc(nlp.vocab, words=["a", "b" * length, "c"]))
    return {"memory": grown_since(before)}


def empty_documents(folder: str, sentences: Sentences) -> dict[str, float]:
    """Documents without tokens."""
    before = peak()
    nlp = spacy.load(folder)
    n = sum(1 for _ in nlp.pipe("" for _ in range(SIZES["empty"])))
    assert n == SIZES["empty"]
    return {"memory": grown_since(before)}


def loading(folder: str, sentences: Sentences) -> dict[str, float]:
    """The memory to load a pipeline, and its size on disk."""
    before = peak()
    spacy.load(folder)
    size = sum(path.stat().st_size for path in Path(folder).glob("**/*") if path.is_file())
    return {"memory": grown_since(before), "disk": size / MIB}


def windows(folder: str, sentences: Sentences) -> dict[str, float]:
    """The agreement of tags if the encoder reads documents in windows, as a whole, and sentence by
    sentence.
    """
    nlp = spacy.load(folder)
    pipe = tagger_of(nlp)
    groups: list[Sentences] = [[]]
    for sentence in sentences:
        groups[-1].append(sentence)
        if sum(map(len, groups[-1])) >= SIZES["windowed"]:
            groups.append([])
    groups = groups[:-1][: SIZES["compared"] // SIZES["windowed"]]

    def tags(by_sentence: bool) -> np.ndarray:
        found = []
        for group in groups:
            starts: list[bool | int | None] = [
                i == 0 for sentence in group for i in range(len(sentence))
            ]
            words = [word for sentence in group for word in sentence]
            doc = Doc(nlp.vocab, words=words, sent_starts=starts if by_sentence else None)
            found += [prediction.ids for prediction in pipe.predict([doc])]
        return np.concatenate(found)

    def share(found: np.ndarray, other: np.ndarray) -> float:
        return float((found == other).mean())

    cut, single = tags(False), tags(True)
    pipe.model.attrs["max_length"] = len(cut)
    whole = tags(False)
    pipe.model.attrs.update(SMALL_WINDOWS)
    small = tags(False)
    return {
        "tokens": len(cut),
        "same": share(cut, whole),
        "sentences": share(cut, single),
        "small": share(small, single),
    }


def stream(new_words: bool, zones: bool) -> Case:
    """Make a case of a long-running process.

    new_words (bool): Whether every other word is new.
    zones (bool): Whether to free new words with `nlp.memory_zone`.
    RETURNS (Callable): The case.
    """

    def case(folder: str, sentences: Sentences) -> dict[str, float]:
        texts = endless(sentences, new_words)
        marks = read_stream(spacy.load(folder), texts, SIZES["stream"], zones=zones)
        # Halfway through, everything is warm, and new words have overflowed the word cache
        return {"warm": marks[MARKS // 2 - 1], "end": marks[-1]}

    return case


def read_stream(
    nlp: Language, texts: Iterator[list[str]], size: int, *, zones: bool
) -> list[float]:
    """Process a stream of sentences with `nlp.pipe`.

    nlp (Language): The pipeline.
    texts (Iterator[List[str]]): The words of each sentence.
    size (int): The number of tokens to read.
    zones (bool): Whether to free new words with `nlp.memory_zone` after each tenth.
    RETURNS (List[float]): The peak resident set size after each tenth, in MiB.
    """
    marks, n_tokens = list[float](), 0
    for i in range(MARKS):
        with nlp.memory_zone() if zones else nullcontext():
            while n_tokens < size * (i + 1) // MARKS:
                docs = (Doc(nlp.vocab, words=words) for words in islice(texts, 128))
                n_tokens += sum(len(doc) for doc in nlp.pipe(docs))
        # Linux may report a lower peak after it has reclaimed memory
        marks.append(max([peak(), *marks]))
    return marks


def endless(sentences: Sentences, new_words: bool) -> Iterator[list[str]]:
    """Repeat sentences forever. With `new_words`, every other word is replaced by a new one."""
    n = 0
    while True:
        for sentence in sentences:
            words = list(sentence)
            for place in range(0, len(words), 2) if new_words else ():
                words[place] = f"x{n}"
                n += 1
            yield words


def many_labels(n_labels: str, sentences: Sentences) -> dict[str, float]:
    """Predict a batch and run one training step with the default model, by number of labels."""
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe(COMPONENT, config={"target": "tag"})
    assert isinstance(pipe, PSATagger)
    labels = [f"L{i}" for i in range(int(n_labels))]
    words = running_text(sentences, 128 * SENTENCE)
    starts = range(0, len(words), SENTENCE)
    docs = [Doc(nlp.vocab, words=words[i : i + SENTENCE]) for i in starts]
    tags = (labels * SENTENCE)[:SENTENCE]
    examples = [Example.from_dict(doc, {"tags": tags}) for doc in docs]
    before = peak()
    pipe.initialize(lambda: examples, labels=labels)
    optimizer = nlp.create_optimizer()
    pipe.predict(docs)
    predicted = grown_since(before)
    pipe.update(examples[:32], sgd=optimizer)
    size = sum(p.numel() for node in pipe.model.walk() for s in node.shims for p in _weights(s))
    return {"memory": predicted, "training": grown_since(before), "weights": size}


def _weights(shim: Any) -> Iterator[torch.Tensor]:
    return shim.network.parameters()


DOCUMENTS: dict[str, Case] = {
    "long document": document(label, running_text),
    "probabilities": document(label_with_probabilities, running_text),
    "10 best": document(ten_best, running_text),
    "100 best": document(hundred_best, running_text),
    "scores": document(score, running_text),
    "distinct words": document(label, long_words),
    "white space": document(label, white_space),
    "training": document(train, running_text, "trained"),
    "long token": long_token,
    "empty documents": empty_documents,
}
STREAMS: dict[str, Case] = {
    "corpus": stream(False, False),
    "new words": stream(True, False),
    "new words, zones": stream(True, True),
}
CASES: dict[str, Case] = {
    **DOCUMENTS,
    **STREAMS,
    "loading": loading,
    "windows": windows,
    "labels": many_labels,
    "roles": document(find_roles, running_text),
}
