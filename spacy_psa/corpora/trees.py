"""Read bracketed trees in Penn Treebank format.

NLTK also has a reader, but its regular expression backtracks over the text of a whole file, it does
not report where a tree is malformed, and it would be an additional dependency for this alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..errors import Errors
from .lines import read_lines

HEADER = "*x*"
NULL_TAG = "-NONE-"
# Only ASCII whitespace separates words: a no-break space can be part of a word.
_TOKENS = re.compile(r"[()]|[^\s()]+", re.ASCII)
_TRACE = re.compile(r"\*(?:[A-Z?]+\*)?(?:-\d+)?")


@dataclass(slots=True)
class Tree:
    """A pair of brackets.

    line (int): The line in which it opens.
    label (Optional[str]): What follows the opening bracket; None if it is another bracket.
    children (List[Union[Tree, str]]): The brackets and words in it.
    """

    line: int
    label: str | None = None
    children: list["Tree | str"] = field(default_factory=list)


class Leaf(NamedTuple):
    """A word of a tree.

    word (str): The word.
    tag (Optional[str]): Its part of speech; None in files without.
    line (int): Its line in the file.
    """

    word: str
    tag: str | None
    line: int


def read_trees(path: str | Path) -> Iterator[Tree]:
    """Stream the trees of a file, which can span several lines, or share one."""
    open_: list[Tree] = []
    for number, line in read_lines(Path(path)):
        # The copyright header of some files; trees have no such lines.
        if not open_ and line.startswith(HEADER):
            continue
        for token in _TOKENS.findall(line):
            if token == "(":
                open_.append(Tree(number))
            elif token == ")":
                if not open_:
                    raise _error(path, number, "a closing bracket has no opening one")
                tree = open_.pop()
                if not tree.children:
                    raise _error(path, number, f"brackets without a word: ({tree.label or ''})")
                if open_:
                    open_[-1].children.append(tree)
                else:
                    yield tree
            elif not open_:
                raise _error(path, number, f"'{token}' outside of brackets")
            elif open_[-1].label is None and not open_[-1].children:
                open_[-1].label = token
            else:
                open_[-1].children.append(token)
    if open_:
        raise _error(path, open_[0].line, "the tree that begins here is not closed")


def tagged_leaves(tree: Tree, path: str | Path) -> list[Leaf]:
    """Get the words of a tree with parts of speech, such as `(NP (DT the) (NN dog) )`."""
    leaves = []
    stack = [tree]
    while stack:
        node = stack.pop()
        word = node.children[0]
        if len(node.children) == 1 and isinstance(word, str):
            # The first token after a bracket is its label, so a word always follows a label.
            assert node.label is not None
            if node.label != NULL_TAG:
                leaves.append(Leaf(word, _plain_tag(node.label), node.line))
            continue
        inner = []
        for child in node.children:
            if isinstance(child, str):
                problem = f"'{child}' without a tag of its own; files ending in .prd have no tags"
                raise _error(path, node.line, problem)
            inner.append(child)
        stack.extend(reversed(inner))
    return leaves


def untagged_leaves(tree: Tree) -> list[Leaf]:
    """Get the words of a tree without parts of speech, such as `(NP the dog)`.

    Null elements are not marked in such trees. They are identified by the form of a trace (`*`,
    `*T*-1`; an asterisk in the text is escaped, `\\*`), and `0` is a null element if it replaces an
    omitted complementizer or relative pronoun: first in SBAR, or alone in WHNP, WHADVP, etc.
    """
    leaves = []
    stack: list[tuple[Tree | str, Tree]] = [(tree, tree)]
    while stack:
        node, parent = stack.pop()
        if isinstance(node, Tree):
            stack.extend((child, node) for child in reversed(node.children))
        elif not _is_null(node, parent):
            leaves.append(Leaf(node, None, parent.line))
    return leaves


def _is_null(word: str, parent: Tree) -> bool:
    if word == "0":
        return parent.children[0] == "0" and (parent.label or "").startswith(("SBAR", "WH"))
    return word.startswith("*") and _TRACE.fullmatch(word) is not None


def _plain_tag(label: str) -> str:
    """Remove alternatives and function tags: `NN|JJ` becomes `NN`, but `-LRB-` is kept."""
    if label.isalpha():
        return label
    first = label.split("|")[0] or label
    return first if first.startswith("-") else first.split("-")[0]


def _error(path: str | Path, line: int, problem: str) -> ValueError:
    return ValueError(Errors.P150.format(path=path, line=line, problem=problem))
