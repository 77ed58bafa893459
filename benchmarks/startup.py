"""Startup time and memory: imports, and loading a pipeline.

    python -m benchmarks.startup

Times `import spacy, torch` with and without our imports, and `spacy.load` of synthetic pipelines
with 20,000 words and vectors: for the first time in a process that has done all imports, and again.
With its first pipeline, spaCy imports all installed plugins, e.g. spacy-transformers: an empty
pipeline shows how long that takes. Each runs in its own process, and the processes are interleaved
(A B A B …). Processor time is that of all threads of the process, memory the most that it held.
"""

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import spacy
from spacy.language import Language
from tqdm import tqdm

from spacy_psa.figures.charts import bar_plot

from .report import describe, describe_run, make_parser, page, table, write
from .synthetic import make_tagger, spell
from .systems import ROOT

NAME = "startup"
EMPTY = "empty pipeline"
SYSTEMS = ("bilstm-crf", "psa")
LABELS = 45
SENTENCE = 100  # words per sentence of the training data
BASE = "spacy, torch"
IMPORTS = {
    BASE: BASE,
    "with spacy_psa": f"{BASE}, spacy_psa",
    "with the component": f"{BASE}, spacy_psa.pipeline.tagger",
}
CLOCKS = {"wall": "perf_counter", "processor": "process_time"}


def main() -> None:
    """Run the benchmark, and write `startup.json`, `startup.md` and `startup.svg`."""
    parser = make_parser(__doc__, repeat=5)
    parser.add_argument("--words", type=int, default=20_000, help="words that the pipelines know")
    arguments = parser.parse_args()
    scripts = {
        name: timed(arguments.clock, f"import {modules}") for name, modules in IMPORTS.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        for system in (EMPTY, *SYSTEMS):
            path = Path(folder) / system
            make_pipeline(system, arguments.words).to_disk(path)
            load = f"spacy.load({str(path)!r})"
            prepare = f"import {IMPORTS['with the component']}; "
            scripts[system] = prepare + timed(arguments.clock, load, load)
        seconds = measure(scripts, arguments.repeat)
    results = {
        **describe_run(arguments),
        "words": arguments.words,
        "memory": {name: found[-1] for name, found in seconds.items()},
        "imports": {name: seconds[name][0] for name in IMPORTS},
        "loading": {
            system: dict(zip(("first", "again"), seconds[system][:2], strict=True))
            for system in (EMPTY, *SYSTEMS)
        },
    }
    write(arguments.output, NAME, results, to_markdown(results), draw(results))


def make_pipeline(system: str, n_words: int) -> Language:
    """Make and initialize a pipeline that knows many words.

    system (str): A system of `psa init-config`, or `EMPTY`.
    n_words (int): The number of words and of vectors.
    RETURNS (Language): The pipeline.
    """
    if system == EMPTY:
        return spacy.blank("en")
    words = [spell(number) for number in range(n_words)]
    sentences = [words[i : i + SENTENCE] for i in range(0, n_words, SENTENCE)]
    nlp, _ = make_tagger(system, sentences, LABELS, vectors=n_words)
    return nlp


def timed(clock: str, *statements: str) -> str:
    """RETURNS (str): A script that runs statements, and prints the seconds of each, and MiB."""
    parts = [f"from time import {CLOCKS[clock]} as clock", "times = [clock()]"]
    for statement in statements:
        parts += [statement, "times.append(clock())"]
    shown = "print(*(b - a for a, b in zip(times, times[1:])), peak())"
    return "; ".join([*parts, "from benchmarks.peak_memory import peak", shown])


def measure(scripts: Mapping[str, str], repeat: int) -> dict[str, list[float]]:
    """Run scripts interleaved, each in its own process.

    scripts (Mapping[str, str]): The scripts, by name. Each prints its figures in the last line.
    repeat (int): The number of runs, after one that fills the file cache.
    RETURNS (Dict[str, List[float]]): The median seconds and, last, MiB, by name.
    """
    found: dict[str, list[list[float]]] = {name: [] for name in scripts}
    for turn in tqdm(range(repeat + 1), desc="runs"):
        for name, script in scripts.items():
            command = [sys.executable, "-c", script]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT, text=True)
            if turn:
                found[name].append([float(x) for x in done.stdout.splitlines()[-1].split()])
    return {
        name: [round(median(times), 4) for times in zip(*rows, strict=True)]
        for name, rows in found.items()
    }


def to_markdown(results: dict[str, Any]) -> str:
    """Format the results as a page.

    results (Dict[str, Any]): The results.
    RETURNS (str): Markdown.
    """
    return page("Startup time", NAME, describe(results), tables(results))


def tables(results: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): A description of the figures, and the tables."""
    base = results["imports"][BASE]
    lines = ["", f"Import time, compared with `import {BASE}`:"]
    rows = [
        [name, f"{seconds / base:.3f}", f"{seconds - base:+.2f}"]
        for name, seconds in results["imports"].items()
    ]
    lines += table(["import", "times as long", "seconds more"], rows)
    lines += [
        "",
        f"Time of `spacy.load` for a pipeline with {results['words']:,} words and vectors, for the"
        " first time in a process and again. The first time, spaCy imports all installed plugins, "
        "for an empty pipeline, too:",
    ]
    empty = results["loading"][EMPTY]
    rows = [
        [f"{system}, {when}", f"{seconds:.2f}", f"{seconds - empty[when]:+.2f}"]
        for system, times in results["loading"].items()
        for when, seconds in times.items()
    ]
    lines += table(["pipeline", "seconds", "more than the empty one"], rows)
    if memory := results.get("memory"):
        lines += ["", "The most memory that each process held:"]
        lines += table(["process", "MiB"], [[name, f"{mib:.0f}"] for name, mib in memory.items()])
    return lines


def draw(results: dict[str, Any]) -> str:
    """RETURNS (str): A plot of all times, as SVG."""
    times = dict(results["imports"])
    for system, found in results["loading"].items():
        times |= {f"{system}, {when}": seconds for when, seconds in found.items()}
    return bar_plot({"": times}, "step", "seconds", "Startup time")


if __name__ == "__main__":
    main()
