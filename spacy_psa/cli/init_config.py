"""`spacy psa init-config`: create a complete config for a system and a target."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import Errors, Warnings
from ..terminal import msg
from ._assembly import (
    BEST,
    PAPER,
    RECIPES,
    assemble,
    assemble_roles,
    small_roles,
)
from ._names import ROLES, TARGETS, choose_targets, current_system
from ._options import LangOption
from ._outputs import shell_line, show_command
from ._schedule import epoch_settings, size_settings, training_docs
from ._shared_inputs import ENCODERS, Inputs, assemble_shared
from ._templates import names
from ._training_files import check_vectors_folder
from ._transformers import read_settings
from ._util import (
    TRAIN,
    UNSET,
    atomic_path,
    is_stdout,
    one_output,
    psa_cli,
    user_errors,
    write_stdout,
)

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from thinc.api import Config

# From systems.md, scaling.md and recipes.md in benchmarks/results
WHICH = (
    "Which system: psa for little data and the best scores; bilstm-crf for speed (twice as fast in "
    "training, 3 times in tagging) and for long sentences (psa takes twice the time per token at "
    "400); bilstm-softmax for hundreds of labels (a CRF takes 5 times as long with 425 as with 45)."
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
        typer.Option("--corpus", "-c", help="Training data (.spacy), to adapt the schedule to"),
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
    to_stdout = str(output_path) == "-" or is_stdout(output_path)
    with user_errors(to_stdout=to_stdout):
        system = current_system(system)
        targets = choose_targets(target or (), task)
        vectors = None if vectors in UNSET else vectors
        if transformer is None:
            check_vectors_folder(vectors, lang)
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


def make_config(
    system: str,
    target: str,
    *,
    name: str,
    recipe: str = BEST,
    corpus: Path | None = None,
    docs: "Sequence[Doc] | None" = None,
    vectors: str | None = None,
    characters: str | None = None,
    inputs: Inputs = Inputs(),  # noqa: B008
    lang: str = "en",
    gpu: bool = False,
) -> str:
    """Create the config of a system for a target.

    system (str): The system: the name of a file in `templates/systems` or, for semantic roles, in
        `templates/srl`.
    target (str): The target, of `TARGETS`. Several, separated by
        blanks, for a pipeline.
    corpus (Optional[Path]): The .spacy file to train on. The schedule of the best recipe, and one
        that counts epochs, are adapted to it (the papers' for roles counts updates). None for one
        of a middle size or, by the paper, the corpus that papers use for the target.
    docs (Optional[Sequence[Doc]]): Its Docs, where they have been read already.
    characters (Optional[str]): The character encoder: the name of a file in `templates/characters`.
        None for that of the system.
    inputs (Inputs): What the components stand on: a transformer, texts of several sentences.
    RAISES (ValueError): If there is no such system, target, recipe, encoder, language, or the
        corpus is empty.
    """
    from spacy.util import set_dot_to_object

    device = "gpu" if gpu else "cpu"
    if inputs.transformer is not None:
        if target == ROLES and recipe == BEST and system in names(ROLES):
            system = small_roles(system)
        recipe = PAPER  # a transformer has a training of its own
    for option, value in (("--vectors", vectors), ("--characters", characters)):
        if value is not None and inputs.transformer is not None:
            raise ValueError(Errors.P198.format(option=option, other="--transformer"))
    if characters is not None and len(target.split()) > 1:
        shared = "several targets and their shared tok2vec"
        raise ValueError(Errors.P198.format(option="--characters", other=shared))
    if inputs.change(target):
        template = assemble_shared(
            system, target, inputs, characters=characters, device=device, recipe=recipe
        )
    elif target == ROLES:
        template = assemble_roles(system, characters=characters, device=device, recipe=recipe)
    else:
        template = assemble(system, target, characters=characters, device=device, recipe=recipe)
    config, settings = template.config.copy(), template.settings
    config.pop("template", None)
    values: dict[str, Any] = {}
    comments: dict[str, str] = {}
    if docs is None:
        docs = [] if corpus is None else training_docs(corpus)
    if recipe == BEST:
        values, comments["epoch"] = size_settings(
            corpus, docs, in_sentences=target != ROLES and not inputs.raw
        )
    elif "epochs" in settings:
        values, comments["epoch"] = epoch_settings(config, settings, target, corpus, docs)
    values = {
        **values,
        "nlp.lang": lang,
        "paths.train": None if corpus is None else str(corpus),
        "paths.vectors": vectors,
        **({} if inputs.transformer is None else read_settings(inputs.transformer, config)),
    }
    for setting, value in values.items():
        set_dot_to_object(config, setting, value)
    if vectors is not None and "tok2vec" in config["components"]:
        config["components"]["tok2vec"]["model"]["pretrained_vectors"] = True
    words, options = train_command(
        Path(name),
        corpus=corpus,
        needs_vectors=vectors is None and recipe == PAPER and inputs.transformer is None,
        gpu=gpu,
    )
    python = "python", "-m", "spacy"
    usage = [f"{shell_line(*python, *words)} \\", f"    {shell_line(*options)}"]
    if target == ROLES:
        model = f"training/{Path(name).stem}/model-best"
        usage.append(shell_line(*python, "psa", "srl-eval", "test.spacy", model))
    return template.write(fill(config), usage=usage, values=comments)


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


def updates(text: str) -> int:
    """RETURNS (int): The largest number of updates by a config, 0 if it counts epochs."""
    from thinc.api import Config

    return int(Config().from_str(text, interpolate=False)["training"]["max_steps"])


def fill(config: "Config") -> "Config":
    """Fill in the defaults of missing settings."""
    from spacy.util import load_model_from_config

    try:
        return load_model_from_config(config, auto_fill=True).config
    except ImportError as err:
        lang = config["nlp"]["lang"]
        raise ValueError(Errors.P193.format(lang=lang, problem=err)) from err


def train_command(
    path: Path, *, corpus: Path | None, needs_vectors: bool, gpu: bool
) -> tuple[list[str], list[str]]:
    """The words and the options of spaCy's command to train with a config, on a corpus if the
    config sets none, and with the development data beside it."""
    beside = [] if corpus is None else [corpus.with_name("dev.spacy")]
    dev = next((str(path) for path in beside if path.is_file()), "dev.spacy")
    options = [
        *(["--paths.train", "train.spacy"] if corpus is None else []),
        *("--paths.dev", dev),
        *(["--paths.vectors", "vectors/en"] if needs_vectors else []),
        *(["--gpu-id", "0"] if gpu else []),
    ]
    return ["psa", "train", str(path), "--output", f"training/{path.stem}"], options


def write_config(text: str, path: Path, *, force: bool = False) -> None:
    """Write a config atomically; over an existing file only by force."""
    if path.exists() and not force:
        raise ValueError(Errors.P191.format(path=path))
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf8")
