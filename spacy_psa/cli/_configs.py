"""The config of a system for a target, from templates, the corpus and what is below."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Errors
from ._assembly import BEST, PAPER, assemble, assemble_roles, check_recipe, small_roles
from ._names import LABELS_OF_TOKENS, ROLES
from ._outputs import shell_line
from ._schedule import epoch_settings, proposition_settings, size_settings, training_docs
from ._shared_inputs import Inputs, assemble_shared
from ._templates import Template, names
from ._training_files import vectors_width
from ._transformers import read_settings

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from thinc.api import Config

# The embedding that several components share
SHARED = "tok2vec"


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
        `templates/roles`.
    target (str): The target, of `TARGETS`. Several, separated by blanks, for a pipeline.
    corpus (Optional[Path]): The .spacy file, or a folder of them, to train on. The schedule of the
        best recipe, that on a transformer, and one that counts epochs, are adapted to it (the
        papers' for roles counts updates). None for one of a middle size or, by the paper, the
        corpus that papers use for the target.
    docs (Optional[Sequence[Doc]]): Its Docs, where they have been read already.
    characters (Optional[str]): The character encoder: the name of a file in `templates/characters`.
        None for that of the system.
    inputs (Inputs): What the components stand on: a transformer, texts of several sentences.
    RAISES (ValueError): If there is no such system, target, recipe, encoder, language, or the
        corpus is empty.
    """
    from spacy.util import set_dot_to_object

    check_recipe(recipe)
    _check_embedding(vectors, characters, inputs, target)
    if inputs.transformer is not None:
        if target == ROLES and recipe == BEST and system in names(ROLES):
            system = small_roles(system)
        recipe = PAPER  # a transformer has a training of its own
    choices: dict[str, Any] = {"device": "gpu" if gpu else "cpu", "recipe": recipe}
    if set(target.split()) <= {*LABELS_OF_TOKENS}:
        choices["spelled"] = vectors is None
    template = _assemble(system, target, inputs, characters=characters, **choices)
    config = template.config.copy()
    settings = config.pop("template", {})
    if docs is None:
        docs = [] if corpus is None else training_docs(corpus)
    schedule: dict[str, Any] = {}
    said = {"epoch": ""}
    if recipe == BEST:
        in_sentences = target != ROLES and not inputs.raw
        schedule, said = size_settings(corpus, docs, in_sentences=in_sentences)
    elif "epochs" in settings:
        schedule, said = epoch_settings(config, settings, target, corpus, docs)
    elif "propositions" in settings:
        schedule, said = proposition_settings(config, settings["propositions"], corpus, docs)
    values = {
        **schedule,
        "nlp.lang": lang,
        "paths.train": None if corpus is None else str(corpus),
        "paths.vectors": vectors,
        **(_word_dropout(config["components"]) if recipe == BEST and vectors is not None else {}),
        **({} if inputs.transformer is None else read_settings(inputs.transformer, config)),
        **_listener_widths(config["components"], vectors),
    }
    for setting, value in values.items():
        set_dot_to_object(config, setting, value)
    needs_vectors = vectors is None and recipe == PAPER and inputs.transformer is None
    usage = _usage(Path(name), target, corpus=corpus, needs_vectors=needs_vectors, gpu=gpu)
    return template.write(fill(config), usage=usage, values=said)


def _check_embedding(
    vectors: str | None, characters: str | None, inputs: Inputs, target: str
) -> None:
    """Check that no option is for an embedding of words and characters that is replaced."""
    for option, value in (("--vectors", vectors), ("--characters", characters)):
        if value is not None and inputs.transformer is not None:
            raise ValueError(Errors.P198.format(option=option, other="--transformer"))
    if characters is not None and len(target.split()) > 1:
        shared = "several targets and their shared tok2vec"
        raise ValueError(Errors.P198.format(option="--characters", other=shared))


def _assemble(system: str, target: str, inputs: Inputs, **choices: Any) -> Template:
    """Assemble the template for a target or several, and what their components stand on."""
    if inputs.change(target):
        return assemble_shared(system, target, inputs, **choices)
    if target == ROLES:
        return assemble_roles(system, **choices)
    return assemble(system, target, **choices)


def _usage(
    path: Path, target: str, *, corpus: Path | None, needs_vectors: bool, gpu: bool
) -> list[str]:
    """The commands that come next, as lines of a comment."""
    words, options = train_command(path, corpus=corpus, needs_vectors=needs_vectors, gpu=gpu)
    python = "python", "-m", "spacy"
    lines = [f"{shell_line(*python, *words)} \\", f"    {shell_line(*options)}"]
    if target == ROLES:
        model = f"training/{path.stem}/model-best"
        lines.append(shell_line(*python, "psa", "srl-eval", "test.spacy", model))
    return lines


def _word_dropout(components: Mapping[str, Any]) -> dict[str, float]:
    """No dropout of words in the embedding of words and characters, if there is one."""
    if SHARED in components:
        return {f"components.{SHARED}.model.word_dropout": 0.0}
    tagger = "psa_tagger" in components
    return {"components.psa_tagger.model.tok2vec.word_dropout": 0.0} if tagger else {}


def _listener_widths(components: Mapping[str, Any], vectors: str | None) -> dict[str, int]:
    """How wide the vectors are that components get from an embedding that they share."""
    from ..models.tok2vec import RANDOM_WIDTH

    if SHARED not in components:
        return {}
    model = components[SHARED]["model"]
    width = model["width"] or (vectors and vectors_width(vectors)) or RANDOM_WIDTH
    width += model["characters"]["width"] if model.get("characters") else 0
    # The sentencizer, a rule, has no model
    names = [name for name in components if name != SHARED and "model" in components[name]]
    return {f"components.{name}.model.tok2vec.width": width for name in names}


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
