"""What all components that predict label sequences do, by their parts."""

from spacy.pipeline import TrainablePipe

from .delegation import provided
from .learner import Learner
from .storage import Storage
from .tagset import TagSet


class LabelingPipe(TrainablePipe):
    """A component that predicts label sequences. A kind of component adds what it predicts, and
    makes the parts: `tagset`, `decoder`, `learner` and `storage`."""

    tagset: TagSet

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
        """RETURNS (Tuple[str]): The labels; of roles, also V for predicates."""
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
