"""The Wall Street Journal of the Penn Treebank: parts of speech.

The published splits for part-of-speech tagging (sections 0-18, 19-21, 22-24 with 38,219, 5,527 and
5,462 sentences) refer to the trees, that is, to the files ending in `.mrg`. The tagged files
(`.pos`) have different texts and sentence boundaries, and therefore different numbers.

SOURCE: Marcus, Santorini and Marcinkiewicz (1993), 'Building a Large Annotated Corpus of English:
The Penn Treebank'; Treebank-2 (LDC95T7) and Treebank-3 (LDC99T42) with their README files; the
splits are those of Collins (2002), 'Discriminative Training Methods for Hidden Markov Models'.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from ..errors import Errors, invalid
from .brackets import unescape_treebank
from .lines import read_lines
from .problems import Problems
from .sections import Release, choose_files, document_of, suffix_of
from .sentence import Sentence
from .trees import HEADER, Leaf, read_trees, tagged_leaves, untagged_leaves

RELEASE = Release(
    name="the Penn Treebank (LDC95T7 or LDC99T42)",
    suffixes=(".mrg", ".pos", ".prd"),
    splits={"train": "0-18", "dev": "19-21", "test": "22-24"},
)
_WORDS = re.compile(r"\S+", re.ASCII)
_RULE = re.compile(r"\s*==+\s*", re.ASCII)
_NOUN_PHRASE = ("[", "]")
# The last slash precedes the tag. Slashes in words are escaped, but not in all copies.
_TAGGED = re.compile(r"(.+)/([^/]+)")
# An error in old copies: a number with two tags, of which the second is correct.
_DOUBLE_TAG = re.compile(r"(.+)/NNP/CD")
_ENDS_SENTENCE = "."
_CLOSES = {"''", ")", "-RRB-"}


def read_ptb(
    path: str | Path,
    *,
    sections: str | int | None = None,
    split: str | None = None,
    kind: str | None = None,
    unescape: bool = False,
    problems: Problems | None = None,
) -> Iterator[Sentence]:
    """Stream the sentences of the Penn Treebank."""
    suffix = None if kind is None else f".{kind}"
    if suffix is not None and suffix not in READERS:
        raise _invalid_kind(kind)
    any_sentence = False
    files = choose_files(
        path, RELEASE, sections=sections, split=split, suffix=suffix, problems=problems
    )
    for file_ in files:
        file_suffix = suffix or suffix_of(file_)
        if file_suffix not in READERS:
            raise _invalid_kind(kind, f", since the name of {file_} does not show which")
        for number, leaves in enumerate(READERS[file_suffix](file_)):
            any_sentence = True
            tags = [leaf.tag for leaf in leaves if leaf.tag is not None]
            yield Sentence(
                words=[unescape_treebank(leaf.word) if unescape else leaf.word for leaf in leaves],
                tags=tags if len(tags) == len(leaves) else None,
                document=document_of(file_),
                starts_document=number == 0,
                line=leaves[0].line,
            )
    if not any_sentence:
        raise ValueError(Errors.P158.format(path=path, expected="trees or tagged sentences"))


def read_mrg(path: str | Path) -> Iterator[list[Leaf]]:
    """Stream the sentences of a file of trees with parts of speech."""
    yield from filter(None, (tagged_leaves(tree, path) for tree in read_trees(path)))


def read_prd(path: str | Path) -> Iterator[list[Leaf]]:
    """Stream the sentences of a file of trees without parts of speech."""
    yield from filter(None, map(untagged_leaves, read_trees(path)))


def read_pos(path: str | Path) -> Iterator[list[Leaf]]:
    """Stream the sentences of a file of tagged text, such as `[ The/DT dog/NN ] barks/VBZ ./.`.

    The brackets are automatically detected noun phrases, "best ignored" according to the README,
    and ignored here. Sentence boundaries are not marked, and blank lines occur both within and
    between sentences. A sentence ends

    * at a line of `===`, and at two or more consecutive blank lines: both separate paragraphs;
    * at a blank line after a word tagged `.` (period, question mark or exclamation mark). Closing
      quotes and brackets that follow belong to the sentence, as in the trees. A word with that tag
      does not end the sentence if no blank line follows.
    """
    sentence: list[Leaf] = []
    n_blank = 0
    may_end = False
    for number, line in read_lines(Path(path)):
        if line.startswith(HEADER):
            continue
        tokens = _WORDS.findall(line)
        if not tokens:
            n_blank += 1
            continue
        is_rule = _RULE.fullmatch(line) is not None
        if sentence and (is_rule or n_blank > 1):
            yield sentence
            sentence = []
        may_end = may_end or n_blank > 0
        n_blank = 0
        if is_rule:
            continue
        for token in tokens:
            if token in _NOUN_PHRASE:
                continue
            leaf = _tagged_word(token, path, number)
            if leaf.tag not in _CLOSES:
                if may_end and sentence and _has_ended(sentence):
                    yield sentence
                    sentence = []
                may_end = False
            sentence.append(leaf)
    if sentence:
        yield sentence


def _has_ended(sentence: list[Leaf]) -> bool:
    """Whether the last word, except closing quotes and brackets, ends a sentence."""
    for leaf in reversed(sentence):
        if leaf.tag not in _CLOSES:
            return leaf.tag == _ENDS_SENTENCE
    return False


def _tagged_word(token: str, path: str | Path, line: int) -> Leaf:
    match = _DOUBLE_TAG.fullmatch(token)
    if match:
        return Leaf(match[1], "CD", line)
    match = _TAGGED.fullmatch(token)
    if match is None or match[1].endswith("\\"):
        raise ValueError(Errors.P151.format(path=path, line=line, token=token))
    return Leaf(match[1], match[2].split("|")[0], line)


def _invalid_kind(kind: str | None, reason: str = "") -> ValueError:
    return invalid("kind", kind, f"mrg, pos or prd{reason}")


READERS: dict[str, Callable[[str | Path], Iterator[list[Leaf]]]] = {
    ".mrg": read_mrg,
    ".pos": read_pos,
    ".prd": read_prd,
}
