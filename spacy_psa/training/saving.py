"""Save pipelines so that there is a whole one at any moment, under `spacy train` as well.

spaCy's loop writes `model-last` file by file into the folder of the one before, and then removes
`model-best` and copies. A process that is killed there leaves folders that cannot be loaded.
"""

import copy
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from spacy.language import Language
from spacy.training import loop

from ..whole_files import atomic_folder, copy_folder, remove_folder

NAME = "spacy_psa.atomic_to_disk.v1"

Callback = Callable[[Language], Language]


def create_atomic_to_disk(callback: Callback | None = None) -> Callback:
    """Make `spacy train` save pipelines whole or not at all, for `[training.before_to_disk]`.

    The config knows of no place where to say how spaCy's loop is to remove and copy `model-best`.
    Where it does so by `shutil`, it gets functions that leave no folder half done.

    callback (Optional[Callable[[Language], Language]]): Another callback to be called first, since
        there is room for one only.
    RETURNS (Callable[[Language], Language]): The callback.
    """
    replaced: set[str] = set()
    loop.shutil = SimpleNamespace(  # type: ignore[assignment]
        copytree=_copy, rmtree=partial(_remove, replaced)
    )

    def before_to_disk(nlp: Language) -> Language:
        modified = nlp if callback is None else callback(nlp)
        # What is no pipeline is for spaCy to refuse
        return whole(modified, replaced) if isinstance(modified, Language) else modified

    return before_to_disk


def learning_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Leave out of a config how pipelines are saved, which changes nothing in what is learned.

    settings (Dict[str, Any]): The config, without variables.
    RETURNS (Dict[str, Any]): The same, with null in `[training] before_to_disk` if it is ours, or
        not set.
    """
    training = settings.get("training", {})
    if training.get("before_to_disk") not in (None, {"@callbacks": NAME, "callback": None}):
        return settings
    return {**settings, "training": {**training, "before_to_disk": None}}


def whole(nlp: Language, replaced: set[str] | None = None) -> Language:
    """Make a pipeline save itself whole or not at all.

    nlp (Language): The pipeline, which is not changed.
    replaced (Optional[Set[str]]): Gets the path of the `model-best` beside the folder that is
        written: it stays until its copy is there.
    RETURNS (Language): The same pipeline, with another `to_disk`.
    """
    if getattr(nlp.__dict__.get("to_disk"), "func", None) is _save:
        return nlp
    result = copy.copy(nlp)
    result.to_disk = partial(_save, nlp, replaced)  # type: ignore[method-assign]
    return result


def _save(
    nlp: Language, replaced: set[str] | None, path: str | Path, *, exclude: Iterable[str] = ()
) -> None:
    with atomic_folder(Path(path)) as temporary:
        nlp.to_disk(temporary, exclude=exclude)
    if replaced is not None:
        replaced.add(os.path.realpath(Path(path).parent / loop.DIR_MODEL_BEST))


def _copy(source: str | Path, target: str | Path) -> Path:
    copy_folder(Path(source), Path(target))
    return Path(target)


def _remove(replaced: set[str], path: str | Path) -> None:
    """Remove a folder, unless it was saved beside it just now: then its copy takes its place."""
    place = os.path.realpath(path)
    if place in replaced:
        replaced.discard(place)
    else:
        remove_folder(Path(path))
