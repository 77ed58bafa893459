"""`spacy psa results`: the tables of the papers beside our results."""

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
            metavar="RESULTS...", help="JSON files written by psa reproduce; none, for no results"
        ),
    ] = None,
    output_path: Annotated[
        Path, typer.Option("--output", "-o", help="The .md file to write")
    ] = Path("docs/results.md"),
) -> None:
    """
    Write a page with the tables of the papers, our results beside their figures.

    A cell without a result says what it needs. Of results of the same system, training and seed,
    the last one counts.
    """
    with user_errors():
        check_outputs([output_path], (".md",))
        save_output(output_path, write_page(paths or []), "results")


def write_page(paths: list[Path]) -> str:
    """Write the page of results.

    paths (List[Path]): Files of results.
    RETURNS (str): The page, in Markdown.
    RAISES (ValueError): If one of them is missing, or has other things in it.
    """
    from ..reproduction.page import to_page
    from ..reproduction.papers import read_papers
    from ..reproduction.results import read_results

    return to_page(read_papers(), [result for path in paths for result in read_results(path)])
