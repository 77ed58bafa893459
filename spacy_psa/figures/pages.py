"""Self-contained web pages, without scripts, external style sheets or images."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ..printable import printable

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, title: str, **content: Any) -> str:
    """Make a page.

    template (str): The name of a template in `figures/templates`.
    title (str): The title.
    content: What the template shows: text, tables (`Table`) and SVG images. Text is escaped.
    RETURNS (str): The page, as HTML that is well-formed XML.
    """
    page = _environment().get_template(template).render(title=title, **content)
    return printable(page) + "\n"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
