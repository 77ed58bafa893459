"""Self-contained web pages, without scripts, external style sheets or images."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from ..printable import printable
from .style import WIDTH

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, title: str, **content: Any) -> str:
    """Make a page, as HTML that is well-formed XML, from a template in `figures/templates` and what
    it shows: text, which is escaped, tables (`Table`) and SVG images."""
    page = _environment().get_template(template).render(title=title, **content)
    return printable(page) + "\n"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["breadth"] = _breadth
    return environment


def _breadth(svg: str) -> str:
    """The class of a chart, which is shown as wide as the page, or of several side by side, which
    scroll sooner than they shrink; none of a small map."""
    found = re.search(r' width="([\d.]+)"', svg)
    width = float(found[1]) if found is not None else 0.0
    return "chart row" if width >= 1.5 * WIDTH else "chart" if width >= WIDTH else ""
