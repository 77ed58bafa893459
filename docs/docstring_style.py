"""Read docstrings in spaCy's style: `name (type): meaning.`, and further lines indented."""

from __future__ import annotations

import re
from dataclasses import dataclass
from textwrap import dedent

PARAMETERS, RETURNS, YIELDS, RAISES = "parameters", "returns", "yields", "raises"
KINDS = {"RETURNS": RETURNS, "YIELDS": YIELDS, "RAISES": RAISES}
NAMES = r"(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*)"
TYPED = re.compile(rf"{NAMES} \((?P<type>.+?)\): (?P<text>.+)", flags=re.DOTALL)
# Only of arguments that are passed on, or described elsewhere
UNTYPED = re.compile(rf"{NAMES}: (?P<text>.+)", flags=re.DOTALL)


@dataclass
class Item:
    """What a docstring says of one argument, result or error."""

    kind: str
    name: str
    type: str
    text: str


def blocks(docstring: str) -> list[str]:
    """The lines of a docstring, each with the indented ones below it."""
    found: list[list[str]] = []
    for line in docstring.splitlines():
        if found and line.startswith(" "):
            found[-1].append(line)
        else:
            found.append([line])
    return ["\n".join(lines) for lines in found]


def items(block: str) -> list[Item]:
    """What a block describes; nothing if it is text."""
    first, _, rest = block.partition("\n")
    block = f"{first}\n{dedent(rest)}".rstrip("\n")
    match = TYPED.fullmatch(block) or UNTYPED.fullmatch(block)
    if match is None:
        return []
    if match.re is UNTYPED and not ("**" in match["names"] or match["text"].startswith("See `")):
        return []  # any other word with a colon is text, such as a source
    found = match.groupdict()
    type_ = " ".join((found.get("type") or "").split())
    return [
        Item(KINDS.get(name, PARAMETERS), name.lstrip("*"), type_, found["text"])
        for name in found["names"].split(", ")
    ]


def parse(docstring: str) -> list[str | list[Item]]:
    """Divide a docstring, without the indentation of all its lines, into text and lists of items.

    docstring (str): The docstring.
    RETURNS (List[Union[str, List[Item]]]): The parts in order. The items of a list are of one kind.
    """
    parts: list[str | list[Item]] = []
    for block in blocks(docstring):
        found = items(block)
        last = parts[-1] if parts else None
        if found and isinstance(last, list) and last[0].kind == found[0].kind:
            last += found
        elif found:
            parts.append(found)
        elif isinstance(last, str):
            parts[-1] = f"{last}\n{block}"
        else:
            parts.append(block)
    texts = [part.strip("\n") if isinstance(part, str) else part for part in parts]
    return [part for part in texts if part]
