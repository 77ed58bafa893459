"""The cases of `benchmarks.limits`: each is about a pipeline, and runs in a process of its own."""

from __future__ import annotations

import resource
import sys
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

from spacy_psa.pipeline.predicates import set_predicates
from spacy_psa.pipeline.tagger import PSATagger

COMPONENT, ROLES = "psa_tagger", "psa_srl"
# How large the input is
SIZES = {
    "long": 50_000,  # tokens of a document
    "trained": 5_000,  # tokens of a sentence to learn from
    "stream": 1_000_000,  # tokens that one process reads
    "windowed": 1_000,  # tokens of the documents in which windows are compared, and of all of them
    "compared": 20_000,
    "empty": 100_000,  # documents
    "long_token": 1_000_000,  # characters
    "long_word": 50,
}
SENTENCE = 25  # tokens
SMALL_WINDOWS = {"max_length": 64, "overlap": 32}
MARKS = 10  # how often memory is looked at in a stream
MIB = 1 << 20
Sentences = list[list[str]]
Case = Callable[[str, Sentences], dict[str, float]]


def read_words(path: Path) -> Sentences:
    """RETURNS (List[List[str]]): The words of each sentence of a file."""
    docs = DocBin().from_disk(path).get_docs(spacy.blank("en").vocab)
    return [[token.text for token in doc] for doc in docs if len(doc)]


def running_text(sentences: Sentences, n_tokens: int) -> list[str]:
    """RETURNS (List[str]): Words as they stand in the sentences, again and again."""
    words = [word for sentence in sentences for word in sentence]
    return (words * -(-n_tokens // len(words)))[:n_tokens]


def long_words(sentences: Sentences, n_tokens: int) -> list[str]:
    """RETURNS (List[str]): Words that are all different, and as long as is read of a word."""
    letters = np.random.default_rng(0).integers(
        ord("a"), ord("z") + 1, (n_tokens, SIZES["long_word"])
    )
    return ["".join(map(chr, row)) for row in letters.tolist()]


def white_space(sentences: Sentences, n_tokens: int) -> list[str]:
    """RETURNS (List[str]): Nothing but blanks."""
    return [" "] * n_tokens


def peak() -> float:
    """RETURNS (float): The largest resident set of this process so far, in MiB."""
    status = Path("/proc/self/status")
    if status.is_file():
        # What getrusage says starts, in a new process, from what its parent had
        (line,) = (x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / MIB if sys.platform == "darwin" else size / 1024


def grown_since(before: float) -> float:
    """RETURNS (float): How much more memory this process has taken at most since `peak` was
    `before`, in MiB. The system counts roughly, and a peak may come out a few pages lower later on.
    """
    return max(0.0, peak() - before)


def tagger_of(nlp: Language) -> PSATagger:
    """RETURNS (PSATagger): The component."""
    pipe = nlp.get_pipe(COMPONENT)
    assert isinstance(pipe, PSATagger)
    return pipe


def label(nlp: Language, doc: Doc) -> None:
    """Find the best labels."""
    nlp(doc)


def label_with_probabilities(nlp: Language, doc: Doc) -> None:
    """Find the best labels, and how probable they are."""
    tagger_of(nlp).cfg["probabilities"] = True
    nlp(doc)


def ten_best(nlp: Language, doc: Doc) -> None:
    """Find the ten best ways to label a document."""
    tagger_of(nlp).nbest([doc], 10)


def hundred_best(nlp: Language, doc: Doc) -> None:
    """Find the hundred best ways to label a document."""
    tagger_of(nlp).nbest([doc], 100)


def score(nlp: Language, doc: Doc) -> None:
    """Label a document and count what is right."""
    gold = nlp(doc.copy())
    nlp.evaluate([Example(doc, gold)])


def train(nlp: Language, doc: Doc) -> None:
    """Take a step of training, on a document of one sentence."""
    pipe = tagger_of(nlp)
    gold = pipe(doc.copy())
    optimizer = nlp.create_optimizer()
    with nlp.select_pipes(enable=[COMPONENT]):
        nlp.update([Example(doc, gold)], sgd=optimizer)


def find_roles(nlp: Language, doc: Doc) -> None:
    """Find the arguments of every twentieth token."""
    set_predicates(doc, range(0, len(doc), 20))
    nlp.get_pipe(ROLES)(doc)


def document(
    act: Callable[[Language, Doc], None],
    make: Callable[[Sentences, int], list[str]],
    size: str = "long",
) -> Case:
    """Make a case of a document without sentence boundaries.

    act (Callable[[Language, Doc], None]): What is done with it.
    make (Callable[[List[List[str]], int], List[str]]): Makes its words, of sentences.
    size (str): How many words it has, by `SIZES`.
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
    for length in range(SIZES["long_token"], SIZES["long_token"] + 10):  # words that are not alike
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
    """What it takes to load a pipeline, beside what it has on the disk."""
    before = peak()
    spacy.load(folder)
    size = sum(path.stat().st_size for path in Path(folder).glob("**/*") if path.is_file())
    return {"memory": grown_since(before), "disk": size / MIB}


def windows(folder: str, sentences: Sentences) -> dict[str, float]:
    """How many tags are the same if documents go through the encoder in windows, at once, and
    sentence by sentence.
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
    """Make a case of a process that reads and reads.

    new_words (bool): Whether each sentence has words that were never seen before.
    zones (bool): Whether the pipeline forgets them, by `nlp.memory_zone`.
    RETURNS (Callable): The case.
    """

    def case(folder: str, sentences: Sentences) -> dict[str, float]:
        texts = endless(sentences, new_words)
        marks = read_stream(spacy.load(folder), texts, SIZES["stream"], zones=zones)
        # After a half everything is warm, and the look-up has begun anew
        return {"warm": marks[MARKS // 2 - 1], "end": marks[-1]}

    return case


def read_stream(
    nlp: Language, texts: Iterator[list[str]], size: int, *, zones: bool
) -> list[float]:
    """Read and read, by `nlp.pipe`.

    nlp (Language): The pipeline.
    texts (Iterator[List[str]]): The words of each sentence.
    size (int): Tokens to read.
    zones (bool): Whether the pipeline forgets new words, by `nlp.memory_zone`, after each tenth.
    RETURNS (List[float]): The largest resident set so far after each tenth, in MiB.
    """
    marks, n_tokens = list[float](), 0
    for i in range(MARKS):
        with nlp.memory_zone() if zones else nullcontext():
            while n_tokens < size * (i + 1) // MARKS:
                docs = (Doc(nlp.vocab, words=words) for words in islice(texts, 128))
                n_tokens += sum(len(doc) for doc in nlp.pipe(docs))
        # Linux forgets of it what it has taken away in the meantime
        marks.append(max([peak(), *marks]))
    return marks


def endless(sentences: Sentences, new_words: bool) -> Iterator[list[str]]:
    """Sentences without end; with new words, every other word is one."""
    n = 0
    while True:
        for sentence in sentences:
            words = list(sentence)
            for place in range(0, len(words), 2) if new_words else ():
                words[place] = f"x{n}"
                n += 1
            yield words


def many_labels(n_labels: str, sentences: Sentences) -> dict[str, float]:
    """A batch of sentences with the default model, and a step of training, by number of labels."""
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
