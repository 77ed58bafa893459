"""CCGbank: the categories of Combinatory Categorial Grammar as tags (supertagging).

Which categories are trained and scored. Of the 1,286 categories in sections 2-21, 425 occur at
least 10 times, and these are customarily the labels of a supertagger. Cui and Zhang (2019) say that
"the performance is calculated on the 425 most frequent labels", and list 426 labels of the training
set in their table 1: the 425, and presumably one for all the others. Whether a token whose gold
category is another one is left out of the score or counts as an error is not said. `min_count` and
`rest` of `read_ccgbank` give all readings:

* `min_count=10`: the others are not annotated. They are neither trained nor scored. For training,
  and for scores on the frequent categories alone.
* `min_count=10, rest="UNK"` (or another label): the others are one more label, the 426th. They are
  trained, and scored as that label.
* `min_count=0`: all categories stay. On the development and test sections each token with another
  category then counts as an error of a model that was trained on the frequent ones.

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

from ..errors import Errors
from .escapes import unescape_treebank
from .lines import read_lines
from .sections import Release, choose_files, document_of
from .sentence import Sentence

RELEASE = Release(
    name="CCGbank (LDC2005T13)",
    suffixes=(".auto",),
    splits={"train": "2-21", "dev": "0", "test": "23"},
)
# The columns of a leaf that can be the tags: "pos" are those of the Penn Treebank, uncorrected.
TAGS = {"supertag": 0, "pos": 2}
_WORD = 3
_ID = re.compile(r"ID=(\S+)(?:.*\bNUMPARSE=(\d+))?", re.ASCII)
# (<L category modified-POS original-POS word category-with-indices>)
_LEAF = re.compile(r"\(<L +(\S+) +(\S+) +(\S+) +(\S+) +(\S+)>\)", re.ASCII)
_NODE = re.compile(r"\(<T +\S+ +\d +\d>", re.ASCII)


class Derivation(NamedTuple):
    """A sentence of CCGbank.

    name (str): Its name, such as "wsj_0001.1".
    line (int): The line of the derivation.
    leaves (List[Tuple[str, ...]]): For each word category, modified and original part of speech,
        word, category with indices.
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
) -> Iterator[Sentence]:
    """Stream the sentences of CCGbank.

    path (Union[str, Path]): A file ending in `.auto`, or a folder with the sections, such as
        `data/AUTO`. Files may be compressed by gzip.
    sections (Optional[Union[str, int]]): Which sections of a folder, such as "2-21" or 23.
    split (Optional[str]): Or a customary split: "train" (2-21), "dev" (0), "test" (23).
    tag (str): What the tags are: "supertag" (categories) or "pos" (parts of speech).
    min_count (int): Keep as tags only those that occur so often in sections 2-21 of the folder;
        0 keeps all.
    rest (Optional[str]): The label of the others. None leaves these tokens without annotation.
    unescape (bool): Whether to write brackets and slashes as in the text: `(` for `-LRB-`.
    YIELDS (Sentence): Sentences with tags. A document is a file.
    RAISES (ValueError): If there are no such files, or if they are not in this format.
    """
    if tag not in TAGS:
        expected = "one of: " + ", ".join(TAGS)
        raise ValueError(Errors.P155.format(name="tag", value=tag, expected=expected))
    files = choose_files(path, RELEASE, sections=sections, split=split)
    frequent = None
    if int(min_count) > 0:
        if Path(path).is_file():
            raise ValueError(Errors.P156.format(path=path, name="min_count"))
        frequent = _frequent_in_training(Path(path).resolve(), tag, int(min_count))
    any_sentence = False
    for sentence in _read_files(files, TAGS[tag], unescape):
        any_sentence = True
        yield sentence if frequent is None else _restrict(sentence, frequent, rest)
    if not any_sentence:
        raise ValueError(Errors.P158.format(path=path, expected="derivations"))


def frequent_categories(sentences: Iterable[Sentence], min_count: int = 10) -> list[str]:
    """The categories that occur often enough, by falling frequency.

    sentences (Iterable[Sentence]): The sentences, as a rule those of sections 2-21.
    min_count (int): How often a category must occur. 10 gives 425 in sections 2-21.
    RETURNS (List[str]): The categories; equally frequent ones in alphabetical order.
    """
    counts = Counter(tag for sentence in sentences for tag in sentence.tags or () if tag)
    frequent = [tag for tag, count in counts.items() if count >= min_count]
    return sorted(frequent, key=lambda tag: (-counts[tag], tag))


def read_derivations(path: str | Path) -> Iterator[Derivation]:
    """Stream the derivations of a file.

    path (Union[str, Path]): The file, plain or compressed by gzip.
    YIELDS (Derivation): The derivations. Sentences without one (NUMPARSE=0) are left out.
    RAISES (ValueError): If lines of names and derivations do not take turns, or if a derivation is
        not well formed.
    """
    name: str | None = None
    name_line = 0
    for number, line in read_lines(Path(path)):
        line = line.strip()
        if not line:
            continue
        match = _ID.match(line)
        if name is None:
            if match is None:
                raise _error(path, number, f"'{line[:40]}' is not the line of a name")
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
    # What is left of a well-formed derivation are brackets. Those of categories are gone by then,
    # which is needed, since there is a broken one in the corpus: ((S[b]\NP)/NP)/
    structure = _NODE.sub("(", _LEAF.sub("()", line)).replace(" ", "")
    strange = structure.strip("()")
    if strange:
        raise _error(path, number, f"the derivation has '{strange[:40]}' in it")
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
        starts_document = True
        for name, line, leaves in read_derivations(file_):
            words = [leaf[_WORD] for leaf in leaves]
            yield Sentence(
                words=[unescape_treebank(word) for word in words] if unescape else words,
                tags=[leaf[column] for leaf in leaves],
                document=document_of(file_),
                starts_document=starts_document,
                sent_id=name,
                line=line,
            )
            starts_document = False


# A training run reads its corpus once an epoch, but the counts need another pass over 20 sections.
@lru_cache(maxsize=4)
def _frequent_in_training(root: Path, tag: str, min_count: int) -> frozenset[str]:
    files = choose_files(root, RELEASE, split="train")
    return frozenset(frequent_categories(_read_files(files, TAGS[tag], False), min_count))


def _restrict(sentence: Sentence, categories: Collection[str], rest: str | None) -> Sentence:
    tags = [tag if tag in categories else rest or "" for tag in sentence.tags or ()]
    return replace(sentence, tags=tags)


def _error(path: str | Path, line: int, problem: str) -> ValueError:
    return ValueError(Errors.P152.format(path=path, line=line, problem=problem))
