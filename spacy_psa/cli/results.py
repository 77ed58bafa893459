"""`spacy psa results`: the tables of the papers with our results."""

from pathlib import Path
from typing import Annotated

import typer

from ._outputs import check_outputs, save_output
from ._util import psa_cli, user_errors


@psa_cli.command("results")
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
    Write a page with the tables of the papers and our results.

    Cells without a result say what they need. If several results have the same system, training
    and seed, the last one is used.
    """
    with user_errors():
        check_outputs([output_path], (".md",))
        save_output(output_path, write_page(paths or []), "results")


def write_page(paths: list[Path]) -> str:
    """Format the page of results."""
    from ..reproduction.paper_tables import to_page
    from ..reproduction.papers import read_papers
    from ..reproduction.results import read_results

    return to_page(read_papers(), [result for path in paths for result in read_results(path)])
