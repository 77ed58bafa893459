"""Save pipelines atomically, also with `spacy train`, so that a complete one always exists.

spaCy's loop overwrites the previous `model-last` file by file. A process killed meanwhile leaves a
folder that cannot be loaded.
"""

import copy
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from spacy.language import Language

from ..atomic_files import atomic_folder

NAME = "spacy_psa.atomic_to_disk.v1"

Callback = Callable[[Language], Language]


def create_atomic_to_disk(callback: Callback | None = None) -> Callback:
    """Make `spacy train` save `model-last` atomically, for `[training.before_to_disk]`. The config
    cannot specify how spaCy's loop then copies it to `model-best`.

    callback (Optional[Callable[[Language], Language]]): Another callback to call first, since the
        setting accepts only one.
    RETURNS (Callable[[Language], Language]): The callback.
    """

    def before_to_disk(nlp: Language) -> Language:
        modified = nlp if callback is None else callback(nlp)
        # If it is not a pipeline, spaCy will raise an error
        return with_atomic_save(modified) if isinstance(modified, Language) else modified

    return before_to_disk


def learning_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Normalize the part of a config that determines only how pipelines are saved, which does not
    affect training.

    settings (Dict[str, Any]): The interpolated config.
    RETURNS (Dict[str, Any]): The same config. `[training] before_to_disk` is null if it was not set
        or was this module's callback without another one.
    """
    training = settings.get("training", {})
    if training.get("before_to_disk") not in (None, {"@callbacks": NAME, "callback": None}):
        return settings
    return {**settings, "training": {**training, "before_to_disk": None}}


def with_atomic_save(nlp: Language) -> Language:
    """Make a pipeline save itself atomically.

    nlp (Language): The pipeline, which is not modified.
    RETURNS (Language): A shallow copy of the pipeline with another `to_disk`.
    """
    if getattr(nlp.__dict__.get("to_disk"), "func", None) is _save:
        return nlp
    result = copy.copy(nlp)
    result.to_disk = partial(_save, nlp)  # type: ignore[method-assign]
    return result


def _save(nlp: Language, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
    with atomic_folder(Path(path)) as temporary:
        nlp.to_disk(temporary, exclude=exclude)
