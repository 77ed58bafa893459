"""Recipes from little to much data, beside spaCy's own: scores by updates and processor time.

    python -m benchmarks.recipes --corpora corpora --vectors vectors.txt.gz --jobs 2 --minutes 60

A cell is one training: a corpus, a number of training sentences, a system and a seed. Each is a
process of its own with one thread, which stops by its own early stopping, after `--seconds` of
processor time, or with the benchmark after `--minutes`. What is finished is not trained again, so
the matrix can be computed in several runs. `psa` and `bilstm-crf` are trained by
`psa init-config`; `spacy` is spaCy's `ner` (for entities and chunks) or `tagger`, by
`spacy init config --optimize accuracy`; `--systems stanza flair` trains theirs. All have the same
vectors, and spaCy's own lookup by the written form finds them, since other forms of a word are
added. French and Czech have none.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from .cells import ENVIRONMENT
from .recipes_cell import SYSTEMS, Cell
from .recipes_data import BROWN, CORPORA, cased_vectors, prepare, subset
from .recipes_page import read_results, write_guide, write_page
from .recipes_peers import PEERS
from .recipes_variants import VARIANTS
from .systems import RESULTS

FOLDER = RESULTS / "recipes"
SIZES = (None, 1000, 100, 3000, 300)
# Where variants of the recipe are tried: with vectors and without
TRIED = (
    ("wnut17", 1000, True),
    ("wnut17", 1000, False),
    ("ncbi", None, True),
    ("ewt", 300, True),
)
# Before the end, so that running cells can score what they have learned
GRACE = 25.0


def make_parser(doc: str | None, output: Path, *, minutes: float) -> argparse.ArgumentParser:
    """Make a parser with the options of all scripts that train cells.

    doc (Optional[str]): The docstring of the script.
    output (Path): The default folder of the results.
    minutes (float): The default time limit.
    RETURNS (ArgumentParser): The parser.
    """
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--corpora", type=Path, help="folder of corpora in their published formats")
    parser.add_argument("--vectors", type=Path, help="text file of English vectors")
    parser.add_argument("--work", type=Path, default=Path("recipes-work"), help="converted data")
    parser.add_argument("--output", type=Path, default=output, help="folder for the results")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--minutes", type=float, default=minutes, help="stop after so long")
    parser.add_argument("--seconds", type=float, default=900.0, help="processor time of a cell")
    parser.add_argument("--page", action="store_true", help="only write the page")
    return parser


def main() -> None:
    """Train the cells that are missing, and write the page."""
    parser = make_parser(__doc__, FOLDER, minutes=60.0)
    own = [name for name in CORPORA if name != BROWN]
    parser.add_argument("--only", nargs="*", choices=own, default=own)
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS))
    parser.add_argument("--sizes", nargs="*", default=["all", "1000", "100", "3000", "300"])
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds at --ends")
    parser.add_argument("--ends", nargs="*", default=["all", "100"], help="sizes with all seeds")
    parser.add_argument("--tried", action="store_true", help="what else was tried for psa instead")
    arguments = parser.parse_args()
    until = time.time() + 60.0 * arguments.minutes
    arguments.output.mkdir(parents=True, exist_ok=True)
    if not arguments.page:
        if arguments.corpora is None:
            parser.error("--corpora is required, unless for --page")
        sizes, ends = (
            [None if size == "all" else int(size) for size in given]
            for given in (arguments.sizes, arguments.ends)
        )
        cells = list(matrix(arguments.only, sizes, arguments.systems, arguments.seeds, ends))
        if arguments.tried:
            cells = list(tried(arguments.only))
        run(missing(cells, arguments.output), arguments, until)
    results = read_results(arguments.output)
    write_page(results, arguments.output)
    if arguments.output == FOLDER:
        write_guide(results)


def matrix(
    corpora: Sequence[str],
    sizes: Sequence[int | None],
    systems: Sequence[str],
    seeds: int,
    ends: Sequence[int | None] = (None, 100),
) -> Iterator[Cell]:
    """List the cells, the most valuable first.

    corpora (Sequence[str]): The corpora.
    sizes (Sequence[Optional[int]]): The numbers of sentences; None for all.
    systems (Sequence[str]): The systems.
    seeds (int): The number of seeds at the ends of the curve.
    ends (Sequence[Optional[int]]): The sizes that are those ends.
    YIELDS (Cell): The cells.
    """
    ordered = [name for name in CORPORA if name in corpora]
    entities = [name for name in ordered if CORPORA[name].target == "ents"]
    others = [name for name in ordered if name not in entities]
    for group in (entities, others):
        for size in sizes:
            for name in group:
                for system in systems:
                    yield Cell(name, size, system, 0, CORPORA[name].lang == "en")
    # Users without vectors
    for size in sizes:
        for name in entities:
            for system in systems:
                if system not in PEERS:
                    yield Cell(name, size, system, 0, False)
    for seed in range(1, seeds):
        for name in ordered:
            for size in sizes:
                for system in systems:
                    if size in ends:
                        yield Cell(name, size, system, seed, CORPORA[name].lang == "en")


def tried(corpora: Sequence[str]) -> Iterator[Cell]:
    """List the cells of what was tried for the recipe.

    corpora (Sequence[str]): The corpora.
    YIELDS (Cell): The cells: the recipe, and each variant, at some sizes.
    """
    for name, size, vectors in TRIED:
        if name in corpora:
            for variant in VARIANTS:
                yield Cell(name, size, f"psa+{variant}", 0, vectors)


def missing(cells: Sequence[Cell], output: Path) -> list[Cell]:
    """RETURNS (List[Cell]): The cells without a result, or with one that a deadline cut short."""
    return [cell for cell in cells if not is_done(output / f"{cell.name}.json")]


def is_done(path: Path) -> bool:
    """RETURNS (bool): Whether a result is there, with the counts for each sentence, which earlier
    ones do not have, and no deadline cut it short."""
    if not path.exists():
        return False
    result = json.loads(path.read_text(encoding="utf8"))
    return not result["cut"] and "units" in result["best"]


def run(cells: Sequence[Cell], arguments: argparse.Namespace, until: float) -> None:
    """Train cells, several at a time, until time is up.

    cells (Sequence[Cell]): The cells.
    arguments (Namespace): The options.
    until (float): When to stop.
    """
    work = arguments.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    names = sorted({cell.corpus for cell in cells})
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        made = pool.map(prepare, names, repeat(arguments.corpora), repeat(work))
        folders = dict(zip(names, made, strict=True))
    vectors = None
    if arguments.vectors is not None and any(cell.vectors for cell in cells):
        english = [folder for name, folder in folders.items() if CORPORA[name].lang == "en"]
        vectors = cased_vectors(arguments.vectors, english, work)
    waiting = list(cells)
    running: dict[subprocess.Popen[bytes], Cell] = {}
    try:
        while waiting or running:
            for process, cell in list(running.items()):
                if process.poll() is not None:
                    report(cell, process.returncode, arguments.output, len(waiting))
                    del running[process]
            while waiting and len(running) < arguments.jobs and time.time() < until - 2 * GRACE:
                cell = waiting.pop(0)
                running[start(cell, folders[cell.corpus], vectors, arguments, until)] = cell
            if not running or time.time() > until + GRACE:
                break
            time.sleep(0.5)
    finally:
        for process in running:
            process.terminate()
    print(f"{len(waiting) + len(running)} cells left", flush=True)


def start(
    cell: Cell, folder: Path, vectors: Path | None, arguments: argparse.Namespace, until: float
) -> subprocess.Popen[bytes]:
    """RETURNS (Popen): The process that trains a cell."""
    work = arguments.work.resolve() / "cells"
    work.mkdir(exist_ok=True)
    files = {
        "train": subset(folder, cell.size),
        "dev": folder / "dev.spacy",
        "test": folder / "test.spacy",
        **({"vectors": vectors} if cell.vectors and vectors is not None else {}),
    }
    specification = {
        "cell": asdict(cell),
        "files": {name: str(path) for name, path in files.items()},
        "seconds": arguments.seconds,
        "until": until - GRACE,
        "output": str(arguments.output.resolve() / f"{cell.name}.json"),
    }
    path = work / f"{cell.name}.json"
    path.write_text(json.dumps(specification), encoding="utf8")
    environment = {**os.environ, **ENVIRONMENT, "CUDA_VISIBLE_DEVICES": ""}
    with path.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "benchmarks.recipes_cell", str(path)],
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
        )


def report(cell: Cell, code: int, output: Path, waiting: int) -> None:
    """Print the result of a cell."""
    path = output / f"{cell.name}.json"
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf8")) if path.exists() else {}
    if code or not result:
        print(f"{cell.name}: failed ({code}); its log is in the folder --work", flush=True)
        return
    best = result["best"]
    print(
        f"{cell.name}: dev {best['dev']:.2f}, test {best['test']:.2f} after {best['step']} updates "
        f"and {best['seconds']:.0f} s; {waiting} waiting",
        flush=True,
    )


if __name__ == "__main__":
    main()
