"""The names of targets and systems in all commands, and the earlier ones, which still work."""

import re
from collections.abc import Sequence
from difflib import get_close_matches

import typer

from ..errors import Errors, Warnings, warn

# Configs of this target are complete templates, since it has a different component.
ROLES = "roles"
# What a component writes, as in its setting `target`: first, one label for each token
LABELS_OF_TOKENS = ("tag", "pos", "morph")
TARGETS = (*LABELS_OF_TOKENS, "ents", "spans", ROLES)
# Earlier words, those of papers, and what is said now. `--task pos` trained `token.tag_`.
EARLIER_TARGETS = {
    "ner": "ents",
    "chunk": "spans",
    "chunks": "spans",
    "upos": "pos",
    "srl": ROLES,
    "frames": ROLES,
}
EARLIER_TASKS = {**EARLIER_TARGETS, "pos": "tag"}
EARLIER_SYSTEM, SYSTEM = "transformer", "vaswani"


def choose_targets(targets: Sequence[str], task: str | None) -> str:
    """Choose what to annotate by --target, or by --task, the earlier option, in the words of
    papers: a target or, separated by blanks or commas, several; `spans:KEY` is one, too."""
    if targets:
        target = " ".join(targets)
        checked = " ".join(map(check_target, target.replace(",", " ").split() or [target]))
        if task is not None:
            warn(Warnings.W440.format(old="--task beside --target", new=f"--target '{checked}'"))
        return checked
    if task is None:
        raise typer.BadParameter(f"give one of {', '.join(TARGETS)}", param_hint="--target")
    checked = " ".join(check_target(EARLIER_TASKS.get(word, word)) for word in task.split())
    warn(Warnings.W440.format(old=f"--task '{task}', or --pipeline,", new=f"--target '{checked}'"))
    return checked


def check_target(name: str) -> str:
    """Check a target (`spans:KEY` is one, too), and say what an earlier word is called now."""
    target = current_target(name)
    if target not in TARGETS and not re.fullmatch("spans:.+", target):
        raise ValueError(unknown("target", name, TARGETS))
    return target


def current_target(name: str) -> str:
    """Say what a target is called now. It may be unknown."""
    target = EARLIER_TARGETS.get(name, name)
    if target != name:
        warn(Warnings.W440.format(old=f"--target {name}", new=f"--target {target}"))
    return target


def current_system(name: str) -> str:
    """Say what a system or its variant, such as "transformer-1", is called now, if it is known."""
    system, *variant = name.partition("-")
    if system != EARLIER_SYSTEM:
        return name
    new = "".join([SYSTEM, *variant])
    warn(Warnings.W441.format(old=f"The system '{name}'", new=f"'{new}'"))
    return new


def unknown(option: str, name: str, options: Sequence[str], where: str = "") -> str:
    """Say that an option has no such value."""
    nearest = get_close_matches(name.lower(), options, n=1, cutoff=0.0)[0]
    listed = ", ".join(options)
    return Errors.P190.format(
        option=option, name=name, where=where, nearest=nearest, options=listed
    )
