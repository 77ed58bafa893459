"""The page that shows the systems of the papers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spacy_psa.cli._templates import names
from spacy_psa.cli.draw import draw

from .documentation import ROOT

PAGE = ROOT / "docs" / "systems.md"
IMAGES = re.findall(r"images/([\w-]+)\.svg", PAGE.read_text(encoding="utf8"))


@pytest.mark.parametrize("image", IMAGES)
def test_pictures_are_those_of_the_configs(image: str, tmp_path: Path) -> None:
    draw(ROOT / "configs" / f"{image}-chunk.cfg", tmp_path / "drawn.svg")
    kept = ROOT / "docs" / "images" / f"{image}.svg"
    message = f"python -m spacy psa draw configs/{image}-chunk.cfg docs/images/{image}.svg"
    assert (tmp_path / "drawn.svg").read_text() == kept.read_text(), message


@pytest.mark.parametrize("system", names("systems"))
def test_each_system_is_shown_with_its_configs(system: str) -> None:
    text = PAGE.read_text(encoding="utf8")
    assert f"`{system}`" in text
    for config in sorted((ROOT / "configs").glob(f"{system}-*.cfg")):
        if config.stem.removeprefix(f"{system}-") in names("tasks"):
            assert f"(../configs/{config.name})" in text
