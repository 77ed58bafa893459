"""Speed and memory of bulk annotation (`psa apply`), compared with `nlp.pipe`.

    OMP_NUM_THREADS=1 python -m benchmarks.apply --text sentences.txt

The file has a sentence in each line; by default, it is made from the sample corpus. The pipeline is
the system `--system` for chunks, initialized on the sample corpus but not trained, which takes as
long. `nlp.pipe` and `spacy_psa.apply`, which also reads the file and writes Parquet, take turns in
one process, on the same texts in the same order, and then Ray has its turn with one actor and with
two. Rates are by processor time, which depends little on the load of the machine. Ray's are those
of its actors, which get all texts several times; the time that passes is given, too. Of their
blocks, the first ones, with which they warm up, and the last ones, when not all of them are busy,
are not counted.
"""

import argparse
import gc
import json
import os
import tempfile
import time
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed

import spacy_psa
from spacy_psa.scale.bulk import BLOCK_SIZE

from .apply_page import write_page
from .machine import describe_machine
from .pipelines import load_system

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
SAMPLE = ROOT / "assets" / "sample" / "train.conll"
# The default; and smaller ones, so that each actor has some
LOCAL_BLOCK, RAY_BLOCK = BLOCK_SIZE, 1 << 17
RAY_COPIES = 6
TIMED = ("nlp.pipe", "psa apply")


def main() -> None:
    """Run the benchmark, and write `apply.json` and `apply.md`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--text", type=Path, help="file with a sentence in each line")
    parser.add_argument("--system", default="psa")
    parser.add_argument("--hidden", type=int, help="width of the BiLSTM")
    parser.add_argument("--sentences", type=int, default=4000, help="sentences of each run")
    parser.add_argument("--repeat", type=int, default=5, help="turns of each")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    source = arguments.text.read_text(encoding="utf8") if arguments.text else sample_text()
    lines = [line for line in source.split("\n") if line.strip()]
    path = arguments.output / "apply.json"
    # Measured by `benchmarks.apply_memory`
    memory = json.loads(path.read_text(encoding="utf8"))["memory"] if path.exists() else []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        nlp = make_pipeline(arguments.system, arguments.hidden)
        nlp.to_disk(folder / "model")
        texts = list(islice(cycle(lines), arguments.sentences))
        (folder / "texts.txt").write_text("\n".join(texts), encoding="utf8")
        results = {
            "machine": describe_machine(),
            "text": arguments.text.name if arguments.text else "sample corpus",
            "system": arguments.system,
            "hidden": arguments.hidden,
            "sentences": len(texts),
            "words": sum(len(nlp.make_doc(text)) for text in texts),
            "repetitions": arguments.repeat,
            "blocks": {"local": LOCAL_BLOCK, "ray": RAY_BLOCK},
            "load": os.getloadavg()[0],
            **time_turns(nlp, texts, folder, arguments.repeat),
            "memory": memory,
        }
        save(results, path)


def save(results: dict[str, Any], path: Path) -> None:
    """Write the results and their page.

    results (Dict[str, Any]): The results.
    path (Path): Their file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf8")
    write_page(results, path.with_suffix(".md"))


def sample_text() -> str:
    """RETURNS (str): The sentences of the sample corpus, one in each line."""
    blocks = SAMPLE.read_text(encoding="utf8").strip().split("\n\n")[1:]
    return "\n".join(" ".join(row.split()[0] for row in block.split("\n")) for block in blocks)


def make_pipeline(system: str, hidden: int | None) -> Language:
    """Make a pipeline that has labels and a vocabulary, but is not trained.

    system (str): A system of `psa init-config`.
    hidden (Optional[int]): The width of its BiLSTM; None for the config's.
    RETURNS (Language): The pipeline.
    """
    nlp = load_system(system, "spans", hidden)
    docs = []
    for line in islice(sample_text().split("\n"), 300):
        doc = Doc(nlp.vocab, words=line.split())
        chunks = [
            (i, i + 1, label) for i, label in zip(range(len(doc)), cycle("ABC"), strict=False)
        ]
        doc.spans["chunks"] = [spacy.tokens.Span(doc, *chunk) for chunk in chunks]
        docs.append(doc)
    fix_random_seed(0)
    nlp.initialize(lambda: [Example(nlp.make_doc(doc.text), doc) for doc in docs])
    return nlp


def time_turns(nlp: Language, texts: list[str], folder: Path, repeat: int) -> dict[str, Any]:
    """Time all in turns: `nlp.pipe`, `spacy_psa.apply`, and Ray with one actor and with two.

    nlp (Language): The pipeline.
    texts (List[str]): The texts, which are in the folder, too.
    folder (Path): The folder to write to.
    repeat (int): The number of turns of each, after one of the first two to warm up.
    RETURNS (Dict[str, Any]): The seconds of processor time of each turn of the first two, and what
        was measured of Ray in each turn, by the number of actors; None without Ray.
    """
    seconds: dict[str, list[float]] = {name: [] for name in TIMED}
    rays: dict[str, list[dict[str, float]]] = {"1": [], "2": []}
    with_ray = find_spec("ray") is not None
    time_local(nlp, texts, folder)
    for _ in range(repeat):
        for name, found in zip(TIMED, time_local(nlp, texts, folder), strict=True):
            seconds[name].append(found)
        if with_ray:
            for n, measured in time_ray(folder).items():
                rays[n].append(measured)
    return {"seconds": seconds, "ray": rays if with_ray else None}


def time_local(nlp: Language, texts: list[str], folder: Path) -> tuple[float, float]:
    """RETURNS (Tuple[float, float]): Seconds of processor time of `nlp.pipe`, and of
    `spacy_psa.apply`."""
    gc.collect()
    start = time.process_time()
    with nlp.memory_zone():
        for _ in nlp.pipe(texts):
            pass
    middle = time.process_time()
    gc.collect()
    between = time.process_time()
    with tempfile.TemporaryDirectory(dir=folder) as output:
        spacy_psa.apply(nlp, folder / "texts.txt", output, block_size=LOCAL_BLOCK)
    return middle - start, time.process_time() - between


def time_ray(folder: Path) -> dict[str, dict[str, float]]:
    """Time Ray with one actor and with two.

    folder (Path): The folder with the pipeline and the texts.
    RETURNS (Dict[str, Dict[str, float]]): For each number of actors, the words of the blocks that
        count, their seconds of processor time, and the seconds in which they were finished.
    """
    import ray

    found = {}
    text = (folder / "texts.txt").read_text(encoding="utf8")
    (folder / "many.txt").write_text("\n".join([text] * RAY_COPIES), encoding="utf8")
    model, source = folder / "model", folder / "many.txt"
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    for n in (1, 2):
        with tempfile.TemporaryDirectory(dir=folder) as name:
            output = Path(name)
            how: dict[str, Any] = {"engine": "ray", "n_process": n, "block_size": RAY_BLOCK}
            spacy_psa.apply(model, source, output, **how)
            lines = (output / "manifest.jsonl").read_text(encoding="utf8").splitlines()[1:]
            entries = [json.loads(line) for line in lines]
            # In the order in which they were finished
            times = sorted((output / entry["shard"]).stat().st_mtime for entry in entries)
        start, stop = len(entries) // 4, len(entries) - n
        counted = entries[start:stop]
        found[str(n)] = {
            "words": sum(entry["words"] for entry in counted),
            "processor": sum(entry["seconds"] for entry in counted),
            "wall": times[stop - 1] - times[start - 1],
        }
    ray.shutdown()
    return found


if __name__ == "__main__":
    main()
