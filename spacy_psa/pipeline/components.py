"""What the components of this package have in common: labels, training, saving and loading."""

from __future__ import annotations

from typing import Any

from spacy.pipeline import TrainablePipe

from .delegation import provided
from .learner import Learner
from .settings import Setting, check_settings
from .storage import Storage
from .tagset import TagSet


class Component(TrainablePipe):
    """A component that predicts label sequences. Its parts do the work.

    settings (Dict[str, Setting]): The ranges of its settings.
    fixed (Tuple[str, ...]): The settings that cannot be changed after training.
    """

    settings: dict[str, Setting]
    fixed: tuple[str, ...] = ()
    learner: Learner
    tagset: TagSet
    storage: Storage

    initialize = provided("learner", Learner.initialize)
    update = provided("learner", Learner.update)
    distill = provided("learner", Learner.distill)
    get_loss = provided("learner", Learner.get_loss)
    finish_update = provided("learner", Learner.finish_update)
    score = provided("learner", Learner.score)
    add_label = provided("tagset", TagSet.add_label)
    to_bytes = provided("storage", Storage.to_bytes)
    to_disk = provided("storage", Storage.to_disk)
    from_bytes = provided("storage", Storage.from_bytes)
    from_disk = provided("storage", Storage.from_disk)

    @property
    def labels(self) -> tuple[str, ...]:
        """RETURNS (Tuple[str]): The labels."""
        return self.tagset.labels

    @property
    def label_data(self) -> tuple[str, ...]:
        """RETURNS (Tuple[str]): The labels, as `initialize(labels=...)` accepts them."""
        return self.tagset.labels

    @property
    def tags(self) -> list[str]:
        """RETURNS (List[str]): The model's output tags; for spans and roles, each label has
        several."""
        return self.tagset.tags

    def check_cfg(self) -> None:
        """Check that the settings, which the user may have changed, can be saved and loaded.

        RAISES (ValueError): If a setting is out of range.
        """
        check_settings(self.cfg, self.settings)

    def check_loaded(self, before: dict[str, Any]) -> None:
        """Check what has been loaded.

        before (Dict[str, Any]): The previous `cfg`.
        """
        self.tagset.check_loaded()
