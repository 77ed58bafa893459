"""Diagrams of model configs: the blocks, stacked from the words up to the labels."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..figures import svg
from ..figures.style import GRAY

WIDTH, PADDING, GAP, LINE = 440, 10, 16, 15
CHARACTERS = 0.155  # per pixel in a line of settings
# From the Okabe-Ito palette, lightened: distinguishable for color-blind readers.
COLORS = {"tok2vec": "#cfe8f7", "encoder": "#cdeee2", "decoder": "#fbe3b8"}
PLAIN = "#f3f3f3"
NO_BREAK = "\u00a0"
BOLD = 'font-weight="bold"'
# The blocks of a sequence labeling model in order of computation; others follow by name.
ORDER = ("tok2vec", "encoder", "decoder")
# The names of parts that feed the next part, in order of computation; other parts, such as a bias,
# do not. The order in the config is not used, because some releases sort its sections.
STAGES = ("first_fusion", "recurrent", "second_fusion", "refine", "connection")


@dataclass
class Block:
    """A box.

    title (str): The registered name of the block.
    role (str): Its name in the config.
    lines (List[str]): Its settings.
    parts (List[Block]): The boxes in it, from bottom to top.
    color (str): The background color.
    is_stage (bool): Whether it feeds the box above it, if that is a stage, too.
    """

    title: str
    role: str
    lines: list[str] = field(default_factory=list)
    parts: list[Block] = field(default_factory=list)
    color: str = "#ffffff"
    is_stage: bool = False

    def height(self) -> int:
        """The height in pixels, including all parts."""
        own = PADDING + LINE * (1 + len(self.lines)) + PADDING
        return own + sum(part.height() + GAP for part in self.parts)


def draw_model(config: dict[str, Any], title: str = "") -> str:
    """Draw a model.

    config (Dict[str, Any]): The block `[components.NAME.model]` of a config, or any other block
        that contains registered blocks.
    title (str): The title.
    RETURNS (str): A self-contained SVG image.
    """
    blocks = [
        make_block(name, config[name], WIDTH, COLORS.get(name, PLAIN))
        for name in _in_order(config, ORDER)
        if _is_block(config[name])
    ]
    height = sum(block.height() + GAP for block in blocks) + 3 * LINE + (LINE if title else 0)
    # Lines are 1 wide, half of it outside of the boxes
    left, y = 1, height + 1
    middle = left + WIDTH // 2
    parts = [svg.text(middle, LINE - 2, title, "middle", BOLD)] if title else []
    parts.append(svg.text(middle, y - 4, "words", "middle"))
    y -= LINE + 4
    for block in blocks:
        parts.append(_arrow(middle, y, y - GAP + 4))
        y -= GAP + block.height() - 4
        parts += _draw(block, left, y, WIDTH)
        y -= 4
    parts.append(_arrow(middle, y + 4, y - GAP + 8))
    parts.append(svg.text(middle, y - GAP + 4, "label sequences", "middle"))
    return svg.image(parts, WIDTH + 2, height + 2, title or "model")


def make_block(role: str, config: dict[str, Any], width: int, color: str) -> Block:
    """Make the box for a registered block."""
    registry = next(key for key in config if key.startswith("@"))
    inner = width - 2 * PADDING
    settings = [
        f"{key}{NO_BREAK}={NO_BREAK}{_value(value)}"
        for key, value in config.items()
        if key != registry and not isinstance(value, dict)
    ]
    chained = config.get("*", {})
    parts = [
        make_block(name, value, inner, "#ffffff")
        for name, value in _sub_blocks(config).items()
        if _is_block(value)
    ]
    for part in parts:
        part.is_stage = part.role in STAGES or part.role in chained
    # The last part to compute is on top.
    return Block(
        title=config[registry],
        role=role,
        lines=textwrap.wrap(", ".join(settings), max(20, int(inner * CHARACTERS))),
        parts=parts,
        color=color,
    )


def _sub_blocks(config: dict[str, Any]) -> dict[str, Any]:
    chained = config.get("*")
    named = {k: v for k, v in config.items() if isinstance(v, dict) and k != "*"}
    found = {name: named[name] for name in _in_order(named, STAGES)}
    return {**found, **chained} if isinstance(chained, dict) else found


def _in_order(config: dict[str, Any], order: Sequence[str]) -> list[str]:
    return [name for name in order if name in config] + sorted(config.keys() - set(order))


def _is_block(value: Any) -> bool:
    return isinstance(value, dict) and any(key.startswith("@") for key in value)


def _value(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, float):
        # Some releases of the config reader read 0.3 as 0.30000000000000004.
        return str(float(f"{value:.15g}"))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _draw(block: Block, x: int, y: int, width: int) -> list[str]:
    height = block.height()
    drawn = [
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="5" '
        f'fill="{block.color}" stroke="{GRAY}"/>',
        svg.text(x + PADDING, y + PADDING + LINE - 4, block.title, "start", BOLD),
        svg.text(x + width - PADDING, y + PADDING + LINE - 4, block.role, "end", f'fill="{GRAY}"'),
    ]
    for i, line in enumerate(block.lines, 2):
        drawn.append(svg.text(x + PADDING, y + PADDING + LINE * i - 4, line, "start"))
    bottom = y + height - PADDING
    for i, part in enumerate(block.parts):
        bottom -= part.height()
        drawn += _draw(part, x + PADDING, bottom, width - 2 * PADDING)
        if part.is_stage and i + 1 < len(block.parts) and block.parts[i + 1].is_stage:
            drawn.append(_arrow(x + width // 2, bottom, bottom - GAP + 2))
        bottom -= GAP
    return drawn


def _arrow(x: int, start: int, end: int) -> str:
    return (
        f'<path d="M{x} {start}V{end + 5}" stroke="{GRAY}"/>'
        f'<path d="M{x - 4} {end + 6}L{x} {end}L{x + 4} {end + 6}Z" fill="{GRAY}"/>'
    )
