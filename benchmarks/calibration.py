"""Calibration of trained pipelines on real corpora, before and after temperature scaling.

    python -m benchmarks.calibration RUNS --data chunk=corpus/conll2000 --data wnut=corpus/wnut17

RUNS contains trained pipelines <system>-<task>/model-best. The temperature is fitted on dev.spacy
in the task's folder; all figures are for test.spacy, which is held out. Pipelines are not modified.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import spacy
from thinc.api import Config

from spacy_psa.calibration.fitting import SEQUENCES, fit
from spacy_psa.calibration.held_out import confidences
from spacy_psa.calibration.reliability import (
    THRESHOLDS,
    brier_score,
    expected_calibration_error,
    precision_recall_by_threshold,
    reliability,
    reliability_diagram,
    threshold_plot,
)
from spacy_psa.cli._predictions import get_tagger, read_data
from spacy_psa.cli.calibrate import predict
from spacy_psa.figures.images import stack

from .machine import describe_machine
from .systems import RESULTS

NAME = "calibration"
COMPONENT = "psa_tagger"
IN_TABLE = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


def main() -> None:
    """Run the benchmark, and write `calibration.json`, `calibration.md` and the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, help="folder of trained pipelines")
    parser.add_argument("--data", action="append", required=True, metavar="TASK=FOLDER")
    parser.add_argument("--system", default="bilstm-crf", help="the system of the pipelines")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the results")
    arguments = parser.parse_args()
    folder = arguments.output / NAME
    folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {"machine": describe_machine(), "system": arguments.system}
    results["data"] = {}
    for task, _, data in (item.partition("=") for item in arguments.data):
        run = arguments.runs / f"{arguments.system}-{task}" / "model-best"
        found, picture = measure(run, Path(data))
        results["data"][Path(data).name] = found
        (folder / f"{Path(data).name}.svg").write_text(picture, encoding="utf8")
    text = json.dumps(results, indent=2) + "\n"
    (arguments.output / f"{NAME}.json").write_text(text, encoding="utf8")
    markdown = to_markdown(results)
    (arguments.output / f"{NAME}.md").write_text(markdown, encoding="utf8")
    print(markdown)


def length_of(training: dict[str, Any]) -> str:
    """RETURNS (str): How long a pipeline is trained, by the section of its config."""
    epochs = training["max_epochs"]
    return f"{epochs} epochs" if epochs > 0 else f"at most {training['max_steps']:,} updates"


def measure(model: Path, data: Path) -> tuple[dict[str, Any], str]:
    """Fit the temperature of a pipeline on dev.spacy, and evaluate its effect on test.spacy.

    model (Path): A pipeline whose component predicts spans.
    data (Path): The folder with dev.spacy and test.spacy.
    RETURNS (Tuple[Dict[str, Any], str]): The results, and a figure as SVG.
    """
    nlp = spacy.load(model)
    component = get_tagger(nlp, COMPONENT)
    dev, test = (
        predict(nlp, COMPONENT, read_data([data / f"{part}.spacy"], nlp.vocab))
        for part in ("dev", "test")
    )
    fits = {unit: fit(component, dev, unit=unit) for unit in (SEQUENCES, "spans")}
    sides = {"before": confidences(component, test, component.cfg["temperature"])}
    for unit, fitted in fits.items():
        sides[f"fitted to {unit}"] = confidences(component, test, fitted.temperature)
    found: dict[str, Any] = {
        "training": length_of(Config().from_disk(model / "config.cfg")["training"]),
        "temperatures": [1.0, *(round(fitted.temperature, 4) for fitted in fits.values())],
        "sides": list(sides),
    }
    for unit in ("tokens", "spans"):
        pairs = [(side[unit].confidence, side[unit].correct) for side in sides.values()]
        found[unit] = {
            "right": round(100 * float(pairs[0][1].mean()), 2),
            "confidence": [round(100 * float(confidence.mean()), 2) for confidence, _ in pairs],
            "ECE": [round(100 * expected_calibration_error(*pair), 2) for pair in pairs],
            "Brier": [round(brier_score(*pair), 4) for pair in pairs],
        }
    spans = sides["fitted to spans"]["spans"]
    curve = precision_recall_by_threshold(
        spans.confidence, spans.correct, spans.n_gold, thresholds=IN_TABLE
    )
    found["thresholds"] = [
        [round(float(value), 4) for value in row]
        for row in zip(curve.thresholds, curve.precision, curve.recall, curve.f1, strict=True)
    ]
    fine = precision_recall_by_threshold(
        spans.confidence, spans.correct, spans.n_gold, thresholds=THRESHOLDS
    )
    diagrams = {
        name: reliability(side["spans"].confidence, side["spans"].correct)
        for name, side in sides.items()
    }
    title = f"{data.name}, test"
    picture = stack(
        [
            reliability_diagram(diagrams, "spans", title),
            threshold_plot(fine, "spans", f"{title}: spans above a confidence threshold"),
        ]
    )
    return found, picture


def to_markdown(results: dict[str, Any]) -> str:
    """Format the results as a page.

    results (Dict[str, Any]): The results.
    RETURNS (str): Markdown.
    """
    lines = [
        "# Calibration",
        "",
        f"Generated by `python -m benchmarks.calibration` for the system {results['system']}. The "
        "temperature is fitted on the development set; all other figures are for the test set. "
        "Confidence and ECE (10 bins) are in percent.",
    ]
    for data, found in results["data"].items():
        columns = [
            f"{side} (T = {temperature:.2f})"
            for side, temperature in zip(found["sides"], found["temperatures"], strict=True)
        ]
        lines += [
            "",
            f"## {data}",
            "",
            f"Training: {found['training']} ([figure]({NAME}/{data}.svg)).",
            "",
            f"| test set | {' | '.join(columns)} |",
            "| --- |" + " ---: |" * len(columns),
        ]
        for unit in ("tokens", "spans"):
            r = found[unit]
            lines.append(f"| {unit}: right | {' | '.join([format(r['right'], '.2f')] * 3)} |")
            for name, digits in (("confidence", ".2f"), ("ECE", ".2f"), ("Brier", ".4f")):
                cells = " | ".join(format(value, digits) for value in r[name])
                lines.append(f"| {unit}: {name} | {cells} |")
        lines += [
            "",
            "Spans with at least this probability, using the last of these temperatures:",
            "",
            "| threshold | precision | recall | F1 |",
            "| ---: | ---: | ---: | ---: |",
        ]
        for threshold, *scores in found["thresholds"]:
            cells = " | ".join(f"{100 * score:.2f}" for score in scores)
            lines.append(f"| {threshold:.2f} | {cells} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
