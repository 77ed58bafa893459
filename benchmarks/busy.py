"""Training and prediction beside another process that is busy, with and without `threads = "auto"`.

    python -m spacy psa convert train.txt train.spacy
    python -m benchmarks.busy --data train.spacy

Run it on an idle machine: it starts the other processes itself, as many as leave one core free, or
two for each core. Every measurement has a process of its own, and the ways take turns.
"""

import argparse
import json
import multiprocessing
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import spacy
import torch
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import fix_random_seed

from .machine import describe_machine

RESULTS = Path(__file__).parent / "results"
CORES = multiprocessing.cpu_count()
# The numbers of other processes, and the settings `threads`
OTHERS = {"idle": 0, "busy": max(1, CORES - 1), "crowded": 2 * CORES}
SETTINGS = {"one thread": 1, "all threads": None, "auto": "auto"}
WAYS = {f"{threads}, {others}": (threads, others) for others in OTHERS for threads in SETTINGS}
BATCH, SECONDS = 10, 6.0


def main() -> None:
    """Measure, and write `busy.json` and `busy.md`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, metavar="FILE.spacy")
    parser.add_argument("--repeat", type=int, default=3, help="measurements of each way")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.way:
        print(json.dumps(measure(arguments.data, SETTINGS[WAYS[arguments.way][0]])))
        return
    found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(arguments.repeat):
        for way, (_, others) in WAYS.items():
            found[way].append(run(arguments.data, way, OTHERS[others]))
            print(way, found[way][-1], flush=True)
    results = {
        "machine": {**describe_machine(), "threads": torch.get_num_threads()},
        "repetitions": arguments.repeat,
        "sentences_per_second": {
            way: {name: median(each[name] for each in runs) for name in runs[0]}
            for way, runs in found.items()
        },
    }
    (arguments.output / "busy.json").write_text(json.dumps(results, indent=2) + "\n")
    (arguments.output / "busy.md").write_text(as_page(results))


def run(data: Path, way: str, n_busy: int) -> dict[str, float]:
    """Measure in a new process, maybe beside busy ones."""
    busy = [multiprocessing.Process(target=spin, daemon=True) for _ in range(n_busy)]
    for process in busy:
        process.start()
    try:
        command = [sys.executable, "-m", "benchmarks.busy", "--data", str(data), "--way", way]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    finally:
        for process in busy:
            process.kill()
            process.join()
    return dict(json.loads(output.splitlines()[-1]))


def spin() -> None:
    """Keep a core busy."""
    while True:
        pass


def measure(data: Path, threads: Any) -> dict[str, float]:
    """RETURNS (Dict[str, float]): Sentences per second in training and in prediction."""
    nlp = spacy.blank("en")
    fix_random_seed(0)
    nlp.add_pipe("psa_tagger", config={"threads": threads})
    docs = list(DocBin().from_disk(data).get_docs(nlp.vocab))[:1000]
    examples = [Example(Doc(nlp.vocab, words=[t.text for t in doc]), doc) for doc in docs]
    optimizer = nlp.initialize(lambda: examples)
    batches = [examples[i : i + BATCH] for i in range(0, len(examples), BATCH)]
    n, start = 0, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        nlp.update(batches[n % len(batches)], sgd=optimizer)
        n += 1
    training = n * BATCH / (time.perf_counter() - start)
    n, start = 0, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        texts = [Doc(nlp.vocab, words=[t.text for t in doc]) for doc in docs[:256]]
        n += len(list(nlp.pipe(texts)))
    return {"training": training, "prediction": n / (time.perf_counter() - start)}


def as_page(results: dict[str, Any]) -> str:
    """RETURNS (str): The results as Markdown."""
    machine, rates = results["machine"], results["sentences_per_second"]
    rows = [
        f"| {way} | {found['training']:.0f} | {base['training'] / found['training']:.2f} | "
        f"{found['prediction']:.0f} | {base['prediction'] / found['prediction']:.2f} |"
        for way, found in rates.items()
        for base in [rates[f"one thread, {'crowded' if 'crowded' in way else 'idle'}"]]
    ]
    return "\n".join(
        [
            "# Beside a busy process",
            "",
            f"The default `psa_tagger` on {machine['processor']} with {machine['cores']} cores, "
            f"medians of {results['repetitions']} runs in turns. Written by "
            "`python -m benchmarks.busy`. Time is relative to one thread on an idle machine, or to "
            "one thread if it is crowded; `busy` is beside other processes that leave one core "
            "free, `crowded` beside two for each core.",
            "",
            "| threads | training, sentences/s | time | prediction, sentences/s | time |",
            "| --- | ---: | ---: | ---: | ---: |",
            *rows,
            "",
        ]
    )


if __name__ == "__main__":
    main()
