"""Write the sample corpus: English sentences in the four columns of CoNLL-2003.

Every sentence comes from a hand-written template in `sample/grammar.txt` that carries
its annotation; the file explains the notation. Templates are dealt like a pack of cards,
so that all are used about equally often, and a document keeps to one topic. Some names
are held back from the training file, so that the other two contain unseen ones.

Usage:
    python assets/make_sample.py            write train.conll, dev.conll, test.conll
    python assets/make_sample.py --check    compare the files on disk, write nothing
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeVar

SAMPLE = Path(__file__).resolve().parent / "sample"
SEED = 2021
SIZES = {"train": 600, "dev": 90, "test": 90}
HELD_OUT = 0.15  # share of each list of names that the training file never shows
UNSEEN = 0.1  # how often a name of dev or test comes from that share
DOCUMENT = (5, 15)  # sentences in a document, at least and at most
LEXEME = re.compile(r"\[[A-Z]+|<[A-Z]+|\{[A-Z_]+(?::[A-Z]+)?\}|[\]<>{}|]|[^\s\[\]<>{}|]+")
PUNCTUATION = {",": ",", ".": ".", "?": ".", ":": ":", ";": ":", "--": ":", "(": "(", ")": ")"}
T = TypeVar("T")
Document = list["list[Row]"]


class Row(NamedTuple):
    """One line of the corpus."""

    word: str
    pos: str
    chunk: str
    entity: str


class Token(NamedTuple):
    """A word with its part of speech; an empty tag is looked up in the grammar."""

    word: str
    tag: str


class Slot(NamedTuple):
    """A reference to a list of alternatives, with an entity type that replaces theirs."""

    name: str
    entity: str


# A string begins or ends a chunk or an entity: `[NP`, `]`, `<PER`, `>`. A list is a choice.
Pattern = list["Token | Slot | str | list[Pattern]"]


@dataclass
class Grammar:
    """What `grammar.txt` holds: parts of speech, alternatives of slots, templates of topics.

    The held-out alternatives are those of lists of names that are kept for dev and test.
    """

    tags: dict[str, str] = field(default_factory=dict)
    slots: dict[str, list[Pattern]] = field(default_factory=dict)
    held_out: dict[str, list[Pattern]] = field(default_factory=dict)
    topics: dict[str, list[Pattern]] = field(default_factory=dict)


def draw(rng: Random, items: Sequence[T]) -> T:
    """Draw one item. Only `Random.random` gives the same stream in every Python version."""
    return items[int(rng.random() * len(items))]


def shuffled(rng: Random, items: Sequence[T]) -> list[T]:
    """Return the items in random order; for the same reason not with `Random.shuffle`."""
    return [items[i] for _, i in sorted((rng.random(), i) for i in range(len(items)))]


def parse(lexemes: Iterator[str], tag: str, *, nested: bool = False) -> list[Pattern]:
    """Parse alternatives separated by `|`.

    lexemes (Iterator[str]): What is left to read.
    tag (str): The part of speech of words that carry none.
    nested (bool): Whether to stop at a closing brace instead of the end.
    RETURNS (list[Pattern]): The alternatives.
    RAISES (ValueError): If the braces do not match.
    """
    options: list[Pattern] = [[]]
    for lexeme in lexemes:
        if lexeme == "|":
            options.append([])
        elif lexeme == "{":
            options[-1].append(parse(lexemes, tag, nested=True))
        elif lexeme == "}" and nested:
            return options
        elif lexeme[0] == "{":
            name, _, entity = lexeme[1:-1].partition(":")
            options[-1].append(Slot(name, entity))
        elif lexeme[0] in "[]<>":
            options[-1].append(lexeme)
        elif lexeme[0] != "}":
            word, slash, own_tag = lexeme.rpartition("/")
            if slash and not (word and own_tag):
                raise ValueError(f"{lexeme!r} is not of the form word/TAG")
            options[-1].append(Token(word, own_tag) if slash else Token(lexeme, tag))
        else:
            raise ValueError("'}' without '{'")
    if nested:
        raise ValueError("'{' without '}'")
    return options


def read_grammar(path: Path) -> Grammar:
    """Read the grammar and set the held-out names apart.

    path (Path): The grammar file.
    RETURNS (Grammar): Its content.
    RAISES (ValueError): If a line cannot be parsed; the message names the line.
    """
    grammar = Grammar()
    kind, name, tag = "", "", ""
    names: list[str] = []
    for number, line in enumerate(path.read_text(encoding="utf8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(":"):
            kind, name, tag = [*line[1:].split(), "", ""][:3]
            names += [name] if kind == "names" else []
        elif kind == "tags":
            pos, *words = line.split()
            grammar.tags.update(dict.fromkeys(words, pos))
        else:
            lists = grammar.topics if kind == "topic" else grammar.slots
            try:
                lists.setdefault(name, []).extend(parse(iter(LEXEME.findall(line)), tag))
            except ValueError as error:
                raise ValueError(f"{path.name}, line {number}: {error}") from error
    for name in names:
        options = shuffled(Random(f"{SEED} {name}"), grammar.slots[name])
        cut = max(1, round(HELD_OUT * len(options)))
        grammar.held_out[name], grammar.slots[name] = options[:cut], options[cut:]
    return grammar


class Span:
    """Turns opening and closing marks into BIO labels; the outermost of nested ones counts."""

    def __init__(self) -> None:
        self.depth = 0
        self.labels: Iterator[str] = iter(())

    def mark(self, text: str) -> None:
        """Open a span (`[NP`, `<PER`) or close one (`]`, `>`)."""
        self.depth += -1 if text in "]>" else 1
        if self.depth == 1 and text not in "]>":
            self.labels = chain([f"B-{text[1:]}"], repeat(f"I-{text[1:]}"))

    def label(self) -> str:
        """Return the label of the next word."""
        return next(self.labels) if self.depth else "O"


@dataclass
class Writer:
    """Expands templates into sentences.

    grammar (Grammar): The templates and lists.
    rng (Random): The random numbers.
    unseen (float): How often a name is taken from the held-out ones.
    """

    grammar: Grammar
    rng: Random
    unseen: float

    def expand(self, pattern: Pattern, used: list[Pattern]) -> Iterator[Token | str]:
        """Yield the words and marks of a pattern; `used` holds what its slots were filled with."""
        for part in pattern:
            if isinstance(part, list):
                yield from self.expand(draw(self.rng, part), used)
            elif isinstance(part, Slot):
                filling = self.expand(self.fill(part.name, used), used)
                yield from [f"<{part.entity}", *filling, ">"] if part.entity else filling
            else:
                yield part

    def fill(self, name: str, used: list[Pattern]) -> Pattern:
        """Draw an alternative of a slot, if possible one that is not in the sentence yet."""
        pool = self.grammar.slots[name]
        if name in self.grammar.held_out and self.rng.random() < self.unseen:
            pool = self.grammar.held_out[name]
        # `used` is shared by all slots: no person called Lincoln lives in Lincoln.
        fresh = [option for option in pool if option not in used]
        used.append(draw(self.rng, fresh or pool))
        return used[-1]

    def sentence(self, template: Pattern) -> list[Row]:
        """Expand a template and turn its marks into BIO labels.

        template (Pattern): The template.
        RETURNS (list[Row]): The sentence.
        RAISES (ValueError): If a word has no part of speech.
        """
        rows: list[Row] = []
        chunk, entity = Span(), Span()
        for part in self.expand(template, []):
            if isinstance(part, str):
                (chunk if part[0] in "[]" else entity).mark(part)
                continue
            tag = part.tag or PUNCTUATION.get(part.word) or self.grammar.tags.get(part.word)
            if not tag:
                raise ValueError(f"no part of speech for {part.word!r} in {template}")
            rows.append(Row(part.word, tag, chunk.label(), entity.label()))
        return spell(rows)


def spell(rows: list[Row]) -> list[Row]:
    """Write `an` before vowels, and a capital on the first word that is no list marker."""
    for i, following in enumerate(rows[1:]):
        if rows[i][:2] == ("a", "DT") and re.match("[aeioAEIO]|un[^i]|8", following.word):
            rows[i] = rows[i]._replace(word="an")
    first = next(i for i, row in enumerate(rows) if row.pos not in ("LS", "(", ")", "``"))
    rows[first] = rows[first]._replace(word=rows[first].word[0].upper() + rows[first].word[1:])
    return rows


def deal(rng: Random, items: Sequence[T]) -> Iterator[T]:
    """Yield the items in random order, and again in another order, for ever."""
    while True:
        yield from shuffled(rng, items)


def make_split(grammar: Grammar, name: str, seen: set[str]) -> list[Document]:
    """Make the documents of one file.

    grammar (Grammar): The templates and lists.
    name (str): Which file: train, dev or test.
    seen (set[str]): The sentences of all files so far; those of this one are added.
    RETURNS (list[Document]): The documents.
    """
    rng = Random(f"{SEED} {name}")
    writer = Writer(grammar, rng, 0.0 if name == "train" else UNSEEN)
    decks = {topic: deal(rng, templates) for topic, templates in grammar.topics.items()}
    rounds = dict.fromkeys(shuffled(rng, list(decks)), 0.0)  # how often each deck was dealt
    shortest, longest = DOCUMENT
    documents, left = [], SIZES[name]
    while left:
        size = shortest + int(rng.random() * (longest - shortest + 1))
        if left - size < shortest:  # leave no document that is too short
            size = left if left <= longest else left - shortest
        topic = min(rounds, key=lambda topic: rounds[topic])
        rounds[topic] += size / len(grammar.topics[topic])
        document: Document = []
        while len(document) < size:
            sentence = writer.sentence(next(decks[topic]))
            text = " ".join(row.word for row in sentence)
            if text not in seen:
                seen.add(text)
                document.append(sentence)
        documents.append(document)
        left -= size
    return documents


def write_conll(documents: list[Document]) -> str:
    """Return the documents in the format of CoNLL-2003."""
    start = [Row("-DOCSTART-", "-X-", "-X-", "O")]
    blocks = (rows for document in documents for rows in [start, *document])
    return "\n".join("".join(f"{' '.join(row)}\n" for row in rows) for rows in blocks)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the files; the exit status is 1 if `--check` finds a difference."""
    parser = argparse.ArgumentParser(description="Write the sample corpus.")
    parser.add_argument("--check", action="store_true", help="compare the files, write nothing")
    options = parser.parse_args(arguments)
    grammar, seen, stale = read_grammar(SAMPLE / "grammar.txt"), set(), []
    for name in SIZES:
        path = SAMPLE / f"{name}.conll"
        content = write_conll(make_split(grammar, name, seen)).encode("utf8")
        if not options.check:
            path.write_bytes(content)
        elif not path.exists() or path.read_bytes() != content:
            stale.append(path.name)
    if stale:
        print("Run `python assets/make_sample.py`: out of date are", *stale, file=sys.stderr)
    return int(bool(stale))


if __name__ == "__main__":
    raise SystemExit(main())
