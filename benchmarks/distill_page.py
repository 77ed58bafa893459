"""The page of `python -m benchmarks.distill`: a table and a figure of all results."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from spacy_psa.figures.charts import line_plot
from spacy_psa.figures.images import stack

from .cells import grouped
from .report import table
from .transformers_page import spread

GOLD = "gold"
TEACHER = "teacher"
# What a row has in common
FIELDS = (
    *("corpus", "student", "width", "texts", "teacher", "gold_share", "temperature"),
    *("best", "select", "updates"),
)
HEADER = [
    *("corpus", "pipeline", "width", "texts", "teacher", "gold share", "temperature"),
    *("best", "chosen", "updates"),
    *("seeds", "dev", "test", "gain", "MB", "words/s", "teacher's bytes a token"),
]
Key = tuple[Any, ...]
Point = tuple[float, float]
Result = dict[str, Any]


def write_page(folder: Path) -> None:
    """Write the table and the figure of all results in a folder."""
    speeds = {*folder.glob("speed-*.json")}
    rows = grouped({*folder.glob("*.json")} - speeds, FIELDS)
    lines = [
        "# Distillation",
        "",
        "Written by `python -m benchmarks.distill`. F1 or, for `ewt`, accuracy in %, of the "
        "development set and of the test set, with the deviation over seeds. "
        "`texts` is `gold` for the annotation alone, else "
        "the number of unlabeled texts beside the training text (at most: there are 8,833 tweets), "
        "of which the student on the annotation alone has chosen some where there is a number of "
        "them. `best` is the number of the teacher's best label sequences that the student learned "
        "from, instead of exact marginals. "
        "The gain is that over the "
        "annotation alone, on the test set, for the same seeds. Sizes include pretrained vectors. "
        "Speed is that of `nlp.pipe` on one thread, by processor time; in this table, it was "
        "measured at different times on a machine that others used as well.",
        *table(HEADER, [row(key, found, rows) for key, found in rows.items()]),
        "",
        "![Test scores by the number of sentences with what a teacher says of them](distill.svg)",
    ]
    for path in sorted(speeds):
        lines += speed_table(json.loads(path.read_text(encoding="utf8")))
    (folder / "README.md").write_text("\n".join(lines) + "\n", encoding="utf8")
    taught = {key[0] for key in rows if key[1] != TEACHER and key[3] != GOLD}
    images = [draw(corpus, rows) for corpus in sorted(taught)]
    (folder / "distill.svg").write_text(stack(images), encoding="utf8")


def row(key: Key, found: Sequence[Result], rows: Mapping[Key, Sequence[Result]]) -> list[str]:
    """RETURNS (List[str]): A row of the table."""
    corpus, student, width, texts, teacher, share, temperature, best, select, updates = key
    dev, test = (spread([result[part] for result in found]) for part in ("dev", "test"))
    is_taught = texts not in (None, GOLD)
    cells = [
        *(corpus, student, width or "", texts or "", teacher or ""),
        f"{share:g}" if is_taught else "",
        f"{temperature:g}" if is_taught else "",
        *(best or "", f"{select:,}" if select else ""),
        f"{updates:,}" if updates else "",
        *(len(found), dev, test, gain(key, found, rows)),
        f"{found[0]['megabytes']:.1f}",
        f"{found[0]['words_per_second']:,}",
        found[0].get("bytes_per_token", ""),
    ]
    return [str(cell) for cell in cells]


def gain(key: Key, found: Sequence[Result], rows: Mapping[Key, Sequence[Result]]) -> str:
    """RETURNS (str): How much higher the test score is than that of the same student, after as many
    updates, of the annotation alone."""
    alone = {
        result["seed"]: result["test"]
        for other, results in rows.items()
        if (*other[:4], other[-1]) == (*key[:3], GOLD, key[-1])
        for result in results
    }
    gains = [run["test"] - alone[run["seed"]] for run in found if run["seed"] in alone]
    if not gains or key[3] == GOLD:
        return ""
    return f"{mean(gains):+.2f}".replace("-", "\u2212")


def draw(corpus: str, rows: Mapping[Key, Sequence[Result]]) -> str:
    """RETURNS (str): The test scores on a corpus by the number of sentences of which a teacher says
    what it thinks, with the range over seeds, and those of the annotation alone."""
    own = {key: found for key, found in rows.items() if key[0] == corpus and key[1] != TEACHER}
    sizes = sorted(
        run["sentences"] for found in own.values() for run in found if "sentences" in run
    )
    usual = Counter(key[-1] for key in own).most_common(1)[0][0]
    series: dict[str, list[Point]] = {}
    bands: dict[str, list[Point]] = {}
    owners: dict[str, str] = {}
    for key, found in sorted(own.items(), key=lambda item: item[1][0].get("sentences", 0)):
        _, student, width, texts, teacher, share, temperature, best, select, updates = key
        if (share, temperature, best, select, updates) != (0.5, 1.0, None, None, usual):
            continue
        owner = f"{student} {width}"
        name = f"{owner}, {teacher or GOLD}"
        owners[name] = owner
        scores = [result["test"] for result in found]
        for place in (sizes[0], sizes[-1]) if texts == GOLD else (found[0]["sentences"],):
            series.setdefault(name, []).append((place, mean(scores)))
            bands.setdefault(name, []).append((min(scores), max(scores)))
    return line_plot(series, "sentences", "test score", corpus, bands=bands, owners=owners)


def speed_table(result: Result) -> list[str]:
    """RETURNS (List[str]): The lines of a table of speeds, see `benchmarks.distill_speed`."""
    pipelines = result["pipelines"]
    slowest = min(own["words_per_second"] for own in pipelines.values())
    rows = []
    for name, own in pipelines.items():
        speed = own["words_per_second"]
        rows.append([name, f"{speed:,}", f"{speed / slowest:.1f}", str(own["megabytes"])])
    return [
        "",
        f"{result['corpus']}: pipelines that took turns on the same {result['words']:,} words "
        f"(`python -m benchmarks.distill_speed`, {result['machine']['processor']}).",
        *table(["pipeline", "words/s", "times the slowest", "MB"], rows),
    ]
