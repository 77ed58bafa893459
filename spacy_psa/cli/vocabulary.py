"""`psa vocabulary`: the words and labels of a corpus, for training on a stream of it."""

import json
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import Errors
from ..terminal import msg
from ._config_errors import config_errors
from ._util import atomic_path, psa_cli, user_errors

FILE = "vocabulary.json"


@psa_cli.command(
    "vocabulary", context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def vocabulary_cli(
    ctx: typer.Context,
    config_path: Annotated[Path, typer.Argument(metavar="CONFIG", help="Training config")],
    output_path: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write to")],
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Maximum number of documents to read")
    ] = None,
    code_path: Annotated[
        Path | None,
        typer.Option("--code", "-c", help="Python file with functions that the config uses"),
    ] = None,
) -> None:
    """
    Count the words in the training corpus of a config, for training on a stream.

    With max_epochs = -1, spaCy initializes components with the first 100 documents. The command
    reads the whole corpus once, and writes vocabulary.json, and the labels of each psa_tagger and
    psa_srl as `spacy init labels` does, for [initialize.components]. Use --limit for a reader that
    never ends. Settings can be overridden by options such as --paths.train train.spacy.
    """
    from ..private_names import config_overrides, import_code

    overrides = config_overrides(ctx.args)
    import_code(code_path)
    with user_errors():
        n_docs, n_words = write_vocabulary(config_path, output_path, overrides, limit=limit)
    msg.good(f"Wrote {n_words:,} words of {n_docs:,} documents to {output_path / FILE}")


def write_vocabulary(
    config_path: Path, output_path: Path, overrides: dict[str, Any], *, limit: int | None = None
) -> tuple[int, int]:
    """Write the words and labels of a training corpus."""
    from spacy.util import load_config, load_model_from_config, resolve_dot_names

    from ..pipeline.common import LabelSequencePipe
    from ..private_names import show_validation_error

    with show_validation_error(config_path, hint_fill=False), config_errors():
        config = load_config(config_path, overrides=overrides, interpolate=False)
        nlp = load_model_from_config(config, auto_fill=True)
        settings = nlp.config.interpolate()
        name = settings["training"]["train_corpus"]
        (corpus,) = resolve_dot_names(settings, [name])
    words: Counter[str] = Counter()
    pipes = {name: pipe for name, pipe in nlp.pipeline if isinstance(pipe, LabelSequencePipe)}
    labels: dict[str, set[str]] = {pipe: set() for pipe in pipes}
    n_docs = 0
    for n_docs, example in enumerate(islice(corpus(nlp), limit), 1):  # noqa: B007
        words.update(token.text for token in example.predicted)
        for pipe, found in labels.items():
            found.update(pipes[pipe].gold_labels(example.reference))
    if not words:
        raise ValueError(Errors.P436.format(n=n_docs, name=name))
    files: dict[str, Any] = {FILE: dict(sorted(words.items()))}
    files.update({f"{pipe}.json": sorted(found - {""}) for pipe, found in labels.items()})
    for file, contents in files.items():
        with atomic_path(output_path / file) as temporary:
            text = json.dumps(contents, ensure_ascii=False, indent=0)
            temporary.write_text(text + "\n", encoding="utf8")
    return n_docs, len(words)
