"""Assemble the template of a config from those of its system, target and device."""

from ..errors import Errors
from ._names import ROLES, unknown
from ._templates import Template, names, read_template

# The folders of the templates that an option selects.
FOLDERS = {"system": "systems", "target": "targets", "characters": "characters"}
# The recipe that was found by experiment, and the settings of the papers
BEST, PAPER = RECIPES = ("best", "paper")


def assemble_roles(
    system: str, *, characters: str | None, device: str, recipe: str = PAPER
) -> Template:
    """Get the template of a system that labels semantic roles: a file in `templates/srl`. Each has
    its own character encoder, so that none can be chosen."""
    if characters is not None:
        raise ValueError(Errors.P194.format(option="--characters", target=ROLES))
    template = choose("system", system, ROLES)
    parts = device_templates(device, "psa_srl")
    if recipe == BEST:
        template = read_template(ROLES, small_roles(system))
        parts.append(read_template(BEST, ROLES))
    for part in parts:
        template = template.merge(part)
    return template


def small_roles(system: str) -> str:
    """RETURNS (str): The system for semantic roles that learns from a small corpus."""
    return f"{system.removesuffix('-small')}-small"


def assemble(
    system: str,
    target: str,
    *,
    characters: str | None,
    device: str,
    recipe: str = PAPER,
    spelled: bool = False,
) -> Template:
    """Merge the templates of a system and a target, by default with its character encoder. If words
    are known by their spelling alone, the recipe `best` has a wider one."""
    of_system = choose("system", system)
    best = recipe == BEST
    training = BEST if best else of_system.settings["training"]
    # As measured: with a BiLSTM over words, and one over characters
    is_spelled = spelled and best and system in names(BEST) and characters in (None, "bilstm")
    parts = [
        *device_templates(device, "psa_tagger"),
        read_template("characters", "bilstm"),
        choose("target", target),
        read_template("training", training),
        of_system,
        *([read_template(BEST, system)] if best and system in names(BEST) else []),
        *([] if characters is None else [choose("characters", characters)]),
        *([read_template("inputs", "spelled")] if is_spelled else []),
    ]
    template = read_template("", "base")
    for part in parts:
        template = template.merge(part)
    return template


def check_recipe(recipe: str) -> None:
    """Check the name of a recipe."""
    if recipe not in RECIPES:
        raise ValueError(unknown("recipe", recipe, RECIPES))


def device_templates(device: str, component: str) -> list[Template]:
    """Get the templates of a device, "cpu" or "gpu": its own, and its settings for the component,
    if any."""
    wanted = (device, f"{device}-{component}")
    return [read_template("devices", name) for name in wanted if name in names("devices")]


def choose(option: str, name: str, folder: str | None = None) -> Template:
    """Read the template selected by an option, from its own folder or another one."""
    folder = folder or FOLDERS[option]
    options = names(folder)
    if name not in options:
        where = f" for --target {ROLES}" if folder == ROLES else ""
        raise ValueError(unknown(option, name, options, where))
    return read_template(folder, name)
