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
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from thinc.api import Config

from spacy_psa.cli._configs import make_config
from spacy_psa.cli._distillation import CACHE, prepare
from spacy_psa.cli.train import train
from spacy_psa.distillation.blocks_on_disk import read_manifest
from spacy_psa.distillation.filling import Settings
from spacy_psa.pipeline import teaching

from .best_sequences import best_edges
from .cells import add_arguments, run_process, write_result
from .distill_page import GOLD, TEACHER, write_page
from .ensemble import evaluate_ensemble, load_members
from .machine import describe_machine
from .transformers import CORPORA, evaluate, read

RESULTS = Path(__file__).parent / "results" / "distill"
TEXTS = {"wnut17": "tweets.txt.gz", "ncbi": "biomedical.txt.gz", "ewt": "brown.txt.gz"}
WIDTHS = (300, 150)
ENSEMBLE = "ensemble"
# The transformer with what on top, as `benchmarks.transformers` calls it
TRANSFORMERS = {
    "transformer": "crf",
    "transformer-bilstm-crf": "bilstm-crf",
    "transformer-psa": "psa",
}
# The ensemble: systems and seeds
MEMBERS = (("psa", 0), ("psa", 1), ("psa", 2), ("bilstm-crf", 0), ("bilstm-crf", 1))


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
    parser.add_argument("--amounts", nargs="+", default=[GOLD, "0", "5000", "20000"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--gold-share", type=float, default=0.5)
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--best", type=int, metavar="K", help="learn from so many best sequences")
    parser.add_argument(
        "--select",
        type=int,
        metavar="N",
        help="learn from the texts of which the student on gold alone is the least certain",
    )
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
                            "teacher": "" if amount == GOLD else arguments.teacher,
                            "gold_share": arguments.gold_share,
                            "temperature": arguments.temperature,
                            **({} if amount == GOLD else variant_of(arguments)),
                            "updates": arguments.updates,
                            "seed": seed,
                        }
    for corpus in arguments.corpora:
        yield {"corpus": corpus, "student": TEACHER, "teacher": arguments.teacher, "seed": 0}


def variant_of(arguments: argparse.Namespace) -> dict[str, int]:
    """RETURNS (Dict[str, int]): What is not as usual."""
    chosen = {"best": arguments.best, "select": arguments.select}
    return {name: n for name, n in chosen.items() if n is not None}


def name_of(cell: dict[str, Any]) -> str:
    """RETURNS (str): The name of a training."""
    if cell["student"] == TEACHER:
        return f"{cell['corpus']}-{TEACHER}-{cell['teacher']}"
    how = cell["texts"]
    if how != GOLD:
        how = f"{how}-{cell['gold_share']:g}x{cell['temperature']:g}-{cell['teacher']}"
        how += "".join(f"-{name}{cell[name]}" for name in ("best", "select") if name in cell)
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
    gold = {"width": WIDTHS[0], "texts": GOLD, "updates": arguments.updates}
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
    if cell["texts"] == GOLD:
        train(folder / "student.cfg", folder, resume=True)
        return {}
    amount, texts = int(cell["texts"]), arguments.texts / TEXTS[cell["corpus"]]
    kept = arguments.runs / f"{cell['corpus']}-{amount}-{cell['temperature']:g}-{cell['teacher']}"
    select_by = None
    if cell.keys() & {"best", "select"}:
        kept = folder / CACHE  # not shared
    if "select" in cell:
        alone = {**cell, "texts": GOLD}
        select_by = str(arguments.runs / name_of(alone) / "model-best")
    if "best" in cell:
        teaching.pair_marginals = lambda chain, **_: best_edges(chain, cell["best"])
    if kept.exists() and not (folder / CACHE).exists():
        shutil.copytree(kept, folder / CACHE)
    path = prepare(
        [str(path) for path in teachers_of(arguments, cell)],
        folder / "student.cfg",
        folder,
        texts=[str(texts)] if amount else [],
        words=True,
        limit=amount or None,
        gold=data / "train.spacy",
        gold_share=cell["gold_share"],
        settings=Settings(temperature=cell["temperature"]),
        select=cell.get("select"),
        select_by=select_by,
    )
    train(path, folder, resume=True)
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


if __name__ == "__main__":
    main()
