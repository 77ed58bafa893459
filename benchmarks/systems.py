"""Accuracy, parameters and speed of all systems on all tasks.

    python -m benchmarks.systems RUNS --data chunk=corpus/conll2000 --data pos=corpus/ewt

RUNS contains the output of `spacy train`: a folder <system>-<task> with a pipeline `model-best`,
and next to it the log <system>-<task>.log. For each task, TASK=FOLDER names the folder with
train.spacy, dev.spacy and test.spacy. Accuracy is measured on the development and test sets. To
measure speed, runs of all systems of a task are interleaved (A B C A B C …) on the same sentences;
it is reported relative to BiLSTM-CRF, as the ratio of median processor times.
"""

import argparse
import json
import re
import statistics
import time
from pathlib import Path
from typing import Any

import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus, Example
from thinc.api import Config, fix_random_seed
from tqdm import tqdm

from spacy_psa.cli._reproduction_scores import count_parameters

from .machine import describe_machine

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
BASELINE = "bilstm-crf"
SCORES = {"chunk": "spans_chunks_f", "ner": "ents_f", "pos": "tag_acc"}
TRAINED, TAGGED = 320, 640  # sentences
COLOR = re.compile(r"\x1b\[[0-9;]*m")
PLACE = re.compile(r"(^|\s)/\w")
BATCH = {"training": 10, "tagging": 256}


def main() -> None:
    """Run the benchmark, and write `systems.json`, `systems.md` and a folder for each run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, help="folder of trained pipelines")
    parser.add_argument("--data", action="append", required=True, metavar="TASK=FOLDER")
    parser.add_argument("--repeat", type=int, default=3, help="repetitions of each timing")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args()
    data = {task: Path(folder) for task, _, folder in (d.partition("=") for d in arguments.data)}
    if not data.keys() <= SCORES.keys():
        parser.error(f"--data takes TASK=FOLDER, where TASK is one of: {', '.join(SCORES)}")
    results: dict[str, Any] = {"machine": describe_machine(), "repetitions": arguments.repeat}
    results["tasks"] = {}
    for task, folder in data.items():
        runs = find_runs(arguments.runs, task)
        if BASELINE not in runs:
            raise SystemExit(
                f"{arguments.runs} has no {BASELINE}-{task}/model-best: train it first."
            )
        results["tasks"][task] = {
            "data": folder.name,
            "systems": measure(task, folder, runs, arguments.repeat),
        }
        for system, run in runs.items():
            keep(run, results["tasks"][task]["systems"][system], arguments.output / "systems")
    arguments.output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2) + "\n"
    (arguments.output / "systems.json").write_text(text, encoding="utf8")
    markdown = to_markdown(results)
    (arguments.output / "systems.md").write_text(markdown, encoding="utf8")
    print(markdown)


def find_runs(folder: Path, task: str) -> dict[str, Path]:
    """Find the trained pipelines for a task.

    folder (Path): The folder of the runs.
    task (str): The task.
    RETURNS (Dict[str, Path]): The folder of each system, with the baseline, if any, first.
    """
    found = {
        path.name[: -len(task) - 1]: path
        for path in sorted(folder.glob(f"*-{task}"))
        if (path / "model-best").is_dir()
    }
    if not found:
        raise SystemExit(f"{folder} has no pipeline SYSTEM-{task}/model-best: train one first.")
    return dict(sorted(found.items(), key=lambda pair: pair[0] != BASELINE))


def measure(task: str, data: Path, runs: dict[str, Path], repeat: int) -> dict[str, Any]:
    """Score and time the systems of a task.

    task (str): The task.
    data (Path): The folder of its corpus.
    runs (Dict[str, Path]): The folder of each system.
    repeat (int): The number of repetitions of each timing.
    RETURNS (Dict[str, Any]): Scores, parameters and speed, by system.
    """
    results: dict[str, Any] = {}
    pipelines = {system: spacy.load(run / "model-best") for system, run in runs.items()}
    for system, nlp in tqdm(pipelines.items(), desc=f"{task}: accuracy"):
        results[system] = {
            "epochs": count_epochs(runs[system]),
            "parameters": count_parameters(nlp),
            **{
                part: round(100 * score(nlp, data / f"{part}.spacy", SCORES[task]), 2)
                for part in ("dev", "test")
            },
        }
    for part, seconds in (
        ("tagging", time_tagging(pipelines, data / "test.spacy", repeat)),
        ("training", time_training(pipelines, data / "train.spacy", repeat)),
    ):
        medians = {system: statistics.median(times) for system, times in seconds.items()}
        for system, median in medians.items():
            results[system][part] = round(medians[BASELINE] / median, 2)
    return results


def score(nlp: Language, path: Path, name: str) -> float:
    """Score a pipeline on a corpus."""
    return nlp.evaluate(list(Corpus(path)(nlp)))[name]


def count_epochs(run: Path) -> int:
    """The number of epochs of a run, according to its config."""
    return Config().from_disk(run / "model-best" / "config.cfg")["training"]["max_epochs"]


def time_tagging(pipelines: dict[str, Language], path: Path, repeat: int) -> dict[str, list[float]]:
    """Time each pipeline tagging the same sentences, from words to annotated `Doc` objects."""
    seconds: dict[str, list[float]] = {system: [] for system in pipelines}
    for turn in tqdm(range(repeat + 1), desc="tagging"):
        for system, nlp in pipelines.items():
            docs = [Doc(nlp.vocab, words=words) for words in _sentences(nlp, path, TAGGED)]
            start = time.process_time()
            for _ in nlp.pipe(docs, batch_size=BATCH["tagging"]):
                pass
            if turn:  # the first is a warm-up
                seconds[system].append(time.process_time() - start)
    return seconds


def time_training(
    pipelines: dict[str, Language], path: Path, repeat: int
) -> dict[str, list[float]]:
    """Time each pipeline training on the same sentences, in batches of ten."""
    seconds: dict[str, list[float]] = {system: [] for system in pipelines}
    prepared = {}
    for system, nlp in pipelines.items():
        examples = []
        for example in Corpus(path, limit=TRAINED)(nlp):
            examples.append(Example(only_words(nlp, example.reference), example.reference))
        config = nlp.config.interpolate()["training"]["optimizer"]
        prepared[system] = (examples, spacy.util.registry.resolve({"o": config})["o"])
    for turn in tqdm(range(repeat + 1), desc="training"):
        for system, nlp in pipelines.items():
            fix_random_seed(0)
            examples, optimizer = prepared[system]
            start = time.process_time()
            for i in range(0, len(examples), BATCH["training"]):
                nlp.update(examples[i : i + BATCH["training"]], sgd=optimizer, losses={})
            if turn:
                seconds[system].append(time.process_time() - start)
    return seconds


def only_words(nlp: Language, doc: Doc) -> Doc:
    """Copy the words of a document without annotation."""
    return Doc(nlp.vocab, words=[token.text for token in doc])


def _sentences(nlp: Language, path: Path, limit: int) -> list[list[str]]:
    return [[t.text for t in e.reference] for e in Corpus(path, limit=limit)(nlp)]


def keep(run: Path, result: dict[str, Any], folder: Path) -> None:
    """Save the config, log and scores of a run, as a record of its training.

    run (Path): The folder of the run.
    result (Dict[str, Any]): The results.
    folder (Path): The output folder.
    """
    target = folder / run.name
    target.mkdir(parents=True, exist_ok=True)
    config = (run / "model-best" / "config.cfg").read_text(encoding="utf8")
    # Make paths relative to the project folder
    (target / "config.cfg").write_text(config.replace(f"{ROOT}/", ""), encoding="utf8")
    log = run.parent / f"{run.name}.log"
    if log.is_file():
        lines = log.read_text(encoding="utf8").splitlines()
        # Remove colors, and lines with absolute paths
        lines = [COLOR.sub("", line) for line in lines if not PLACE.search(line)]
        text = "\n".join(lines)
        (target / "train.log").write_text(text + "\n", encoding="utf8")
    text = json.dumps(result, indent=2) + "\n"
    (target / "scores.json").write_text(text, encoding="utf8")


def to_markdown(results: dict[str, Any]) -> str:
    """Format the results as a page.

    results (Dict[str, Any]): The results.
    RETURNS (str): Markdown.
    """
    machine = results["machine"]
    lines = ["# All systems on all tasks", "", "Generated by `python -m benchmarks.systems`.", ""]
    lines += [
        "Speed is relative to BiLSTM-CRF in the same run (higher is faster), on "
        f"{machine['processor']}, {torch.get_num_threads()} thread(s), PyTorch "
        f"{machine['torch']}: training in batches of "
        f"{BATCH['training']} sentences, tagging in batches of {BATCH['tagging']}; medians of "
        f"{results['repetitions']} repetitions. 'Parameters' excludes the table of words.",
    ]
    for task, content in results["tasks"].items():
        lines += ["", f"## {task}: {content['data']}", ""]
        lines.append("| system | epochs | dev | test | parameters | training | tagging |")
        lines.append("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        for system, r in content["systems"].items():
            parameters = f"{r['parameters']['without words']:,}"
            lines.append(
                f"| [{system}](systems/{system}-{task}) | {r['epochs']} | {r['dev']:.2f} | "
                f"{r['test']:.2f} | {parameters} | {r['training']:.2f} | {r['tagging']:.2f} |"
            )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
