"""The speed of students, teachers and other pipelines, which take turns.

    OMP_NUM_THREADS=1 python -m benchmarks.distill_speed wnut17 corpora/wnut17/test.spacy \
        'student=runs/wnut17-…/model-best' 'transformer=trained/wnut17-…/model-best'

Each pipeline tags the texts of the file with `nlp.pipe`, one thread each, by processor time.
Several pipelines behind one name, apart by commas, are an ensemble: all of them are run. The result
is a file for `python -m benchmarks.distill --page`.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median

import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from .distill import RESULTS, size_of
from .machine import describe_machine
from .timing import make_clock, time_interleaved


def main() -> None:
    """Time all pipelines, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", help="name of the corpus")
    parser.add_argument("data", type=Path, help="file with Docs")
    parser.add_argument("pipelines", nargs="+", metavar="NAME=FOLDER[,FOLDER…]")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--limit", type=int, default=500, help="number of Docs")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    folders = {
        name: [Path(folder) for folder in given.split(",")]
        for name, given in (pair.split("=", 1) for pair in arguments.pipelines)
    }
    vocab = spacy.blank("en").vocab
    docs = list(DocBin().from_disk(arguments.data).get_docs(vocab))[: arguments.limit]
    words = [[token.text for token in doc] for doc in docs]
    actions = {
        name: tagging([spacy.load(folder) for folder in own], words)
        for name, own in folders.items()
    }
    turns = time_interleaved(actions, arguments.repeat, make_clock("processor"))
    n_words = sum(map(len, words))
    result = {
        "corpus": arguments.corpus,
        "words": n_words,
        "pipelines": {
            name: {
                "words_per_second": round(n_words / median(seconds)),
                "megabytes": round(sum(map(size_of, folders[name])), 1),
            }
            for name, seconds in turns.items()
        },
        "machine": {**describe_machine(), "threads": 1},
    }
    path = arguments.output / f"speed-{arguments.corpus}.json"
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf8")


def tagging(pipelines: list[Language], words: list[list[str]]) -> Callable[[], None]:
    """RETURNS (Callable[[], None]): A function that runs pipelines on new Docs of the words."""

    def run() -> None:
        for nlp in pipelines:
            for _ in nlp.pipe([Doc(nlp.vocab, words=own) for own in words]):
                pass

    return run


if __name__ == "__main__":
    main()
