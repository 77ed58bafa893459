"""The summary with which `docs/performance.md` begins: figures of its sections, on one screen."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from . import ablation, crf
from .report import table

Results = dict[str, Any]


class Line(NamedTuple):
    """A line of the summary.

    what (str): What is compared.
    name (str): The file with the results.
    value (Callable[[Dict[str, Any]], str]): Reads the figures from them.
    """

    what: str
    name: str
    value: Callable[[Results], str]


def summary(results: Path, link: Callable[[Path], str]) -> list[str]:
    """Make the summary.

    results (Path): The folder with the results.
    link (Callable[[Path], str]): Returns the target of a link to a file.
    RETURNS (List[str]): Lines of Markdown. What is not measured has none.
    """
    rows = []
    for line in LINES:
        path = results / f"{line.name}.json"
        if path.is_file():
            value = line.value(json.loads(path.read_text(encoding="utf8")))
            rows.append([line.what, value, f"[{line.name}]({link(path.with_suffix('.md'))})"])
    if not rows:
        return []
    intro = "Speeds are relative to what is named; above 1, spacy-psa is faster."
    lines = [intro, *table(["", "figure", "from"], rows)]
    path = results / "components-300.json"
    if path.is_file():
        lines = [_sentence(json.loads(path.read_text(encoding="utf8"))), "", *lines]
    return lines


def _sentence(results: Results) -> str:
    """RETURNS (str): Both main systems beside spaCy's, in a sentence."""
    found = results["relative to"]["ner"]
    pipe = found["tagging, pipe"]
    single = found["tagging, one by one"]
    training = {
        system: span(row[system] for what, row in found.items() if what.startswith("training"))
        for system in ("bilstm-crf", "psa")
    }
    return (
        "In short: with a BiLSTM of 300, on one thread, BiLSTM-CRF trains "
        f"{training['bilstm-crf']} times as fast as spaCy's `ner`, tags streams "
        f"{pipe['bilstm-crf']:.2f} and single texts {single['bilstm-crf']:.2f} times as fast; PSA "
        f"{training['psa']}, {pipe['psa']:.2f} and {single['psa']:.2f} times."
    )


def span(values: Iterable[float], digits: int = 2) -> str:
    """RETURNS (str): The lowest and the highest value."""
    found = sorted(f"{value:.{digits}f}" for value in values)
    low, high = min(found, key=float), max(found, key=float)
    return low if low == high else f"{low} to {high}"


def _crf(task: str) -> Callable[[Results], str]:
    name = "spacy-psa" if task == "viterbi" else "scaled"
    return lambda results: span(row[name] for row in crf.speeds(results, task).values())


def _relative(peer: str, system: str) -> Callable[[Results], str]:
    def value(results: Results) -> str:
        found = {what: row[system] for what, row in results["relative to"][peer].items()}
        training = span(v for what, v in found.items() if what.startswith("training"))
        return (
            f"training {training}, `nlp.pipe` {found['tagging, pipe']:.2f}, one by one "
            f"{found['tagging, one by one']:.2f}"
        )

    return value


def _against(system: str) -> Callable[[Results], str]:
    def value(results: Results) -> str:
        cells = [c["speed"] for name, c in results["cells"].items() if name.startswith(system)]
        medians = {figure: [cell[figure][0] for cell in cells] for figure in cells[0]}
        training = [v for figure, vs in medians.items() if "training" in figure for v in vs]
        return (
            f"training {span(training)}, `nlp.pipe` {span(medians['pipe'])}, one by one "
            f"{span(medians['one by one'])}"
        )

    return value


def _memory(results: Results) -> str:
    peaks = [cell["peak MiB"] for cell in results["cells"].values()]
    return span(peak["new"] / peak["old"] for peak in peaks)


def _device(name: str) -> Callable[[Results], str]:
    return lambda results: span(ablation.smallest(results)[name].values())


def _reduced(results: Results) -> str:
    return ", ".join(f"{name} {found['speed']:.2f}" for name, found in results["systems"].items())


def _imports(results: Results) -> str:
    times = results["imports"]
    more = times["with spacy_psa"] - times["spacy, torch"]
    return f"{more:.2f} s" if more > 0 else "less than runs differ by"


LINES = (
    Line("PSA against spaCy's `ner`, width 300", "components-300", _relative("ner", "psa")),
    Line("BiLSTM-CRF against `ner`, width 300", "components-300", _relative("ner", "bilstm-crf")),
    Line("PSA against `ner`, width 600", "components", _relative("ner", "psa")),
    Line("BiLSTM-CRF against `ner`, width 600", "components", _relative("ner", "bilstm-crf")),
    Line("BiLSTM-CRF against stanza", "components", _relative("stanza", "bilstm-crf")),
    Line("BiLSTM-CRF against flair", "components", _relative("flair", "bilstm-crf")),
    Line("BiLSTM-CRF against NCRF++", "components-ncrfpp", _relative("ncrfpp", "bilstm-crf")),
    Line("CRF loss and gradient against pytorch-crf", "crf", _crf("loss")),
    Line("CRF marginals and gradient against pytorch-crf", "crf", _crf("marginals")),
    Line("Best label sequence against pytorch-crf", "crf", _crf("viterbi")),
    Line("PSA against the earlier version named there", "against", _against("psa")),
    Line("BiLSTM-CRF against it", "against", _against("bilstm-crf")),
    Line("Memory as a share of the earlier version's", "against", _memory),
    Line(
        "What tiled additive scores save (time without, relative)",
        "ablation",
        _device("tiled additive scores"),
    ),
    Line("What the removal of padding saves", "ablation", _device("padding removal")),
    Line("Tagging in bfloat16 against float32", "quantization", _reduced),
    Line("PSA on a GPU against a CPU", "components-cuda", _relative("psa, CPU", "psa")),
    Line("What `import spacy_psa` adds to spaCy and PyTorch", "startup", _imports),
)
