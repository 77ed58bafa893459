"""`spacy psa scores`: tabulate the scores of metrics files, in the terminal or in Markdown."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import Errors
from ..figures.tables import Table, percent
from ..terminal import msg, show
from ._outputs import check_files, save_text
from ._util import PREDICT, psa_cli, user_errors

# In column order. A pattern may match several scores, e.g. those of several span groups.
MAIN_SCORES = (
    "tag_acc", "pos_acc", "morph_acc", "ents_[prf]", "spans_.+_[prf]", "srl_[prf]",
    "conll_(?:acc|[prf])", "speed",
)  # fmt: skip
_PER_TYPE = re.compile("(.+)_per_(?:type|feat|role)")


@psa_cli.command("scores", rich_help_panel=PREDICT)
def scores_cli(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="METRICS...",
            help="JSON files (--output) of spacy evaluate and psa evaluate, conlleval or srl-eval",
        ),
    ],
    output_path: Annotated[
        Path | None, typer.Option("--output", "-o", help="Markdown file to save the tables to")
    ] = None,
) -> None:
    """
    Show the scores of evaluations side by side.

    Scores are in percent, speed is in words per second. Scores per type follow in separate tables:
    precision, recall and F1 for one evaluation, only F1 for several.
    """
    with user_errors():
        check_files([output_path], paths)
        metrics = {
            name: read_metrics(path) for name, path in zip(_names(paths), paths, strict=True)
        }
        tables = score_tables(metrics)
        for table in tables:
            msg.divider(table.title)
            show(table.to_text())
        if output_path is not None:
            text = "\n".join(table.to_markdown(plain=True) for table in tables)
            save_text(output_path, text)
            msg.good(f"Saved tables to {output_path}")


def read_metrics(path: Path) -> dict[str, Any]:
    """Read a metrics file written by spaCy or by `psa evaluate`, `conlleval` or `srl-eval`."""
    import srsly

    if not path.is_file():
        raise ValueError(Errors.P109.format(path=path))
    try:
        data = srsly.read_json(path)
    except ValueError as err:
        raise ValueError(Errors.P128.format(path=path)) from err
    try:
        data = _with_names_of_spacy(data)
        is_known = bool(_main_scores(data))
    except (AttributeError, KeyError, TypeError) as err:
        raise ValueError(Errors.P128.format(path=path)) from err
    if not is_known:
        raise ValueError(Errors.P128.format(path=path))
    return data


def _with_names_of_spacy(data: dict[str, Any]) -> dict[str, Any]:
    """Add the scores of metrics files of all kinds under their names in spaCy."""
    for value in list(data.values()):
        # `spacy evaluate --per-component` nests the scores one level deeper.
        if isinstance(value, dict) and _main_scores(value):
            data = {**data, **value}
    for report in data.get("reports") or ():
        if isinstance(report, dict) and {"layer", "by_label"} <= set(report):
            layer = re.sub(r"\['(.*)'\]", r"_\1", report["layer"])
            layer = "srl" if layer == "roles" else layer
            rows = {row["name"]: row for row in report["by_label"]}
            data = {**data, **_as_in_spacy(layer, report, rows)}
    for layer, per_label in (("conll", "per_type"), ("srl", "per_role")):
        if {"precision", "recall", "f1", per_label} <= set(data):
            data = {**data, **_as_in_spacy(layer, data, data[per_label])}
    return data


def _as_in_spacy(layer: str, figures: dict[str, Any], rows: dict[str, Any]) -> dict[str, Any]:
    """The scores of our commands, by their names in spaCy."""

    def prf(figures: dict[str, Any]) -> dict[str, Any]:
        return {name[0]: figures.get(name) for name in ("precision", "recall", "f1")}

    return {
        f"{layer}_acc": figures.get("accuracy"),
        **{f"{layer}_{name}": value for name, value in prf(figures).items()},
        f"{layer}_per_type": {label: prf(row) for label, row in rows.items()},
    }


def score_tables(metrics: dict[str, dict[str, Any]]) -> list[Table]:
    """Arrange scores in tables."""
    ranks = {key: rank for scores in metrics.values() for key, rank in _main_scores(scores)}
    keys = sorted(ranks, key=ranks.__getitem__)
    rows = [[name, *(_format(s.get(key), key) for key in keys)] for name, s in metrics.items()]
    tables = [Table("Scores", ["", *keys], rows)]
    for layer in _in_order(filter(_PER_TYPE.fullmatch, scores) for scores in metrics.values()):
        per_type = {name: _prf_per_type(scores.get(layer)) for name, scores in metrics.items()}
        labels = sorted(_in_order(per_type.values()))
        if labels:
            tables.append(_per_type_table(layer, labels, per_type))
    return tables


def _prf_per_type(scores: Any) -> dict[str, dict[str, float]]:
    """Precision, recall and F1 per type. For text categories, spaCy has other figures per type."""
    found = scores if isinstance(scores, dict) else {}
    return {label: prf for label, prf in found.items() if isinstance(prf, dict)}


def _per_type_table(
    layer: str, labels: Sequence[str], per_type: dict[str, dict[str, dict[str, float]]]
) -> Table:
    title = _PER_TYPE.sub(r"\1 per type", layer)
    single = len(per_type) == 1
    columns = [
        (figure.upper() if single else name, scores, figure)
        for name, scores in per_type.items()
        for figure in ("prf" if single else "f")
    ]
    rows = [
        [label, *(_format(scores.get(label, {}).get(figure)) for _, scores, figure in columns)]
        for label in labels
    ]
    return Table(title if single else f"{title} (F)", ["", *(name for name, _, _ in columns)], rows)


def _main_scores(scores: dict[str, Any]) -> list[tuple[str, tuple[int, str, int]]]:
    """The main scores in a file, and their ranks. A score is None if spaCy had nothing to score."""
    ranks = ((key, _rank(key)) for key, value in scores.items() if value is not None)
    return [(key, rank) for key, rank in ranks if rank is not None]


def _rank(key: str) -> tuple[int, str, int] | None:
    """The sort key of a score, which keeps precision, recall and F1 of a layer together."""
    for i, pattern in enumerate(MAIN_SCORES):
        if re.fullmatch(pattern, key):
            return i, key[:-1], "prf".find(key[-1])
    return None


def _format(value: Any, key: str = "") -> str:
    if not isinstance(value, (int, float)):
        return "-"
    return f"{value:,.0f}" if key == "speed" else percent(value)


def _in_order(groups: Iterable[Iterable[str]]) -> list[str]:
    """The members of all groups, without duplicates, in order of appearance."""
    return list(dict.fromkeys(member for group in groups for member in group))


def _names(paths: Sequence[Path]) -> list[str]:
    """The names of the files, or their full paths if names are not unique."""
    stems = [path.stem for path in paths]
    return stems if len(set(stems)) == len(stems) else [str(path) for path in paths]
