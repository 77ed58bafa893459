"""All kinds of pages that commands write, as a browser shows them.

python -m tests.figures.screenshots [FOLDER]

writes how they look to screenshots.json, and the screenshots to a folder.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from spacy_psa.analysis.attention_page import attention_page
from spacy_psa.analysis.curves import make_page, training_curves
from spacy_psa.analysis.label_map import LabelVectors, map_labels
from spacy_psa.analysis.label_map_figure import map_page
from spacy_psa.analysis.lattice import draw_lattice, make_lattice, summary, table
from spacy_psa.analysis.training_logs import Evaluation, Run
from spacy_psa.calibration.fitting import Calibration
from spacy_psa.calibration.held_out import Confidences
from spacy_psa.calibration.reliability import draw_calibration
from spacy_psa.calibration.temperature import TemperatureFit
from spacy_psa.cli._outputs import save_drawing
from spacy_psa.cli.calibrate import calibration_table
from spacy_psa.cli.draw import draw
from spacy_psa.evaluation.breakdowns import ByVocabulary
from spacy_psa.evaluation.layers import make_layer
from spacy_psa.evaluation.report import Settings, evaluate
from spacy_psa.evaluation.report_page import to_html
from spacy_psa.inference import LinearChain, Potentials

from ..analysis.inside import look, paper_nlp
from ..documentation import ROOT
from ..evaluation.helpers import random_pairs
from .browser import Tab, browsing

WIDTHS = (400, 1200)
REFERENCES = Path(__file__).with_suffix(".json")
WORDS = ["Kate", "from", "Google", "is", "in", "Paris", "this", "week"]
TAGS = ["O", *(f"{p}-{label}" for label in ("PER", "LOC", "ORG") for p in "BI")]
# The elements that are compared: kind, left edge and width as shares of the window, height in
# pixels, how often it or rows of it lie on what is above, and the mean colors of the cells of a
# grid on what is visible of it
LOOK = """(async (screenshot, columns, rows) => {
  const image = await createImageBitmap(
    await (await fetch("data:image/png;base64," + screenshot)).blob());
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const mean = (x, y, width, height) => {
    const pixels = context.getImageData(x, y, width, height).data;
    const sums = [0, 0, 0];
    pixels.forEach((value, i) => { if (i % 4 < 3) sums[i % 4] += value; });
    return sums.map(sum => Math.round(4 * sum / pixels.length).toString(16).padStart(2, "0"))
      .join("");
  };
  const below = (boxes) => boxes.slice(1).filter((b, i) => b.top < boxes[i].bottom - 2).length;
  const bounds = (row) => ({
    top: Math.min(...[...row.cells].map(c => c.getBoundingClientRect().top)),
    bottom: Math.max(...[...row.cells].map(c => c.getBoundingClientRect().bottom))});
  let last = {bottom: 0};
  return [...document.querySelectorAll("h1, h2, p, blockquote, figure > svg, table")]
    .filter(e => e.checkVisibility()).map(e => {
      const box = e.getBoundingClientRect();
      const rows_ = e.localName == "table" ? [...e.rows].map(bounds) : [];
      const overlaps = below([last, box]) + below(rows_);
      last = box;
      const frame = (e.closest(".wide, .chart") || document.body).getBoundingClientRect();
      const left = Math.max(box.left, frame.left), right = Math.min(box.right, frame.right);
      const width = right - left, cells = [];
      for (let row = 0; row < rows; row++)
        for (let column = 0; column < columns; column++)
          cells.push(mean(Math.floor(left + width * column / columns),
            Math.floor(box.top + box.height * row / rows),
            Math.max(1, Math.floor(width / columns)), Math.max(1, Math.floor(box.height / rows))));
      return {
        kind: e.localName,
        left: Math.round(1000 * left / innerWidth) / 1000,
        width: Math.round(1000 * width / innerWidth) / 1000,
        height: Math.round(box.height),
        overlaps,
        cells: ["svg", "table"].includes(e.localName) ? cells.join(" ") : "",
      };
    });
})"""
COLUMNS, ROWS = 8, 4


def evaluation(path: Path) -> None:
    settings = Settings(n_resamples=20, vocabulary=ByVocabulary("w1".__ne__, "w2".__ne__))
    report = evaluate(random_pairs(25, seed=1), make_layer("tag", ""), settings, component="tagger")
    path.write_text(to_html([report], "Evaluation of model-best on dev.spacy"), encoding="utf8")


def curves(path: Path) -> None:
    runs = [
        Run(
            name,
            [
                Evaluation(
                    100 * i,
                    i,
                    top - 0.5 / (i + 1),
                    {"ents_f": top - 0.5 / (i + 1)},
                    {"tagger": 90 / (i + 1)},
                )
                for i in range(8)
            ],
        )
        for name, top in (("psa", 0.9), ("bilstm-crf", 0.85))
    ]
    path.write_text(make_page(training_curves(runs), runs), encoding="utf8")


def calibration(path: Path) -> None:
    confidence = np.linspace(0.35, 0.999, 400)
    correct = np.arange(400) % 10 < 10 * confidence - 1
    sides = [
        {unit: Confidences(confidence**power, correct, 400) for unit in ("tokens", "spans")}
        for power in (1.0, 1.3)
    ]
    found = Calibration("psa_tagger", 1.0, TemperatureFit(1.5, 2.0, 1.8, 80, 0, 0), 0, *sides)
    rows, _ = calibration_table(found, n_bins=10)
    intro = "On 80 sentences, the temperature that fits is 1.5000; it was 1.0000."
    drawn = draw_calibration(found, n_bins=10)
    save_drawing(path, drawn, "Calibration of psa_tagger", intro=intro, tables=[rows])


def attention(path: Path) -> None:
    insight = look(paper_nlp(), WORDS)
    path.write_text(attention_page(insight, "Inside psa_tagger of model-best"), encoding="utf8")


def labels(path: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(len(TAGS), 5)) * np.arange(1, 6)
    models = [LabelVectors(f"step {i}", TAGS, vectors + i) for i in range(2)]
    path.write_text(map_page(map_labels(models), "Map of the labels (PCA)"), encoding="utf8")


def lattice(path: Path) -> None:
    scores = 2.0 * np.random.default_rng(1).normal(size=(len(WORDS), len(TAGS)))
    found = make_lattice(
        LinearChain(Potentials(torch.as_tensor(scores), [len(WORDS)])), WORDS, TAGS
    )
    text = " ".join(WORDS)
    intro = f"Component psa_tagger; {summary(found)}."
    drawn = draw_lattice(found, text)
    save_drawing(path, drawn, f"Labelings of '{text}'", intro=intro, tables=[table(found)])


def diagram(path: Path) -> None:
    draw(ROOT / "configs" / "psa-ents.cfg", path)


PAGES = (evaluation, curves, calibration, attention, labels, lattice, diagram)


def look_of(tab: Tab, page: str, width: int, style: str = "") -> tuple[list[dict[str, Any]], bytes]:
    """How a page looks, and its screenshot."""
    tab.show(page.replace("</style>", f"{style}</style>", 1), width)
    image = tab.screenshot()
    text = base64.b64encode(image).decode()
    return tab.run(f"{LOOK}({text!r}, {COLUMNS}, {ROWS})"), image


def problems(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> list[str]:
    """What of a page looks other than in the reference, by more than another font explains.

    With any of four fonts instead of the usual one, serif, monospaced, wide and narrow, texts and
    tables wrap elsewhere, but charts keep their size; tables become up to 24 % narrower or wider
    and 41 % higher; the mean color of a cell of the grid changes by up to 11 of 255 in charts and
    21 in tables, and the mean saturation of a chart by up to 0.8. A chart in gray loses 1.5 or
    more, unless all that has colors is a few points.
    """
    kinds, expected = ([x["kind"] for x in side] for side in (found, wanted))
    if kinds != expected:
        return [f"elements {' '.join(kinds)} instead of {' '.join(expected)}"]
    out = []
    for i, (now, then) in enumerate(zip(found, wanted, strict=True)):
        is_chart, is_table = now["kind"] == "svg", now["kind"] == "table"
        limits = {"left": 0.02, "width": 0.35 if is_table else 0.02, "overlaps": 0}
        if is_chart or is_table:
            limits["height"] = 0.05 if is_chart else 0.6
        values = [
            (key, now[key], then[key], limit * abs(then[key])) for key, limit in limits.items()
        ]
        if then["cells"]:
            cells, before = (colors(x["cells"]) for x in (now, then))
            change = float(np.abs(cells - before).max())
            values.append(("change of a cell", change, 0.0, 15.0 if is_chart else 28.0))
            if is_chart:
                values.append(("saturation", *map(saturation, (cells, before)), 1.2))
        out += [
            f"{now['kind']} {i}: {key} {value:g} instead of {usual:g}"
            for key, value, usual, limit in values
            if abs(value - usual) > limit
        ]
    return out


def colors(cells: str) -> NDArray[np.float64]:
    """RETURNS (NDArray): Red, green and blue of each cell, from 0 to 255."""
    return np.array([list(bytes.fromhex(cell)) for cell in cells.split()], dtype=float)


def saturation(cells: NDArray[np.float64]) -> float:
    return float((cells.max(axis=1) - cells.min(axis=1)).mean())


def looks(tab: Tab, pages: dict[str, str]) -> Iterator[tuple[str, list[dict[str, Any]], bytes]]:
    """How all pages look in all widths."""
    for name, page in pages.items():
        for width in WIDTHS:
            yield (f"{name} {width}", *look_of(tab, page, width))


def make_pages(folder: Path) -> dict[str, str]:
    """All pages by name."""
    found = {}
    for make in PAGES:
        path = folder / f"{make.__name__}.html"
        make(path)
        found[make.__name__] = path.read_text(encoding="utf8")
    return found


def main(folder: Path | None) -> None:
    with TemporaryDirectory() as temporary, browsing(Path(temporary) / "profile") as tab:
        found = {}
        for name, look_, image in looks(tab, make_pages(Path(temporary))):
            found[name] = look_
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
                (folder / f"{name.replace(' ', '-')}.png").write_bytes(image)
    pages = [f"{json.dumps(name)}: [\n{_lines(look_)}\n]" for name, look_ in found.items()]
    REFERENCES.write_text("{\n" + ",\n".join(pages) + "\n}\n", encoding="utf8")


def _lines(elements: list[dict[str, Any]]) -> str:
    return ",\n".join(json.dumps(element, separators=(",", ":")) for element in elements)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
