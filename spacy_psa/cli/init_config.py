"""`spacy psa init-config`: a complete config for a system of the papers and a task."""

import shlex
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from wasabi import msg

from ..errors import Errors
from ._templates import Template, names, read_template
from ._util import atomic_path, is_stdout, psa_cli, read_docs, user_errors, write_stdout

if TYPE_CHECKING:
    from thinc.api import Config

# Where the templates are that an option chooses from.
FOLDERS = {"system": "systems", "task": "tasks", "characters": "characters"}
# The task whose configs are templates as they are, since its component is another one.
ROLES = "srl"
TASKS = [*names("tasks"), ROLES]


@psa_cli.command("init-config")
def init_config_cli(
    output_path: Annotated[
        Path,
        typer.Argument(
            metavar="OUTPUT", help="The .cfg file to write, - for stdout", allow_dash=True
        ),
    ],
    system: Annotated[
        str,
        typer.Option(
            "--system",
            "-s",
            help=f"One of: {', '.join(names('systems'))}; for {ROLES}: {', '.join(names(ROLES))}",
        ),
    ],
    task: Annotated[str, typer.Option("--task", "-t", help=f"One of: {', '.join(TASKS)}")],
    corpus: Annotated[
        Path | None,
        typer.Option("--corpus", "-c", help="The .spacy file to train on, to fit the schedule to"),
    ] = None,
    vectors: Annotated[
        str | None, typer.Option("--vectors", "-v", help="Folder or package of spaCy vectors")
    ] = None,
    characters: Annotated[
        str | None,
        typer.Option(
            "--characters",
            help=f"How words are made of characters: {', '.join(names('characters'))}; by default "
            "as in the system's paper",
        ),
    ] = None,
    lang: Annotated[str, typer.Option("--lang", "-l", help="Code of the language")] = "en",
    gpu: Annotated[bool, typer.Option("--gpu", "-G", help="Tag in batches fit for a GPU")] = False,
    force: Annotated[
        bool, typer.Option("--force", "-F", help="Replace the file if there is one")
    ] = False,
) -> None:
    """
    Write a config for spacy train: the network and the training of a paper, for a task.

    Comments in it say where values come from. All of them can be changed, in the file or as
    options of spacy train.
    """
    to_stdout = str(output_path) == "-" or is_stdout(output_path)
    with user_errors(to_stdout=to_stdout):
        text = make_config(
            system,
            task,
            name=f"{system}-{task}.cfg" if to_stdout else output_path.name,
            corpus=corpus,
            vectors=vectors,
            characters=characters,
            lang=lang,
            gpu=gpu,
        )
        if to_stdout:
            write_stdout(text)
            return
        write_config(text, output_path, force=force)
    msg.good(f"Wrote the config of {system} for {task} to {output_path}")


def make_config(
    system: str,
    task: str,
    *,
    name: str,
    corpus: Path | None = None,
    vectors: str | None = None,
    characters: str | None = None,
    lang: str = "en",
    gpu: bool = False,
) -> str:
    """Make the config of a system for a task.

    system (str): The system: the name of a file in `templates/systems`; for semantic roles, in
        `templates/srl`.
    task (str): The task: the name of a file in `templates/tasks`, or "srl".
    name (str): What its file is called, for the command in its first comment.
    corpus (Optional[Path]): The .spacy file to train on, whose epochs the schedule is fit to, if it
        counts epochs: that of roles counts updates. None for those of the corpus that papers have
        for the task.
    vectors (Optional[str]): A folder or package of spaCy vectors.
    characters (Optional[str]): The characters' part: the name of a file in `templates/characters`.
        None for that of the system.
    lang (str): The code of the language.
    gpu (bool): Whether it is for a GPU.
    RETURNS (str): The text of the config, complete, with comments.
    RAISES (ValueError): If there is no such system, task, part or language, or nothing in the
        corpus.
    """
    from spacy.util import set_dot_to_object

    device = "gpu" if gpu else "cpu"
    if task == ROLES:
        template = assemble_roles(system, characters=characters, device=device)
    else:
        template = assemble(system, task, characters=characters, device=device)
    config, settings = template.config.copy(), template.settings
    config.pop("template", None)
    values: dict[str, Any] = {}
    comments: dict[str, str] = {}
    if "epochs" in settings:
        values, comments["epoch"] = epoch_settings(config, settings, task, corpus)
    values = {
        **values,
        "nlp.lang": lang,
        "paths.train": None if corpus is None else str(corpus),
        "paths.vectors": vectors,
    }
    for setting, value in values.items():
        set_dot_to_object(config, setting, value)
    usage = train_command(Path(name), corpus=corpus, vectors=vectors, gpu=gpu)
    if task == ROLES:
        model = shlex.quote(f"training/{Path(name).stem}/model-best")
        usage = (*usage, f"python -m spacy psa srl-eval test.spacy {model}")
    return template.write(fill(config), usage=usage, values=comments)


def epoch_settings(
    config: "Config", settings: Mapping[str, Any], task: str, corpus: Path | None
) -> tuple[dict[str, Any], str]:
    """Fit a schedule that counts epochs to a corpus.

    config (Config): The config.
    settings (Dict[str, Any]): What the templates have beside it.
    task (str): The task.
    corpus (Optional[Path]): The corpus; None for that of the task.
    RETURNS (Tuple[Dict[str, Any], str]): The settings that follow from it, and what the comments
        say that an epoch is.
    RAISES (ValueError): If there is nothing in the corpus.
    """
    if corpus is None:
        lengths = [settings["tokens"] // settings["sentences"]] * settings["sentences"]
        epoch = f"{len(lengths):,} sentences of {settings['corpus']}. Of another corpus give "
        epoch += "psa init-config the --corpus."
    else:
        lengths = doc_lengths(corpus)
        epoch = f"{len(lengths):,} Docs of {corpus.name}."
    steps = steps_per_epoch(config, lengths)
    values = {setting: n * steps for setting, n in settings["epochs"].items()}
    return {**settings.get(task, {}), **values}, epoch


def assemble_roles(system: str, *, characters: str | None, device: str) -> Template:
    """Get the template of a system that labels semantic roles.

    system (str): The system: the name of a file in `templates/srl`.
    characters (Optional[str]): Has to be None: each has its own.
    device (str): What it is for: "cpu" or "gpu".
    RETURNS (Template): Its template, which is complete.
    RAISES (ValueError): If there is no such system, or the characters are chosen.
    """
    if characters is not None:
        raise ValueError(Errors.P194.format(option="--characters", task=ROLES))
    return choose("system", system, ROLES).merge(read_template("devices", device))


def assemble(system: str, task: str, *, characters: str | None, device: str) -> Template:
    """Put the templates of a system and a task together.

    system (str): The system.
    task (str): The task.
    characters (Optional[str]): The characters' part; None for that of the system.
    device (str): What it is for: "cpu" or "gpu".
    RETURNS (Template): All of them in one.
    RAISES (ValueError): If one of them is not known.
    """
    of_system = choose("system", system)
    parts = [
        read_template("devices", device),
        read_template("characters", "bilstm"),
        choose("task", task),
        read_template("training", of_system.settings["training"]),
        of_system,
        *([] if characters is None else [choose("characters", characters)]),
    ]
    template = read_template("", "base")
    for part in parts:
        template = template.merge(part)
    return template


def choose(option: str, name: str, folder: str | None = None) -> Template:
    """Read the template that an option names.

    option (str): The option.
    name (str): Its value, the name of a template.
    folder (Optional[str]): Where the templates are; None for those of the option.
    RETURNS (Template): The template.
    RAISES (ValueError): If there is none of that name.
    """
    folder = folder or FOLDERS[option]
    options = TASKS if option == "task" else names(folder)
    if name not in options:
        nearest = get_close_matches(name.lower(), options, n=1, cutoff=0.0)[0]
        listed = ", ".join(options)
        raise ValueError(
            Errors.P190.format(option=option, name=name, nearest=nearest, options=listed)
        )
    return read_template(folder, name)


def doc_lengths(path: Path) -> list[int]:
    """The lengths of the Docs that training will see.

    path (Path): A .spacy file.
    RETURNS (List[int]): The number of tokens of each Doc that has any.
    RAISES (ValueError): If there is no such file, or nothing in it.
    """
    from spacy.vocab import Vocab

    lengths = [len(doc) for doc in read_docs(path, Vocab()) if len(doc)]
    if not lengths:
        raise ValueError(Errors.P192.format(path=path))
    return lengths


def steps_per_epoch(config: "Config", lengths: Sequence[int]) -> int:
    """How many updates there are in an epoch.

    config (Config): The config, of which the batcher is asked.
    lengths (Sequence[int]): The lengths of the documents.
    RETURNS (int): The number of batches.
    """
    from spacy.util import registry

    batcher = registry.resolve({"batcher": config["training"]["batcher"]})["batcher"]
    return sum(1 for _ in batcher(range(length) for length in lengths))


def fill(config: "Config") -> "Config":
    """Add the settings that were left out, with their defaults.

    config (Config): The config.
    RETURNS (Config): The config, complete.
    RAISES (ValueError): If its language is not known, or needs a package that is not installed.
    """
    from spacy.util import load_model_from_config

    try:
        return load_model_from_config(config, auto_fill=True).config
    except ImportError as err:
        lang = config["nlp"]["lang"]
        raise ValueError(Errors.P193.format(lang=lang, problem=err)) from err


def train_command(
    path: Path, *, corpus: Path | None, vectors: str | None, gpu: bool
) -> tuple[str, ...]:
    """How to train with a config.

    path (Path): The config.
    corpus (Optional[Path]): The training data, if they are named in the config.
    vectors (Optional[str]): The vectors, if they are named in the config.
    gpu (bool): Whether to train on a GPU.
    RETURNS (Tuple[str, ...]): The lines of the command.
    """
    options = [
        *(["--paths.train train.spacy"] if corpus is None else []),
        "--paths.dev dev.spacy",
        *(["--paths.vectors vectors/en"] if vectors is None else []),
        *(["--gpu-id 0"] if gpu else []),
    ]
    name, folder = (shlex.quote(word) for word in (path.name, f"training/{path.stem}"))
    first = f"python -m spacy train {name} --output {folder} \\"
    return first, f"    {' '.join(options)}"


def write_config(text: str, path: Path, *, force: bool = False) -> None:
    """Write a config, whole or not at all.

    text (str): The config.
    path (Path): The file.
    force (bool): Whether to replace a file that is there.
    RAISES (ValueError): If there is a file.
    """
    if path.exists() and not force:
        raise ValueError(Errors.P191.format(path=path))
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf8")
