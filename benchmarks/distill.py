r"""Students of a transformer: on gold alone, and distilled with and without unlabeled text.

    python -m benchmarks.distill --teachers trained --data corpora --vectors vectors \
        --texts unlabeled --runs runs

trains each student on each corpus with the training of `psa init-config`, all with the same number
of updates: on the annotation alone (`gold`), distilled on the training text (`0`), and with that
many unlabeled texts. `teachers` is a folder of `python -m benchmarks.transformers`, of whose
pipelines `--teacher` chooses the system; with `--teacher ensemble` the teacher is five of the
pipelines that were trained on annotation alone. `corpora` has a folder for each corpus, with
train.spacy, dev.spacy and test.spacy; `unlabeled` has tweets.txt.gz, biomedical.txt.gz and, with
the words of the Brown corpus for `ewt`, brown.txt.gz. Every training has a process and a file of
results of its own; those that are there already are left out, so a run that was stopped goes on.
What a teacher says of texts is shared by the students. Test scores are those of the weights with
the best score on the development set.
"""

import argparse
import json
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from thinc.api import Config

from spacy_psa.cli.distill import CACHE, distill
from spacy_psa.cli.init_config import make_config
from spacy_psa.cli.train import train
from spacy_psa.distillation.blocks_on_disk import read_manifest
from spacy_psa.distillation.filling import Settings

from .cells import add_arguments, grouped, run_process, write_result
from .ensemble import evaluate_ensemble, load_members
from .machine import describe_machine
from .transformers import CORPORA, evaluate, read, spread

RESULTS = Path(__file__).parent / "results" / "distill"
TEXTS = {"wnut17": "tweets.txt.gz", "ncbi": "biomedical.txt.gz", "ewt": "brown.txt.gz"}
WIDTHS = (300, 150)
TEACHER = "teacher"
ENSEMBLE = "ensemble"
# The transformer with what on top, as `benchmarks.transformers` calls it
TRANSFORMERS = {
    "transformer": "crf",
    "transformer-bilstm-crf": "bilstm-crf",
    "transformer-psa": "psa",
}
# The ensemble: systems and seeds
MEMBERS = (("psa", 0), ("psa", 1), ("psa", 2), ("bilstm-crf", 0), ("bilstm-crf", 1))

# What a row of the page has in common
FIELDS = ("corpus", "student", "width", "texts", "teacher", "gold_share", "temperature", "updates")


def main() -> None:
    """Train what has no results yet, and write the page of all results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--teachers", type=Path, metavar="FOLDER")
    parser.add_argument("--data", type=Path, metavar="FOLDER")
    parser.add_argument("--vectors", type=Path, help="pipeline with vectors")
    parser.add_argument("--texts", type=Path, metavar="FOLDER")
    parser.add_argument("--runs", type=Path, help="folder for trained pipelines")
    parser.add_argument("--teacher", choices=(*TRANSFORMERS, ENSEMBLE), default="transformer")
    parser.add_argument("--corpora", nargs="+", choices=TEXTS, default=list(TEXTS))
    parser.add_argument("--students", nargs="+", default=["bilstm-crf", "psa"])
    parser.add_argument("--widths", nargs="+", type=int, default=list(WIDTHS))
    parser.add_argument("--amounts", nargs="+", default=["gold", "0", "5000", "20000"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--gold-share", type=float, default=0.5)
    parser.add_argument("--temperature", type=float, default=1.0)
    add_arguments(parser, RESULTS, seconds=7200)
    parser.add_argument("--page", action="store_true", help="only write the page")
    arguments = parser.parse_args()
    if arguments.cell is not None:
        run_cell(arguments, arguments.cell)
        return
    for cell in () if arguments.page else cells(arguments):
        line = run_process("distill", arguments, sys.argv[1:], name_of(cell), cell)
        print(line, flush=True)
    write_page(arguments.output)


def cells(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What to train, with the first seed of everything first."""
    for seed in range(arguments.seeds):
        for corpus in arguments.corpora:
            for student in arguments.students:
                for width in arguments.widths:
                    for amount in arguments.amounts:
                        yield {
                            "corpus": corpus,
                            "student": student,
                            "width": width,
                            "texts": amount,
                            "teacher": "" if amount == "gold" else arguments.teacher,
                            "gold_share": arguments.gold_share,
                            "temperature": arguments.temperature,
                            "updates": arguments.updates,
                            "seed": seed,
                        }
    for corpus in arguments.corpora:
        yield {"corpus": corpus, "student": TEACHER, "teacher": arguments.teacher, "seed": 0}


def name_of(cell: dict[str, Any]) -> str:
    """RETURNS (str): The name of a training."""
    if cell["student"] == TEACHER:
        return f"{cell['corpus']}-{TEACHER}-{cell['teacher']}"
    how = cell["texts"]
    if how != "gold":
        how = f"{how}-{cell['gold_share']:g}x{cell['temperature']:g}-{cell['teacher']}"
    parts = (cell["corpus"], cell["student"], cell["width"], how, cell["updates"], cell["seed"])
    return "-".join(map(str, parts))


def run_cell(arguments: argparse.Namespace, cell: dict[str, Any]) -> None:
    """Train and evaluate one student, or evaluate the teacher, and write the results."""
    torch.set_num_threads(1)
    data, start = arguments.data / cell["corpus"], time.process_time()
    extra: dict[str, Any] = {}
    if cell["student"] == TEACHER:
        paths = teachers_of(arguments, cell)
    else:
        folder = arguments.runs / name_of(cell)
        extra = train_student(arguments, cell, data, folder)
        paths = [folder / "model-best"]
    seconds, target = time.process_time() - start, CORPORA[cell["corpus"]]
    members = load_members(paths)
    scores: dict[str, float] = {}
    for part in ("dev", "test"):
        examples = read(members[0].nlp, data / f"{part}.spacy")
        begun = time.process_time()
        if len(members) > 1:
            scores[part] = evaluate_ensemble(members, examples, target)
        else:
            scores[part] = evaluate(members[0].nlp, examples, target)[0]
        speed = sum(len(eg.predicted) for eg in examples) / (time.process_time() - begun)
    result = {
        **cell,
        **extra,
        **scores,
        "seconds": round(seconds, 1),
        "megabytes": round(sum(map(size_of, paths)), 1),
        "words_per_second": round(speed),
        "machine": {**describe_machine(), "threads": 1},
    }
    write_result(arguments.output / f"{name_of(cell)}.json", result)
    print(f"{name_of(cell)}: {scores}, {seconds:.0f} s", flush=True)


def teachers_of(arguments: argparse.Namespace, cell: dict[str, Any]) -> list[Path]:
    """RETURNS (List[Path]): The teacher of a cell, or the members of the ensemble, trained on
    annotation alone like its students."""
    if cell["teacher"] != ENSEMBLE:
        system = TRANSFORMERS[cell["teacher"]]
        (found,) = arguments.teachers.glob(f"{cell['corpus']}-{system}-*/model-best")
        return [found]
    gold = {"width": WIDTHS[0], "texts": "gold", "updates": arguments.updates}
    members = ({**cell, **gold, "student": student, "seed": seed} for student, seed in MEMBERS)
    return [arguments.runs / name_of(member) / "model-best" for member in members]


def size_of(path: Path) -> float:
    """RETURNS (float): The size of a pipeline in MB, vectors included."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) / 1e6


def train_student(
    arguments: argparse.Namespace, cell: dict[str, Any], data: Path, folder: Path
) -> dict[str, Any]:
    """Train a student, on the annotation alone or with what the teacher says of texts.

    arguments (argparse.Namespace): The options.
    cell (Dict[str, Any]): What to train.
    data (Path): The folder of the corpus.
    folder (Path): The folder for the pipelines.
    RETURNS (Dict[str, Any]): The size of what the teacher said.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config_of(arguments, cell, data).to_disk(folder / "student.cfg")
    if cell["texts"] == "gold":
        train(folder / "student.cfg", folder, resume=True)
        return {}
    amount, texts = int(cell["texts"]), arguments.texts / TEXTS[cell["corpus"]]
    kept = arguments.runs / f"{cell['corpus']}-{amount}-{cell['temperature']:g}-{cell['teacher']}"
    if kept.exists() and not (folder / CACHE).exists():
        shutil.copytree(kept, folder / CACHE)
    distill(
        [str(path) for path in teachers_of(arguments, cell)],
        folder / "student.cfg",
        folder,
        texts=[str(texts)] if amount else [],
        words=True,
        limit=amount or None,
        gold=data / "train.spacy",
        gold_share=cell["gold_share"],
        settings=Settings(temperature=cell["temperature"]),
        resume=True,
    )
    if not kept.exists():
        shutil.copytree(folder / CACHE, kept)
    info = read_manifest(kept)["info"]
    n_bytes = sum(path.stat().st_size for path in kept.glob("*.safetensors"))
    return {
        "sentences": int(info["docs"]),
        "tokens": int(info["tokens"]),
        "bytes_per_token": round(n_bytes / info["tokens"], 2),
        "bytes_of_scores": 4 * len(info["tags"]),
    }


def config_of(arguments: argparse.Namespace, cell: dict[str, Any], data: Path) -> Config:
    """Make the config of `psa init-config`, of the width and the length to compare."""
    text = make_config(
        cell["student"],
        CORPORA[cell["corpus"]],
        name="student.cfg",
        corpus=data / "train.spacy",
        vectors=str(arguments.vectors),
    )
    config = Config().from_str(text, interpolate=False)
    updates, training = cell["updates"], config["training"]
    training.update(max_steps=updates, eval_frequency=max(1, updates // 8), patience=0)
    training["optimizer"]["learn_rate"].update(warmup_steps=updates // 10, total_steps=updates)
    training["logger"]["progress_bar"] = None
    encoder = config["components"]["psa_tagger"]["model"]["encoder"]
    encoder.get("recurrent", encoder)["hidden_width"] = cell["width"]
    config["system"]["seed"] = cell["seed"]
    config["paths"]["dev"] = str(data / "dev.spacy")
    return config


def write_page(folder: Path) -> None:
    """Write the table of all results in a folder."""
    found_speeds = [json.loads(path.read_text()) for path in sorted(folder.glob("speed-*.json"))]
    rows = grouped({*folder.glob("*.json")} - {*folder.glob("speed-*.json")}, FIELDS)
    lines = [
        "# Distillation",
        "",
        "Written by `python -m benchmarks.distill`. F1 or, for `ewt`, accuracy in %, of the "
        "development set and of the test set, with the deviation over seeds. "
        "`texts` is `gold` for the annotation alone, else "
        "the number of unlabeled texts beside the training text. Sizes include pretrained vectors. "
        "Speed is that of `nlp.pipe` on one thread, by processor time; in this table, it was "
        "measured at different times on a machine that others used as well.",
        "",
        "| corpus | pipeline | width | texts | teacher | gold share | temperature | updates "
        "| seeds | dev | test | MB | words/s | teacher's bytes a token |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for key, found in rows.items():
        corpus, student, width, texts, teacher, share, temperature, updates = key
        dev, test = (spread([result[part] for result in found]) for part in ("dev", "test"))
        is_taught = texts not in (None, "gold")
        cells_of_row = [
            corpus,
            student,
            width or "",
            texts or "",
            teacher or "",
            f"{share:g}" if is_taught else "",
            f"{temperature:g}" if is_taught else "",
            f"{updates:,}" if updates else "",
            len(found),
            dev,
            test,
            f"{found[0]['megabytes']:.1f}",
            f"{found[0]['words_per_second']:,}",
            found[0].get("bytes_per_token", ""),
        ]
        lines.append(f"| {' | '.join(map(str, cells_of_row))} |")
    for one in found_speeds:
        lines += speed_table(one)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text("\n".join(lines) + "\n", encoding="utf8")


def speed_table(result: dict[str, Any]) -> list[str]:
    """RETURNS (List[str]): The lines of a table of speeds, see `benchmarks.distill_speed`."""
    pipelines = result["pipelines"]
    slowest = min(own["words_per_second"] for own in pipelines.values())
    lines = [
        "",
        f"{result['corpus']}: pipelines that took turns on the same {result['words']:,} words "
        f"(`python -m benchmarks.distill_speed`, {result['machine']['processor']}).",
        "",
        "| pipeline | words/s | times the slowest | MB |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, own in pipelines.items():
        speed = own["words_per_second"]
        lines.append(f"| {name} | {speed:,} | {speed / slowest:.1f} | {own['megabytes']} |")
    return lines


if __name__ == "__main__":
    main()
