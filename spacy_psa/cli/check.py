"""`spacy psa check` and `spacy psa require`: verify that a corpus is the one used in papers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..corpora import published
from ..errors import Errors
from ..terminal import msg, show, text_table
from ._docbins import docs_of, read_docbin
from ._util import paper_command, user_errors


@paper_command("check")
def check_cli(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="CORPUS...", help=".spacy files of one split"),
    ] = None,
    corpus: Annotated[
        str, typer.Option("--corpus", "-c", help="Name of the corpus, e.g. conll2003")
    ] = "",
    split: Annotated[
        str, typer.Option("--split", "-s", help="train, dev, test; total with --stats")
    ] = "train",
    stats_path: Annotated[
        Path | None,
        typer.Option("--stats", help="stats.xml of a UD treebank to compare with, if it exists"),
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", "-t", help="Print the published figures in Markdown")
    ] = False,
) -> None:
    """
    Compare the size of a corpus with the published figures.

    The command lists all differences, and fails if there are any. It takes into account if
    publications count differently (e.g. include -DOCSTART- lines).
    """
    with user_errors():
        if table:
            names = [corpus] if corpus else list(published.published_corpora())
            show(tables(names))
            return
        if not paths or not (corpus or stats_path):
            raise ValueError(Errors.P175)
        if corpus and stats_path:
            found = f"--stats {stats_path} was given"
            raise ValueError(
                Errors.P272.format(option="--corpus", what="published figures", found=found)
            )
        numbers, compared = check(paths, corpus=corpus, split=split, stats_path=stats_path)
    rows = [(count, f"{n:,}") for count, n in numbers.items() if n]
    show(text_table(rows, ("", "Number"), ("l", "r")))
    if compared:
        msg.good(f"Matches published figures: {', '.join(compared)}")
    elif stats_path is not None and not stats_path.exists():
        msg.warn(f"There is no {stats_path} to compare with")
    else:
        msg.warn(f"No published figures for {corpus or stats_path} ({split})")


@paper_command("require")
def require_cli(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Files or folders that must exist")
    ],
    corpus: Annotated[str, typer.Option("--corpus", "-c", help="Name of the corpus")],
) -> None:
    """
    Check that the files of a licensed corpus exist. If not, it explains where to get them.
    """
    with user_errors():
        require(paths, corpus=corpus)
    msg.good(f"Found {', '.join(map(str, paths))}")


def check(
    paths: Sequence[Path], *, corpus: str = "", split: str = "train", stats_path: Path | None = None
) -> tuple[dict[str, int], list[str]]:
    """Count a split of a corpus and compare it with the published figures."""
    from spacy.vocab import Vocab

    if stats_path is not None:
        figures = published.read_treebank_stats(stats_path, split) if stats_path.exists() else []
    else:
        entry = published.get_published(corpus)
        if entry.figures and split not in entry.splits:
            raise ValueError(
                Errors.P171.format(corpus=corpus, split=split, options=", ".join(entry.splits))
            )
        figures = entry.checked(split)
    counter = published.Counter()
    for path in paths:
        counter.add(docs_of(read_docbin(path), path, Vocab()))
    found = published.differences(figures, split, counter.numbers)
    if found:
        raise ValueError(
            Errors.P172.format(
                paths=", ".join(map(str, paths)),
                corpus=corpus or stats_path,
                split=split,
                differences="; ".join(found),
            )
        )
    return counter.numbers, list(dict.fromkeys(figure.count for figure in figures))


def require(paths: Sequence[Path], *, corpus: str) -> None:
    """Check that the files of a corpus exist."""
    entry = published.get_published(corpus)
    for path in paths:
        if not path.is_file() and not (path.is_dir() and any(path.iterdir())):
            how = entry.obtain or f"Get it from {entry.where}, and put it in {entry.folder}."
            raise ValueError(Errors.P173.format(path=path, how=how))


def tables(names: Sequence[str]) -> str:
    """Format the published figures of corpora."""
    entries = [published.get_published(name) for name in names]
    return "\n".join(
        f"### {entry.title}\n\n{published.markdown_table(entry)}"
        for entry in entries
        if entry.figures
    )
