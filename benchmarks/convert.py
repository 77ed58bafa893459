"""Speed of corpus conversion, compared with `spacy convert` on the same files.

    python -m benchmarks.convert

Both convert each file in interleaved runs (A B A B …) in one process; figures are medians of
processor time, which depends little on the load of the machine. Two stages of our conversion are
also timed: reading alone, and reading into `Doc` objects, as in training from the original file.
The corpora are WNUT-17 and UD English EWT from $PSA_SHARED/corpora if that is set; otherwise they
are built from the sample corpus.

Then each corpus in $PSA_SHARED/corpora is converted with all its annotation and with each target
alone, and exported if its format can be written. spaCy has no converter for most of them.
"""

import argparse
import contextlib
import gzip
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from spacy.cli.convert import convert as spacy_convert
from spacy.vocab import Vocab

from spacy_psa.cli.convert import convert as psa_convert
from spacy_psa.cli.export import export as psa_export
from spacy_psa.corpora.docs import make_docs
from spacy_psa.corpora.export import WRITERS
from spacy_psa.corpora.formats import TARGETS, get_format

from .machine import describe_machine

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
SAMPLE = ROOT / "assets" / "sample" / "train.conll"
MIN_LINES = 50_000
# Name, format, and path in the folder of corpora (of two files read together, the first)
CORPORA = (
    ("CoNLL-2000, training data", "conll2000", "conll2000/train.txt"),
    ("WNUT-17, training data", "iob", "wnut17/wnut17train.conll"),
    ("NCBI disease, training data", "iob", "ncbi_disease/train.tsv"),
    ("Brown, test data, gzip", "tagged", "brown_pos/test.tsv.gz"),
    ("UD English EWT 2.2, development data", "conllu", "ud_en_ewt_2.2/en_ewt-ud-dev.conllu"),
    (
        "UD French Sequoia 2.2, training data",
        "conllu",
        "ud_fr_sequoia_2.2/fr_sequoia-ud-train.conllu",
    ),
    ("UD Czech CLTT 2.2, training data", "conllu", "ud_cs_cltt_2.2/cs_cltt-ud-train.conllu"),
    ("PropBank on EWT, words and props, development data", "conll2005", "ewt_srl/dev.words"),
    ("PropBank on EWT, development data", "conll2012", "ewt_srl/dev.gold_conll"),
)
COMMANDS = ("spacy convert", "spacy psa convert", "spacy_psa convert")
ALL = "all"


@dataclass(frozen=True)
class Case:
    """A file to convert.

    name (str): A description.
    path (Path): The file.
    form (str): The name of our format.
    converter (str): The name of spaCy's converter.
    """

    name: str
    path: Path
    form: str
    converter: str


def main() -> None:
    """Run the benchmark, and write `convert.json` and `convert.md`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5, help="repetitions of each")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cases = make_cases(Path(folder))
        results = {
            "machine": describe_machine(),
            "repetitions": arguments.repeat,
            "cases": [run_case(case, Path(folder), arguments.repeat) for case in cases],
            "corpora": run_corpora(Path(folder), arguments.repeat),
            "start_up_seconds": time_start_up(arguments.repeat),
        }
    arguments.output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2) + "\n"
    (arguments.output / "convert.json").write_text(text, encoding="utf8")
    markdown = to_markdown(results)
    (arguments.output / "convert.md").write_text(markdown, encoding="utf8")
    print(markdown)


def make_cases(folder: Path) -> list[Case]:
    """Write the files to convert, repeating their text until they are long enough to time.

    folder (Path): The folder to write to.
    RETURNS (List[Case]): Files with named entities in four and in two columns, and CoNLL-U.
    """
    corpora = _corpora()
    sample = SAMPLE.read_text(encoding="utf8")
    sentences = [block.split("\n") for block in sample.strip().split("\n\n")]
    rows = [[line.split() for line in lines] for lines in sentences if len(lines) > 1]
    wnut, ewt = corpora / "wnut17" / "wnut17train.conll", corpora / "ud_en_ewt_2.2"
    two = "".join("".join(f"{r[0]} {r[3]}\n" for r in s) + "\n" for s in rows)
    conllu = "".join(
        "".join(f"{i}\t{r[0]}\t_\tX\t{r[1]}\t_\t0\troot\t_\t_\n" for i, r in enumerate(s, 1)) + "\n"
        for s in rows
    )
    names = ["sample corpus, 4 columns", "sample corpus, 2 columns", "sample corpus, CoNLL-U"]
    if wnut.is_file():
        # spaCy's converter reads a line with only a tab as a token
        lines = wnut.read_text(encoding="utf8").splitlines()
        two = "".join(f"{line.strip()}\n" for line in lines) + "\n"
        names[1] = "WNUT-17 training data, 2 columns"
    if ewt.is_dir():
        conllu = (ewt / "en_ewt-ud-dev.conllu").read_text(encoding="utf8")
        names[2] = "UD English EWT 2.2 development data, CoNLL-U"
    cases: list[Case] = []
    for name, text, form, converter in zip(
        names,
        (sample.rstrip("\n") + "\n\n", two, conllu),
        ("conll2003", "iob", "conllu"),
        ("ner", "ner", "conllu"),
        strict=True,
    ):
        path = folder / f"{len(cases)}.{'conllu' if form == 'conllu' else 'conll'}"
        path.write_text(text * (1 + MIN_LINES // text.count("\n")), encoding="utf8")
        cases.append(Case(name, path, form, converter))
    return cases


def run_case(case: Case, folder: Path, repeat: int) -> dict[str, Any]:
    """Time the conversion of a file.

    case (Case): The file.
    folder (Path): The output folder.
    repeat (int): The number of repetitions.
    RETURNS (Dict[str, Any]): The number of lines, and the median, lowest and highest lines per
        second of each function.
    """
    form = get_format(case.form)

    def read() -> None:
        for _ in form.read(case.path):
            pass

    def make() -> None:
        for _ in make_docs(Vocab(), form.read(case.path)):
            pass

    def ours() -> None:
        psa_convert(case.path, folder / "psa.spacy", form=case.form)

    def theirs() -> None:
        spacy_convert(
            case.path, folder, file_type="spacy", n_sents=1, converter=case.converter, silent=True
        )

    n_lines = case.path.read_bytes().count(b"\n")
    timed = {"spacy convert": theirs, "psa convert": ours, "read": read, "read into Docs": make}
    rates = _rates(timed, n_lines, repeat)
    return {"name": case.name, "lines": n_lines, "lines_per_second": rates}


def run_corpora(folder: Path, repeat: int) -> list[dict[str, Any]]:
    """Time conversion by target, and export, for the corpora that are available.

    folder (Path): The output folder.
    repeat (int): The number of repetitions.
    RETURNS (List[Dict[str, Any]]): For each corpus its name, format and number of lines, and the
        lines per second for each target, for all annotation, and for export.
    """
    found = []
    for name, form, place in CORPORA:
        path = _corpora() / place
        if not path.is_file():
            continue
        stats = psa_convert(path, folder / "psa.spacy", form=form)
        targets = [target for target, layer in TARGETS.items() if stats.has(layer)]
        timed: dict[str, Callable[[], Any]] = {
            target: partial(
                psa_convert,
                path,
                folder / "psa.spacy",
                form=form,
                targets=[target] * (target != ALL),
            )
            for target in (*targets, ALL)
        }
        if form in WRITERS:
            # The last conversion was with all annotation
            timed["export"] = partial(
                psa_export, folder / "psa.spacy", folder / "exported", form=form
            )
        n_lines = sum(_count_lines(file_) for file_ in {path, _other_half(path)})
        rates = _rates(timed, n_lines, repeat)
        found.append({"name": name, "format": form, "lines": n_lines, "lines_per_second": rates})
    return found


def time_start_up(repeat: int) -> dict[str, float]:
    """Time the startup of the commands, which is mostly the import of spaCy.

    repeat (int): The number of repetitions.
    RETURNS (Dict[str, float]): The median seconds of processor time for each command.
    """
    seconds: dict[str, list[float]] = {}
    for _ in range(repeat):
        for command in COMMANDS:
            before = os.times()
            subprocess.run(
                [sys.executable, "-m", *command.split(), "--help"], check=True, capture_output=True
            )
            after = os.times()
            children = (after.children_user + after.children_system) - (
                before.children_user + before.children_system
            )
            seconds.setdefault(command, []).append(children)
    return {command: round(statistics.median(times), 2) for command, times in seconds.items()}


def _corpora() -> Path:
    return Path(os.environ.get("PSA_SHARED", "")) / "corpora"


def _other_half(path: Path) -> Path:
    """The propositions file of a words file; any other file itself."""
    return path.with_suffix(".props") if path.suffix == ".words" else path


def _count_lines(path: Path) -> int:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).count(b"\n")


def _rates(
    timed: dict[str, Callable[[], Any]], n_lines: int, repeat: int
) -> dict[str, dict[str, int]]:
    """Lines per second of each function, in interleaved runs."""
    seconds: dict[str, list[float]] = {}
    for _ in range(repeat):
        for name, function in timed.items():
            seconds.setdefault(name, []).append(_time(function))
    return {
        name: {
            "median": round(n_lines / statistics.median(times)),
            "lowest": round(n_lines / max(times)),
            "highest": round(n_lines / min(times)),
        }
        for name, times in seconds.items()
    }


def _time(function: Callable[[], Any]) -> float:
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        start = time.process_time()
        function()
        return time.process_time() - start


def to_markdown(results: dict[str, Any]) -> str:
    """Format the results as a page.

    results (Dict[str, Any]): The results, as `main` writes them to JSON.
    RETURNS (str): Markdown.
    """
    machine = results["machine"]
    names = list(results["cases"][0]["lines_per_second"])
    rows = [["corpus", "lines", *names, "ratio"], ["---", *["---:"] * (len(names) + 2)]]
    for case in results["cases"]:
        rates = {name: rate["median"] for name, rate in case["lines_per_second"].items()}
        ratio = rates["psa convert"] / rates["spacy convert"]
        cells = [_thousands(rates[name]) for name in names]
        rows.append([case["name"], f"{case['lines']:,}", *cells, f"{ratio:.2f}"])
    text = (
        "# Corpus conversion\n\nGenerated by `python -m benchmarks.convert`. Thousands of lines "
        f"per second of processor time, medians of {results['repetitions']} interleaved runs in "
        "one process. 'Ratio' is the speed of `psa convert` divided by that of `spacy convert`."
        f"\n\n{machine['processor']}, {machine['cores']} cores, "
        f"{machine['system']}, Python {machine['python']}, spaCy {machine['spacy']}\n\n"
        + _table(rows)
    )
    if results["corpora"]:
        names = [*TARGETS, ALL, "export"]
        rows = [["corpus", "format", "lines", *names], ["---", "---", *["---:"] * (len(names) + 1)]]
        for corpus in results["corpora"]:
            rates = corpus["lines_per_second"]
            cells = [_thousands(rates[name]["median"]) if name in rates else "" for name in names]
            rows.append([corpus["name"], corpus["format"], f"{corpus['lines']:,}", *cells])
        text += (
            "\n`psa convert` with each `--target` and with all annotation, and `psa export` of all "
            "annotation back to the original format. Lines are counted in all input files, "
            "uncompressed.\n\n" + _table(rows)
        )
    starts = results["start_up_seconds"]
    seconds = ", ".join(f"{value:.1f} s for `{name}`" for name, value in starts.items())
    return f"{text}\nThese times exclude the startup of the command with its imports: {seconds}.\n"


def _thousands(rate: float) -> str:
    return f"{rate / 1000:,.0f}"


def _table(rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    main()
