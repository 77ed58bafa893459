"""Save pipelines atomically, also with `spacy train`, so that a complete one always exists.

spaCy's loop overwrites the previous `model-last` file by file. A process killed meanwhile leaves a
folder that cannot be loaded.
"""

import copy
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.training.loop import DIR_MODEL_BEST, DIR_MODEL_LAST

from ..atomic_files import atomic_folder, copy_folder, recover, remove_folder
from ..errors import Errors

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
    affect training: `[training] before_to_disk` is null if it was not set or was this module's
    callback without another one."""
    training = settings.get("training", {})
    if training.get("before_to_disk") not in (None, {"@callbacks": NAME, "callback": None}):
        return settings
    return {**settings, "training": {**training, "before_to_disk": None}}


def with_atomic_save(nlp: Language) -> Language:
    """Make a pipeline save itself atomically: a shallow copy with another `to_disk`."""
    if getattr(nlp.__dict__.get("to_disk"), "func", None) is _save:
        return nlp
    result = copy.copy(nlp)
    result.to_disk = partial(_save, nlp)  # type: ignore[method-assign]
    return result


def _save(nlp: Language, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
    with atomic_folder(Path(path)) as temporary:
        nlp.to_disk(temporary, exclude=exclude)


class SavedPipelines:
    """The pipelines of a training run: the last one, the best one, and those of some epochs.

    folder (Path): Where they are.
    keep_epochs (Sequence[int]): The epochs whose pipelines are kept, in folders such as `epoch-5`:
        those of the first evaluation after so many epochs.
    is_new (bool): Whether the run is new, not resumed.
    """

    def __init__(self, folder: Path, keep_epochs: Sequence[int], *, is_new: bool) -> None:
        self.last, self.best = folder / DIR_MODEL_LAST, folder / DIR_MODEL_BEST
        self._folder, self._is_first = folder, is_new
        self.to_keep = sorted({*keep_epochs})

    def recover(self) -> None:
        """Finish or undo what a killed process has left half-done."""
        for path in (self.last, self.best):
            recover(path)

    def save(self, nlp: Language, is_best: bool) -> None:
        """Save a pipeline as the last one and, if it is that, the best one."""
        with_atomic_save(nlp).to_disk(self.last)
        if is_best:
            copy_folder(self.last, self.best)
        elif self._is_first:
            # The best pipeline of an earlier run, kept until now
            remove_folder(self.best)
        self._is_first = False

    def keep(self, epochs: float) -> None:
        """Keep a copy of the last pipeline, if its epoch is one of those to keep."""
        while self.to_keep and self.to_keep[0] <= epochs:
            copy_folder(self.last, self._of_epoch(self.to_keep.pop(0)))

    def skip(self, epochs: float) -> None:
        """Leave out the epochs that were kept before the run was resumed: those that had passed at
        its last evaluation.

        RAISES (ValueError): If one of them was not kept.
        """
        passed = [n for n in self.to_keep if n <= epochs]
        lost = [n for n in passed if not self._of_epoch(n).is_dir()]
        if lost:
            problem = f"the run in {self._folder} has passed them. Begin a new run, in another "
            raise ValueError(Errors.P297.format(epochs=lost, problem=f"{problem}folder"))
        self.to_keep = self.to_keep[len(passed) :]

    def _of_epoch(self, n: int) -> Path:
        return self._folder / f"epoch-{n}"
