"""The way of a new user: from annotated texts to a pipeline that serves, is updated and distilled.

    python -m benchmarks.walk --texts texts.jsonl --vectors vectors.txt.gz

Each step is a command of the documentation, typed into a shell in a new folder, and the two
programs are those of `docs/limits.md` and `docs/training.md`. A step that fails ends the walk. The
texts are JSON lines with `text` and `spans`; without them, the sample corpus is used. Texts with
the rarest label, or `--label`, are kept apart: the pipeline learns it last.
"""

import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import spacy_psa

from .report import describe_run, make_parser, page, table, write
from .systems import ROOT

NAME = "walk"
NEW = 20  # texts for an update, and for a new label
HELD_OUT = 40  # more texts with the new label, to see whether it is found
Outcome = Callable[[Path, str], str]


class Step(NamedTuple):
    """A step of the way: what it is for, what a user types, and what came out."""

    name: str
    command: str
    outcome: Outcome


def main() -> None:
    """Go the way, and write `walk.json` and `walk.md`."""
    parser = make_parser(__doc__, repeat=1)
    parser.add_argument("--texts", type=Path, metavar="FILE.jsonl", help="annotated texts")
    parser.add_argument("--name", help="what the page calls the texts")
    parser.add_argument("--number", type=int, default=400, help="texts to begin with")
    parser.add_argument("--label", help="the label that is new at the end")
    parser.add_argument("--vectors", type=Path, metavar="FILE", help="pretrained vectors")
    parser.add_argument("--folder", type=Path, help="a new or empty folder to work in")
    parser.add_argument("--options", default="", help="further options of each training")
    arguments = parser.parse_args()
    folder = (arguments.folder or Path(tempfile.mkdtemp(prefix="walk-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty. Choose a new folder with --folder.")
    rows = read(arguments.texts) if arguments.texts else sample()
    label = prepare(folder, rows, arguments.number, arguments.label)
    if arguments.vectors:
        (folder / arguments.vectors.name).symlink_to(arguments.vectors.resolve(strict=True))
    vectors = arguments.vectors.name if arguments.vectors else ""
    every = steps(label, vectors, arguments.options, arguments.number // 7)
    results = {
        **describe_run(arguments),
        "spacy_psa": spacy_psa.__version__,
        "texts": arguments.name or (arguments.texts.name if arguments.texts else "the sample"),
        "vectors": arguments.vectors.name if arguments.vectors else None,
        "label": label,
        "steps": walk(every, folder),
    }
    write(arguments.output, NAME, results, to_markdown(results))


def read(path: Path) -> list[dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): The texts of a file of JSON lines, with spans."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf8").splitlines() if line]
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or not {"text", "spans"} <= row.keys():
            raise SystemExit(f'{path}, text {number}: expected the keys "text" and "spans".')
    return rows


def sample() -> list[dict[str, Any]]:
    """RETURNS (List[Dict[str, Any]]): The sentences of the sample corpus, as texts with spans."""
    rows = []
    for sentence in (ROOT / "assets/sample/train.conll").read_text(encoding="utf8").split("\n\n"):
        text, spans = "", []
        for word, _, _, tag in map(str.split, sentence.strip().splitlines()):
            start = len(text) + bool(text)
            text = f"{text} {word}".strip()
            if tag.startswith("B-"):
                spans.append({"start": start, "end": len(text), "label": tag[2:]})
            elif tag.startswith("I-"):
                spans[-1]["end"] = len(text)
        if text and not text.startswith("-DOCSTART-"):
            rows.append({"text": text, "spans": spans})
    return rows


def prepare(folder: Path, rows: list[dict[str, Any]], number: int, label: str | None) -> str:
    """Write the files that a user has: annotated texts, those that come later, and plain text.

    folder (Path): The folder.
    rows (List[Dict[str, Any]]): Texts with spans.
    number (int): How many texts there are at first.
    label (Optional[str]): The label that is new at the end, by default the rarest one.
    RETURNS (str): That label.
    """
    counts = Counter(span["label"] for row in rows for span in row["spans"])
    if len(counts) < 2 or (label and label not in counts):
        raise SystemExit(f"Expected two labels or more, with --label among them: {dict(counts)}")
    label = label or min(counts, key=lambda name: (counts[name], name))
    random.Random(0).shuffle(rows)
    apart = [row for row in rows if any(span["label"] == label for span in row["spans"])]
    old = [row for row in rows if row not in apart]
    plain = old[NEW + number :]
    if len(apart) < 2 * NEW or len(plain) < NEW:
        raise SystemExit(
            f"Too few texts: {len(apart)} with {label}, {len(old)} without. Expected {2 * NEW} "
            f"and {2 * NEW + number}; choose another --label or a smaller --number."
        )
    files = {
        "update.jsonl": old[:NEW],
        "texts.jsonl": old[NEW : NEW + number],
        "label.jsonl": apart[:NEW],
        "label-dev.jsonl": apart[NEW : NEW + HELD_OUT],
    }
    for name, part in files.items():
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in part)
        (folder / name).write_text("".join(lines), encoding="utf8")
    lines = (" ".join(row["text"].split()) + "\n" for row in plain)
    (folder / "plain.txt").write_text("".join(lines), encoding="utf8")
    programs = {"serve.py": ("limits.md", "Executor"), "more.py": ("training.md", '"source"')}
    for name, (where, word) in programs.items():
        (folder / name).write_text(program(ROOT / "docs" / where, word), encoding="utf8")
    return label


def program(path: Path, word: str) -> str:
    """RETURNS (str): The program of a page that has a word."""
    found = re.findall(r"^```py\n(.*?)^```", path.read_text(encoding="utf8"), re.M | re.S)
    (code,) = [code for code in found if word in code]
    return str(code)


def steps(label: str, vectors: str, options: str, held_out: int) -> list[Step]:
    """The steps of the way.

    label (str): The label that is new at the end.
    vectors (str): The file with vectors; "" for none.
    options (str): Further options of each training.
    held_out (int): The number of texts to test with, and as many for development.
    RETURNS (List[Step]): The steps.
    """
    psa = "python -m spacy psa"
    best = "trained/model-best"
    offsets = "--format offsets --option alignment_mode=expand"
    config = "--target ents --corpus train.spacy" + (" --vectors vectors" if vectors else "")
    options = f" {options}" if options else ""

    def convert(name: str, output: str) -> str:
        return f"{psa} convert {name}.jsonl {output} {offsets}"

    def copies(name: str, place: str) -> str:
        return f"for i in 1 2 3 4; do cp {name} {place}$i.spacy; done"

    def train(name: str, corpora: str) -> str:
        return f"{psa} train {name}.cfg --output {name} {corpora}{options}"

    def evaluate(pipeline: str, data: str, name: str) -> str:
        return f"{psa} evaluate {pipeline}/model-best {data} --output {name}.json"

    every = [
        Step("vectors", f"{psa} vectors {shlex.quote(vectors)} vectors", said()),
        Step("convert", convert("texts", "all.spacy"), said()),
        Step(
            "hold out test data",
            f"{psa} split all.spacy rest.spacy test.spacy --n {held_out}",
            said(),
        ),
        Step(
            "and dev data", f"{psa} split rest.spacy train.spacy dev.spacy --n {held_out}", said()
        ),
        Step("config", f"{psa} init-config ner.cfg --system psa {config}", said("Trains .*")),
        Step(
            "train",
            f"{psa} train ner.cfg --output trained --paths.dev dev.spacy{options}",
            dev_score("trained"),
        ),
        Step("evaluate", evaluate("trained", "test.spacy", "scores"), test_score("scores")),
        Step("curves", f"{psa} curves trained --output curves.svg", said()),
        Step("calibrate", f"{psa} calibrate {best} dev.spacy", said("temperature [0-9.]+")),
        Step(
            "thresholds",
            f"python -m spacy find-threshold {best} dev.spacy psa_tagger threshold ents_f",
            said("Best threshold: [0-9.]+|All scores are identical"),
        ),
        Step("card", f'{psa} card {best} test.spacy --data-name "{held_out} texts"', said()),
        Step(
            "package",
            f"python -m spacy package {best} . --name posts --build wheel",
            said("en_posts.*whl"),
        ),
        Step(
            "install elsewhere",
            "python -m pip install --no-deps --target server en_posts-0.0.0/dist/*.whl",
            said("Successfully.*"),
        ),
        Step("serve in threads", "PYTHONPATH=server python serve.py en_posts plain.txt", served),
        Step(
            "twenty more texts",
            f"mkdir replay && cp train.spacy replay && {convert('update', 'new.spacy')}",
            said(),
        ),
        Step(
            "beside earlier ones",
            f"{copies('new.spacy', 'replay/new')} && python more.py {best} more.cfg",
            written("more.cfg"),
        ),
        Step(
            "update", train("more", "--paths.train replay --paths.dev dev.spacy"), dev_score("more")
        ),
        Step("evaluate", evaluate("more", "test.spacy", "updated"), test_score("updated")),
        Step(
            "a new label",
            f"cp -r replay labels && {convert('label', 'label.spacy')}",
            said(),
        ),
        Step(
            "dev data with it",
            f"mkdir dev && cp dev.spacy dev && {convert('label-dev', 'dev/new.spacy')}",
            said(),
        ),
        Step(
            "beside earlier ones",
            f"{copies('label.spacy', 'labels/label')} && python more.py more/model-best label.cfg",
            written("label.cfg"),
        ),
        Step(
            "learn it", train("label", "--paths.train labels --paths.dev dev"), dev_score("label")
        ),
        Step("evaluate", evaluate("label", "dev", "by-label"), test_score("by-label", label)),
        Step(
            "a smaller network", f"{psa} init-config small.cfg --system bilstm-crf {config}", said()
        ),
        Step(
            "distil",
            f"{psa} distill {best} small.cfg --texts plain.txt --gold train.spacy --output small"
            f" --paths.dev dev.spacy{options}",
            dev_score("small"),
        ),
        Step("evaluate", evaluate("small", "test.spacy", "distilled"), test_score("distilled")),
        Step(
            "annotate a folder",
            "mkdir texts && cp plain.txt texts && "
            f"{psa} apply small/model-best texts --output annotated --format jsonl",
            said(),
        ),
    ]
    return every if vectors else every[1:]


def walk(every: Sequence[Step], folder: Path) -> list[dict[str, Any]]:
    """Take steps, one after the other.

    every (Sequence[Step]): The steps.
    folder (Path): The folder to work in. `walk.log` has what the commands print.
    RETURNS (List[Dict[str, Any]]): Name, command, seconds and outcome of each.
    """
    done = []
    for number, step in enumerate(every, start=1):
        print(f"{number}/{len(every)} {step.name}: {step.command}", flush=True)
        start = time.perf_counter()
        status, output = run(step.command, folder)
        seconds = time.perf_counter() - start
        with (folder / "walk.log").open("a", encoding="utf8") as log:
            log.write(f"$ {step.command}\n{output}\n")
        try:
            outcome = step.outcome(folder, output) if status == 0 else ""
        except (LookupError, OSError, ValueError):
            outcome = ""
        if not outcome:
            why = f"exit status {status}" if status else "what should have come out is not there"
            last = "\n".join(output.splitlines()[-20:])
            raise SystemExit(
                f"Step {number}, {step.name}, failed ({why}): {step.command}\n{last}\n"
                f"All output is in {folder / 'walk.log'}."
            )
        done.append(
            {
                "step": step.name,
                "command": step.command,
                "seconds": round(seconds, 1),
                "outcome": outcome,
            }
        )
    return done


def run(command: str, folder: Path) -> tuple[int, str]:
    """RETURNS (Tuple[int, str]): Exit status and output of a command in a folder."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path, "COLUMNS": "200", "ANSI_COLORS_DISABLED": "1"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf8",
    )
    return done.returncode, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)


def said(pattern: str = "(?<=✔ ).*") -> Outcome:
    """RETURNS (Outcome): The last part of the output that fits a pattern."""
    return lambda folder, output: str(re.findall(pattern, output)[-1])


def written(name: str) -> Outcome:
    """RETURNS (Outcome): That a file is there."""
    return lambda folder, output: f"wrote {name}" if (folder / name).is_file() else ""


def served(folder: Path, output: str) -> str:
    """RETURNS (str): How many texts were served."""
    expected = len((folder / "plain.txt").read_text(encoding="utf8").splitlines())
    return f"{expected} texts" if len(output.splitlines()) == expected else ""


def dev_score(name: str) -> Outcome:
    """RETURNS (Outcome): The best score in the log of a training."""

    def outcome(folder: Path, output: str) -> str:
        lines = (folder / name / "train.jsonl").read_text(encoding="utf8").splitlines()
        return f"dev F1 {100 * max(json.loads(line)['score'] for line in lines):.2f}"

    return outcome


def test_score(name: str, label: str | None = None) -> Outcome:
    """RETURNS (Outcome): The F1 in a file of `psa evaluate`, and that of a label."""

    def outcome(folder: Path, output: str) -> str:
        (report,) = json.loads((folder / f"{name}.json").read_text(encoding="utf8"))["reports"]
        found = f"F1 {100 * report['f1']:.2f}"
        if label is not None:
            (row,) = [row for row in report["by_label"] if row["name"] == label]
            found += f", {label} {100 * row['f1']:.2f}"
        return found

    return outcome


def to_markdown(results: dict[str, Any]) -> str:
    """RETURNS (str): The page."""
    machine = results["machine"]
    total = sum(step["seconds"] for step in results["steps"])
    vectors = results["vectors"] or "no vectors"
    intro = (
        "The way of a new user: each command as it is typed, with its wall time, the start of "
        f"Python included. {results['texts']}, {vectors}, {machine['processor']}, "
        f"{machine['threads']} thread(s), spacy-psa {results['spacy_psa']}, spaCy "
        f"{machine['spacy']}, PyTorch {machine['torch']}, {results['date']}. The texts are "
        f"`texts.jsonl`, `update.jsonl`, `label.jsonl` with the label `{results['label']}`, which "
        "is new then, `label-dev.jsonl`, and `plain.txt` without annotation. `serve.py` is in "
        "[limits.md](../../docs/limits.md#threads), `more.py` in "
        "[training.md](../../docs/training.md#going-on-from-a-trained-pipeline)."
    )
    rows = [
        [
            str(number),
            step["step"],
            f"`{step['command']}`",
            f"{step['seconds']:.1f}",
            step["outcome"],
        ]
        for number, step in enumerate(results["steps"], start=1)
    ]
    lines = table(["", "step", "command", "seconds", "what came out"], rows)
    return page("The way of a new user", NAME, intro, [*lines, "", f"{total:.0f} seconds in all."])


if __name__ == "__main__":
    main()
