"""Take apart the Markdown files of the project."""

from __future__ import annotations

import re
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").glob("**/*.md")),
    *sorted((ROOT / "benchmarks").glob("**/*.md")),
    *sorted((ROOT / "assets").glob("*/README.md")),
]
CONFIGURATION = ROOT / "docs" / "configuration.md"
# Where settings and blocks are described: the second one has those of semantic roles alone
REFERENCE = [CONFIGURATION, ROOT / "docs" / "srl.md"]


def code_blocks(path: Path, language: str) -> list[str]:
    """The code blocks of a file that are in a language."""
    fence = re.compile(rf"^```{language}\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    return fence.findall(path.read_text(encoding="utf8"))


def links(path: Path) -> list[str]:
    """The targets of the links in a file, code left out."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf8"), flags=re.DOTALL | re.M)
    return re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`(?!\])", "", text))


def headings(path: Path) -> set[str]:
    """The anchors that the headings of a file get."""
    titles = re.findall(r"^#+ +(.*)$", path.read_text(encoding="utf8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def entry_points() -> Iterator[tuple[str, str, str]]:
    """The group, the name and the object of everything that setup.cfg registers."""
    parser = ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg", encoding="utf8")
    for group, lines in parser["options.entry_points"].items():
        for line in lines.strip().splitlines():
            name, target = line.split("=")
            yield group, name.strip(), target.strip()
