"""Pipelines to be measured, and what they do while they are."""

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from typing import Any, Protocol

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_model_from_config, minibatch, registry
from thinc.api import Config

from .systems import ROOT, only_words

# Those whose BiLSTM may be given another width, to be compared
OF_ANY_WIDTH = ("bilstm-crf", "bilstm-softmax", "psa")
TAGGED_AT_ONCE = 256


def load_system(
    system: str, task: str, hidden: int | None = None, mixed_precision: str | None = None
) -> Language:
    """A pipeline of a system, which is not initialized.

    system (str): A system of `psa init-config`.
    task (str): The task.
    hidden (Optional[int]): Width of a BiLSTM, both directions together; None for the config's.
    mixed_precision (Optional[str]): What products are computed in while it is trained.
    RETURNS (Language): The pipeline.
    """
    config = Config().from_disk(ROOT / "configs" / f"{system}-{task}.cfg", interpolate=False)
    model = config["components"]["psa_tagger"]["model"]
    model["mixed_precision"] = mixed_precision
    for block in _blocks(model["encoder"]):
        if block.get("@architectures") == "spacy_psa.BiLSTM.v1" and system in OF_ANY_WIDTH:
            block["hidden_width"] = hidden or block["hidden_width"]
    config["paths"] = {**config["paths"], "train": None, "dev": None, "vectors": None}
    config["initialize"]["vectors"] = None
    return load_model_from_config(config.interpolate(), auto_fill=True)


def _blocks(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A block of a config, and all blocks in it."""
    yield config
    for value in config.values():
        if isinstance(value, dict):
            yield from _blocks(value)


class Contender(Protocol):
    """What is trained and tags, of whatever package."""

    def train(self, batch_size: int, limit: int) -> None:
        """Train on the first sentences.

        batch_size (int): Sentences of a batch.
        limit (int): Sentences in all.
        """

    def tagging(
        self, docs: Sequence[Doc], *, whole: bool, portion: int | None = None
    ) -> Callable[[], None]:
        """What is timed of tagging.

        docs (Sequence[Doc]): Where words come from.
        whole (bool): Whether to tag all at once, or one by one.
        portion (Optional[int]): As for `tagging`.
        RETURNS (Callable[[], None]): Tags them.
        """


class Trainer:
    """Trains a pipeline on the same examples again and again, as its config says.

    nlp (Language): The pipeline.
    docs (Sequence[Doc]): The examples.
    """

    def __init__(self, nlp: Language, docs: Sequence[Doc]) -> None:
        self.nlp = nlp
        self.examples = [Example(only_words(nlp, doc), doc) for doc in docs]
        config = nlp.config.interpolate()["training"]["optimizer"]
        self.optimizer = registry.resolve({"optimizer": config})["optimizer"]

    def train(self, batch_size: int, limit: int) -> None:
        """Train on the first `limit` examples."""
        for examples in minibatch(self.examples[:limit], batch_size):
            self.nlp.update(examples, sgd=self.optimizer, losses={})

    def tagging(
        self, docs: Sequence[Doc], *, whole: bool, portion: int | None = None
    ) -> Callable[[], None]:
        """RETURNS (Callable[[], None]): What is timed of tagging, as by `tagging`."""
        return tagging(self.nlp, docs, whole=whole, portion=portion)


def tagging(
    nlp: Language,
    docs: Sequence[Doc],
    *,
    whole: bool,
    batch_size: int = TAGGED_AT_ONCE,
    portion: int | None = None,
) -> Callable[[], None]:
    """What is timed of tagging, the making of Docs included.

    Pipelines remember words. So that what is known of a text is what is known of new text after a
    while, each call should tag another portion.

    nlp (Language): The pipeline.
    docs (Sequence[Doc]): Where words come from.
    whole (bool): Whether to tag all at once, by `nlp.pipe`.
    batch_size (int): Documents of a batch, then.
    portion (Optional[int]): Documents that a call tags: the next ones each time, and the first ones
        again after the last. None for all.
    RETURNS (Callable[[], None]): Tags them.
    """
    next_words = portions(docs, portion)

    def tag() -> None:
        made = (Doc(nlp.vocab, words=words) for words in next_words())
        if whole:
            for _ in nlp.pipe(made, batch_size=batch_size):
                pass
        else:
            for doc in made:
                nlp(doc)

    return tag


def portions(docs: Sequence[Doc], portion: int | None) -> Callable[[], list[list[str]]]:
    """Take other sentences each time.

    docs (Sequence[Doc]): Where words come from.
    portion (Optional[int]): Documents of a call; None for all.
    RETURNS (Callable[[], List[List[str]]]): Gives the words of the next documents, and of the first
        ones again after the last.
    """
    # Read now, since that is not what is timed
    words = cycle([[token.text for token in doc] for doc in docs])
    return lambda: list(islice(words, portion or len(docs)))
