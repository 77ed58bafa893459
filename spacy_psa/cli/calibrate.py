"""`spacy psa calibrate`: fit the temperature of a trained component to held-out data."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..atomic_files import atomic_folder
from ..errors import Errors
from ..terminal import ProgressBar, msg, show
from ._options import CodeOption, ComponentOption, ForceOption, GpuOption, ModelArgument
from ._outputs import DRAWINGS, check_outputs, check_pipeline_folder, save_drawing
from ._predictions import get_tagger, join_names, load_tagger, read_data, use_gpu, words_alone
from ._util import TRAIN, atomic_path, check_writable, psa_cli, user_errors

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

    from ..calibration.fitting import Calibration
    from ..calibration.held_out import HeldOut
    from ..figures.tables import Table


TERMS = (
    "NLL: negative log-likelihood of the gold labels. ECE, expected calibration error: the mean "
    "difference between confidence and accuracy. Brier score: the mean squared difference between "
    "confidence and outcome, 1 or 0. Lower is better for all three."
)


class Unit(str, Enum):
    """What a temperature is fitted to."""

    sequences = "sequences"
    spans = "spans"
    tokens = "tokens"


@psa_cli.command("calibrate", rich_help_panel=TRAIN)
def calibrate_cli(
    model: ModelArgument,
    data: Annotated[
        list[Path],
        typer.Argument(metavar="DEV...", help="Held-out .spacy files, or folders of them"),
    ],
    component: ComponentOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Output folder; by default, that of MODEL"),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", "-p", help="Reliability diagram: .html, .svg or .png"),
    ] = None,
    unit: Annotated[
        Unit,
        typer.Option(
            "--fit",
            "-f",
            help="What to calibrate: gold label sequences, predicted spans or predicted tokens",
        ),
    ] = Unit.sequences,
    gpu_id: GpuOption = -1,
    bins: Annotated[
        int,
        typer.Option(
            "--bins", help="Number of bins in the calibration error and the diagram", min=1
        ),
    ] = 10,
    force: ForceOption = False,
    code_path: CodeOption = None,
) -> None:
    """
    Fit the probabilities of a psa_tagger to held-out data. What is fitted is its temperature.

    The pipeline predicts from the words of DEV, without its annotation. The quality of the
    probabilities is printed before and after. The best labels stay the same, unless the component
    has rules with finite scores, whose weight relative to the model's scores changes.
    """
    with user_errors():
        check_outputs([] if plot is None else [plot], DRAWINGS, charts=DRAWINGS)
        use_gpu(gpu_id)
        nlp, name = load_tagger(model, component)
        check_folder(output, nlp.path, plot, force=force)
        gold = read_data(data, nlp.vocab)
        found = calibrate(nlp, name, gold, join_names(data), unit=unit.value)
        print_calibration(found, n_bins=bins)
        if plot is not None:
            from ..calibration.reliability import draw_calibration

            table, _ = calibration_table(found, n_bins=bins)
            save_drawing(
                plot,
                draw_calibration(found, n_bins=bins),
                f"Calibration of {name}",
                intro=f"On {found.fit.n_chains} sentences, the temperature that fits is "
                f"{found.fit.temperature:.4f}; it was {found.initial:.4f}.",
                tables=[table],
            )
            msg.good(f"Saved the reliability diagram to {plot}")
        path = save_temperature(nlp, name, found.fit.temperature, output, force=force)
        msg.good(f"Saved the temperature {found.fit.temperature:.4f} of '{name}' in {path}")


def calibrate(
    nlp: Language, name: str, gold: Sequence[Doc], source: str, *, unit: str = "sequences"
) -> Calibration:
    """Fit the temperature of a component. Neither the component nor the documents are modified."""
    from ..calibration.fitting import Calibration, fit
    from ..calibration.held_out import confidences
    from ..evaluation.layers import make_layer

    component = get_tagger(nlp, name)
    layer = make_layer(component.cfg["target"], component.cfg["spans_key"])
    if not any(len(doc) and layer.is_annotated(doc) for doc in gold):
        keys = ", ".join(sorted({key for doc in gold for key in doc.spans})) or "none"
        raise ValueError(
            Errors.P348.format(n=len(gold), path=source, layer=layer.name, name=name, keys=keys)
        )
    initial = component.cfg["temperature"]
    batches = predict(nlp, name, gold)
    with ProgressBar(desc="Fitting", unit=" steps", disable=None, leave=False) as progress:

        def tell(temperature: float, loss: float) -> None:
            progress.set_postfix_str(f"T = {temperature:.4f}, loss = {loss:.4f}", refresh=False)
            progress.update()

        found = fit(component, batches, unit=unit, on_step=tell)
    before, after = (
        confidences(component, ProgressBar(batches, title, disable=None, leave=False), temperature)
        for title, temperature in (
            ("Comparing before", initial),
            ("Comparing after", found.temperature),
        )
    )
    n_new = sum(batch.n_new for batch in batches)
    return Calibration(name, initial, found, n_new, before, after)


def predict(nlp: Language, name: str, gold: Sequence[Doc]) -> list[HeldOut]:
    """Run a component, and those before it, on the words of documents."""
    from spacy.util import minibatch

    from ..calibration.held_out import hold_out

    component = get_tagger(nlp, name)
    later = nlp.pipe_names[nlp.pipe_names.index(name) :]
    docs = nlp.pipe(words_alone(gold, nlp.vocab), disable=later)
    batches = []
    with ProgressBar(desc="Predicting", total=len(gold), disable=None, leave=False) as progress:
        for pairs in minibatch(zip(docs, gold, strict=True), nlp.batch_size):
            batches.append(hold_out(component, *zip(*pairs, strict=True)))
            progress.update(len(pairs))
    return batches


def calibration_table(found: Calibration, *, n_bins: int) -> tuple[Table, bool]:
    """The quality of the probabilities before and after, and whether the calibration error of what
    was fitted has increased."""
    from ..calibration.reliability import brier_score, expected_calibration_error
    from ..figures.tables import DASH, Table, percent

    fit, worse = found.fit, False
    rows = [
        ["temperature", f"{found.initial:.4f}", f"{fit.temperature:.4f}"],
        ["NLL per sentence (nats)", f"{fit.nll_before:.4f}", f"{fit.nll_after:.4f}"],
    ]
    for unit in found.after:
        sides = [side[unit] for side in (found.before, found.after)]
        args = [(side.confidence, side.correct) for side in sides]
        some = all(len(side.correct) for side in sides)
        errors = [expected_calibration_error(*pair, n_bins=n_bins) for pair in args]
        worse |= unit == found.unit and errors[1] > errors[0]
        briers = [f"{brier_score(*pair):.4f}" for pair in args]
        confident = right = [DASH, DASH]
        if some:
            confident, right = (
                [percent(a.mean()) for a in column] for column in zip(*args, strict=True)
            )
        rows += [
            [f"{unit}: correct (%)", *right],
            [f"{unit}: mean confidence (%)", *confident],
            [f"{unit}: ECE (%)", *map(percent, errors)],
            [f"{unit}: Brier score", *(briers if some else [DASH, DASH])],
        ]
    return Table("Before and after", ["", "before", "after"], rows, note=TERMS), worse


def print_calibration(found: Calibration, *, n_bins: int) -> None:
    """Print the quality of the probabilities before and after."""
    table, worse = calibration_table(found, n_bins=n_bins)
    fit = found.fit
    msg.divider(f"Calibration of {found.component}")
    show(table.to_text())
    show(f"Sentences used: {fit.n_chains}{_left_out(found)}.")
    if worse:
        msg.warn(
            f"The calibration error of {found.unit} has increased. Predicted and missed "
            f"{found.unit} call for different temperatures: --fit {found.unit} uses only those "
            "that are predicted."
        )
    if fit.at_bound:
        msg.warn(
            f"The temperature {fit.temperature:g} is the limit of the range, and the best one may "
            "lie beyond. The data may be too easy, too small, or part of the training data."
        )


def _left_out(found: Calibration) -> str:
    reasons = {
        "without annotation": found.fit.n_unknown - found.n_new,
        "with labels unknown to the component": found.n_new,
        "whose annotation violates the tag scheme or rules": found.fit.n_impossible,
    }
    told = [f"{n} {reason}" for reason, n in reasons.items() if n]
    return f"; left out: {', '.join(told)}" if told else ""


def check_folder(
    output: Path | None, source: Path, plot: Path | None = None, *, force: bool = False
) -> None:
    """Check a pipeline's output folder before the work begins."""
    if output is None or output.resolve() == source.resolve():
        check_writable(source / "config.cfg")
    else:
        check_pipeline_folder(output, [source], force=force, message=Errors.P349)
        if plot is not None and plot.resolve().is_relative_to(output.resolve()):
            problem = f"it would contain '{plot}'"
            raise ValueError(Errors.P349.format(path=output, problem=problem, force=""))


def save_temperature(
    nlp: Language, name: str, temperature: float, output: Path | None, *, force: bool = False
) -> Path:
    """Save the temperature of a component atomically."""
    import srsly

    source = nlp.path.resolve()
    cfg = {**srsly.read_json(source / name / "cfg"), "temperature": temperature}
    folder = source if output is None else output.resolve()
    check_folder(folder, source, force=force)
    if folder == source:
        with atomic_path(source / name / "cfg") as temporary:
            srsly.write_json(temporary, cfg)
    else:
        with atomic_folder(folder) as temporary:
            # Copy the folder: the loaded vocabulary has the strings of held-out words by now
            shutil.copytree(source, temporary)
            srsly.write_json(temporary / name / "cfg", cfg)
    return folder
