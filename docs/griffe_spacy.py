"""Let griffe, which reads the sources for the reference on the site, know spaCy's docstrings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parent))
from docstring_style import PARAMETERS, RAISES, RETURNS, YIELDS, Item, parse

SECTIONS: dict[str, tuple[type, type]] = {
    RETURNS: (griffe.DocstringSectionReturns, griffe.DocstringReturn),
    YIELDS: (griffe.DocstringSectionYields, griffe.DocstringYield),
    RAISES: (griffe.DocstringSectionRaises, griffe.DocstringRaise),
}


def arguments(obj: griffe.Object) -> griffe.Parameters:
    """The arguments of a function, or of the function that makes an object of a class."""
    made = obj.members.get("__init__") if obj.is_class else obj
    return made.parameters if isinstance(made, griffe.Function) else griffe.Parameters()


def section(docstring: griffe.Docstring, items: list[Item]) -> griffe.DocstringSection:
    """What griffe makes of items of one kind."""
    annotations = [griffe.parse_docstring_annotation(item.type, docstring) for item in items]
    described = list(zip(items, annotations, strict=True))
    kind = items[0].kind
    if kind == RAISES:
        raised = [griffe.DocstringRaise(annotation=a, description=i.text) for i, a in described]
        return griffe.DocstringSectionRaises(raised)
    if kind != PARAMETERS:
        make, element = SECTIONS[kind]
        return make([element("", annotation=a, description=i.text) for i, a in described])
    known = arguments(docstring.parent)
    if not any(item.name in known for item in items):  # of a named tuple, a protocol, or an Enum
        fields = [
            griffe.DocstringAttribute(i.name, annotation=a, description=i.text)
            for i, a in described
        ]
        return griffe.DocstringSectionAttributes(fields)
    parameters = [
        griffe.DocstringParameter(
            item.name,
            annotation=annotation or (known[item.name].annotation if item.name in known else None),
            value=known[item.name].default if item.name in known else None,
            description=item.text,
        )
        for item, annotation in described
    ]
    return griffe.DocstringSectionParameters(parameters)


class SpacyDocstrings(griffe.Extension):
    """Divides the docstrings of all objects into sections."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            # Instead of what a parser of another style would find
            obj.docstring.parsed = [
                griffe.DocstringSectionText(part)
                if isinstance(part, str)
                else section(obj.docstring, part)
                for part in parse(obj.docstring.value)
            ]
