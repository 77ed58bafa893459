"""The tables of `docs/limits.md`, generated from the results of `benchmarks.limits`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from .report import table

DOCUMENTS = {
    "long document": "{long:,} tokens, no sentence boundaries",
    "probabilities": "same, with `probabilities = true`",
    "10 best": "same, `nbest` with k = 10",
    "100 best": "same, `nbest` with k = 100",
    "scores": "same, `nlp.evaluate`",
    "distinct words": "{long:,} words of {long_word} characters, all distinct",
    "white space": "{long:,} whitespace tokens",
    "training": "one training step on a sentence of {trained:,} tokens",
    "long token": "tokens of {long_token:,} characters, one per document",
    "empty documents": "{empty:,} documents without tokens",
}
STREAMS = {
    "corpus": "text of a corpus, repeated",
    "new words": "every other word new",
    "new words, zones": "same, with an `nlp.memory_zone()` for each tenth",
}


def write_tables(page: Path, results: dict[str, Any]) -> None:
    """Replace the tables in a page.

    page (Path): The Markdown page, with `<!-- table: name -->` and `<!-- end -->` around tables.
    results (Dict[str, Any]): The results.
    """
    text = page.read_text(encoding="utf8")
    page.write_text(with_tables(text, results), encoding="utf8")


def with_tables(text: str, results: dict[str, Any]) -> str:
    """Replace the tables in a text. See `write_tables`.

    text (str): The text.
    results (Dict[str, Any]): The results.
    RETURNS (str): The text with the new tables.
    """

    def table(match: re.Match[str]) -> str:
        rows = TABLES[match[1]](results)
        return "\n".join([f"<!-- table: {match[1]} -->", *rows, "<!-- end -->"])

    return re.sub(r"<!-- table: (\w+) -->.*?<!-- end -->", table, text, flags=re.DOTALL)


def machine(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): A sentence that says what the figures were measured on."""
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
    return _lines(["input", *columns], rows)


def roles(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): One row, for semantic roles."""
    found = results["roles"]
    if not found:
        return ["Not measured."]
    long = results["sizes"]["long"]
    row = [f"`psa_srl`, {long:,} tokens, {long // 20:,} predicates", *_cost(found)]
    return _lines(["input", "MiB", "time"], [row])


def windows(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): The share of tags that windows do not change, by system."""
    rows = []
    for system, found in results["windows"].items():
        shares = (f"{100 * found[name]:.2f} %" for name in ("same", "sentences", "small"))
        rows.append([system, f"{found['tokens']:,}", *shares])
    header = ["system", "tokens", "same tags as in one pass", "same tags as by sentence"]
    header += ["same tags as by sentence, windows of 64, overlap 32"]
    return _lines(header, rows)


def streams(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): Memory over a long run, by kind of text."""
    n = results["sizes"]["stream"]
    rows = []
    for case, description in STREAMS.items():
        found = results["streams"][case]
        cells = (f"{size:.0f}" for size in (found["warm"], found["end"] - found["warm"]))
        rows.append([description, *cells])
    header = [f"{n:,} tokens with `nlp.pipe`", f"MiB after {n // 2:,}", "growth until the end"]
    return _lines(header, rows)


def labels(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): Memory and weights, by number of labels."""
    rows = [
        [n, f"{found['memory']:.0f}", f"{found['training']:.0f}", f"{found['weights']:,}"]
        for n, found in results["labels"].items()
    ]
    header = ["labels", "MiB, 128 sentences predicted", "MiB, plus training on 32", "weights"]
    return _lines(header, rows)


def loading(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): Size on disk and memory to load, by system."""
    rows = []
    for system, found in results["loading"].items():
        rows.append([system, f"{found['disk']:.0f}", f"{found['memory']:.0f}"])
    return _lines(["system", "MiB on disk", "MiB to load"], rows)


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


def _lines(header: list[str], rows: list[list[str]]) -> list[str]:
    return [*table(header, rows), ""]
