"""The columns of CoNLL-U and CoNLL-U Plus, and where they keep named entities.

SOURCE: https://universaldependencies.org/ext-format.html for CoNLL-U Plus; spaCy's converter
`conllu_to_docs` for entities in MISC.
"""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from .lines import read_lines
from .problems import Problems, unexpected

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
UNKNOWN = "_"
_HEADER = re.compile(r"#\s*global\.columns\s*=(.*)")
# The parts of names of columns, such as NE:CLASS or RELATE:NE, that hold entities.
_ENTITY_NAMES = frozenset(("NE", "NER", "UNER", "ENT", "ENTITY", "ENTITIES"))
# PARSEME's mark for no annotation, besides that of CoNLL-U.
_OUTSIDE = frozenset((UNKNOWN, "*"))
# In MISC, spaCy's converter reads name=B-PER, NE=B-PER and B-PER.
_MISC_KEY = re.compile(r"(?:name|NER?)=")
_TAG = re.compile(r"O|[BIESLU]-.+")


@dataclass(frozen=True)
class Columns:
    """The columns of a file.

    names (Tuple[str, ...]): Their names, in order.
    entities (Optional[int]): The index of the column of entity tags; None if there is none.
    in_misc (bool): Whether the tags are values in that column, which is MISC, rather than all of
        it.
    """

    names: tuple[str, ...] = COLUMNS
    entities: int | None = None
    in_misc: bool = False

    @cached_property
    def order(self) -> tuple[int | None, ...] | None:
        """Where the columns of CoNLL-U are, None for each that is missing; None if they are all
        there, in order, and no others.
        """
        places = {name: i for i, name in reversed([*enumerate(self.names)])}
        return None if self.names == COLUMNS else tuple(map(places.get, COLUMNS))

    def is_comment(self, line: str) -> bool:
        """Check whether a line that begins with # is a comment, or, without an ID in front, a word
        such as "#" or "#tag" with all its columns.
        """
        if self.names[0] == "ID" or line[1:2] == " ":
            return True
        return not 0 < line.count("\t") == len(self.names) - 1

    def standard(self, cells: list[str]) -> list[str]:
        """Get the columns of CoNLL-U."""
        if self.order is None:
            return cells
        return [UNKNOWN if i is None else cells[i] for i in self.order]

    def tag(self, cells: list[str]) -> str:
        """Get the entity tag of a word."""
        if self.entities is None or self.entities >= len(cells):
            return "O"
        cell = cells[self.entities]
        if self.in_misc:
            return misc_tag(cell) or "O"
        return "O" if cell in _OUTSIDE else cell


@lru_cache(maxsize=65536)
def misc_tag(misc: str) -> str | None:
    """Find the entity tag in MISC."""
    found = None
    for part in misc.split("|"):
        key = _MISC_KEY.match(part)
        value = part[key.end() :] if key else part
        if _TAG.fullmatch(value):
            return value
        found = "" if key else found
    return found


def read_header(line: str) -> tuple[str, ...] | None:
    """Read the header of CoNLL-U Plus."""
    found = _HEADER.match(line)
    return tuple(found[1].split()) if found else None


def find_columns(path: Path, ents_column: str | None, problems: Problems) -> Columns:
    """Find the columns of a file, and the entities in them."""
    names, number = _names(path)
    for needed in ("FORM", ents_column):
        if needed and needed not in names:
            expected = f"one of the columns {' '.join(names)}"
            if needed == "FORM":
                expected = "the words in a column FORM"
            problem = f"there is no column {needed}"
            raise ValueError(unexpected(path, number, problem, expected))
    extra = [name for name in names if name not in COLUMNS]
    found = next((n for n in extra if _ENTITY_NAMES & set(re.split(r"\W", n.upper()))), None)
    chosen = ents_column or found
    others = [name for name in extra if name != chosen]
    if others:
        problems.note(f"columns not read ({', '.join(others)})", len(others))
    if chosen:
        return Columns(names, names.index(chosen))
    misc = names.index("MISC") if "MISC" in names else len(names)
    rows = (line.rstrip("\r").split("\t") for _, line in read_lines(path))
    if any(misc < len(cells) and misc_tag(cells[misc]) for cells in rows):
        return Columns(names, misc, in_misc=True)
    return Columns(names)


def _names(path: Path) -> tuple[tuple[str, ...], int]:
    """The names of the columns, and the line of the header, or else the first one."""
    for number, line in read_lines(path):
        if line.strip() and not line.startswith("#"):
            break
        names = read_header(line)
        if names:
            return names, number
    return COLUMNS, 1
