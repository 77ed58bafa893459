"""`spacy psa compare`: test whether one system is better than another, and show differences."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import Errors
from ..printable import replace_undecoded
from ..terminal import msg, show
from ._options import (
    CodeOption,
    ConfidenceOption,
    GivenOption,
    GpuOption,
    SeedOption,
    SpansKeyOption,
    TargetOption,
)
from ._outputs import check_outputs, json_text, save_output, title_names
from ._predictions import (
    System,
    check_pipeline_options,
    choose_layers,
    load_system,
    read_gold,
    use_gpu,
)
from ._util import PREDICT, psa_cli, user_errors

if TYPE_CHECKING:
    from ..evaluation.comparison import Comparison
    from ..evaluation.layers import Layer


class Test(str, Enum):
    """The tests to run: names of `evaluation.significance.TESTS`, or all of them."""

    __test__ = False  # not one of pytest's

    both = "both"
    bootstrap = "bootstrap"
    randomization = "randomization"


class Score(str, Enum):
    """The score to compare: names of `evaluation.sentences.SCORES`."""

    f1 = "f1"
    accuracy = "accuracy"
    complete = "complete"
    precision = "precision"
    recall = "recall"


@psa_cli.command("compare", rich_help_panel=PREDICT)
def compare_cli(
    first: Annotated[
        str,
        typer.Argument(
            metavar="A", help="Pipeline name or folder, or a .spacy file of predictions"
        ),
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="Second system, in the same form")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help=".spacy file, or a folder of them")],
    component: Annotated[
        str | None,
        typer.Option(
            "--component", "-c", help="Component to compare; by default all spacy-psa components"
        ),
    ] = None,
    target: TargetOption = None,
    spans_key: SpansKeyOption = None,
    given: GivenOption = False,
    score: Annotated[
        Score | None,
        typer.Option(
            "--score", help="Score; by default F1 for spans and roles, accuracy for tokens"
        ),
    ] = None,
    test: Annotated[Test, typer.Option("--test", help="Significance test")] = Test.both,
    trials: Annotated[
        int, typer.Option("--trials", help="Number of bootstrap samples and of permutations", min=1)
    ] = 10_000,
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = 0,
    limit: Annotated[
        int,
        typer.Option("--limit", "-n", help="Maximum number of differing sentences to show", min=0),
    ] = 10,
    outputs: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", help="Output file, .json or .md; repeatable"),
    ] = None,
    gpu_id: GpuOption = -1,
    code_path: CodeOption = None,
) -> None:
    """
    Test whether two systems differ, and show where. It prints the difference of their scores, its
    confidence interval and p-values, and the sentences in which they differ, side by side.

    The p-value is the probability of a difference at least as large, in either direction, between
    equally good systems.
    """
    from ..evaluation.significance import TESTS

    with user_errors():
        check_outputs(outputs or [], (".json", ".md"))
        comparisons = compare_files(
            first,
            second,
            data,
            component=component,
            target=target,
            spans_key=spans_key,
            given=given,
            score=None if score is None else score.value,
            tests=list(TESTS) if test is Test.both else [test.value],
            n_trials=trials,
            confidence=confidence,
            seed=seed,
            limit=limit,
            gpu_id=gpu_id,
        )
        for comparison in comparisons:
            print_comparison(comparison)
        title = "{} and {} on {}".format(*title_names([first, second, str(data)]))
        for path in outputs or []:
            save_output(path, _text(comparisons, title, path.suffix), "comparison")


def compare_files(
    first: str,
    second: str,
    data: Path,
    *,
    component: str | None = None,
    target: str | None = None,
    spans_key: str | None = None,
    given: bool = False,
    score: str | None = None,
    gpu_id: int = -1,
    **settings: Any,
) -> list[Comparison]:
    """Compare two pipelines, or predictions, with settings of `evaluation.comparison.compare`."""
    from ..evaluation.comparison import compare
    from ..evaluation.sentences import pair_sentences

    use_gpu(gpu_id)
    systems = load_system(first, given=given), load_system(second, given=given)
    if all(system.nlp is None for system in systems):
        check_pipeline_options(first, given=given, component=component)
    layers = choose_common_layers(systems, component, target, spans_key)
    for layer in layers:
        layer.check_score(score or layer.main_score)
    gold = read_gold([data], layers)
    predictions = [system.predict(gold, str(data), layers) for system in systems]
    names = short_names(first, second)
    comparisons = []
    for layer, *predicted in zip(layers, *predictions, strict=True):
        for docs, system in zip(predicted, systems, strict=True):
            system.check_predicted(docs, layer)
        pairs = [pair_sentences(gold, docs, layer) for docs in predicted]
        comparisons.append(compare(pairs[0], pairs[1], layer, names, score=score, **settings))
    return comparisons


def choose_common_layers(
    systems: tuple[System, System], component: str | None, target: str | None, spans_key: str | None
) -> list[Layer]:
    """Determine what can be compared."""
    components = [] if component is None else [component]
    ours = [system for system in systems if component in system.layers or not components]
    ours = [system for system in ours if system.layers] or [systems[0]]
    found = [
        {layer.name: layer for layer in choose_layers(s, components, target, spans_key).values()}
        for s in ours
    ]
    common = [layer for name, layer in found[0].items() if all(name in names for names in found)]
    if not common:
        from ..evaluation.layers import LAYERS

        raise ValueError(
            Errors.P268.format(
                first=systems[0].name,
                second=systems[1].name,
                first_layers=", ".join(found[0]),
                second_layers=", ".join(found[-1]),
                options=", ".join(LAYERS),
            )
        )
    return common


def short_names(first: str, second: str) -> tuple[str, str]:
    """Choose short names for two systems."""
    shown = map(replace_undecoded, (first, second))
    parts = [Path(name.removesuffix(".spacy")).parts for name in shown]
    different = [p for p in zip(*map(reversed, parts), strict=False) if p[0] != p[1]]
    return (different[0][0], different[0][1]) if different else ("A", "B")


def print_comparison(comparison: Comparison) -> None:
    """Print a comparison to the terminal."""
    from ..evaluation.comparison import comparison_table, sentence_table, summary

    table = comparison_table(comparison)
    msg.divider(table.title)
    show(table.to_text())
    show(summary(comparison))
    for sentence in comparison.sentences:
        table = sentence_table(sentence, comparison.names)
        show(f"\n{table.title}{table.to_text()}", end="")


def _text(comparisons: Sequence[Comparison], title: str, suffix: str) -> str:
    """The text of an output file: .json or .md."""
    from ..evaluation.comparison import to_markdown

    if suffix == ".json":
        found = [comparison.to_dict() for comparison in comparisons]
        return json_text({"title": title, "comparisons": found})
    return to_markdown(comparisons, title)
