"""The page about the architecture: what it names is there, and its arrows are those of the code."""

from __future__ import annotations

import re

from .documentation import ROOT
from .test_repository import ALLOWED, FOLDERS, PACKAGE

TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf8")
PATHS = sorted(set(re.findall(r"`([\w/.]+(?:\.py|\.cfg|/))`", TEXT)))
ROWS = re.findall(r"^\| `(\w+)/` \| .* \| (.*?) ?\|$", TEXT, flags=re.MULTILINE)


def test_every_path_on_the_page_exists() -> None:
    assert PATHS
    assert [p for p in PATHS if not (PACKAGE / p).exists() and not (ROOT / p).exists()] == []


def test_every_folder_has_a_row() -> None:
    assert sorted(folder for folder, _ in ROWS) == FOLDERS


def test_the_arrows_are_those_that_the_code_must_keep() -> None:
    assert {folder: set(re.findall(r"`(\w+)/`", below)) for folder, below in ROWS} == ALLOWED


def test_the_drawing_names_rooms_that_there_are() -> None:
    drawing = (ROOT / "docs" / "images" / "architecture.svg").read_text(encoding="utf8")
    rooms = re.findall(r">(\w+)/<", drawing)
    assert {"models", "layers", "inference", "annotation", "training"} <= set(rooms) <= set(FOLDERS)
