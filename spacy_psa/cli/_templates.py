"""Config templates with comments, and how they are merged.

A template is a partial config in `templates`. Its first comment describes the template; any other
comment belongs to the section or setting below it and moves with it. The section [template] is for
data that is not a setting, and is left out of configs.
"""

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thinc.api import Config

ROOT = Path(__file__).parent / "templates"
LINE_LENGTH = 100
SECTION = re.compile(r"\[(?P<section>[^\]]+)\]")
SETTING = re.compile(r"(?P<name>[^\s=]+) *=")

Place = tuple[str, str]
"""A section and the name of one of its settings, or "" for the section itself."""


@dataclass(frozen=True)
class Template:
    """A partial config, or several merged ones.

    config (Config): The settings.
    comments (Dict[Place, str]): The comments on them.
    about (List[str]): The description of the whole, in paragraphs.
    """

    config: "Config"
    comments: dict[Place, str]
    about: list[str]

    @property
    def settings(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): The section [template]."""
        return self.config.get("template", {})

    def merge(self, other: "Template") -> "Template":
        """Merge another template into this one, over which it takes precedence. A section with a
        different registered function is replaced, not merged."""
        config = self.config.merge(other.config)
        _sort_like(config, self.config)
        comments = {**self.comments, **other.comments}
        return Template(config, comments, [*other.about, *self.about])

    def write(self, config: "Config", *, usage: Sequence[str], values: Mapping[str, str]) -> str:
        """Write a config with the comments, and these values of their placeholders `{name}`."""
        lines = [line for part in self.about for line in (*comment_lines(part), "#")]
        lines += [f"# {line}" for line in usage]
        lines.append("")
        section = ""
        for line in text_of(config, interpolate=False).splitlines():
            name = ""
            if match := SECTION.fullmatch(line):
                section = match["section"]
            elif match := SETTING.match(line):
                name = match["name"]
            comment = self.comments.get((section, name)) if line else None
            if comment is not None:
                lines.extend(comment_lines(comment.format_map(values)))
            lines.append(line)
        return "\n".join(lines) + "\n"


def text_of(config: "Config", *, interpolate: bool = True) -> str:
    """The text of a config, as spaCy's commands and ours read it: variables come later, so that the
    second $ that is written for each, as in the name of a folder, would stay."""
    return config.to_str(interpolate=interpolate).replace("$$", "$")


def names(folder: str) -> list[str]:
    """List the templates in a folder, e.g. "systems"."""
    return sorted(path.stem for path in (ROOT / folder).glob("*.cfg"))


def read_template(folder: str, name: str) -> Template:
    """Read a template of a folder, e.g. "systems"."""
    from thinc.api import Config

    text = (ROOT / folder / f"{name}.cfg").read_text(encoding="utf8")
    comments: dict[Place, str] = {}
    about: list[str] = []
    section, block = "", []
    for line in text.splitlines():
        if line.startswith("#"):
            block.append(line.lstrip("# "))
            continue
        if match := SECTION.fullmatch(line):
            section, place = match["section"], (match["section"], "")
        elif match := SETTING.match(line):
            place = (section, match["name"])
        else:
            place = ("", "")
        if block:
            comments[place] = " ".join(block)
            if place == ("", ""):
                about = _paragraphs(block)
            block = []
    comments.pop(("", ""), None)
    return Template(Config().from_str(text, interpolate=False), comments, about)


def moved(comments: Mapping[Place, str], old: str, new: str) -> dict[Place, str]:
    """Move the comments on a section, and those on what is in it, to another section."""
    return {
        (new + at.removeprefix(old) if f"{at}.".startswith(f"{old}.") else at, setting): text
        for (at, setting), text in comments.items()
    }


def _paragraphs(lines: Sequence[str]) -> list[str]:
    """Join the lines of each paragraph; empty lines separate paragraphs."""
    return [" ".join(part.split("\n")) for part in "\n".join(lines).split("\n\n")]


def _sort_like(config: dict[str, Any], order: Mapping[str, Any]) -> None:
    """Sort sections and settings as in another config, with additional ones at the end."""
    for name in [*order, *(name for name in config if name not in order)]:
        if name in config:
            config[name] = config.pop(name)
            if isinstance(config[name], dict) and isinstance(order.get(name), dict):
                _sort_like(config[name], order[name])


def comment_lines(text: str) -> list[str]:
    """Wrap a comment."""
    lines = textwrap.wrap(text, LINE_LENGTH - 2, break_on_hyphens=False, break_long_words=False)
    return [f"# {line}" for line in lines]
