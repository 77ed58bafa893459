"""Self-contained web pages, without scripts, external style sheets or images."""

from __future__ import annotations

from collections.abc import Sequence

from ..printable import escape

STYLE = """
body { font-family: sans-serif; max-width: 62rem; margin: 1rem auto; padding: 0 1rem;
  line-height: 1.4; color: #222; background: #fff; }
h2 { border-top: 1px solid #555; padding-top: 1rem; margin-top: 2rem; }
figure { margin: 0 0 1.5rem; }
svg { max-width: 100%; height: auto; display: block; }
blockquote { margin: 0.5rem 0; padding: 0.3rem 0.8rem; border-left: 4px solid #0072b2; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.5rem 0 1rem; font-size: 0.85rem; }
caption { text-align: left; font-weight: bold; padding: 0.3rem 0; }
th, td { padding: 0.1rem 0.5rem; text-align: right; font-variant-numeric: tabular-nums; }
th { font-weight: normal; white-space: nowrap; }
tbody th { text-align: left; }
thead th { border-bottom: 1px solid #555; font-weight: bold; vertical-align: bottom; }
tbody tr:nth-child(even) { background: #f5f5f5; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
summary { cursor: pointer; color: #0072b2; }
a { color: #0072b2; }
a:focus-visible, summary:focus-visible, .wide:focus-visible { outline: 3px solid #d55e00; }
"""


def make_page(title: str, body: str, style: str = "") -> str:
    """Make a page.

    title (str): The title.
    body (str): The content below the title, as HTML that is well-formed XML.
    style (str): Additional CSS.
    RETURNS (str): The page.
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8" />\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1" />\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n{body}</body>\n</html>\n"
    )


def make_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, caption: bool = True
) -> str:
    """Make a table. A wide table can be scrolled, also by keyboard.

    title (str): The title.
    header (Sequence[str]): The names of the columns; the first column has the names of the rows.
    rows (Sequence[Sequence[str]]): The cells.
    caption (bool): Whether to show the title above the table.
    RETURNS (str): HTML.
    """
    above = f"<caption>{escape(title)}</caption>\n" if caption else ""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    lines = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>\n"
        for name, *cells in rows
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(title)}">\n<table>\n'
        f"{above}<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{lines}</tbody>\n</table>\n</div>\n"
    )


def make_details(summary: str, content: str) -> str:
    """Make a collapsed section.

    summary (str): The text to show while it is collapsed.
    content (str): The content, as HTML.
    RETURNS (str): HTML.
    """
    return f"<details>\n<summary>{escape(summary)}</summary>\n{content}</details>\n"
