"""Parse the Markdown files of the project."""

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
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("**/*.md")),
    *sorted((ROOT / "benchmarks").glob("**/*.md")),
    *sorted((ROOT / "assets").glob("*/README.md")),
]
CONFIGURATION = ROOT / "docs" / "configuration.md"
BLOCKS = ROOT / "docs" / "configuration"
# The pages that describe settings and blocks; the last has only those of semantic roles
REFERENCE = [CONFIGURATION, *sorted(BLOCKS.glob("*.md")), ROOT / "docs" / "srl.md"]


def code_blocks(path: Path, language: str) -> list[str]:
    """The code blocks of a file in a given language."""
    fence = re.compile(rf"^```{language}\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    return fence.findall(path.read_text(encoding="utf8"))


def links(path: Path) -> list[str]:
    """The targets of the links in a file, except in code."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf8"), flags=re.DOTALL | re.M)
    return re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`(?!\])", "", text))


def headings(path: Path) -> set[str]:
    """The anchors of the headings in a file."""
    titles = re.findall(r"^#+ +(.*)$", path.read_text(encoding="utf8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def entry_points() -> Iterator[tuple[str, str, str]]:
    """The group, name and object of each entry point in setup.cfg."""
    parser = ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg", encoding="utf8")
    for group, lines in parser["options.entry_points"].items():
        for line in lines.strip().splitlines():
            name, target = line.split("=")
            yield group, name.strip(), target.strip()
