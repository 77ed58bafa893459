"""Semantic role labelers: scores of the CoNLL-2005 evaluator, parameters and parsing speed.

    python -m benchmarks.srl RUNS corpus/ewt-srl

RUNS contains the output of `spacy train`: a folder <system>-srl with a pipeline `model-best`, and
next to it the log <system>-srl.log. The other folder has dev.spacy and test.spacy. Predicates are
given. To measure speed, runs of all systems and decoding methods are interleaved (A B C A B C …) on
the same sentences: the processor time from words and predicates to annotated `Doc` objects.
"""

import argparse
import json
import statistics
import time
from itertools import islice
from pathlib import Path
from typing import Any

import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.vocab import Vocab
from tqdm import tqdm

from spacy_psa.annotation.propositions import get_frames
from spacy_psa.cli._reproduction_scores import count_parameters
from spacy_psa.corpora.docbins import unpack_docs
from spacy_psa.pipeline.srl import PSASemanticRoles
from spacy_psa.pipeline.srl.predicates import set_predicates

from .machine import describe_machine
from .systems import RESULTS, find_runs, keep

TASK = "srl"
SENTENCES, BATCH = 640, 256
SCORES = ("p", "r", "f", "complete")
DECODINGS = {"argmax": "Greedy", "Viterbi": "Viterbi", "constrained": "Constrained"}


def main() -> None:
    """Run the benchmark, and write `srl.json`, `srl.md` and a folder for each run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, help="folder of trained pipelines")
    parser.add_argument("data", type=Path, help="folder with dev.spacy and test.spacy")
    parser.add_argument("--repeat", type=int, default=3, help="repetitions of each timing")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args()
    runs = find_runs(arguments.runs, TASK)
    results = {
        "machine": describe_machine(),
        "repetitions": arguments.repeat,
        "data": arguments.data.name,
        "systems": measure(runs, arguments.data, arguments.repeat),
    }
    for system, run in runs.items():
        keep(run, results["systems"][system], arguments.output / TASK)
    arguments.output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2) + "\n"
    (arguments.output / f"{TASK}.json").write_text(text, encoding="utf8")
    markdown = to_markdown(results)
    (arguments.output / f"{TASK}.md").write_text(markdown, encoding="utf8")
    print(markdown)


def measure(runs: dict[str, Path], data: Path, repeat: int) -> dict[str, Any]:
    """Score and time systems.

    runs (Dict[str, Path]): The folder of each system.
    data (Path): The folder of the corpus.
    repeat (int): The number of repetitions of each timing.
    RETURNS (Dict[str, Any]): Scores, parameters and speed, by system.
    """
    pipelines = {system: spacy.load(run / "model-best") for system, run in runs.items()}
    results: dict[str, Any] = {}
    for system, nlp in tqdm(pipelines.items(), desc="accuracy"):
        config = nlp.config["training"]
        # None if the config limits updates instead
        epochs = config["max_epochs"] or None
        results[system] = {"epochs": epochs, "parameters": count_parameters(nlp)}
        for part in ("dev", "test"):
            examples = read_examples(nlp, data / f"{part}.spacy")
            results[system][part] = {}
            for decoding, block in DECODINGS.items():
                _component(nlp).decoding = make_decoding(block)
                found = nlp.evaluate(examples)
                scores = {name: round(100 * found[f"srl_{name}"], 2) for name in SCORES}
                results[system][part][decoding] = scores
    for (system, decoding), speed in time_parsing(pipelines, data / "test.spacy", repeat).items():
        results[system].setdefault("speed", {})[decoding] = speed
    return results


def read_examples(nlp: Language, path: Path) -> list[Example]:
    """Read a corpus, keeping the gold-standard predicates in the documents to predict."""
    corpus = {"@readers": "spacy.Corpus.v1", "path": path, "max_length": 0, "gold_preproc": False}
    reader = {"@readers": "spacy_psa.FrameCorpus.v1", "corpus": corpus}
    return list(spacy.registry.resolve({"reader": reader})["reader"](nlp))


def time_parsing(
    pipelines: dict[str, Language], path: Path, repeat: int
) -> dict[tuple[str, str], dict[str, int]]:
    """Measure the parsing speed of pipelines.

    pipelines (Dict[str, Language]): The pipelines.
    path (Path): The corpus.
    repeat (int): The number of repetitions.
    RETURNS (Dict[Tuple[str, str], Dict[str, int]]): For each system and decoding method, the tokens
        of text and the labeled tokens per second. The tokens of a sentence are labeled once for
        each predicate.
    """
    gold = list(islice(unpack_docs(DocBin().from_disk(path), Vocab()), SENTENCES))
    predicates = [[frame.predicate for frame in get_frames(doc)] for doc in gold]
    words = [[token.text for token in doc] for doc in gold]
    n_tokens = sum(map(len, words))
    n_labeled = sum(len(w) * len(p) for w, p in zip(words, predicates, strict=True))
    seconds: dict[tuple[str, str], list[float]] = {}
    for turn in tqdm(range(repeat + 1), desc="speed"):
        for system, nlp in pipelines.items():
            for decoding, block in DECODINGS.items():
                _component(nlp).decoding = make_decoding(block)
                docs = [Doc(nlp.vocab, words=w) for w in words]
                for doc, marked in zip(docs, predicates, strict=True):
                    set_predicates(doc, marked)
                start = time.process_time()
                for _ in nlp.pipe(docs, batch_size=BATCH):
                    pass
                if turn:  # the first is a warm-up
                    taken = time.process_time() - start
                    seconds.setdefault((system, decoding), []).append(taken)
    return {
        key: {
            "tokens": round(n_tokens / statistics.median(taken)),
            "labeled": round(n_labeled / statistics.median(taken)),
        }
        for key, taken in seconds.items()
    }


def make_decoding(block: str) -> Any:
    """Make a decoding method from its registered function."""
    config = {"decoding": {"@misc": f"spacy_psa.{block}Decoding.v1"}}
    return spacy.registry.resolve(config)["decoding"]


def _component(nlp: Language) -> PSASemanticRoles:
    return next(pipe for _, pipe in nlp.pipeline if isinstance(pipe, PSASemanticRoles))


def to_markdown(results: dict[str, Any]) -> str:
    """Format the results as a page.

    results (Dict[str, Any]): The results.
    RETURNS (str): Markdown.
    """
    machine = results["machine"]
    lines = [
        f"# Semantic roles: {results['data']}",
        "",
        "Generated by `python -m benchmarks.srl`. Predicates are given; F1 and complete "
        "propositions are computed as by the CoNLL-2005 evaluator.",
        "",
        "| system | epochs | parameters | decoding | dev F1 | test P | R | F1 | complete |",
        "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for system, r in results["systems"].items():
        for decoding in DECODINGS:
            dev, test = r["dev"][decoding], r["test"][decoding]
            lines.append(
                f"| [{system}]({TASK}/{system}-{TASK}) | {r['epochs'] or '–'} | "
                f"{r['parameters']['without words']:,} | {decoding} | {dev['f']:.2f} | "
                f"{test['p']:.2f} | {test['r']:.2f} | {test['f']:.2f} | {test['complete']:.2f} |"
            )
    lines += [
        "",
        f"Parsing speed on {machine['processor']}, {torch.get_num_threads()} thread(s), PyTorch "
        f"{machine['torch']}, in batches of {BATCH} sentences; medians of "
        f"{results['repetitions']} repetitions. Labeled tokens per second (the tokens of a "
        "sentence count once for each predicate), and in parentheses tokens of text per second.",
        "",
        "| system | " + " | ".join(DECODINGS) + " |",
        "| --- |" + " ---: |" * len(DECODINGS),
    ]
    for system, r in results["systems"].items():
        cells = [f"{s['labeled']:,} ({s['tokens']:,})" for s in r["speed"].values()]
        lines.append(f"| {system} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
