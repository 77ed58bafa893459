"""What the scripts share beside timing: their options, what they write, and tables."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from .machine import describe_machine
from .systems import RESULTS
from .timing import CLOCKS, DEVICES


def make_parser(doc: str | None, *, repeat: int) -> argparse.ArgumentParser:
    """A parser with the options that all scripts have.

    doc (Optional[str]): The documentation of the script.
    repeat (int): Turns by default.
    RETURNS (ArgumentParser): The parser.
    """
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=repeat, help="turns")
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall")
    parser.add_argument("--device", choices=DEVICES, default="cpu")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    return parser


def describe_run(arguments: argparse.Namespace) -> dict[str, Any]:
    """What figures were measured on, and how.

    arguments (Namespace): The options of `make_parser`.
    RETURNS (Dict[str, Any]): The machine, the clock, the device and the turns.
    """
    machine = {**describe_machine(), "threads": torch.get_num_threads()}
    if arguments.device == "cuda":
        machine["gpu"] = torch.cuda.get_device_name()
    return {
        "machine": machine,
        "clock": arguments.clock,
        "device": arguments.device,
        "repetitions": arguments.repeat,
    }


def describe(results: dict[str, Any]) -> str:
    """RETURNS (str): A sentence about what figures were measured on, and how."""
    machine = results["machine"]
    place = f"{machine['processor']}, {machine['threads']} thread(s)"
    if "gpu" in machine:
        place = f"{machine['gpu']}, beside {place}"
    return (
        f"Measured on {place}, PyTorch {machine['torch']}, spaCy {machine['spacy']}: medians of "
        f"{results['repetitions']} turns, by the {results['clock']} clock."
    )


def result_name(name: str, device: str) -> str:
    """RETURNS (str): The name of a script's files for a device, without their endings."""
    return name if device == "cpu" else f"{name}-{device}"


def write(
    folder: Path, name: str, results: dict[str, Any], markdown: str, image: str | None = None
) -> None:
    """Write what was measured, and print the page.

    folder (Path): Where to.
    name (str): The name of the script.
    results (Dict[str, Any]): What was measured, with the device.
    markdown (str): The same as a page.
    image (Optional[str]): A picture, SVG.
    """
    name = result_name(name, results["device"])
    folder.mkdir(parents=True, exist_ok=True)
    contents = {"json": json.dumps(results, indent=2) + "\n", "md": markdown}
    if image is not None:
        contents["svg"] = image
    for ending, text in contents.items():
        (folder / f"{name}.{ending}").write_text(text, encoding="utf8")
    print(markdown)


def page(title: str, name: str, intro: str, body: Sequence[str]) -> str:
    """A page of results.

    title (str): Its title.
    name (str): The script.
    intro (str): What the figures are.
    body (Sequence[str]): The lines of its tables.
    RETURNS (str): Markdown.
    """
    lines = [f"# {title}", "", f"Written by `python -m benchmarks.{name}`. {intro}", *body]
    return "\n".join(lines) + "\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table, numbers on the right.

    header (Sequence[str]): The names of the columns.
    rows (Sequence[Sequence[str]]): The cells.
    RETURNS (List[str]): Lines of Markdown, an empty one before.
    """
    line = "| --- |" + " ---: |" * (len(header) - 1)
    return ["", *(f"| {' | '.join(cells)} |" for cells in [header]), line] + [
        f"| {' | '.join(cells)} |" for cells in rows
    ]
