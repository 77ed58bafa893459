"""The cost of partial annotation, with and without models that can learn from it.

    python -m benchmarks.partial --train corpus/conll2000/train.spacy \
        --dev corpus/conll2000/dev.spacy --test corpus/conll2000/test.spacy \
        --config configs/bilstm-crf-spans.cfg --vectors vectors/en

A share of the training tokens is hidden (`--shares`, half by default), in one of three designs:

- `tokens`: each span and each token outside of spans, with the same probability. This is the
  obvious design, but leaves hardly any complete sentence.
- `stretches`: stretches of running text, as if annotators stop and continue elsewhere. This leaves
  about one sentence in ten complete, so that there is data to train on without the others.
- `sentences`: whole sentences. For comparison, this is the same amount of annotation in complete
  sentences.

Then pipelines are trained

- on all annotation,
- on the remaining annotation of each design, where hidden tokens may have any label,
- on the complete sentences of each design,
- on each design with hidden tokens treated as outside of spans.

With `--as-tags`, spans are learned as BIO tags, and the design `tokens` hides each token
independently of its tag. Only in this design does what is hidden say nothing about the truth: if
whole chunks are hidden, a gap of several tokens is more likely to be one chunk than several, each
of which would have had its own chance to be seen.

All pipelines are trained with the same config and seed for the same number of updates, regardless
of the number of sentences. The best model on the development set, which is complete, is scored.
Since `doc.spans` cannot mark tokens as unannotated, spans of that target are learned as entities in
all runs; the model's tags are the same.

Runs that were already trained with the same settings in the folder of runs are not repeated.
"""

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from thinc.api import Config

from spacy_psa.cli.conlleval import score_docbins
from spacy_psa.figures.charts import line_plot

from . import hiding
from .hiding import ALL, run_name
from .machine import describe_machine

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
DESIGNS = ("tokens", "stretches", "sentences")
SHARES = (0.5,)
FAR = 10.0  # Runs that lose more are in the table, but not in the plot
TITLE = "Learning from partial annotation"
PATHS = ("train", "dev", "test")
SCORED = {"tags of spans": "bio"}  # targets that `psa conlleval` names differently
SCORE_WEIGHTS = {"tag": {"tag_acc": 1.0}, "ents": {"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0}}


def main() -> None:
    """Train missing runs, and write `partial.json`, `partial.md` and `partial.svg`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for part in PATHS:
        parser.add_argument(f"--{part}", type=Path, required=True, metavar="FILE.spacy")
    parser.add_argument("--config", type=Path, required=True, help="config to train with")
    parser.add_argument("--vectors", type=str, help="pretrained vectors, as for spacy train")
    parser.add_argument("--hide", nargs="+", choices=DESIGNS, default=list(DESIGNS))
    parser.add_argument(
        "--shares", nargs="+", type=share, default=list(SHARES), help="shares of tokens to hide"
    )
    parser.add_argument("--only", nargs="+", metavar="RUN", help="names of runs; default: all")
    parser.add_argument("--epochs", type=int, default=8, help="epochs over the complete data")
    parser.add_argument("--seed", type=int, default=0, help="for hiding and training")
    parser.add_argument("--as-tags", action="store_true", help="learn spans as BIO tags")
    parser.add_argument("--name", default="partial", help="name of the files of results")
    parser.add_argument("--runs", type=Path, default=ROOT / "training" / "partial")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args()
    config = Config().from_disk(arguments.config, interpolate=False)
    target, spans_key = find_target(config)
    data = {part: read(getattr(arguments, part), target, spans_key) for part in PATHS}
    scored = target = "tag" if target == "tag" else "ents"
    if arguments.as_tags and target == "ents":
        data = {part: hiding.as_tags(docs) for part, docs in data.items()}
        target, scored = "tag", "tags of spans"
    made = hiding.make_runs(data["train"], target, arguments.hide, arguments.shares, arguments.seed)
    unknown = sorted(set(arguments.only or ()) - made.keys())
    if unknown:
        raise SystemExit(f"There is no run {', '.join(unknown)}. Runs: {', '.join(made)}.")
    n_updates = updates_per_epoch(config, len(data["train"]))
    settings = {
        "config": arguments.config.name,
        "vectors": arguments.vectors and Path(arguments.vectors).name,
        "target": scored,
        "data": arguments.train.parent.name,
        "epochs": arguments.epochs,
        "updates": n_updates * arguments.epochs,
        "seed": arguments.seed,
    }
    folder = arguments.runs
    files = {part: write(folder / f"{part}.spacy", data[part]) for part in ("dev", "test")}
    results: dict[str, Any] = {"machine": describe_machine(), **settings, "runs": {}}
    for name, docs in made.items():
        if arguments.only and name not in arguments.only:
            continue
        files["train"] = write(folder / name / "train.spacy", docs)
        adapted = adapt(
            config,
            files,
            vectors=arguments.vectors,
            seed=arguments.seed,
            epochs=arguments.epochs,
            updates=n_updates,
            target=target,
        )
        scores = train(folder / name, adapted, files, SCORED.get(scored, scored), settings)
        results["runs"][name] = {
            "sentences": len(docs),
            "tokens": sum(map(len, docs)),
            "annotated": hiding.count_annotated(docs),
            **scores,
        }
        save(results, arguments.output, arguments.name)
    print((arguments.output / f"{arguments.name}.md").read_text(encoding="utf8"))


def share(text: str) -> float:
    """Parse a share of tokens.

    text (str): The argument.
    RETURNS (float): The share.
    RAISES (argparse.ArgumentTypeError): If it is not between 0 and 1.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above 0 and below 1.")
    return value


def find_target(config: Config) -> tuple[str, str]:
    """Find the target of a config.

    config (Config): The config.
    RETURNS (Tuple[str, str]): The target of its `psa_tagger`, and the key of `doc.spans`.
    """
    component = _component(config)
    target = component.get("target", "tag")
    if target not in ("tag", "ents", "spans"):
        raise SystemExit(f"The target is '{target}'. Choose a config for tag, ents or spans.")
    return target, component.get("spans_key", "sc")


def read(path: Path, target: str, spans_key: str) -> list[Doc]:
    """Read documents with only the annotation to learn. See `plain_docs`."""
    vocab = Vocab()
    docs = list(DocBin().from_disk(path).get_docs(vocab))
    if target == "spans" and not all(spans_key in doc.spans for doc in docs):
        raise SystemExit(f"{path} has documents without doc.spans['{spans_key}'].")
    docs = hiding.plain_docs(docs, target, spans_key, vocab)
    if hiding.count_annotated(docs) < sum(map(len, docs)):
        raise SystemExit(f"{path} has tokens without annotation: all tokens must be annotated.")
    return docs


def write(path: Path, docs: Sequence[Doc]) -> Path:
    """Write documents to a file. RETURNS (Path): The file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    DocBin(docs=docs).to_disk(path)
    return path


def updates_per_epoch(config: Config, n_docs: int) -> int:
    """The number of updates in an epoch over the complete data."""
    batcher = config["training"]["batcher"]
    if batcher["@batchers"] != "spacy.batch_by_sequence.v1":
        raise SystemExit("Choose a config with batches of sentences: spacy.batch_by_sequence.v1.")
    return math.ceil(n_docs / batcher["size"])


def adapt(
    config: Config,
    files: dict[str, Path],
    *,
    vectors: str | None,
    seed: int,
    epochs: int,
    updates: int,
    target: str,
) -> Config:
    """Adapt a config to a run.

    config (Config): The config.
    files (Dict[str, Path]): The files with training and development data.
    vectors (Optional[str]): The pretrained vectors.
    seed (int): The seed.
    epochs (int): The number of epochs.
    updates (int): The number of updates in an epoch over the complete data. Runs have the same
        number of updates, so that they make more passes over less data.
    target (str): The target annotated in the training data: "tag" or "ents".
    RETURNS (Config): The config of the run.
    """
    config = config.copy()
    component, training = _component(config), config["training"]
    config["paths"].update(
        train=str(files["train"].resolve()), dev=str(files["dev"].resolve()), vectors=vectors
    )
    config["system"]["seed"] = seed
    training.update(max_epochs=0, max_steps=epochs * updates, eval_frequency=updates, patience=0)
    rate = training["optimizer"].get("learn_rate")
    if isinstance(rate, dict) and "steps_per_epoch" in rate:
        rate["steps_per_epoch"] = updates
    if component["target"] != target:
        component["target"] = target
        training["score_weights"] = dict(SCORE_WEIGHTS[target])
    return config


def train(
    folder: Path, config: Config, files: dict[str, Path], target: str, settings: dict[str, Any]
) -> dict[str, float]:
    """Train and score a pipeline, unless this was done before with the same settings.

    folder (Path): The folder of the run.
    config (Config): The config of the run.
    files (Dict[str, Path]): The files with development and test data.
    target (str): The target to score.
    settings (Dict[str, Any]): Everything that the scores depend on besides the data.
    RETURNS (Dict[str, float]): F1 as computed by conlleval on both sets, in percent. For tags, this
        is the accuracy.
    """
    done, path = folder / "scores.json", folder / "config.cfg"
    if done.is_file() and path.read_text(encoding="utf8") == config.to_str():
        before = json.loads(done.read_text(encoding="utf8"))
        if before["settings"] == settings:
            return before["scores"]
    done.unlink(missing_ok=True)
    config.to_disk(path)
    run_spacy_train(folder)
    scores = {
        part: round(
            100 * score_docbins(files[part], folder / "model-best", target=target).chunks.f1, 2
        )
        for part in ("dev", "test")
    }
    text = json.dumps({"settings": settings, "scores": scores}, indent=2)
    done.write_text(text + "\n", encoding="utf8")
    return scores


def run_spacy_train(folder: Path) -> None:
    """Train in a separate process.

    folder (Path): The folder with `config.cfg`, to which `model-best`, `model-last` and `train.log`
        are written.
    """
    command = [sys.executable, "-m", "spacy", "train", str(folder / "config.cfg")]
    with (folder / "train.log").open("w", encoding="utf8") as log:
        run = subprocess.run(
            [*command, "--output", str(folder)], stdout=log, stderr=subprocess.STDOUT
        )
    if run.returncode:
        raise SystemExit(f"The training failed, see {folder / 'train.log'}.")


def save(results: dict[str, Any], output: Path, name: str) -> None:
    """Write the results so far.

    results (Dict[str, Any]): The settings, and the results by run.
    output (Path): The output folder.
    name (str): The name of the files.
    """
    output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2) + "\n"
    (output / f"{name}.json").write_text(text, encoding="utf8")
    (output / f"{name}.md").write_text(to_markdown(results, name), encoding="utf8")
    (output / f"{name}.svg").write_text(to_picture(results), encoding="utf8")


def to_markdown(results: dict[str, Any], picture: str = "partial") -> str:
    """Format the results as a page.

    results (Dict[str, Any]): The results, as `save` writes them to JSON.
    picture (str): The name of the plot.
    RETURNS (str): Markdown, with a table of the runs and a summary.
    """
    runs, name = results["runs"], _score_name(results)
    learnt = ", spans learned as tags" if results["target"] == "tags of spans" else ""
    lines = [
        f"# {TITLE}",
        "",
        f"Generated by `python -m benchmarks.partial`: `{results['config']}` on {results['data']}"
        f"{learnt}, {'vectors ' + results['vectors'] if results['vectors'] else 'no vectors'}, "
        f"{results['updates']:,} updates per run ({results['epochs']} epochs over the complete "
        f"data), seed {results['seed']}; test set {name} of the best model on the development set.",
        "",
        f"| run | hidden | sentences | tokens | annotated | dev {name} | test {name} | lost |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for run, r in runs.items():
        lost = f"{_lost(runs, run):.2f}" if ALL in runs else ""
        percent, described = describe(run)
        lines.append(
            f"| {described} | {percent:g} % | {r['sentences']:,} | {r['tokens']:,} | "
            f"{r['annotated']:,} | {r['dev']:.2f} | {r['test']:.2f} | {lost} |"
        )
    lines += ["", f"![The test scores]({picture}.svg)"]
    for percent, design in sorted({(p, d) for p, d, _ in map(parse, runs) if d}):
        pair = [run_name(design, percent / 100, t) for t in ("unknown", "complete")]
        if ALL in runs and all(run in runs for run in pair):
            unknown, complete = (_lost(runs, run) for run in pair)
            share = f", {100 * unknown / complete:.0f}% of that" if complete > 0 else ""
            lines += [
                "",
                f"With {percent:g} % hidden in {design}, dropping incomplete sentences loses "
                f"{complete:.2f}; learning from them as they are loses {unknown:.2f}{share}.",
            ]
    return "\n".join(lines) + "\n"


def to_picture(results: dict[str, Any]) -> str:
    """Plot the test scores.

    results (Dict[str, Any]): The results, as `save` writes them to JSON.
    RETURNS (str): An SVG plot with a line for each design and treatment over the hidden share. Runs
        that lose more than `FAR` are omitted.
    """
    runs = results["runs"]
    begin = [(0.0, runs[ALL]["test"])] if ALL in runs else []
    series: dict[str, list[tuple[float, float]]] = {}
    for run, r in runs.items():
        percent, described = describe(run)
        if run != ALL and not (begin and _lost(runs, run) > FAR):
            series.setdefault(described, list(begin)).append((percent, r["test"]))
    lines = {name: sorted(points) for name, points in series.items()}
    if not lines:
        lines = {describe(ALL)[1]: begin}
    name = _score_name(results)
    return line_plot(lines, "tokens hidden (%)", f"test {name}", TITLE, x_range=(0.0, 100.0))


def parse(run: str) -> tuple[float, str, str]:
    """RETURNS (Tuple[float, str, str]): The hidden percentage, the design and the treatment of a
    run, given its name."""
    if run == ALL:
        return 0.0, "", ""
    design, percent, treatment = run.split("-")
    return float(percent), design, treatment


def describe(run: str) -> tuple[float, str]:
    """RETURNS (Tuple[float, str]): The hidden percentage, and a description of a run."""
    percent, design, treatment = parse(run)
    if run == ALL:
        return percent, "nothing hidden"
    return percent, f"hidden {design}: {hiding.TREATMENTS[treatment][1]}"


def _lost(runs: dict[str, Any], run: str) -> float:
    return runs[ALL]["test"] - runs[run]["test"]


def _score_name(results: dict[str, Any]) -> str:
    return "accuracy" if results["target"] == "tag" else "F1"


def _component(config: Config) -> dict[str, Any]:
    found = [c for c in config["components"].values() if c.get("factory") == "psa_tagger"]
    if len(found) != 1:
        raise SystemExit("Choose a config with one component 'psa_tagger'.")
    return found[0]


if __name__ == "__main__":
    main()
