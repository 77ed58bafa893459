"""`spacy psa reproduce` and `spacy psa results`: train and score systems with several seeds, and
write the page of results.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import Errors
from ..reproduction.papers import METRICS, read_papers
from ..terminal import msg, show
from ._names import choose_targets
from ._options import CodeOption, GpuOption, LangOption
from ._outputs import check_outputs, save_output, save_text
from ._reproduction_runs import (
    NAME,
    PARTS,
    Plan,
    ReproductionRun,
    data_digests,
    make_runs,
    parse_seeds,
    parse_systems,
    warn_of_other_words,
)
from ._reproduction_scores import score_run, write_environment
from ._templates import text_of
from ._training_files import check_vectors_folder, reads_texts
from ._util import UNSET, check_writable, paper_command, resumable, user_errors
from .train import train

if TYPE_CHECKING:
    from ..figures.tables import Table
    from ..reproduction.results import Result


@paper_command("reproduce")
def reproduce_cli(
    corpus: Annotated[
        str, typer.Option("--corpus-name", "-n", help="Name of the corpus, e.g. conll2000")
    ],
    data: Annotated[
        Path,
        typer.Option("--data", "-d", help="Folder with train.spacy, dev.spacy and test.spacy"),
    ],
    systems: Annotated[
        str,
        typer.Option(
            "--systems",
            "-s",
            help="Systems of psa init-config, their variants in docs/reproduction.md, and "
            "NAME=CONFIG.cfg, separated by spaces",
        ),
    ],
    outputs: Annotated[
        list[Path],
        typer.Option(
            "--output",
            "-o",
            "--results",
            help="JSON file to add the results to; repeatable: a .md file gets the table",
        ),
    ],
    seeds: Annotated[str, typer.Option("--seeds", help="Seeds, separated by spaces")] = "0",
    vectors: Annotated[
        str, typer.Option("--vectors", "-v", help="Folder or package of spaCy vectors")
    ] = "",
    epochs: Annotated[
        int,
        typer.Option("--epochs", "-e", help="Number of epochs; 0 for that of the config", min=0),
    ] = 0,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", help=f"What to annotate: {', '.join(METRICS)}"),
    ] = None,
    task: Annotated[
        str | None, typer.Option("--task", hidden=True, help="--target, in the papers' words")
    ] = None,
    lang: LangOption = "en",
    options: Annotated[
        str,
        typer.Option(
            "--options", help='Settings for all runs: "--components.psa_tagger.name value"'
        ),
    ] = "",
    runs: Annotated[Path, typer.Option("--runs", help="Folder for the runs")] = Path(
        "training/reproduce"
    ),
    gpu_id: GpuOption = -1,
    code_path: CodeOption = None,
) -> None:
    """
    Train systems with several seeds, and score each. What is scored is the best epoch.

    Results are saved after each run. To resume, repeat the same command: finished runs are not
    trained again unless their config, data or --code has changed.
    """
    tables = [path for path in outputs if path.suffix == ".md"]
    if len(outputs) - len(tables) != 1:
        raise typer.BadParameter("give one JSON file for the results", param_hint="--output")
    (results_path,) = set(outputs) - set(tables)
    with user_errors():
        check_outputs(tables, (".md",))
        target = choose_targets([target] if target else [], task)
        plan = make_plan(corpus, target, data, runs, vectors=vectors, epochs=epochs, lang=lang)
        with resumable("To go on, repeat the same command: finished runs are kept"):
            found = reproduce(
                plan,
                parse_systems(systems, target),
                parse_seeds(seeds),
                results_path,
                options=options,
                gpu_id=gpu_id,
                code_path=code_path,
            )
        table = result_table(found)
        msg.divider(table.title)
        show(table.to_text())
        msg.good(f"Saved results to {results_path}")
        for path in tables:
            save_output(path, table.to_markdown(), "table")


def make_plan(
    corpus: str,
    target: str,
    data: Path,
    runs: Path,
    *,
    vectors: str = "",
    epochs: int = 0,
    lang: str = "en",
) -> Plan:
    """Check what all runs have in common."""
    if not NAME.fullmatch(corpus):
        options = "letters, digits, '.', '_' and '-'"
        raise ValueError(
            Errors.P397.format(option="--corpus-name", name=corpus, where="", options=options)
        )
    if target not in METRICS:
        listed = ", ".join(METRICS)
        raise ValueError(
            Errors.P397.format(option="--target", name=target, where="", options=listed)
        )
    wanted = vectors if vectors not in UNSET else None
    check_vectors_folder(wanted, lang)
    return Plan(corpus, target, data, runs, vectors=wanted, epochs=epochs, lang=lang)


def parse_options(text: str) -> dict[str, Any]:
    """Parse settings."""
    from ..private_names import config_overrides

    try:
        return config_overrides(shlex.split(text), env_var=None)
    except (ValueError, typer.BadParameter) as error:
        raise ValueError(Errors.P399.format(options=text, problem=error)) from error


def reproduce(
    plan: Plan,
    systems: dict[str, Path | None],
    seeds: Sequence[int],
    results_path: Path,
    *,
    options: str = "",
    gpu_id: int = -1,
    code_path: Path | None = None,
) -> list[Result]:
    """Train and score systems with several seeds."""

    from ..reproduction.results import add_or_replace, read_results, to_json

    check_writable(results_path, is_file=True)
    options = " ".join(options.split())
    plan = replace(plan, options=parse_options(options), code=code_path)
    digests = data_digests(plan.data)
    runs = make_runs(plan, systems, seeds, digests)
    if any(reads_texts(run.settings) for run in runs):
        warn_of_other_words(plan)
    known = read_results(results_path) if results_path.exists() else []
    done = {
        (result.corpus, result.target, result.system, result.config): result for result in known
    }
    found = []
    for i, run in enumerate(runs, 1):
        name = f"{run.system}, seed {run.seed} ({i} of {len(runs)})"
        finished = done.get((plan.corpus, plan.target, run.system, run.digest))
        if finished is not None and finished.data == digests:
            msg.info(f"{name}: already finished")
            found.append(finished)
            continue
        msg.divider(name)
        train_run(run, gpu_id, code_path)
        result = score_run(plan, run, digests, options, gpu_id)
        found.append(result)
        # Another process may have added results in the meantime.
        others = read_results(results_path) if results_path.exists() else []
        save_text(results_path, to_json(add_or_replace(others, result)))
        msg.good(f"{name}: dev {result.score('dev'):.2f}, test {result.score('test'):.2f}")
    return found


def train_run(run: ReproductionRun, gpu_id: int, code_path: Path | None = None) -> None:
    """Train a system, or resume its training."""
    from ..training.checkpoint import read_checkpoint
    from ..training.run import CHECKPOINT

    path = run.folder / "config.cfg"
    save_text(path, text_of(run.config))
    saved = read_checkpoint(run.folder / CHECKPOINT)
    if saved is None or not saved.finished:
        write_environment(run.folder, gpu_id)
    train(path, run.folder, resume=True, use_gpu=gpu_id, code_path=code_path)


def result_table(results: Sequence[Result]) -> Table:
    """Summarize results by system."""
    from ..figures.tables import Table
    from ..reproduction.results import by_training, summarize

    first = results[0]
    title = f"{METRICS[first.target]} of {first.corpus}"
    header = ["system", "dev", "test", "max", "n"]
    rows, trainings = [], []
    for system in dict.fromkeys(result.system for result in results):
        of_system = [result for result in results if result.system == system]
        for training, found in by_training(of_system).items():
            dev, test = (summarize(result.score(part) for result in found) for part in PARTS[1:])
            rows.append([system, str(dev), str(test), f"{test.max:.2f}", str(test.n)])
            trainings.append(str(training))
    if len(set(trainings)) == 1:
        return Table(f"{title}, {first.training}", header, rows)
    rows = [[*row, training] for row, training in zip(rows, trainings, strict=True)]
    return Table(title, [*header, "training"], rows)


@paper_command("results")
def results_cli(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RESULTS...", help="JSON files from psa reproduce (none to leave results out)"
        ),
    ] = None,
    output_path: Annotated[
        Path, typer.Option("--output", "-o", help="The .md file to write")
    ] = Path("docs/results.md"),
) -> None:
    """
    Write the papers' tables with our results. There is a summary and, in a folder of its name, a
    page for each paper.

    Cells without a result say what they need. If several results have the same system, training
    and seed, the last one is used.
    """
    from ..reproduction.paper_tables import OTHER

    with user_errors():
        check_outputs([output_path], (".md",))
        pages = make_pages(paths or [], output_path)
        for path, text in pages.items():
            save_output(path, text, "results")
        other = output_path.with_suffix("") / f"{OTHER}.md"
        if other not in pages and other.is_file():
            other.unlink()
            msg.info(f"Removed {other}: there are no such results any more")


def make_pages(paths: Sequence[Path], output_path: Path) -> dict[Path, str]:
    """Format the page of results and those below it, in a folder of its name."""
    from ..reproduction.paper_tables import to_pages
    from ..reproduction.results import read_results

    results = [result for path in paths for result in read_results(path)]
    folder = output_path.with_suffix("")
    pages = to_pages(read_papers(), results, folder.name)
    return {folder / f"{name}.md" if name else output_path: text for name, text in pages.items()}
