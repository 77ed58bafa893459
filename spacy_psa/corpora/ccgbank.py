"""CCGbank: the categories of Combinatory Categorial Grammar as tags (supertagging).

Sections 2-21 have 1,286 categories. 425 of them occur at least 10 times, and these are customarily
the labels of a supertagger. Cui and Zhang (2019) say that "the performance is calculated on the 425
most frequent labels", and list 426 training labels in their table 1: the 425, and presumably one
for all the others. They do not say whether a token with a rare gold category is excluded from the
score or counts as an error. `min_count` and `rest` of `read_ccgbank` cover all interpretations:

* `min_count=10`: rare categories are not annotated, so they are neither trained on nor scored. For
  training, and for scores on the frequent categories only.
* `min_count=10, rest="UNK"` (or another label): rare categories become one more label, the 426th,
  which is trained on and scored.
* `min_count=0`: all categories are kept. In the development and test sections, each token with a
  rare category then counts as an error of a model trained on the frequent ones.

SOURCE: Hockenmaier and Steedman (2007), 'CCGbank: A Corpus of CCG Derivations and Dependency
Structures Extracted from the Penn Treebank' (LDC2005T13), and the manual, section D.2; Clark and
Curran (2007), 'Wide-Coverage Efficient Statistical Parsing with CCG and Log-Linear Models'; Cui and
Zhang (2019), 'Hierarchically-Refined Label Attention Network for Sequence Labeling', section 5.1.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ..errors import Errors, invalid
from .brackets import unescape_treebank
from .lines import read_lines
from .problems import Problems
from .sections import Release, choose_files, document_of
from .sentence import Sentence

RELEASE = Release(
    name="CCGbank (LDC2005T13)",
    suffixes=(".auto",),
    splits={"train": "2-21", "dev": "0", "test": "23"},
)
# The columns of a leaf that can serve as tags. "pos" is the uncorrected tag of the Penn Treebank.
TAGS = {"supertag": 0, "pos": 2}
_WORD = 3
_ID = re.compile(r"ID=(\S+)(?:.*\bNUMPARSE=(\d+))?", re.ASCII)
# (<L category modified-POS original-POS word category-with-indices>)
_LEAF = re.compile(r"\(<L +(\S+) +(\S+) +(\S+) +(\S+) +(\S+)>\)", re.ASCII)
_NODE = re.compile(r"\(<T +\S+ +\d +\d>", re.ASCII)


class Derivation(NamedTuple):
    """A derivation, that is, a sentence, of CCGbank.

    name (str): Its name, e.g. "wsj_0001.1".
    line (int): The line of the derivation.
    leaves (List[Tuple[str, ...]]): For each word: category, modified part of speech, original part
        of speech, word, category with indices.
    """

    name: str
    line: int
    leaves: list[tuple[str, ...]]


def read_ccgbank(
    path: str | Path,
    *,
    sections: str | int | None = None,
    split: str | None = None,
    tag: str = "supertag",
    min_count: int = 0,
    rest: str | None = None,
    unescape: bool = False,
    problems: Problems | None = None,
) -> Iterator[Sentence]:
    """Stream the sentences of CCGbank."""
    if tag not in TAGS:
        raise invalid("tag", tag, "one of: " + ", ".join(TAGS))
    files = choose_files(path, RELEASE, sections=sections, split=split, problems=problems)
    frequent = None
    if int(min_count) > 0:
        if not Path(path).is_dir():
            raise ValueError(Errors.P156.format(path=path, name="min_count"))
        frequent = _frequent_in_training(Path(path).resolve(), tag, int(min_count))
    any_sentence = False
    for sentence in _read_files(files, TAGS[tag], unescape):
        any_sentence = True
        yield sentence if frequent is None else _restrict(sentence, frequent, rest)
    if not any_sentence:
        raise ValueError(Errors.P158.format(path=path, expected="derivations"))


def frequent_categories(sentences: Iterable[Sentence], min_count: int = 10) -> list[str]:
    """Get the categories that occur at least a given number of times, most frequent first."""
    counts = Counter(tag for sentence in sentences for tag in sentence.tags or () if tag)
    frequent = [tag for tag, count in counts.items() if count >= min_count]
    return sorted(frequent, key=lambda tag: (-counts[tag], tag))


def read_derivations(path: str | Path) -> Iterator[Derivation]:
    """Stream the derivations of a file."""
    name: str | None = None
    name_line = 0
    for number, line in read_lines(Path(path)):
        line = line.strip()
        if not line:
            continue
        match = _ID.match(line)
        if name is None:
            if match is None:
                raise _error(path, number, f"'{line[:40]}' is not an ID line")
            name, name_line = match[1], number
            if match[2] == "0":
                name = None
            continue
        if match is not None:
            raise _error(path, number, f"the derivation of {name} is missing")
        yield Derivation(name, number, _parse_derivation(line, path, number))
        name = None
    if name is not None:
        raise _error(path, name_line, f"the file ends before the derivation of {name}")


def _parse_derivation(line: str, path: str | Path, number: int) -> list[tuple[str, ...]]:
    leaves = _LEAF.findall(line)
    # Only brackets remain of a well-formed derivation. Those of the categories must be removed
    # first, since the corpus has a malformed one: ((S[b]\NP)/NP)/
    structure = _NODE.sub("(", _LEAF.sub("()", line)).replace(" ", "")
    strange = structure.strip("()")
    if strange:
        raise _error(path, number, f"the derivation contains '{strange[:40]}'")
    depth = 0
    for i, bracket in enumerate(structure):
        depth += 1 if bracket == "(" else -1
        if depth < 0 or (depth == 0 and i < len(structure) - 1):
            raise _error(path, number, "the derivation closes more brackets than it opens")
    if depth > 0:
        raise _error(path, number, f"the derivation ends with {depth} brackets open")
    if not leaves:
        raise _error(path, number, "the derivation has no words")
    return leaves


def _read_files(files: Iterable[Path], column: int, unescape: bool) -> Iterator[Sentence]:
    for file_ in files:
        for number, (name, line, leaves) in enumerate(read_derivations(file_)):
            words = [leaf[_WORD] for leaf in leaves]
            yield Sentence(
                words=[unescape_treebank(word) for word in words] if unescape else words,
                tags=[leaf[column] for leaf in leaves],
                document=document_of(file_),
                starts_document=number == 0,
                sent_id=name,
                line=line,
            )


# Training reads its corpus once per epoch, but the counts need another pass over 20 sections.
@lru_cache(maxsize=4)
def _frequent_in_training(root: Path, tag: str, min_count: int) -> frozenset[str]:
    files = choose_files(root, RELEASE, split="train")
    return frozenset(frequent_categories(_read_files(files, TAGS[tag], False), min_count))


def _restrict(sentence: Sentence, categories: Collection[str], rest: str | None) -> Sentence:
    tags = [tag if tag in categories else rest or "" for tag in sentence.tags or ()]
    return replace(sentence, tags=tags)


def _error(path: str | Path, line: int, problem: str) -> ValueError:
    return ValueError(Errors.P152.format(path=path, line=line, problem=problem))
