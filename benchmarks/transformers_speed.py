"""Speed of components on a pretrained transformer, in full and on a GPU in mixed precision.

    python -m benchmarks.transformers_speed TRANSFORMER --data corpora/wnut17 --device cuda

All systems of `benchmarks.transformers` train on the same batches in turns, those of the config of
`psa init-config --transformer`, and then tag the same sentences in turns, with `nlp.pipe`. A figure
is the median of the sentences per second of all turns; reading sentences and evaluation are not
part of it. Mixed precision needs a GPU.
"""

import argparse
import statistics
from collections import deque
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.util import registry

from spacy_psa.training import note_pipeline

from .report import describe, describe_run, make_parser, page, table, write
from .timing import make_clock, time_interleaved, use_device
from .transformers import SYSTEMS, config_of, read

NAME = "transformers-speed"
TRAINED, TAGGED = "sentences/s", "tagged sentences/s"
PRECISIONS = {"fp32": False, "mixed": True}


def main() -> None:
    """Run the benchmark, and write its results."""
    parser = make_parser(__doc__, repeat=5)
    parser.add_argument("transformer", help="folder or name of the transformer")
    parser.add_argument("--data", type=Path, required=True, help="folder with train.spacy")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--batches", type=int, default=12, help="batches of a turn")
    arguments = parser.parse_args()
    use_device(arguments.device, pipelines=True)
    on_gpu = arguments.device == "cuda"
    trained, tagged, count = {}, {}, 0
    for system in arguments.systems:
        for precision in PRECISIONS if on_gpu else ["fp32"]:
            name = f"{system}, {precision}"
            trained[name], tagged[name], count = actions(arguments, system, precision)
    clock = make_clock(arguments.clock, arguments.device)
    results: dict[str, Any] = {**describe_run(arguments), "sentences": count}
    results["transformer"] = Path(arguments.transformer).name
    for key, timed in ((TRAINED, trained), (TAGGED, tagged)):
        seconds = time_interleaved(timed, arguments.repeat, clock, key)
        results[key] = {
            name: round(count / statistics.median(spent), 1) for name, spent in seconds.items()
        }
    write(arguments.output, NAME, results, to_markdown(results))


def actions(
    arguments: argparse.Namespace, system: str, precision: str
) -> tuple[Callable[[], None], Callable[[], None], int]:
    """Make the functions that are timed.

    arguments (Namespace): The options.
    system (str): A key of `transformers.SYSTEMS`.
    precision (str): A key of `PRECISIONS`.
    RETURNS (Tuple[Callable, Callable, int]): A function that trains on some batches, one that tags
        their sentences, and how many these are.
    """
    options = argparse.Namespace(
        transformer=arguments.transformer, gpu=arguments.device == "cuda", data=arguments.data
    )
    cell = {"corpus": "wnut17", "system": system, "seed": 0, "updates": 1000, "limit": 0}
    config = config_of(options, {**cell, "rate": 1e-3, "factor": 0.05}, arguments.data)
    is_mixed, components = PRECISIONS[precision], config["components"]
    components["transformer"]["model"]["mixed_precision"] = is_mixed
    if "psa_tagger" in components:
        components["psa_tagger"]["model"]["mixed_precision"] = "bf16" if is_mixed else None
    nlp = init_nlp(config, use_gpu=0 if options.gpu else -1)
    note_pipeline(nlp)  # for the transformer's learning rate; spaCy's components do not
    section = config["training"]
    chosen = {name: section[name] for name in ("batcher", "optimizer")}
    resolved = registry.resolve(chosen, validate=False)
    examples = read(spacy.blank("en"), arguments.data / "train.spacy")
    batches = list(islice(resolved["batcher"](examples), arguments.batches))
    return (
        lambda: train(nlp, batches, resolved["optimizer"]),
        lambda: tag(nlp, batches),
        sum(map(len, batches)),
    )


def train(nlp: Language, batches: list[list[Example]], optimizer: Any) -> None:
    """Train a pipeline on some batches."""
    for batch in batches:
        fresh = [Example(eg.predicted.copy(), eg.reference) for eg in batch]
        nlp.update(fresh, sgd=optimizer, losses={})
        optimizer.step_schedules()


def tag(nlp: Language, batches: list[list[Example]]) -> None:
    """Tag the sentences of some batches."""
    docs = [eg.predicted.copy() for batch in batches for eg in batch]
    deque(nlp.pipe(docs), maxlen=0)


def to_markdown(results: dict[str, Any]) -> str:
    """Format the results as a page.

    results (Dict[str, Any]): The results.
    RETURNS (str): Markdown.
    """
    speeds: dict[str, dict[str, float]] = {}
    kinds = {TRAINED: "training", TAGGED: "tagging"}
    for key, kind in kinds.items():
        for name, speed in results.get(key, {}).items():
            system, _, precision = name.partition(", ")
            speeds.setdefault(system, {})[f"{kind}, {precision}"] = speed
    columns = list(next(iter(speeds.values())))
    rows = [[s, *(f"{found[c]:,.0f}" for c in columns)] for s, found in speeds.items()]
    intro = f"Sentences per second, on {results['transformer']} as the transformer."
    lines = ["", intro, *table(["system", *columns], rows)]
    return page("Speed on a transformer", "transformers_speed", describe(results), lines)


if __name__ == "__main__":
    main()
