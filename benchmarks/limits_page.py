"""The tables of `docs/limits.md`, from what `benchmarks.limits` has measured."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCUMENTS = {
    "long document": "{long:,} tokens, no sentence boundaries",
    "probabilities": "the same with `probabilities = true`",
    "10 best": "the same, `nbest` with k = 10",
    "100 best": "the same, `nbest` with k = 100",
    "scores": "the same, `nlp.evaluate`",
    "distinct words": "{long:,} words of {long_word} characters, all different",
    "white space": "{long:,} tokens of white space",
    "training": "one step of training on a sentence of {trained:,} tokens",
    "long token": "tokens of {long_token:,} characters, one in a document",
    "empty documents": "{empty:,} documents without tokens",
}
STREAMS = {
    "corpus": "text of a corpus, again and again",
    "new words": "every other word never seen before",
    "new words, zones": "the same, in an `nlp.memory_zone()` for each tenth",
}


def write_tables(page: Path, results: dict[str, Any]) -> None:
    """Put tables into a page, in place of those that it has.

    page (Path): The page, in Markdown, with `<!-- table: name -->` and `<!-- end -->` around each.
    results (Dict[str, Any]): What was measured.
    """
    text = page.read_text(encoding="utf8")
    page.write_text(with_tables(text, results), encoding="utf8")


def with_tables(text: str, results: dict[str, Any]) -> str:
    """Put tables into a text. See `write_tables`.

    text (str): The text.
    results (Dict[str, Any]): What was measured.
    RETURNS (str): The text with the tables of these results.
    """

    def table(match: re.Match[str]) -> str:
        rows = TABLES[match[1]](results)
        return "\n".join([f"<!-- table: {match[1]} -->", *rows, "<!-- end -->"])

    return re.sub(r"<!-- table: (\w+) -->.*?<!-- end -->", table, text, flags=re.DOTALL)


def machine(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): What the figures were measured on."""
    found = results["machine"]
    return [
        f"Measured on {found['processor']}, one thread, {found['system'].split('-')[0]}, Python "
        f"{found['python']}, spaCy {found['spacy']}, PyTorch {found['torch']}."
    ]


def documents(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): A row for each kind of document, two columns for each system."""
    systems = list(results["documents"])
    columns = [c for system in systems for c in (f"{system}: MiB", "time")]
    rows = []
    for case, description in DOCUMENTS.items():
        cells = [description.format(**results["sizes"])]
        for system in systems:
            cells += _cost(results["documents"][system][case])
        rows.append(cells)
    return _table(["input", *columns], rows)


def roles(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): One row, for semantic roles."""
    found = results["roles"]
    if not found:
        return ["Not measured."]
    long = results["sizes"]["long"]
    row = [f"`psa_srl`, {long:,} tokens, {long // 20:,} predicates", *_cost(found)]
    return _table(["input", "MiB", "time"], [row])


def windows(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): How many tags windows leave as they are, by system."""
    rows = []
    for system, found in results["windows"].items():
        shares = (f"{100 * found[name]:.2f} %" for name in ("same", "sentences", "small"))
        rows.append([system, f"{found['tokens']:,}", *shares])
    header = ["system", "tokens", "the same tags as at once", "as sentence by sentence"]
    header += ["the same, windows of 64 with an overlap of 32"]
    return _table(header, rows)


def streams(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): What memory does in a long run."""
    n = results["sizes"]["stream"]
    rows = []
    for case, description in STREAMS.items():
        found = results["streams"][case]
        cells = (f"{size:.0f}" for size in (found["warm"], found["end"] - found["warm"]))
        rows.append([description, *cells])
    header = [f"{n:,} tokens by `nlp.pipe`", f"MiB after {n // 2:,}", "more at the end"]
    return _table(header, rows)


def labels(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): What labels cost."""
    rows = [
        [n, f"{found['memory']:.0f}", f"{found['training']:.0f}", f"{found['weights']:,}"]
        for n, found in results["labels"].items()
    ]
    header = ["labels", "MiB, 128 sentences labeled", "MiB, 32 learnt from as well", "weights"]
    return _table(header, rows)


def loading(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): What pipelines need to be loaded."""
    rows = []
    for system, found in results["loading"].items():
        rows.append([system, f"{found['disk']:.0f}", f"{found['memory']:.0f}"])
    return _table(["system", "MiB on the disk", "MiB to load it"], rows)


TABLES = {
    "machine": machine,
    "documents": documents,
    "roles": roles,
    "windows": windows,
    "streams": streams,
    "labels": labels,
    "loading": loading,
}


def _cost(found: dict[str, float]) -> list[str]:
    time = f"{found['time']:.2f}" if "time" in found else "-"
    return [f"{found['memory']:.0f}", time]


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    line = "| --- |" + " ---: |" * (len(header) - 1)
    return (
        ["", *(f"| {' | '.join(cells)} |" for cells in [header]), line]
        + [f"| {' | '.join(cells)} |" for cells in rows]
        + [""]
    )
