"""`spacy psa init-config`: create a complete config for a system and a target."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import Errors, Warnings
from ..terminal import msg
from ._assembly import BEST, PAPER, RECIPES
from ._configs import make_config, train_command, updates
from ._names import ROLES, TARGETS, choose_targets, current_system
from ._options import LangOption
from ._outputs import check_not_input, save_text, show_command
from ._schedule import training_docs
from ._shared_inputs import ENCODERS, Inputs
from ._templates import names
from ._training_files import check_vectors_folder
from ._util import (
    TRAIN,
    UNSET,
    is_stdout,
    one_output,
    psa_cli,
    user_errors,
    write_stdout,
)

if TYPE_CHECKING:
    from spacy.tokens import Doc

# From systems.md, scaling.md and recipes.md in benchmarks/results
WHICH = (
    "Which system: psa for little data and the best scores; bilstm-crf for tags without pretrained "
    "vectors (psa is 0.2 below it in French, 0.6 in Czech), for speed (twice as fast in training, "
    "3 times in tagging) and for long sentences (psa takes twice the time per token at 400); "
    "bilstm-softmax for hundreds of labels (a CRF takes 5 times as long with 425 as with 45)."
)

# From recipes-trials.json, with vectors. The smallest corpus of the papers has 14,000 sentences.
FEW = 5_000
SMALL = (
    "The papers' training is for 14,000 and more: with 600 tweets, its F1 was 39, that of "
    "--recipe best 48."
)

# From recipes-trials.json, for 600 sentences of WNUT-17
VECTORS = (
    "Without pretrained vectors, which little data need most: 600 tweets gave an F1 of 48 with "
    "them, 18 without. Make them with `python -m spacy init vectors {lang} FILE FOLDER`, and add "
    "--vectors FOLDER."
)


@psa_cli.command("init-config", rich_help_panel=TRAIN)
def init_config_cli(
    system: Annotated[
        str,
        typer.Option(
            "--system",
            "-s",
            help=f"One of: {', '.join(names('systems'))}; for {ROLES}: {', '.join(names(ROLES))}",
        ),
    ],
    place: Annotated[
        Path | None,
        typer.Argument(
            metavar="OUTPUT", help=".cfg file to write, or - for stdout", allow_dash=True
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The same as OUTPUT")
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            "-t",
            help=f"What to annotate: {', '.join(TARGETS)}; or several, for as many components on "
            "one tok2vec or transformer, e.g. 'tag ents spans:genes'",
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            "--task", "--pipeline", "-p", hidden=True, help="--target, in the papers' words"
        ),
    ] = None,
    recipe: Annotated[
        str,
        typer.Option(
            "--recipe",
            "-r",
            help=f"One of: {', '.join(RECIPES)}; found by experiment, or the paper's settings",
        ),
    ] = BEST,
    corpus: Annotated[
        Path | None,
        typer.Option(
            "--corpus", "-c", help="Training data (.spacy file or folder), to adapt the schedule to"
        ),
    ] = None,
    vectors: Annotated[
        str | None, typer.Option("--vectors", "-v", help="Folder or package of spaCy vectors")
    ] = None,
    characters: Annotated[
        str | None,
        typer.Option(
            "--characters",
            help=f"Character encoder: {', '.join(names('characters'))}; by default as in the "
            "system's paper",
        ),
    ] = None,
    transformer: Annotated[
        str | None,
        typer.Option(
            "--transformer", help="Folder or name of a pretrained transformer to stand on"
        ),
    ] = None,
    freeze: Annotated[
        bool, typer.Option("--freeze", help="Use the transformer as it is, without training it")
    ] = False,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder", help=f"Instead of the system's encoder, one of: {', '.join(ENCODERS)}"
        ),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="For Docs of several sentences, which are found by rule")
    ] = False,
    lang: LangOption = "en",
    gpu: Annotated[
        bool,
        typer.Option(
            "--gpu",
            "-G",
            help="Settings for a GPU: batch size, CUDA graphs, mixed precision of a transformer",
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", "-F", help="Overwrite an existing file")
    ] = False,
) -> None:
    """
    Write a config for a system and a target. The network is that of a paper. The training is what
    experiments found best for a corpus of that size or, with --recipe paper, the paper's.

    Comments in the config give the source of its values. All of them can be changed, in the file
    or with options of psa train.
    """
    output_path = one_output(place, output)
    to_stdout = is_stdout(output_path)
    with user_errors(to_stdout=to_stdout):
        system = current_system(system)
        targets = choose_targets(target or (), task)
        vectors = None if vectors in UNSET else vectors
        check_not_input([output_path], [] if corpus is None else [corpus])
        if transformer is None:
            check_vectors_folder(vectors, lang, may_be_empty=False)
        docs = None if corpus is None else training_docs(corpus)
        text = make_config(
            system,
            targets,
            name=f"{system}-{targets}.cfg" if to_stdout else output_path.name,
            recipe=recipe,
            corpus=corpus,
            docs=docs,
            vectors=vectors,
            characters=characters,
            inputs=Inputs(transformer, freeze=freeze, encoder=encoder, raw=raw),
            lang=lang,
            gpu=gpu,
        )
        if to_stdout:
            write_stdout(text)
            return
        write_config(text, output_path, force=force)
    msg.good(f"Wrote config of {system} for {targets} to {output_path}")
    if docs is not None:
        _check_annotation(text, docs, corpus)
    if recipe == BEST and targets != ROLES and transformer is None:
        msg.info(WHICH)
    if recipe == BEST and vectors is None and transformer is None:
        msg.info(VECTORS.format(lang=lang))
    is_of_paper = recipe == PAPER and transformer is None and targets != ROLES
    if is_of_paper and docs is not None and len(docs) < FEW:
        msg.warn(f"{corpus} has {len(docs):,} Docs. {SMALL}")
    n_updates = updates(text)
    if n_updates:
        msg.info(f"Trains for at most {n_updates:,} updates.")
    needs_vectors = vectors is None and recipe == PAPER and transformer is None
    words, options = train_command(output_path, corpus=corpus, needs_vectors=needs_vectors, gpu=gpu)
    show_command(*words, *options)


def _check_annotation(text: str, docs: "Sequence[Doc]", corpus: Path | None) -> None:
    """Warn of targets of a config that a corpus has no annotation for."""
    from thinc.api import Config

    from ..annotation.targets import annotated_targets, list_targets

    found = {*annotated_targets(docs)}
    for name, block in Config().from_str(text, interpolate=False)["components"].items():
        if block["factory"] not in ("psa_tagger", "psa_srl"):
            continue
        target = block.get("target", ROLES)
        key = block["spans_key"] if target == "spans" else ""
        if (target, key) not in found:
            said = {"path": corpus, "name": name, "found": list_targets(docs)}
            msg.warn(Warnings.W439.format(target=f"{target} '{key}'" if key else target, **said))


def write_config(text: str, path: Path, *, force: bool = False) -> None:
    """Write a config atomically; over an existing file only by force."""
    if path.exists() and not force:
        raise ValueError(Errors.P191.format(path=path))
    save_text(path, text)
